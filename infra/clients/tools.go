package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"latchkey/infra/tools"
)

// pins name the tools and their versions.
//
//go:embed pins
var pins embed.FS

func pin(path string) string {
	b, err := pins.ReadFile("pins/" + path)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(b)
}

// pythonBin returns the folder of the Python tools' programs. It installs them first.
func pythonBin(ctx context.Context) (string, error) {
	python, err := tools.VirtualEnv(ctx, "clients-python", pin("requirements.txt"), nil)
	return filepath.Dir(python), err
}

func pythonTool(ctx context.Context, dir, name string, args ...string) error {
	bin, err := pythonBin(ctx)
	if err != nil {
		return err
	}
	return run(ctx, dir, filepath.Join(bin, name), args...)
}

// nodeModules returns the node_modules of the Node tools. It installs them first.
func nodeModules(ctx context.Context) (string, error) {
	dir, err := tools.NodeModules(ctx, "clients-node", pin("package.json"), pin("package-lock.json"), nil)
	return filepath.Join(dir, "node_modules"), err
}

func nodeTool(ctx context.Context, dir, name string, args ...string) error {
	modules, err := nodeModules(ctx)
	if err != nil {
		return err
	}
	return run(ctx, dir, filepath.Join(modules, ".bin", name), args...)
}

// run runs a program to its end. The error has the program's output.
func run(ctx context.Context, dir, name string, args ...string) error {
	_, err := output(ctx, dir, nil, name, args...)
	return err
}

// output runs a program and returns its standard output. It adds env to the environment of
// this process.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if filepath.IsAbs(name) { // a tool finds the tools that are installed with it
		cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(name)+":"+os.Getenv("PATH"))
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s%s", filepath.Base(name), err, last(out.Bytes()), last(said.Bytes()))
	}
	return out.String(), nil
}

// last returns the end of a program's output, enough to see its error.
func last(said []byte) []byte {
	const most = 8000
	return said[max(0, len(said)-most):]
}

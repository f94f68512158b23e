// Command clients is `make clients`. It lints the OpenAPI document. It generates a client
// of infra/openapi.yaml with each of the generators that customers use, compiles it, and
// runs a program with it on the local stack, and again through proxies whose answers have
// members and codes that do not exist yet. Then Schemathesis tries the stack. A report of
// the linter or of Schemathesis is a failure unless reports.go has the reason for it.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"latchkey/infra/tools"
)

func main() {
	short := flag.Bool("short", false, "without the generators, two of which `make test` tries")
	run := flag.String("run", "", "only parts whose name matches")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := clients(ctx, *short, *run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signals
	}
}

// part is one thing to try on the API.
type part struct {
	name string
	try  func(context.Context, *api) error
}

func clients(ctx context.Context, short bool, run string) error {
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	parts := []part{{"redocly", redocly}}
	for _, g := range generators() {
		if !short {
			parts = append(parts, part{g.name, g.try})
		}
	}
	parts = append(parts, part{"schemathesis", schemathesis}) // the webhooks that it causes keep the stack busy
	parts = slices.DeleteFunc(parts, func(p part) bool { return !wanted.MatchString(p.name) })
	if len(parts) == 0 {
		return errors.New("no part is chosen")
	}
	a, err := startAPI(ctx, nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range parts {
		started, result := time.Now(), "ok"
		if err := p.try(ctx, a); err != nil {
			result, errs = "FAILED", append(errs, err)
		}
		fmt.Printf("%-32s %-8s %.0f s\n", p.name, result, time.Since(started).Seconds())
	}
	return errors.Join(append(errs, a.close())...)
}

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

// nodeModules returns the node_modules of the Node tools. It installs them first.
func nodeModules(ctx context.Context) (string, error) {
	dir, err := tools.NodeModules(ctx, "clients-node", pin("package.json"), pin("package-lock.json"), nil)
	return filepath.Join(dir, "node_modules"), err
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

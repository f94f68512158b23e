package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"latchkey/infra/local/backing"
)

// generator generates a client. The program that uses the client is in the folder
// examples/<name>.
type generator struct {
	name  string
	short bool // tried by `make test`

	// build generates the client from the document into dir, in which the
	// program is, and compiles both.
	build func(ctx context.Context, dir, document string) error
	// program is the command that runs the program; relative to dir.
	program func(ctx context.Context, dir string) ([]string, error)
}

func generators() []generator {
	return []generator{
		{"oapi-codegen", true, buildOapiCodegen, goProgram},
		{"openapi-python-client", true, buildPythonClient, pythonProgram},
		{"openapi-typescript", false, buildTypeScriptTypes, nodeProgram},
		{"openapi-generator-go", false, buildGo, goProgram},
		{"openapi-generator-java-native", false, buildJava("native"), javaProgram},
		{"openapi-generator-java-okhttp", false, buildJava("okhttp-gson"), javaProgram},
		{"openapi-generator-python", false, openAPIGenerator("python", ".", "--package-name", "latchkey"), pythonProgram},
		{"openapi-generator-typescript", false, buildTypeScriptFetch, nodeProgram},
	}
}

func buildOapiCodegen(ctx context.Context, dir, document string) error {
	root, err := backing.Root()
	if err != nil {
		return err
	}
	client := filepath.Join(dir, "latchkey")
	return errors.Join(
		os.MkdirAll(client, 0o755),
		run(ctx, root, "go", "tool", "-modfile="+filepath.Join("infra", "clients", "tools.mod"), "oapi-codegen",
			"-package", "latchkey", "-o", filepath.Join(client, "client.go"), document),
		run(ctx, dir, "go", "build", "-o", "program", "."))
}

func buildGo(ctx context.Context, dir, document string) error {
	if err := openAPIGenerator("go", "latchkey", "--package-name", "latchkey")(ctx, dir, document); err != nil {
		return err
	}
	client := filepath.Join(dir, "latchkey") // a package of the program's module
	return errors.Join(
		os.Remove(filepath.Join(client, "go.mod")), os.Remove(filepath.Join(client, "go.sum")), os.RemoveAll(filepath.Join(client, "test")),
		run(ctx, dir, "go", "build", "-o", "program", "."))
}

func goProgram(context.Context, string) ([]string, error) { return []string{"./program"}, nil }

func buildPythonClient(ctx context.Context, dir, document string) error {
	return pythonTool(ctx, dir, "openapi-python-client", "generate", "--path", document, "--output-path", ".", "--overwrite")
}

func pythonProgram(ctx context.Context, _ string) ([]string, error) {
	bin, err := pythonBin(ctx)
	return []string{filepath.Join(bin, "python"), "main.py"}, err
}

func buildTypeScriptTypes(ctx context.Context, dir, document string) error {
	return errors.Join(
		nodeTool(ctx, dir, "openapi-typescript", document, "-o", "latchkey.ts"),
		typeScript(ctx, dir))
}

func buildTypeScriptFetch(ctx context.Context, dir, document string) error {
	return errors.Join(
		openAPIGenerator("typescript-fetch", "latchkey")(ctx, dir, document),
		typeScript(ctx, dir))
}

// typeScript compiles a program with its client, strictly.
func typeScript(ctx context.Context, dir string) error {
	modules, err := nodeModules(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		os.Symlink(modules, filepath.Join(dir, "node_modules")),
		nodeTool(ctx, dir, "tsc", "--strict", "--skipLibCheck", "--types", "node", "--target", "es2022", "--module", "commonjs", "main.ts"))
}

func nodeProgram(context.Context, string) ([]string, error) { return []string{"node", "main.js"}, nil }

func buildJava(library string) func(context.Context, string, string) error {
	return func(ctx context.Context, dir, document string) error {
		if err := openAPIGenerator("java", "latchkey", "--library", library)(ctx, dir, document); err != nil {
			return err
		}
		return backing.MavenCompile(ctx, filepath.Join(dir, "latchkey"))
	}
}

func javaProgram(_ context.Context, dir string) ([]string, error) {
	target := filepath.Join(dir, "latchkey", "target")
	return []string{"java", "-cp", filepath.Join(target, "classes") + ":" + filepath.Join(target, "dependency", "*"), "Main.java"}, nil
}

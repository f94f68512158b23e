package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"latchkey/infra/tools"
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
		{"openapi-generator-java-okhttp", false, buildJava, javaProgram},
	}
}

func buildOapiCodegen(ctx context.Context, dir, document string) error {
	root, err := tools.Root()
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

func goProgram(context.Context, string) ([]string, error) { return []string{"./program"}, nil }

func buildPythonClient(ctx context.Context, dir, document string) error {
	return pythonTool(ctx, dir, "openapi-python-client", "generate", "--path", document, "--output-path", ".", "--overwrite")
}

func pythonProgram(ctx context.Context, _ string) ([]string, error) {
	bin, err := pythonBin(ctx)
	return []string{filepath.Join(bin, "python"), "main.py"}, err
}

func buildTypeScriptTypes(ctx context.Context, dir, document string) error {
	modules, err := nodeModules(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		nodeTool(ctx, dir, "openapi-typescript", document, "-o", "latchkey.ts"),
		os.Symlink(modules, filepath.Join(dir, "node_modules")),
		nodeTool(ctx, dir, "tsc", "--strict", "--skipLibCheck", "--types", "node", "--target", "es2022", "--module", "commonjs", "main.ts"))
}

func nodeProgram(context.Context, string) ([]string, error) { return []string{"node", "main.js"}, nil }

func buildJava(ctx context.Context, dir, document string) error {
	jars, err := tools.Jars(ctx, "openapi-generator", pin("openapi-generator.xml"), nil)
	if err != nil {
		return err
	}
	if err := run(ctx, dir, "java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars, "*"), "org.openapitools.codegen.OpenAPIGenerator",
		"generate", "-g", "java", "--library", "okhttp-gson", "-i", document, "-o", "latchkey"); err != nil {
		return err
	}
	return tools.MavenCompile(ctx, filepath.Join(dir, "latchkey"))
}

func javaProgram(_ context.Context, dir string) ([]string, error) {
	target := filepath.Join(dir, "latchkey", "target")
	return []string{"java", "-cp", filepath.Join(target, "classes") + ":" + filepath.Join(target, "dependency", "*"), "Main.java"}, nil
}

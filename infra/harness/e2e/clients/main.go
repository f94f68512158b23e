// Command clients is `make clients`. It lints the OpenAPI document. It generates a client
// of infra/openapi.yaml with each of the generators that customers use, compiles it, and
// runs a program with it on the local stack, and again through proxies whose answers have
// members and codes that do not exist yet. It runs JWT libraries over the vectors of
// webhooks. Then Schemathesis tries the stack. A report of the linter or of Schemathesis
// is a failure unless reports.go has the reason for it.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"latchkey/infra/harness/console/reference"
	"latchkey/infra/tools"
)

func main() {
	short := flag.Bool("short", false, "without JWT libraries and generators (`make test` tries two of the generators)")
	run := flag.String("run", "", "only parts whose name matches this regular expression")
	flag.Parse()
	tools.Main("", func(ctx context.Context) error { return clients(ctx, *short, *run) })
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
	if !short {
		for _, g := range generators() {
			parts = append(parts, part{g.name, g.try})
		}
		parts = append(parts, part{"jwt-libraries", jwtLibraries})
	}
	parts = append(parts, part{"schemathesis", schemathesis}) // last: its webhooks keep the stack busy afterwards
	parts = slices.DeleteFunc(parts, func(p part) bool { return !wanted.MatchString(p.name) })
	if len(parts) == 0 {
		return errors.New("no part has a name that matches -run")
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

func pin(path string) string { return tools.Text(pins, "pins/"+path) }

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

// jwtLibraries runs the test that compares JWT libraries with the vectors. The test needs no API.
func jwtLibraries(ctx context.Context, _ *api) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	return tools.Run(ctx, root, "go", "test", "-count=1", "-vet=off", "./infra/examples/vectors/libraries")
}

// generator generates a client. The program that uses the client is in the folder
// examples/<name>.
type generator struct {
	name   string
	tested bool // `make test` tries it too; `make clients` tries all generators

	// build generates the client from the document into dir, which already has the program, and
	// compiles both. It returns the command that runs the program in dir.
	build func(ctx context.Context, dir, document string) (program []string, err error)
}

func generators() []generator {
	return []generator{
		{"oapi-codegen", false, buildOapiCodegen},
		{"openapi-python-client", true, buildPythonClient},
		{"openapi-typescript", true, buildTypeScriptTypes},
		{"openapi-generator-java-okhttp", false, buildJava},
	}
}

func buildOapiCodegen(ctx context.Context, dir, document string) ([]string, error) {
	client, modFile := filepath.Join(dir, "latchkey"), filepath.Join(filepath.Dir(document), "harness", "e2e", "clients", "tools.mod")
	return []string{"./program"}, errors.Join( // after a failed step, the later ones fail too
		os.MkdirAll(client, 0o755),
		tools.Run(ctx, filepath.Dir(document), "go", "tool", "-modfile="+modFile, "oapi-codegen", "-package", "latchkey", "-o", filepath.Join(client, "client.go"), document),
		tools.Run(ctx, dir, "go", "build", "-o", "program", "."))
}

func buildPythonClient(ctx context.Context, dir, document string) ([]string, error) {
	bin, err := pythonBin(ctx)
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(bin, "python"), "main.py"},
		tools.Run(ctx, dir, filepath.Join(bin, "openapi-python-client"), "generate", "--path", document, "--output-path", ".", "--overwrite")
}

func buildTypeScriptTypes(ctx context.Context, dir, document string) ([]string, error) {
	modules, err := nodeModules(ctx)
	if err != nil {
		return nil, err
	}
	return []string{"node", "main.js"}, errors.Join( // after a failed step, the later ones fail too
		tools.Run(ctx, dir, filepath.Join(modules, ".bin", "openapi-typescript"), document, "-o", "latchkey.ts"),
		os.Symlink(modules, filepath.Join(dir, "node_modules")),
		tools.Run(ctx, dir, filepath.Join(modules, ".bin", "tsc"), "--strict", "--skipLibCheck", "--types", "node", "--target", "es2022", "--module", "commonjs", "main.ts"),
		writeReferencePrograms(filepath.Join(dir, "reference"), document),
		tools.Run(ctx, filepath.Join(dir, "reference"), filepath.Join(modules, ".bin", "tsc"), "--noEmit", "-p", "."))
}

// referenceProgram matches a program in TypeScript on the page of the API reference.
var referenceProgram = regexp.MustCompile(`(?s)data-operation="(\w+)" data-lang="typescript">(.*?)</code>`)

// writeReferencePrograms writes the programs in TypeScript that the API reference shows into a folder next to the generated types.
func writeReferencePrograms(dir, document string) error {
	contract, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	files, err := reference.Build(contract)
	if err != nil {
		return err
	}
	const config = `{"compilerOptions": {"strict": true, "skipLibCheck": true, "types": ["node"], "target": "es2022", "module": "esnext", "moduleResolution": "bundler"}}`
	errs := []error{os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "tsconfig.json"), []byte(config), 0o644),
		os.Symlink("../latchkey.ts", filepath.Join(dir, "latchkey.ts"))}
	programs := referenceProgram.FindAllStringSubmatch(string(files["reference.html"]), -1)
	if len(programs) == 0 {
		errs = append(errs, errors.New("the reference has no program in TypeScript"))
	}
	for _, p := range programs {
		errs = append(errs, os.WriteFile(filepath.Join(dir, p[1]+".ts"), []byte(html.UnescapeString(p[2])), 0o644))
	}
	return errors.Join(errs...)
}

func buildJava(ctx context.Context, dir, document string) ([]string, error) {
	jars, err := tools.Jars(ctx, "openapi-generator", pin("openapi-generator.xml"), nil)
	if err != nil {
		return nil, err
	}
	if err := tools.Run(ctx, dir, "java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars, "*"), "org.openapitools.codegen.OpenAPIGenerator",
		"generate", "-g", "java", "--library", "okhttp-gson", "-i", document, "-o", "latchkey"); err != nil {
		return nil, err
	}
	target := filepath.Join(dir, "latchkey", "target")
	return []string{"java", "-cp", filepath.Join(target, "classes") + ":" + filepath.Join(target, "dependency", "*"), "Main.java"},
		tools.MavenCompile(ctx, filepath.Join(dir, "latchkey"))
}

// try generates a client, compiles it with its program, and runs the program on the API
// and through each proxy.
func (g generator) try(ctx context.Context, a *api) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".local", "clients", g.name)
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(root, "infra", "harness", "e2e", "clients", "examples", g.name)))); err != nil {
		return err
	}
	program, err := g.build(ctx, dir, filepath.Join(root, "infra", "openapi.yaml"))
	if err != nil {
		return fmt.Errorf("%s: the client cannot be generated and compiled: %w", g.name, err)
	}
	var errs []error
	for _, w := range a.ways {
		if err := a.runProgram(ctx, dir, program, g.name, w); err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", g.name, w.name, err))
		}
	}
	return errors.Join(errs...)
}

// runProgram runs a program with one base URL, as a new user, and checks the output of the program.
func (a *api) runProgram(ctx context.Context, dir string, program []string, name string, w way) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	token, err := a.token(ctx, fmt.Sprintf("%s-%s@example.com", name, strings.ReplaceAll(w.name, " ", "-")))
	if err != nil {
		return err
	}
	got, err := tools.Output(ctx, dir, []string{"BASE_URL=" + w.url, "ACCESS_TOKEN=" + token}, program[0], program[1:]...)
	if err != nil {
		return err
	}
	missing, revoked := "org_not_found", "key_revoked"
	if w.code != "" {
		missing, revoked = w.code, w.code
	}
	if want := fmt.Sprintf("the key of Acme works\n404 %s\n3 orgs in 2 pages\n401 %s\n", missing, revoked); got != want {
		return fmt.Errorf("the program prints\n%s\nnot\n%s", got, want)
	}
	return nil
}

package test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"latchkey/infra/tools/copied"
)

// moved is the module's path after `make home`.
const moved = "example.com/acme/latchkey"

// program is the main.go of another module, which imports Latchkey. MODULE is replaced by the path of Latchkey's module.
const program = `package main

import (
	"fmt"

	"MODULE/pkg/guard"
	"MODULE/pkg/verify"
)

func main() {
	_ = guard.New(guard.Config{Table: "t"}).Handler(nil, guard.RequireScope("a"))
	_, err := verify.New(verify.Config{BaseURL: "https://api.example.com", Issuer: "https://api.example.com", EndpointID: "whe_1"})
	fmt.Println(err)
}
`

// files calls f with the path of every file under root, relative to root. It skips the folders of git and of the builds.
func files(t *testing.T, root string, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		isSkipped := rel == ".git" || rel == ".local" || rel == ".aws-sam"
		switch {
		case err != nil:
			return err
		case d.IsDir() && isSkipped:
			return fs.SkipDir
		case d.Type().IsRegular():
			f(rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a program and returns its standard output. env replaces variables of this process. make's own variables are removed, so
// that they do not change a make in a copy.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "GOWORK=off"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// copyAtHome returns a copy of the repository after `make home`.
func copyAtHome(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files(t, "../../..", func(path string) {
		if err := copied.File(filepath.Join("../../..", path), filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	})
	run(t, dir, nil, "make", "home", "MODULE="+moved)
	return dir
}

// TestTheModuleMovesInOneStep checks that every import is found after the move, and that the tests which use the module's path pass.
// The number of files must stay the same.
func TestTheModuleMovesInOneStep(t *testing.T) {
	dir := copyAtHome(t)
	if got := run(t, dir, nil, "go", "list", "-m"); got != moved {
		t.Errorf("the module is %s", got)
	}
	run(t, dir, nil, "go", "list", "-deps", "-test", "./...")
	run(t, dir, nil, "go", "-C", "infra/harness", "list", "-deps", "-test", "./...")
	run(t, dir, nil, "go", "test", "./pkg", "./infra/tools")
	if commands := run(t, dir, nil, "make", "-n", "test"); strings.Contains(commands, " latchkey/") {
		t.Errorf("make test runs %.300s", commands)
	}
	after := 0
	files(t, dir, func(path string) {
		after++
		if strings.HasSuffix(path, ".bak") {
			t.Errorf("%s was not removed", path)
		}
	})
	before := 0
	files(t, "../../..", func(string) { before++ })
	if after != before {
		t.Errorf("there were %d files, and now %d", before, after)
	}
}

// ofTheHarness matches the modules that only infra/harness needs.
var ofTheHarness = regexp.MustCompile("porcupine|esbuild|goldmark|kin-openapi|jsonschema")

// TestAnotherModuleImportsVerifyAndGuard imports both packages with a replace directive, as the documentation shows, before and after
// the move. The other module must not need a module of the harness.
func TestAnotherModuleImportsVerifyAndGuard(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	// The other module begins with an empty module cache. This machine's cache is its proxy, so it needs no network.
	cache := "file://" + filepath.ToSlash(run(t, ".", nil, "go", "env", "GOMODCACHE")) + "/cache/download"
	env := []string{"GOPROXY=" + cache, "GOSUMDB=off", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE=" + t.TempDir()}
	for module, checkout := range map[string]string{"latchkey": root, moved: copyAtHome(t)} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), "module receiver\n\ngo 1.26.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+checkout+"\n")
		write(t, filepath.Join(dir, "main.go"), strings.ReplaceAll(program, "MODULE", module))
		if got := run(t, dir, env, "go", "run", "."); got != "<nil>" {
			t.Errorf("%s: the program prints %s", module, got)
		}
		if all := run(t, dir, env, "go", "mod", "graph"); ofTheHarness.MatchString(all) || !strings.Contains(all, "aws-sdk-go-v2") {
			t.Errorf("%s: the other module needs %s", module, all)
		}
	}
}

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

// moved is the module's path after `make home`, as in infra/docs/webhooks.md. wrong is the path after an earlier `make home`.
const (
	wrong = "github.com/acme/latchkey/v2"
	moved = "github.com/acme/latchkey"
)

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

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ownPath returns the module's path in this repository. It is not always latchkey: these tests also run after `make home`.
func ownPath(t *testing.T) string {
	t.Helper()
	return run(t, "../../..", nil, "go", "list", "-m")
}

// copyAtHome returns a copy of the repository after `make home`, which ran twice: the second time corrects a wrong path.
func copyAtHome(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files(t, "../../..", func(path string) {
		if err := copied.File(filepath.Join("../../..", path), filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	})
	run(t, dir, nil, "make", "home", "MODULE="+wrong)
	run(t, dir, nil, "make", "home", "MODULE="+moved)
	return dir
}

// TestTheModuleMovesInOneStep checks that every import is found after the move, that the Makefile is whole, and that the tests which
// use the module's path pass. The number of files must stay the same.
func TestTheModuleMovesInOneStep(t *testing.T) {
	dir, own := copyAtHome(t), ownPath(t)
	if got := run(t, dir, nil, "go", "list", "-m"); got != moved {
		t.Errorf("the module is %s", got)
	}
	want := strings.ReplaceAll(read(t, "../../../Makefile"), " "+own+"/", " "+moved+"/")
	if got := read(t, filepath.Join(dir, "Makefile")); got != want {
		t.Errorf("the Makefile has %d bytes, want %d. It ends with %q", len(got), len(want), got[max(0, len(got)-100):])
	}
	if settings := read(t, filepath.Join(dir, ".golangci.yml")); !strings.Contains(settings, "\n      local-prefixes: ["+moved+"]\n") {
		t.Error("goimports does not know the module's path")
	}
	run(t, dir, nil, "go", "list", "-deps", "-test", "./...")
	run(t, dir, nil, "go", "-C", "infra/harness", "list", "-deps", "-test", "./...")
	commands := run(t, dir, nil, "make", "-n", "test")
	for _, old := range []string{own, wrong} {
		if old != moved && strings.Contains(commands, " "+old+"/") {
			t.Errorf("make test runs %.300s", commands)
		}
	}
	after := 0
	files(t, dir, func(path string) {
		after++
		if strings.HasSuffix(path, ".bak") {
			t.Errorf("%s was not removed", path)
		}
		if strings.HasSuffix(path, ".go") && strings.Contains(read(t, filepath.Join(dir, path)), `"`+own+`/"`) {
			t.Errorf("%s compares with the old path", path) // `make home` renames paths of folders only
		}
	})
	before := 0
	files(t, "../../..", func(string) { before++ })
	if after != before {
		t.Errorf("there were %d files, and now %d", before, after)
	}
	run(t, dir, nil, "go", "test", "./pkg", "./infra/tools", "./infra/deploy/settings/check")
	run(t, dir, nil, "go", "test", "-run", "^(TestMake|TestRecipes|TestAnotherModule)", "./infra/tools/test")
}

// ofTheHarness matches the modules that only infra/harness needs.
var ofTheHarness = regexp.MustCompile("porcupine|esbuild|goldmark|kin-openapi|jsonschema")

// ofMajor matches a path that ends in a major version. Go accepts no other version of such a module.
var ofMajor = regexp.MustCompile("/(v[2-9])$")

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
	for module, checkout := range map[string]string{ownPath(t): root, moved: copyAtHome(t)} {
		dir, version := t.TempDir(), "v0.0.0"
		if major := ofMajor.FindStringSubmatch(module); major != nil {
			version = major[1] + ".0.0"
		}
		write(t, filepath.Join(dir, "go.mod"), "module receiver\n\ngo 1.26.0\n\nrequire "+module+" "+version+"\n\nreplace "+module+" => "+checkout+"\n")
		write(t, filepath.Join(dir, "main.go"), strings.ReplaceAll(program, "MODULE", module))
		if got := run(t, dir, env, "go", "run", "."); got != "<nil>" {
			t.Errorf("%s: the program prints %s", module, got)
		}
		if all := run(t, dir, env, "go", "mod", "graph"); ofTheHarness.MatchString(all) || !strings.Contains(all, "aws-sdk-go-v2") {
			t.Errorf("%s: the other module needs %s", module, all)
		}
	}
}

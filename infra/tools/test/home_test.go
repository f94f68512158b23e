package test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/mutants/copied"
)

const (
	moved   = "example.com/acme/latchkey"
	version = "v0.1.0"
)

// program receives webhooks in a module of its own; MODULE is Latchkey's path.
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

// files calls f with every file of the repository, by its path from the root.
func files(t *testing.T, root string, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == ".git" || rel == ".local" || rel == ".aws-sam"):
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

// run runs a program, with variables over those of the environment, and returns what it
// prints.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "GOWORK=off"), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

// atHome returns a copy of the repository after `make home`.
func atHome(t *testing.T) (dir string) {
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

// TestTheModuleMovesInOneStep wants every import to be found after the move, and the tests that
// know the module's path to pass.
func TestTheModuleMovesInOneStep(t *testing.T) {
	dir := atHome(t)
	if got := run(t, dir, nil, "go", "list", "-m"); got != moved {
		t.Errorf("the module is %s", got)
	}
	run(t, dir, nil, "go", "list", "-deps", "-test", "./...")
	run(t, dir, nil, "go", "test", "./pkg", "./infra/tools")
	if left := run(t, dir, nil, "make", "-n", "test"); strings.Contains(left, " latchkey/") {
		t.Errorf("make test runs %.300s", left)
	}
	n := 0
	files(t, dir, func(path string) {
		n++
		if strings.HasSuffix(path, ".bak") {
			t.Errorf("%s is left behind", path)
		}
	})
	before := 0
	files(t, "../../..", func(string) { before++ })
	if n != before {
		t.Errorf("%d files became %d", before, n)
	}
}

// TestAnotherModuleImportsVerifyAndGuard imports them from a module proxy, as after a release, and from
// a checkout, as the documentation shows.
func TestAnotherModuleImportsVerifyAndGuard(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	cache := "file://" + filepath.ToSlash(run(t, ".", nil, "go", "env", "GOMODCACHE")) + "/cache/download"
	proxy := proxyOf(t, atHome(t))
	for name, c := range map[string]struct {
		module, mod string
		env         []string
	}{
		"proxy":    {moved, "require " + moved + " " + version + "\n", []string{"GOPROXY=file://" + filepath.ToSlash(proxy) + "," + cache, "GOSUMDB=off"}},
		"checkout": {"latchkey", "require latchkey v0.0.0\n\nreplace latchkey => " + root + "\n", []string{"GOPROXY=" + cache, "GOSUMDB=off"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module receiver\n\ngo 1.26.0\n\n"+c.mod)
			write(t, filepath.Join(dir, "main.go"), strings.ReplaceAll(program, "MODULE", c.module))
			if got := run(t, dir, append(c.env, "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE="+t.TempDir()), "go", "run", "."); got != "<nil>" {
				t.Errorf("it prints %s", got)
			}
		})
	}
}

// proxyOf returns a folder that serves a release of the module as a module proxy does (the
// Go Modules Reference, "GOPROXY protocol").
func proxyOf(t *testing.T, module string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(moved), "@v")
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, version+".mod"), string(mod))
	write(t, filepath.Join(at, version+".info"), `{"Version":"`+version+`"}`)
	packed, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	var others []string // modules below this one are not part of it
	files(t, module, func(path string) {
		if filepath.Base(path) == "go.mod" && path != "go.mod" {
			others = append(others, filepath.Dir(path)+string(filepath.Separator))
		}
	})
	z := zip.NewWriter(packed)
	files(t, module, func(path string) {
		if slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			return
		}
		to, err := z.Create(moved + "@" + version + "/" + filepath.ToSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		from, err := os.Open(filepath.Join(module, path))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = from.Close() }()
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
	})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

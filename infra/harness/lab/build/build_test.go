package build_test

import (
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/build"
	"latchkey/infra/tools"
)

// toy is a function for tests.
const toy = "lab/lambda/testdata/toy"

func TestAFunctionIsBuilt(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "toy")
	err = build.Functions(t.Context(), build.Options{
		Root: filepath.Join(root, "infra", "harness"), Folders: []string{toy}, Out: filepath.Dir(program), Kept: filepath.Join(root, ".local", "built"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(program); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs") { // with this setting, each commit would change every program
			t.Errorf("the program depends on the state of git: %s=%s", s.Key, s.Value)
		}
	}
}

// TestALaterBuildKeepsARunningProgram builds twice, from different sources, and then runs both
// programs.
func TestALaterBuildKeepsARunningProgram(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "module toy\n")
	for _, word := range []string{"one", "two"} {
		write(t, root, "functions/a/main.go", printing(word))
		err := build.Functions(t.Context(), build.Options{Root: root, Folders: []string{"functions/a"}, Out: filepath.Join(root, word)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if first, second := output(t, filepath.Join(root, "one", "a")), output(t, filepath.Join(root, "two", "a")); first != "one" || second != "two" {
		t.Errorf("the programs print %q and %q", first, second)
	}
}

// TestTheRootPackageIsBuilt uses a module whose path does not end in its folder's name: go would name the
// program "toy".
func TestTheRootPackageIsBuilt(t *testing.T) {
	root, kept, out := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, root, "go.mod", "module example.com/toy/v2\n")
	write(t, root, "main.go", printing("own"))
	write(t, root, "a/main.go", printing("a"))
	if err := build.Functions(t.Context(), build.Options{Root: root, Folders: []string{".", "a"}, Out: out, Kept: kept}); err != nil {
		t.Fatal(err)
	}
	if own, a := output(t, filepath.Join(out, filepath.Base(root))), output(t, filepath.Join(out, "a")); own != "own" || a != "a" {
		t.Errorf("the programs print %q and %q", own, a)
	}
	if _, err := os.Stat(filepath.Join(root, ".local")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the build wrote into the module's folder: %v", err)
	}
}

// TestALinkThatLeadsNowhereIsNoSource makes the link that Emacs makes while a buffer is not saved.
func TestALinkThatLeadsNowhereIsNoSource(t *testing.T) {
	root := t.TempDir()
	write(t, root, "main.go", printing("one"))
	before, errBefore := build.Fingerprint(root)
	errLink := os.Symlink("ann@machine.4711:1790000000", filepath.Join(root, ".#main.go"))
	after, err := build.Fingerprint(root)
	if err := errors.Join(errBefore, errLink, err); err != nil || after != before {
		t.Errorf("%s and %s, %v", before, after, err)
	}
	if _, err := build.Fingerprint(filepath.Join(root, "none")); err == nil {
		t.Error("a folder that is not there has a fingerprint")
	}
	write(t, root, "main.go", printing("three"))
	if changed, err := build.Fingerprint(root); err != nil || changed == before {
		t.Errorf("a changed file has the fingerprint of before, %v", err)
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// printing returns a program that prints a word.
func printing(word string) string {
	return "package main\n\nfunc main() { print(\"" + word + "\") }\n"
}

// output runs a program and returns what it prints.
func output(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

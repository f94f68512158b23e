package build_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/build"
)

// toy is a function for tests.
const toy = "infra/local/lambda/testdata/toy"

func TestAFunctionIsBuilt(t *testing.T) {
	root, err := backing.Root()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := build.Functions(t.Context(), build.Options{Root: root, Folders: []string{toy}, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(programs[toy]); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestALaterBuildKeepsARunningProgram builds twice, from different sources, and then runs both
// programs.
func TestALaterBuildKeepsARunningProgram(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module toy\n")
	write("pkg/pkg.go", "package pkg\n")
	said := func(program string) string {
		out, err := exec.Command(program).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	var programs []string
	for _, word := range []string{"one", "two"} {
		write("functions/a/main.go", "package main\n\nfunc main() { print(\""+word+"\") }\n")
		built, err := build.Functions(t.Context(), build.Options{Root: root, Folders: []string{"functions/a"}, Out: filepath.Join(root, word)})
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, built["functions/a"])
	}
	if first, second := said(programs[0]), said(programs[1]); first != "one" || second != "two" {
		t.Errorf("they say %q and %q", first, second)
	}
}

// TestGosTestCacheSeesTheFunctions runs TestAFunctionIsBuilt and reads the log from which Go's test
// cache finds the files that a test depends on.
func TestGosTestCacheSeesTheFunctions(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFunctionIsBuilt$", "-test.testlogfile="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"/" + toy + "/main.go\n", "/infra/local/backing/root.go\n"} {
		if !strings.Contains(string(text), source) {
			t.Errorf("%s is not among what the cache knows", strings.TrimSpace(source))
		}
	}
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The recipe of a test program is a shell script with the go command's calls of the compiler and the linker. Calling
// them again builds the program of another mutant. That is faster than the go command, which looks for changes in all
// packages each time, and it does not fill the go command's cache.
const recipe = ".recipe" // a file in the package's folder

// recipeLine matches the lines of a recipe in the output of the go command with -x. The last line calls the linker.
var recipeLine = regexp.MustCompile(`(?m)^(WORK=|cd |.*/compile -o |.*/link -o \$WORK).*$`)

// errNoProgram is the error for a mutant that does not compile.
var errNoProgram = errors.New("the test program cannot be built")

// testProgram builds the test program of pkg, the package in the current folder, and returns the program's path. The go command
// builds the first program, and the recipe builds the others.
func testProgram(pkg string) (string, error) {
	text, err := os.ReadFile(recipe)
	if errors.Is(err, fs.ErrNotExist) {
		return record(pkg)
	}
	if err != nil {
		return "", err
	}
	all := strings.Split(string(text), "\n")
	work, link := all[0], all[len(all)-1]
	own := slices.IndexFunc(all, func(line string) bool { return compiles(line, pkg) })
	if shell(work, all[own]) != nil {
		return "", errNoProgram
	}
	// If the mutant changes the exports, the linker refuses packages that were compiled with the old exports. The lines after
	// the package's own line compile these packages again.
	if shell(work, link) != nil && shell(append([]string{work}, all[own+1:]...)...) != nil {
		return record(pkg)
	}
	_, after, _ := strings.Cut(link, "-o $WORK")
	program, _, _ := strings.Cut(after, " ")
	return strings.TrimPrefix(work, "WORK=") + program, nil
}

func compiles(text, pkg string) bool { return strings.Contains(text, " -p "+pkg+" ") }

func shell(lines ...string) error { return exec.Command("sh", "-ec", strings.Join(lines, "\n")).Run() }

// record builds a test program with the go command, and writes the recipe. It writes no recipe if the go command had the package
// in its cache.
func record(pkg string) (string, error) {
	program, err := filepath.Abs(recipe + ".test")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(os.Getenv(realGoEnv), "test", "-c", "-x", "-work", "-o", program, pkg).CombinedOutput()
	if err != nil {
		return "", errNoProgram
	}
	lines := strings.Join(recipeLine.FindAllString(string(out), -1), "\n")
	if compiles(lines, pkg) {
		err = os.WriteFile(recipe, []byte(lines), 0o644)
	}
	return program, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"latchkey/infra/tools"
	"latchkey/infra/tools/copied"
	"latchkey/pkg/servicetest"
)

// bug is one planted bug: replacements in files, and the test that must fail.
type bug struct {
	name    string // a sentence about the fault
	source  string // the list's file and the line, such as roles.txt:12
	short   bool   // whether `make mutants SHORT=1` includes the bug
	pkg     string // the test's package, such as ./pkg/store
	pattern string // whole names of tests, separated by |, such as TestA|TestB/case
	edits   []edit
}

// edit replaces text that occurs in the file exactly once.
type edit struct{ file, old, new string }

// apply returns the file's text with the new text. It returns an error if the bug no longer fits the code: the file must have the
// old text exactly once.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s: the old text occurs %d times, not once:\n%s", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.new, 1), nil
}

var testName = regexp.MustCompile(`Test\w+`)

// hasTests returns an error if the package of b lacks a test of b. It does not check subtests.
func (b bug) hasTests(root string) (err error) {
	files, _ := filepath.Glob(filepath.Join(root, b.pkg, "*_test.go")) // no error: the pattern is well formed
	var code []byte
	for _, path := range files {
		text, errFile := os.ReadFile(path)
		code, err = append(code, text...), errors.Join(err, errFile)
	}
	for _, pattern := range alternatives(b.pattern) {
		if name := testName.FindString(pattern); !strings.Contains(string(code), "\nfunc "+name+"(") {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s has no %s", b.source, b.name, b.pkg, name))
		}
	}
	return err
}

// readBugs reads every list in a folder. The error has the faults of all lists.
func readBugs(dir string) ([]bug, error) {
	lists, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []bug
	var errs []error
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		bugs, err := parse(filepath.Base(path), string(text))
		all = append(all, bugs...)
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// bugForm is the form of a bug in a list. The line "short" is optional. A bug may change several files, and several places of a
// file; each replacement begins with a "file" line. Without lines that begin with +, the old text is deleted.
//
//	# What is wrong, in a sentence.
//	test ./pkg/store TestName
//	short
//	file pkg/store/store.go
//	-the old text: lines without their first character
//	+the new text
var bugForm = regexp.MustCompile(`\A# (.+)\ntest (\S+) (.+)\n(short\n)?((?:file .+\n(?:-.*\n)+(?:\+.*\n)*)+)\z`)

var (
	editForm       = regexp.MustCompile(`(?m)^file (.+)\n((?:-.*\n)+)((?:\+.*\n)*)`)
	firstCharacter = regexp.MustCompile(`(?m)^.`) // the - or + of each line
)

// parse reads a list: bugs with an empty line between them.
func parse(list, text string) (all []bug, err error) {
	line := 1
	for _, block := range strings.Split(text, "\n\n") {
		source := fmt.Sprintf("%s:%d", list, line)
		line += strings.Count(block, "\n") + 2 // the block's lines and the empty one
		m := bugForm.FindStringSubmatch(strings.Trim(block, "\n") + "\n")
		if m == nil {
			err = errors.Join(err, fmt.Errorf("%s: the text does not have the form of a planted bug", source))
			continue
		}
		b := bug{name: m[1], source: source, short: m[4] != "", pkg: m[2], pattern: m[3]}
		for _, e := range editForm.FindAllStringSubmatch(m[5], -1) {
			file, old, replacement := e[1], firstCharacter.ReplaceAllString(e[2], ""), firstCharacter.ReplaceAllString(e[3], "")
			if old == "\n" || old == replacement {
				err = errors.Join(err, fmt.Errorf("%s: %s: the replacement changes nothing", source, file))
			}
			b.edits = append(b.edits, edit{file, strings.TrimSuffix(old, "\n"), strings.TrimSuffix(replacement, "\n")})
		}
		all = append(all, b)
	}
	return all, err
}

// testLimit is the time limit for the compilation and the run of a bug's tests. A bug can make a test hang.
const testLimit = 10 * time.Minute

// tree is a copy of the repository. Bugs are planted in the copy.
type tree struct {
	root, dir string // the folders of the repository and of the copy
	binary    string // the path of the compiled tests
	database  *servicetest.Database
}

// newTree makes the copy with the number n in .local, and starts a database for its tests.
func newTree(ctx context.Context, root string, n int) (*tree, error) {
	dir := filepath.Join(root, ".local", "mutants", strconv.Itoa(n))
	if err := copied.Tree(ctx, root, dir); err != nil {
		return nil, err
	}
	database, err := servicetest.DynamoDB()
	if err != nil {
		return nil, err
	}
	return &tree{root: root, dir: dir, binary: filepath.Join(dir, ".local", "tests"), database: database}, nil
}

// passes returns an error if the tests of b fail without a planted bug: then a failure would not show that they find the bug.
func (t *tree) passes(ctx context.Context, b bug) error {
	out, err := t.test(ctx, b)
	if err != nil {
		return fmt.Errorf("%s -run %s fails without a planted bug: %w\n%s", b.pkg, b.pattern, err, out)
	}
	return nil
}

// finds plants a bug, and returns an error if its test does not fail.
func (t *tree) finds(ctx context.Context, b bug) error {
	defer t.restore(b)
	for _, e := range b.edits {
		path := filepath.Join(t.dir, e.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed, err := e.apply(string(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	started := time.Now()
	out, err := t.test(ctx, b)
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failed):
		fmt.Printf("found in %4.1f s  %s: %s\n", time.Since(started).Seconds(), b.source, b.name)
		return nil
	case err != nil:
		return fmt.Errorf("%s: %s: %w\n%s", b.source, b.name, err, out)
	default:
		return fmt.Errorf("NOT FOUND  %s: %s\n%s -run %s passes:\n%s", b.source, b.name, b.pkg, b.pattern, out)
	}
}

func (t *tree) restore(b bug) {
	for _, e := range b.edits {
		if err := copied.File(filepath.Join(t.root, e.file), filepath.Join(t.dir, e.file)); err != nil {
			panic(err) // otherwise the bug would stay in the copy and fail the tests of the next bugs
		}
	}
}

// test compiles and runs the tests of b, and returns the end of their output. The error is an *exec.ExitError only if a test
// failed, or took longer than testLimit. For code that does not compile it is another error, because no test has found the bug.
func (t *tree) test(ctx context.Context, b bug) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", t.binary, ".")
	compile.Dir = filepath.Join(t.dir, b.pkg) // the package is in one of two modules
	if out, err := compile.CombinedOutput(); err != nil {
		return string(out), fmt.Errorf("the code does not compile: %s", err) //nolint:errorlint // without the *exec.ExitError
	}
	run := exec.CommandContext(ctx, t.binary, "-test.run", exactly(b.pattern), "-test.failfast")
	run.Dir = filepath.Join(t.dir, b.pkg)
	run.Env = append(os.Environ(), "LATCHKEY_DYNAMODB="+t.database.Endpoint)
	out, err := run.CombinedOutput()
	return tools.Tail(out), err
}

// exactly returns the pattern for -test.run that matches only the whole names. Go splits this pattern at each / before it matches.
func exactly(pattern string) string {
	names := alternatives(pattern)
	for i, name := range names {
		names[i] = "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	}
	return strings.Join(names, "|")
}

func alternatives(pattern string) []string { return strings.Split(pattern, "|") }

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bug is one planted bug: replacements in files, and the test that must fail.
type bug struct {
	name    string // a sentence
	source  string // the list it is in, and its line
	short   bool   // it is in the short form
	pkg     string // the test's package, as in ./pkg/store
	pattern string // names of tests, as for go test -run, matched whole
	edits   []edit
}

// edit replaces text that occurs in the file exactly once.
type edit struct{ file, old, new string }

// apply returns the file's text with the replacement. It fails when the old text does not occur
// exactly once: the bug no longer fits the code.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s: the old text occurs %d times, not once:\n%s", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.new, 1), nil
}

// readBugs reads every list in a folder.
func readBugs(dir string) ([]bug, error) {
	lists, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []bug
	var wrong []error
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		bugs, err := parse(filepath.Base(path), string(text))
		all = append(all, bugs...)
		wrong = append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

// parse reads a list: bugs with an empty line between them.
//
//	# What is wrong, in a sentence.
//	test ./pkg/store TestName
//	short
//	file pkg/store/store.go
//	-the old text: lines without their first character
//	+the new text
//
// "short" puts the bug into the short form. A bug may change several files, and a file in
// several places; each replacement has a "file" line of its own.
func parse(list, text string) ([]bug, error) {
	var all []bug
	var wrong []error
	line := 1
	for _, block := range strings.Split(text, "\n\n") {
		if strings.TrimSpace(block) != "" {
			source := fmt.Sprintf("%s:%d", list, line)
			b, err := parseBug(strings.Split(strings.Trim(block, "\n"), "\n"))
			b.source = source
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", source, err))
			}
			all = append(all, b)
		}
		line += strings.Count(block, "\n") + 2
	}
	return all, errors.Join(wrong...)
}

func parseBug(lines []string) (b bug, err error) {
	var old, fresh []string
	end := func() {
		if n := len(b.edits); n > 0 {
			b.edits[n-1].old, b.edits[n-1].new = strings.Join(old, "\n"), strings.Join(fresh, "\n")
		}
		old, fresh = nil, nil
	}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "-"):
			old = append(old, line[1:])
		case strings.HasPrefix(line, "+"):
			fresh = append(fresh, line[1:])
		case word == "#":
			b.name = rest
		case word == "test":
			b.pkg, b.pattern, _ = strings.Cut(rest, " ")
		case line == "short":
			b.short = true
		case word == "file":
			end()
			b.edits = append(b.edits, edit{file: rest})
		default:
			return b, fmt.Errorf("%q is not a line of a planted bug", line)
		}
	}
	end()
	if b.name == "" || b.pattern == "" || len(b.edits) == 0 {
		return b, errors.New("a planted bug has a name, a test and a file")
	}
	for _, e := range b.edits {
		if e.old == "" || e.old == e.new {
			return b, fmt.Errorf("%s: nothing is replaced", e.file)
		}
	}
	return b, nil
}

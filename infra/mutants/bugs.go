package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// bugForm is the form of a bug in a list. "short" puts the bug into the short form. A bug may change several files, and
// a file in several places; each replacement has a "file" line of its own.
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
	firstCharacter = regexp.MustCompile(`(?m)^.`)
)

// parse reads a list: bugs with an empty line between them.
func parse(list, text string) (all []bug, err error) {
	line := 1
	for _, block := range strings.Split(text, "\n\n") {
		source := fmt.Sprintf("%s:%d", list, line)
		line += strings.Count(block, "\n") + 2
		m := bugForm.FindStringSubmatch(strings.Trim(block, "\n") + "\n")
		if m == nil {
			err = errors.Join(err, fmt.Errorf("%s: it is not in the form of a planted bug", source))
			continue
		}
		b := bug{name: m[1], source: source, short: m[4] != "", pkg: m[2], pattern: m[3]}
		for _, e := range editForm.FindAllStringSubmatch(m[5], -1) {
			old, fresh := firstCharacter.ReplaceAllString(e[2], ""), firstCharacter.ReplaceAllString(e[3], "")
			if old == "\n" || old == fresh {
				err = errors.Join(err, fmt.Errorf("%s: %s: nothing is replaced", source, e[1]))
			}
			b.edits = append(b.edits, edit{e[1], strings.TrimSuffix(old, "\n"), strings.TrimSuffix(fresh, "\n")})
		}
		all = append(all, b)
	}
	return all, err
}

package servicetest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Golden fails the test if text differs from a file, and prints every difference. With update, it first writes text into the
// file.
func Golden(t testing.TB, path, text string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == text {
		return
	}
	diff := exec.Command("diff", "-U1", path, "-")
	diff.Stdin = strings.NewReader(text)
	out, err := diff.CombinedOutput()
	t.Errorf("the file %s (-) differs from the text (+): %v\n%s", path, err, out) // err: diff exits with 1
}

// Generated is Golden for a file with a generated part. generate returns the file's text with a new generated part. The file
// must already have this text. With UPDATE_GENERATED=1, as in `make generate`, Generated writes the file.
func Generated(t testing.TB, path string, generate func(text string) (string, error)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	generated, err := generate(string(text))
	if err != nil {
		t.Fatal(err)
	}
	Golden(t, path, generated, os.Getenv("UPDATE_GENERATED") != "")
}

// Insert returns a document in which text replaces everything between the lines "<!-- name: … -->" and
// "<!-- end of name -->".
func Insert(document, name, text string) (string, error) {
	place := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]* -->\n).*?(<!-- end of ` + name + ` -->)`)
	if !place.MatchString(document) {
		return "", fmt.Errorf("the document has no place for %s", name)
	}
	literal := strings.ReplaceAll(text, "$", "$$") // a plain $ would refer to a group
	return place.ReplaceAllString(document, "${1}"+literal+"${2}"), nil
}

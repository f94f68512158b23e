package servicetest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Golden fails the test with every difference between a text and a file. With update, it writes the file.
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
	t.Errorf("%s (-) differs from what is (+): %v\n%s", path, err, out)
}

// Generated is Golden for a file of which a part is generated: it wants made to change nothing. With UPDATE_GENERATED=1,
// as in `make generate`, it writes the file.
func Generated(t testing.TB, path string, made func(text string) (string, error)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now, err := made(string(text))
	if err != nil {
		t.Fatal(err)
	}
	Golden(t, path, now, os.Getenv("UPDATE_GENERATED") != "")
}

// Insert returns a document with another text between the lines "<!-- name: … -->" and "<!-- end of name -->".
func Insert(document, name, text string) (string, error) {
	place := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]* -->\n).*?(<!-- end of ` + name + ` -->)`)
	if !place.MatchString(document) {
		return "", fmt.Errorf("the document has no place for %s", name)
	}
	return place.ReplaceAllString(document, "${1}"+strings.ReplaceAll(text, "$", "$$")+"${2}"), nil
}

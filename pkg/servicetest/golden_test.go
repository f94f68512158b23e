package servicetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failing is a testing.TB that records failures, and does not fail.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) }

func TestGoldenPrintsEveryDifference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "golden.txt")
	lines := []string{"first", "", "second"}
	for n := range 50 {
		lines = append(lines, fmt.Sprint("the same line ", n))
	}
	written := strings.Join(append(lines, "gone", "last"), "\n") + "\n"
	if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &failing{TB: t}
	Golden(f, path, written, false)
	if f.text != "" {
		t.Error(f.text)
	}
	// A changed line, a new line, a removed line ("gone"), and no line break at the end.
	lines[0], lines[10] = "another", "put in\n"+lines[10]
	Golden(f, path, strings.Join(append(lines, "last"), "\n"), false)
	for _, want := range []string{"\n-first\n", "\n+another\n", "\n+put in\n", "\n-gone\n", "\n-last\n", "\n+last\n", "No newline at end of file"} {
		if !strings.Contains(f.text, want) {
			t.Errorf("without %q:\n%s", want, f.text)
		}
	}
	// The six lines above, and the two of diff with the names of the files.
	if n := strings.Count(f.text, "\n+") + strings.Count(f.text, "\n-"); n != 6+2 {
		t.Errorf("%d lines of differences:\n%s", n, f.text)
	}
	f.text = ""
	Golden(f, path, "new\n", true)
	if f.text != "" {
		t.Error(f.text)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
}

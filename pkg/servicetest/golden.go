package servicetest

import (
	"os"
	"os/exec"
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

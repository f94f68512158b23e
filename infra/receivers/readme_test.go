package receivers_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestTheREADMEShowsTheReceiversThatAreTested holds the README's copies to the
// files that the tests run.
func TestTheREADMEShowsTheReceiversThatAreTested(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, language := range map[string]string{"node/receiver.mjs": "js", "python/receiver.py": "python"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(code), "\n"); lines > 40 {
			t.Errorf("%s has %d lines, want at most 40", file, lines)
		}
		shown := "<!-- infra/receivers/" + file + " -->\n```" + language + "\n" + string(code) + "```\n"
		if !bytes.Contains(readme, []byte(shown)) {
			t.Errorf("the README does not show %s as it is", file)
		}
	}
}

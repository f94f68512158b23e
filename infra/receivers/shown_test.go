package receivers_test

import (
	"bytes"
	"os"
	"testing"
)

// TestTheDocumentShowsTheReceiversThatAreTested compares infra/docs/webhooks.md
// with the files that the tests run.
func TestTheDocumentShowsTheReceiversThatAreTested(t *testing.T) {
	document, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, language := range map[string]string{"node/receiver.mjs": "js", "python/receiver.py": "python"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown := "<!-- infra/receivers/" + file + " -->\n```" + language + "\n" + string(code) + "```\n"
		if !bytes.Contains(document, []byte(shown)) {
			t.Errorf("infra/docs/webhooks.md does not show %s as it is", file)
		}
	}
}

package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/lab/backing"
)

// TestATableOfAnotherTemplateNamesTheRemedy starts with the rows of a template with another index.
func TestATableOfAnotherTemplateNamesTheRemedy(t *testing.T) {
	db, err := backing.StartDynamoDB(t.Context(), backing.DynamoDBOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Stop() })
	const ours = "../../../template.yaml"
	text, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), "IndexName: due", "IndexName: new", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := makeTable(t.Context(), db.Endpoint, ours); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeTable(t.Context(), db.Endpoint, other); err == nil || !strings.Contains(err.Error(), "make stack DO=clean-data") {
		t.Errorf("the rows of another template: %v", err)
	}
}

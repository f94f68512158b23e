package stack_test

import (
	"os"
	"strings"
	"testing"

	"latchkey/infra/local/stack"
)

const toy = "../../lab/testdata/template.yaml"

// TestATableOfAnotherTemplateNamesTheRemedy starts with the rows of a template with another key.
func TestATableOfAnotherTemplateNamesTheRemedy(t *testing.T) {
	o := stack.Options{Template: toy, Dir: t.TempDir()}
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(toy)
	if err != nil {
		t.Fatal(err)
	}
	o.Template = strings.Replace(toy, "template.yaml", "another-table.tmp.yaml", 1)
	if err := os.WriteFile(o.Template, []byte(strings.ReplaceAll(string(text), "AttributeName: SK", "AttributeName: Other")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(o.Template) })
	if s, err := stack.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "make stack DO=clean-data") {
		t.Errorf("the rows of another template: %v", err)
		if err == nil {
			_ = s.Close()
		}
	}
}

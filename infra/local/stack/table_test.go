package stack_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"latchkey/infra/local/stack"
)

const toy = "../../lab/testdata/template.yaml" // a small template, which starts faster than Latchkey's

// TestATableOfAnotherTemplateNamesTheRemedy starts a stack on the rows of another one, whose template has another sort key.
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

func start(t *testing.T, o stack.Options) *stack.Stack {
	t.Helper()
	s, err := stack.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func do(t *testing.T, client *http.Client, req *http.Request) (int, string) {
	t.Helper()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

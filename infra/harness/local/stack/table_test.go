package stack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

const toy = "../../lab/testdata/template.yaml" // a small template, which starts faster than Latchkey's

// TestTheErrorForAnotherTableNamesTheRemedy starts a stack on the data of a stack with another sort key.
func TestTheErrorForAnotherTableNamesTheRemedy(t *testing.T) {
	port, err := tools.FreePorts(16)
	if err != nil {
		t.Fatal(err)
	}
	o := stack.Options{Template: toy, Dir: t.TempDir(), Port: port}
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
	here, err := filepath.Abs(filepath.Dir(toy))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // not in the repository, because other tests read its files at the same time
	functions, err := filepath.Rel(dir, here)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("AttributeName: SK", "AttributeName: Other", "CodeUri: ", "CodeUri: "+functions+"/").Replace(string(text))
	o.Template = filepath.Join(dir, "template.yaml")
	if err := os.WriteFile(o.Template, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := stack.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("make stack DO=clean-data PORT=%d ", port)) {
		t.Errorf("a table of another template: %v", err)
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

package stack_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/local/stack"
)

// TestAFunctionWhoseCodeChangesIsServedAnew changes the functions of a consumer, in Go and in JavaScript.
func TestAFunctionWhoseCodeChangesIsServedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(consumer))); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lines []string
	s := start(t, stack.Options{
		Template: door, Consumer: filepath.Join(dir, "template.yaml"), Reload: true,
		ConsumerParameters: map[string]string{"PlainArn": "arn:aws:lambda:us-east-1:000000000000:function:AuthorizerFunction"},
		Progress:           func(line string) { mu.Lock(); defer mu.Unlock(); lines = append(lines, line) },
	})
	said := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(lines, "\n") }
	change := func(name, from, to string) {
		t.Helper()
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil || strings.Count(string(text), from) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := func(path string) string {
		_, body := ask(t, "GET", s.Consumer+path, "Authorization", "x")
		word, _, _ := strings.Cut(body, " ")
		return word
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for begun := time.Now(); !holds(); time.Sleep(50 * time.Millisecond) {
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s does not happen; the stack said:\n%s", what, said())
			}
		}
	}
	if first("/go") != "go" || first("/node/a") != "node" {
		t.Fatal("the functions do not answer")
	}
	change("main.go", `"go %v`, `"changed %v`)
	until("a change of Go", func() bool { return first("/go") == "changed" })
	until("the replacement of that function only", func() bool { return strings.Contains(said()+"\n", " s: "+stack.ConsumerPrefix+"AuthorizerFunction\n") })
	change("node/index.js", "`node $", "`also $")
	until("a change of JavaScript", func() bool { return first("/node/a") == "also" })
	until("the replacement of that function only", func() bool { return strings.Contains(said(), " s: "+stack.ConsumerPrefix+"NodeFunction") })
	change("main.go", "func main() {", "func main() { no")
	until("the compiler's refusal", func() bool { return strings.Contains(said(), "undefined: no") })
	if first("/go") != "changed" {
		t.Error("the function is gone after a change that does not compile")
	}
	change("main.go", "func main() { no", "func main() {")
	change("main.go", `"changed %v`, `"again %v`)
	until("the next change", func() bool { return first("/go") == "again" })
}

package lab_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/lab"
)

// TestAFunctionWhoseCodeChangesIsServedAnew changes the functions of a consumer, in Go and in JavaScript.
func TestAFunctionWhoseCodeChangesIsServedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(consumer))); err != nil {
		t.Fatal(err)
	}
	unused := "  UnusedFunction: {Type: AWS::Serverless::Function, Properties: {CodeUri: unused, Runtime: provided.al2023, Handler: bootstrap}}\n"
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("template.yaml", read("template.yaml")+unused)
	write("unused/main.go", "package main\n\nfunc main() {}\n")
	var mu sync.Mutex
	var lines []string
	s := start(t, lab.Options{
		Template: door, Consumer: filepath.Join(dir, "template.yaml"), Reload: true,
		ConsumerParameters: map[string]string{"PlainArn": "arn:aws:lambda:us-east-1:000000000000:function:AuthorizerFunction"},
		Progress:           func(line string) { mu.Lock(); defer mu.Unlock(); lines = append(lines, line) },
	})
	said := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(lines, "\n") }
	change := func(name, from, to string) {
		t.Helper()
		text := read(name)
		if strings.Count(text, from) != 1 {
			t.Fatalf("%s has no %s, or several", name, from)
		}
		write(name, strings.Replace(text, from, to, 1))
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
	until("the replacement of that function only", func() bool { return strings.Contains(said()+"\n", " s: "+lab.ConsumerPrefix+"AuthorizerFunction\n") })
	if strings.Contains(said(), " s: "+lab.ConsumerPrefix+"NodeFunction") {
		t.Error("the function in JavaScript is replaced too")
	}
	change("node/index.js", "`node $", "`also $")
	until("a change of JavaScript", func() bool { return first("/node/a") == "also" })
	until("the replacement of that function only", func() bool { return strings.Contains(said(), " s: "+lab.ConsumerPrefix+"NodeFunction") })
	if strings.Contains(said(), "UnusedFunction") { // after the change of Go, which is dealt with before that of JavaScript
		t.Error("a function whose code has not changed is replaced")
	}
	change("main.go", "func main() {", "func main() { no")
	until("the compiler's refusal", func() bool { return strings.Contains(said(), "undefined: no") })
	if first("/go") != "changed" {
		t.Error("the function is gone after a change that does not compile")
	}
	change("main.go", "func main() { no", "func main() {")
	change("main.go", `"changed %v`, `"again %v`)
	until("the next change", func() bool { return first("/go") == "again" })
	write("unused/main.go", "package main\n\nfunc main() { nothing }\n")
	change("main.go", `"again %v`, `"first %v`)
	until("a change beside a function that is not in use and does not compile", func() bool { return first("/go") == "first" })
}

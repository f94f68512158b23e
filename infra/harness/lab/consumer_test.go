package lab_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/harness/lab"
)

const (
	door     = "testdata/door.yaml"
	consumer = "testdata/consumer/template.yaml"
)

// TestAConsumersAPIUsesAuthorizersOfTheStack has a consumer in another Go module. One of its functions has the same
// logical id as the stack's authorizer. Another is in JavaScript, and one in Python.
func TestAConsumersAPIUsesAuthorizersOfTheStack(t *testing.T) {
	t.Parallel()
	s := start(t, lab.Options{Template: door, Consumer: consumer, ConsumerParameters: map[string]string{
		"PlainArn": "arn:aws:lambda:us-east-1:000000000000:function:AuthorizerFunction",
	}})
	for range 2 { // before and after a deployment of the stack
		// The function in Go appends DynamoDB's answer: 400, because the stack has no role for a function of the consumer.
		for path, want := range map[string]string{"/go": "go someone 400 Bad Request", "/node/a": "node someone a", "/python/a": "python someone a"} {
			if status, body := request(t, "GET", s.Consumer+path); status != 401 || body != `{"refused":"missing_credentials"}` {
				t.Errorf("%s without credentials: %d %s", path, status, body)
			}
			if status, body := request(t, "GET", s.Consumer+path, "Authorization", "x"); status != 200 || body != want {
				t.Errorf("%s with credentials: %d %s, want %s", path, status, body, want)
			}
		}
		if status, _ := request(t, "GET", s.URL+"/go", "Authorization", "x"); status != 403 {
			t.Errorf("the consumer's route on the stack's API: %d", status)
		}
		if denied := strings.Join(s.Access.Denied(), " "); !strings.Contains(denied, lab.ConsumerPrefix+"AuthorizerFunction dynamodb:Scan") {
			t.Errorf("denied: %s", denied)
		}
		if status, body := request(t, "GET", s.URL+"/open"); status != 200 {
			t.Errorf("the stack's own API: %d %s", status, body)
		}
		if t.Failed() {
			return
		}
		if err := s.Deploy(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADeploymentCanTurnAFunctionURLOn turns the URL on in the running stack.
func TestADeploymentCanTurnAFunctionURLOn(t *testing.T) {
	t.Parallel()
	s := start(t, lab.Options{Template: door})
	if len(s.FunctionURLs) != 0 || s.Outputs()["DoorUrl"] != "" {
		t.Errorf("a URL that is off: %v", s.FunctionURLs)
	}
	var before string
	for range 2 { // the second deployment must keep the URL's address
		if err := s.Deploy(t.Context(), map[string]string{"Door": "yes"}); err != nil {
			t.Fatal(err)
		}
		at := s.FunctionURLs["DoorFunction"]
		moved := before != "" && at != before
		if at == "" || s.Outputs()["DoorUrl"] != at+"/" || moved {
			t.Fatalf("the URL is at %q, before at %q, and the output is %q", at, before, s.Outputs()["DoorUrl"])
		}
		before = at
		status, body := request(t, "DELETE", at+"/any/path?a=1&a=2", "X-Some", "header")
		if status != 200 || !strings.Contains(body, `"rawPath":"/any/path"`) || !strings.Contains(body, `"a":"1,2"`) || !strings.Contains(body, `"x-some":"header"`) {
			t.Errorf("%d %s", status, body)
		}
		res, err := http.Get(s.URL + "/open")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := res.Header.Get("X-Door"); got != at+"/" {
			t.Errorf("another function has the address %q", got)
		}
	}
	// The function reserves one copy: of two requests at once, one gets 200 and the other 429.
	statuses := make([]int, 2)
	var requests sync.WaitGroup
	for i := range statuses {
		requests.Go(func() { statuses[i], _ = request(t, "GET", before, "X-Slow", "1") })
	}
	requests.Wait()
	if statuses[0]+statuses[1] != 200+429 {
		t.Errorf("two requests at once: %v", statuses)
	}
}

// TestAChangedFunctionIsReplaced changes functions of a consumer, in Go and in JavaScript.
func TestAChangedFunctionIsReplaced(t *testing.T) {
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
	// A line about a replacement ends with its duration in seconds, " s: ", and the names of the functions.
	progress := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(lines, "\n") }
	change := func(name, from, to string) {
		t.Helper()
		text := read(name)
		if strings.Count(text, from) != 1 {
			t.Fatalf("%s has no %s, or several", name, from)
		}
		write(name, strings.Replace(text, from, to, 1))
	}
	firstWord := func(path string) string {
		_, body := request(t, "GET", s.Consumer+path, "Authorization", "x")
		word, _, _ := strings.Cut(body, " ")
		return word
	}
	t.Cleanup(func() { t.Log(progress()) })
	if firstWord("/go") != "go" || firstWord("/node/a") != "node" {
		t.Fatal("the functions do not answer")
	}
	change("main.go", `"go %v`, `"changed %v`)
	until(t, "a change of Go", func() bool { return firstWord("/go") == "changed" })
	until(t, "the replacement of that function only", func() bool {
		return strings.Contains(progress()+"\n", " s: "+lab.ConsumerPrefix+"AuthorizerFunction\n")
	})
	if strings.Contains(progress(), " s: "+lab.ConsumerPrefix+"NodeFunction") {
		t.Error("the function in JavaScript was replaced too")
	}
	change("node/index.js", "`node $", "`also $")
	until(t, "a change of JavaScript", func() bool { return firstWord("/node/a") == "also" })
	until(t, "the replacement of that function only", func() bool { return strings.Contains(progress(), " s: "+lab.ConsumerPrefix+"NodeFunction") })
	if strings.Contains(progress(), "UnusedFunction") { // its sources are unchanged, and the change in Go was handled before
		t.Error("a function with unchanged code was replaced")
	}
	change("main.go", "func main() {", "func main() { no")
	until(t, "the compiler's error", func() bool { return strings.Contains(progress(), "undefined: no") })
	if firstWord("/go") != "changed" {
		t.Error("the function is gone after a change that does not compile")
	}
	change("main.go", "func main() { no", "func main() {")
	change("main.go", `"changed %v`, `"again %v`)
	until(t, "the next change", func() bool { return firstWord("/go") == "again" })
	write("unused/main.go", "package main\n\nfunc main() { nothing }\n")
	change("main.go", `"again %v`, `"first %v`)
	until(t, "a change while an unused function does not compile", func() bool { return firstWord("/go") == "first" })
}

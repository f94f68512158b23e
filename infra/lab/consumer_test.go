package lab_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/lab"
)

const (
	door     = "testdata/door.yaml"
	consumer = "testdata/consumer/template.yaml"
)

// TestConsumersAPIAsksAuthorizersOfTheStack has a consumer in another Go module. One of its functions has the
// logical id of the authorizer, one is JavaScript, and one Python.
func TestConsumersAPIAsksAuthorizersOfTheStack(t *testing.T) {
	t.Parallel()
	s := start(t, lab.Options{Template: door, Consumer: consumer, ConsumerParameters: map[string]string{
		"PlainArn": "arn:aws:lambda:us-east-1:000000000000:function:AuthorizerFunction",
	}})
	for range 2 {
		for path, want := range map[string]string{"/go": "go someone 400 Bad Request", "/node/a": "node someone a", "/python/a": "python someone a"} {
			if status, body := ask(t, "GET", s.Consumer+path); status != 401 || body != `{"refused":"missing_credentials"}` {
				t.Errorf("%s without credentials: %d %s", path, status, body)
			}
			if status, body := ask(t, "GET", s.Consumer+path, "Authorization", "x"); status != 200 || body != want {
				t.Errorf("%s with credentials: %d %s, want %s", path, status, body, want)
			}
		}
		if status, _ := ask(t, "GET", s.URL+"/go", "Authorization", "x"); status != 403 {
			t.Errorf("the consumer's route on the stack's API: %d", status)
		}
		// A function of the consumer has no role of the stack's.
		if denied := strings.Join(s.Access().Denied(), " "); !strings.Contains(denied, lab.ConsumerPrefix+"AuthorizerFunction dynamodb:Scan") {
			t.Errorf("denied: %s", denied)
		}
		if status, body := ask(t, "GET", s.URL+"/open"); status != 200 {
			t.Errorf("the stack's own API: %d %s", status, body)
		}
		if t.Failed() {
			return
		}
		// The consumer is there after a change of the stack too.
		if err := s.Deploy(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFunctionURLIsServedWhereTheTemplateHasOne turns the URL on in the running stack.
func TestFunctionURLIsServedWhereTheTemplateHasOne(t *testing.T) {
	t.Parallel()
	s := start(t, lab.Options{Template: door})
	if len(s.FunctionURLs) != 0 || s.Outputs()["DoorUrl"] != "" {
		t.Errorf("a URL that is off: %v", s.FunctionURLs)
	}
	var before string
	for range 2 { // it keeps its address
		if err := s.Deploy(t.Context(), map[string]string{"Door": "yes"}); err != nil {
			t.Fatal(err)
		}
		at := s.FunctionURLs["DoorFunction"]
		if at == "" || s.Outputs()["DoorUrl"] != at+"/" || before != "" && at != before {
			t.Fatalf("the URL is at %q, before at %q, and the output is %q", at, before, s.Outputs()["DoorUrl"])
		}
		before = at
		status, body := ask(t, "DELETE", at+"/any/path?a=1&a=2", "X-Some", "header")
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
	// The function reserves one copy.
	statuses := make([]int, 2)
	var asked sync.WaitGroup
	for i := range statuses {
		asked.Go(func() { statuses[i], _ = ask(t, "GET", before, "X-Slow", "1") })
	}
	asked.Wait()
	if statuses[0]+statuses[1] != 200+429 {
		t.Errorf("two requests at once: %v", statuses)
	}
}

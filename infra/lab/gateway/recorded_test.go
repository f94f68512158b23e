package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/lab/translated"
)

// recorded is a fact of testdata/recorded.yaml.
type recorded struct {
	Of       string             `yaml:"of"`
	Request  string             `yaml:"request"`
	Sent     map[string]string  `yaml:"sent"`
	BodySent string             `yaml:"body sent"`
	Answers  string             `yaml:"answers"`
	Event    map[string]any     `yaml:"event"`
	Status   int                `yaml:"status"`
	Headers  map[string]*string `yaml:"headers"`
	Body     *string            `yaml:"body"`
}

// TestTheGatewayDoesWhatAWSDid asks the gateway and the function URL each recorded fact.
func TestTheGatewayDoesWhatAWSDid(t *testing.T) {
	text, err := os.ReadFile("../testdata/recorded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		Gateway []recorded `yaml:"gateway"`
		URL     []recorded `yaml:"url"`
	}
	if err := yaml.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	f := &functions{calls: map[string]int{}, events: map[string]map[string]any{}, answer: map[string]func(map[string]any) (any, error){}}
	api, err := New(&translated.API{Stage: "stage", Routes: []translated.Route{
		{Path: "/{proxy+}", Method: methodAny, Function: "f"}, {Path: "/hardcoded", Method: methodAny, Function: "f"},
	}}, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts.Gateway) < 20 || len(facts.URL) < 5 {
		t.Fatal("too few facts were read")
	}
	for _, fact := range facts.Gateway {
		ask(t, api, f, fact)
	}
	for _, fact := range facts.URL {
		ask(t, FunctionURL("f", f, nil), f, fact)
	}
}

func ask(t *testing.T, h http.Handler, f *functions, fact recorded) {
	t.Helper()
	f.answer["f"] = func(map[string]any) (any, error) {
		if fact.Answers == "" {
			return `{"statusCode": 200}`, nil
		}
		return fact.Answers, nil
	}
	if fact.Request == "" {
		fact.Request = "POST /test"
	}
	method, target, _ := strings.Cut(fact.Request, " ")
	r := httptest.NewRequest(method, "http://api.example"+target, strings.NewReader(fact.BodySent))
	for name, value := range fact.Sent {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	what := fact.Of + ", " + fact.Request + " " + fact.Answers
	if fact.Status != 0 && w.Code != fact.Status {
		t.Errorf("%s: %d, AWS answered %d", what, w.Code, fact.Status)
	}
	if fact.Body != nil && !sameText(w.Body.String(), *fact.Body) {
		t.Errorf("%s: body %q, AWS answered %q", what, w.Body, *fact.Body)
	}
	for name, want := range fact.Headers {
		got := strings.Join(w.Header().Values(name), ", ")
		if want == nil && got != "" || want != nil && got != *want {
			t.Errorf("%s: %s is %q", what, name, got)
		}
	}
	if sent := fact.Sent["X-Amzn-Trace-Id"]; sent != "" && f.trace != sent {
		t.Errorf("%s: the function's trace is %s", what, f.trace)
	}
	if fact.Event != nil {
		covers(t, what, f.events["f"], fact.Event)
	}
}

// sameText compares JSON by its value, and other texts as they are.
func sameText(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil {
		return reflect.DeepEqual(x, y)
	}
	return a == b
}

// covers wants each member of want in got.
func covers(t *testing.T, what string, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		part, isObject := value.(map[string]any)
		inner, is := got[name].(map[string]any)
		if isObject && is {
			covers(t, what+": "+name, inner, part)
			continue
		}
		if has, ok := got[name]; !ok || !reflect.DeepEqual(has, value) {
			t.Errorf("%s: %s is %v, on AWS %v", what, name, has, value)
		}
	}
}

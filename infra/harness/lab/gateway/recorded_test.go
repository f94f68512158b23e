package gateway

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/template/translated"
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

// TestTheGatewayAnswersAsAWSDid sends each recorded request to the gateway and the function URL.
func TestTheGatewayAnswersAsAWSDid(t *testing.T) {
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
	api, f := recordedAPI(t)
	if len(facts.Gateway) < 20 || len(facts.URL) < 5 {
		t.Fatal("too few facts were read")
	}
	for _, fact := range facts.Gateway {
		compareWith(t.Errorf, api, f, fact)
	}
	for _, fact := range facts.URL {
		compareWith(t.Errorf, FunctionURL("f", f, noLines), f, fact)
	}
}

// recordedAPI returns an API with the routes of the recorded APIs, and its function.
func recordedAPI(t *testing.T) (*Gateway, *functions) {
	t.Helper()
	f := &functions{calls: map[string]int{}, events: map[string]map[string]any{}, answer: map[string]func(map[string]any) (any, error){}}
	api, err := New(&translated.API{Stage: "stage", Routes: []translated.Route{
		{Path: "/{proxy+}", Method: methodAny, Function: "f"}, {Path: "/hardcoded", Method: methodAny, Function: "f"},
	}}, f, noLines, "")
	if err != nil {
		t.Fatal(err)
	}
	return api, f
}

// TestTheGatewayAnswersAsTrialsRecorded compares the gateway with the recordings of each make trial. recorded-trial.yaml comes from
// a trial on the lab. The test also changes each of its facts, and the comparison must find the change.
func TestTheGatewayAnswersAsTrialsRecorded(t *testing.T) {
	files, err := filepath.Glob("../testdata/recorded-*.yaml")
	if err != nil || !slices.Contains(files, "../testdata/recorded-trial.yaml") {
		t.Fatalf("%q, %v", files, err)
	}
	api, f := recordedAPI(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		var facts struct {
			Gateway []recorded `yaml:"gateway"`
		}
		if err := errors.Join(err, yaml.Unmarshal(text, &facts)); err != nil || len(facts.Gateway) < 10 {
			t.Fatalf("%s: %d facts, %v", file, len(facts.Gateway), err)
		}
		for _, fact := range facts.Gateway {
			compareWith(t.Errorf, api, f, fact)
			if !strings.HasSuffix(file, "/recorded-trial.yaml") {
				continue
			}
			for what, changed := range changes(fact) {
				found := 0
				if compareWith(func(string, ...any) { found++ }, api, f, changed); found == 0 {
					t.Errorf("%s %s: the comparison did not find %s", fact.Request, fact.Answers, what)
				}
			}
		}
	}
}

// changes returns copies of a fact, each with another value in one compared member, by a name for the change.
func changes(fact recorded) map[string]recorded {
	other, all := "other", map[string]recorded{}
	changed := fact
	changed.Status++
	all["another status"] = changed
	if fact.Body != nil {
		changed = fact
		changed.Body = &other
		all["another body"] = changed
	}
	for name := range fact.Headers {
		changed = fact
		changed.Headers = maps.Clone(fact.Headers)
		changed.Headers[name] = &other
		all["another "+name] = changed
	}
	for name := range fact.Event {
		changed = fact
		changed.Event = maps.Clone(fact.Event)
		changed.Event[name] = other
		all["another "+name] = changed
	}
	return all
}

// compareWith sends a fact's request to a handler, and calls differs for each difference from AWS's answer.
func compareWith(differs func(format string, a ...any), h http.Handler, f *functions, fact recorded) {
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
		differs("%s: %d, AWS answered %d", what, w.Code, fact.Status)
	}
	if fact.Body != nil && !sameText(w.Body.String(), *fact.Body) {
		differs("%s: body %q, AWS answered %q", what, w.Body, *fact.Body)
	}
	for name, want := range fact.Headers {
		got := strings.Join(w.Header().Values(name), ", ")
		if want == nil && got != "" || want != nil && got != *want {
			differs("%s: %s is %q", what, name, got)
		}
	}
	if sent := fact.Sent["X-Amzn-Trace-Id"]; sent != "" && f.trace != sent {
		differs("%s: the function's trace is %s", what, f.trace)
	}
	if fact.Event != nil {
		covers(differs, what, f.events["f"], fact.Event)
	}
}

// sameText compares two JSON texts by their values, and other texts character by character.
func sameText(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil {
		return reflect.DeepEqual(x, y)
	}
	return a == b
}

// covers checks that got has each member of want.
func covers(differs func(format string, a ...any), what string, got, want map[string]any) {
	for name, value := range want {
		part, isObject := value.(map[string]any)
		inner, isInnerObject := got[name].(map[string]any)
		if isObject && isInnerObject {
			covers(differs, what+": "+name, inner, part)
			continue
		}
		if has, ok := got[name]; !ok || !reflect.DeepEqual(has, value) {
			differs("%s: %s is %v, on AWS %v", what, name, has, value)
		}
	}
}

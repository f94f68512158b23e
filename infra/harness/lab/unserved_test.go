package lab

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

// TestAConsumerThatCannotBeServedStopsTheStart changes the consumer's translated template. The cache of an authorizer
// does not stop the start, but a line of progress reports it.
func TestAConsumerThatCannotBeServedStopsTheStart(t *testing.T) {
	const path = "testdata/consumer/template.yaml"
	first, err := translated.Translate(t.Context(), "testdata/door.yaml", translated.Options{StackName: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	o := translated.Options{FunctionPrefix: ConsumerPrefix, SSM: first.SSMParameters()}
	o.Parameters = map[string]string{"PlainArn": o.SSM["/lab/authorizer-arn"]}
	whole, err := translated.Translate(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Parameters, o.SSM = whole.Parameters, nil // Resolve gets the values that Translate has found
	var output []string
	s := &Stack{options: Options{Template: "first.yaml", Consumer: path, Progress: func(line string) { output = append(output, line) }}, dir: t.TempDir(), Template: first}
	if s.sources.functions, err = first.Functions(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(whole.Raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, wantErr string }{
		"no change":         {`x`, `x`, ""},
		"a cache":           {`"authorizerResultTtlInSeconds":0`, `"authorizerResultTtlInSeconds":300,"identitySource":"method.request.header.Authorization"`, ""},
		"no such function":  {`functions/${__FunctionArn__}/inv`, `functions/a:function:Another/inv`, "no function Another"},
		"no permission":     {`functions/${__FunctionArn__}/inv`, `functions/a:function:EchoFunction/inv`, "no permission lets API Gateway call EchoFunction"},
		"a runtime":         {`"Runtime":"nodejs20.x"`, `"Runtime":"java21"`, "function NodeFunction"},
		"a queue":           {`"Resources":{`, `"Resources":{"Feed":{"Type":"AWS::Lambda::EventSourceMapping"},`, "Feed: the lab cannot serve AWS::Lambda::EventSourceMapping"},
		"a URL":             {`"Resources":{`, `"Resources":{"Url":{"Type":"AWS::Lambda::Url"},`, "Url: the lab cannot serve AWS::Lambda::Url"},
		"a schedule":        {`"Resources":{`, `"Resources":{"Tick":{"Type":"AWS::Events::Rule"},`, "Tick: the lab cannot serve AWS::Events::Rule"},
		"a misspelt answer": {"ACCESS_DENIED", "ACCES_DENIED", "ACCES_DENIED"},
	} {
		changed := *whole
		changed.Raw = nil
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), c.old, c.new)), &changed.Raw); err != nil {
			t.Fatal(err)
		}
		resolved, err := changed.Resolve(o)
		if err != nil {
			t.Fatal(name, err)
		}
		switch _, err := s.readConsumer(resolved); {
		case c.wantErr == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)):
			t.Errorf("%s: %v", name, err)
		}
		if cached := strings.Contains(strings.Join(output, " "), "authorizer Shared keeps answers for 5m0s"); cached != (name == "a cache") {
			t.Errorf("%s: %v", name, output)
		}
		output = nil
	}
}

// TestCodeThatCannotBeBuiltStopsTheStart has code outside any Go module, code in two modules, and a missing folder.
func TestCodeThatCannotBeBuiltStopsTheStart(t *testing.T) {
	const consumer = "testdata/consumer/template.yaml"
	for _, c := range []struct{ template, uri, wantErr string }{
		{"/template.yaml", ".", "no go.mod"}, {consumer, "../echo", "two Go modules"}, {consumer, "none", "no such file"},
	} {
		functions := map[string]translated.Function{"A": {CodeURI: "."}, "B": {CodeURI: c.uri}}
		if _, err := sourcesOf(c.template, t.TempDir(), functions); err == nil || !strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("%s: %v", c.uri, err)
		}
	}
}

// TestAPageMayNotUseTheControlEndpoint sends the header Origin, as browsers do for pages of this machine and of others.
func TestAPageMayNotUseTheControlEndpoint(t *testing.T) {
	h := (&Stack{Site: &Site{}}).controlHandler()
	for origin, want := range map[string]int{"": 200, "null": 403, "https://evil.example": 403, "http://127.0.0.1:3000": 403} {
		r := httptest.NewRequest(http.MethodGet, "/endpoints", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("the origin %q: %d, want %d", origin, w.Code, want)
		}
	}
}

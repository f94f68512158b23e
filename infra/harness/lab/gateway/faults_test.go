package gateway

import (
	"context"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
)

func TestAFailingAuthorizerNeverAllowsARequest(t *testing.T) {
	cases := map[string]struct {
		answer func(map[string]any) (any, error)
		status int
		body   string
	}{
		"error":        {func(map[string]any) (any, error) { return nil, &lambda.FunctionError{Message: "boom"} }, 503, "configuration"},
		"unauthorized": {func(map[string]any) (any, error) { return nil, &lambda.FunctionError{Message: "Unauthorized"} }, 401, `{"message":"Unauthorized"}`},
		"crash":        {func(map[string]any) (any, error) { return nil, lambda.ErrCrash }, 503, "failure"},
		"time-out":     {func(map[string]any) (any, error) { return nil, lambda.ErrTimeout }, 503, "failure"},
		"throttled":    {func(map[string]any) (any, error) { return nil, lambda.ErrThrottled }, 503, "failure"},
		"not JSON":     {func(map[string]any) (any, error) { return "nonsense", nil }, 503, "configuration"},
		"no policy":    {func(map[string]any) (any, error) { return `{"principalId":"p"}`, nil }, 503, "configuration"},
		"no principal": {func(map[string]any) (any, error) {
			return `{"policyDocument":{"Statement":[{"Action":"*","Effect":"Allow","Resource":"*"}]}}`, nil
		}, 503, "configuration"},
		"object in context": {policyOf("Allow", map[string]any{"o": map[string]any{}}), 503, "configuration"},
	}
	for name, c := range cases {
		f, s := setUp(t, testAPI())
		f.answer["Auth"] = c.answer
		res, body := do(t, "GET", s.URL+"/v1/pets", "")
		if res.StatusCode != c.status || body != c.body || f.calls["Pets"] != 0 {
			t.Errorf("%s: %s %s, %d calls", name, res.Status, body, f.calls["Pets"])
		}
	}
}

func TestFailuresOfFunctionsBecomeGatewayResponses(t *testing.T) {
	answers := map[string]struct {
		answer func(map[string]any) (any, error)
		status int
		body   string
	}{
		"failed":          {func(map[string]any) (any, error) { return nil, &lambda.FunctionError{} }, 500, "default5xx"},
		"crashed":         {func(map[string]any) (any, error) { return nil, lambda.ErrCrash }, 500, "default5xx"},
		"too slow":        {func(map[string]any) (any, error) { return nil, context.DeadlineExceeded }, 503, "timeout"},
		"not an object":   {func(map[string]any) (any, error) { return `"text"`, nil }, 500, "default5xx"},
		"no status":       {func(map[string]any) (any, error) { return `{"statusCode":null,"body":null}`, nil }, 500, "default5xx"},
		"text after it":   {func(map[string]any) (any, error) { return `{"statusCode":200} x`, nil }, 500, "default5xx"},
		"body not text":   {func(map[string]any) (any, error) { return `{"statusCode":200,"body":{}}`, nil }, 500, "default5xx"},
		"header not text": {func(map[string]any) (any, error) { return `{"statusCode":200,"headers":{"a":[]}}`, nil }, 500, "default5xx"},
	}
	for name, c := range answers {
		f, s := setUp(t, testAPI())
		f.answer["Open"] = c.answer
		if res, body := do(t, "POST", s.URL+"/open", ""); res.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %s %s", name, res.Status, body)
		}
	}
	for err, status := range map[error]int{lambda.ErrCrash: 502, lambda.ErrThrottled: 500} {
		api := testAPI()
		api.Responses = nil
		f, s := setUp(t, api)
		f.answer["Open"] = func(map[string]any) (any, error) { return nil, err }
		if res, body := do(t, "POST", s.URL+"/open", ""); res.StatusCode != status || body != `{"message":"Internal server error"}` {
			t.Errorf("without gateway responses in the template: %v: %s %s", err, res.Status, body)
		}
	}
}

func TestGatewayWaitsNoLongerThanItsLimits(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	slow := func(map[string]any) (any, error) { <-hang; return nil, lambda.ErrCrash }
	for name, c := range map[string]struct{ function, method, path, body string }{
		"integration": {"Open", "POST", "/open", "timeout"}, "authorizer": {"Auth", "GET", "/v1/pets", "failure"},
	} {
		f := newFunctions()
		f.answer[c.function] = slow
		g, err := New(testAPI(), f, noLines, "")
		if err != nil {
			t.Fatal(err)
		}
		g.integrationLimit, g.authorizerLimit = 50*time.Millisecond, 50*time.Millisecond
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != 503 || w.Body.String() != c.body {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestFunctionsHeadersAreRemapped has headers that the gateway renames, a header in both maps, a large number, and a base64 body that the gateway
// does not decode.
func TestFunctionsHeadersAreRemapped(t *testing.T) {
	f, s := setUp(t, testAPI())
	f.answer["Open"] = func(map[string]any) (any, error) {
		return `{"statusCode":"201","headers":{"WWW-Authenticate":"Bearer","server":"x","X-A":"1","Transfer-Encoding":"chunked","Content-Length":"9999","X-N":1790000000,"X-T":true},"multiValueHeaders":{"Set-Cookie":["a","b"],"X-A":["2","3"]},"body":"YQ==","isBase64Encoded":true}`, nil
	}
	res, body := do(t, "POST", s.URL+"/open", "")
	if res.StatusCode != 201 || body != "YQ==" {
		t.Errorf("%s %q", res.Status, body)
	}
	want := map[string][]string{"Www-Authenticate": nil, "X-Amzn-Remapped-Www-Authenticate": {"Bearer"}, "X-Amzn-Remapped-Server": {"x"}, "Set-Cookie": {"a", "b"}, "X-A": {"2", "3", "1"}, "X-N": {"1790000000"}, "X-T": {"true"}}
	for name, values := range want {
		if !reflect.DeepEqual(res.Header[name], values) {
			t.Errorf("%s: %v, want %v", name, res.Header[name], values)
		}
	}
}

func TestBodyLimitIsTenMegabytes(t *testing.T) {
	f, s := setUp(t, testAPI())
	if res, _ := do(t, "POST", s.URL+"/open", strings.Repeat("a", 10<<20)); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if res, _ := do(t, "POST", s.URL+"/open", strings.Repeat("a", 10<<20+1)); res.StatusCode != 413 || f.calls["Open"] != 1 {
		t.Errorf("%s, %d calls", res.Status, f.calls["Open"])
	}
}

func TestMistakesInGatewayResponsesStopTheStart(t *testing.T) {
	for name, r := range map[string]translated.GatewayResponse{
		"ACCES_DENIED":  {}, // misspelt
		"ACCESS_DENIED": {Templates: map[string]string{"application/json": "$context.nonsense"}},
		"UNAUTHORIZED":  {Parameters: map[string]string{"gatewayresponse.header.X": "unquoted"}},
		"THROTTLED":     {Parameters: map[string]string{"X": "'v'"}},
	} {
		api := testAPI()
		api.Responses = map[string]translated.GatewayResponse{name: r}
		if _, err := New(api, nil, nil, ""); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACallThatLambdaRefusesIsAnIntegrationFailure(t *testing.T) {
	_, s := setUp(t, testAPI())
	if res, _ := do(t, "GET", s.URL+"/missing", ""); res.Header.Get(markOfTests) != "INTEGRATION_FAILURE" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	if integrationFault(errors.New("anything")) != malformedAnswer {
		t.Error("another error must be a malformed answer")
	}
}

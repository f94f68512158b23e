package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/local/lambda"
	"latchkey/infra/local/translated"
)

// functions plays the Lambda service: each function's answer is a func.
type functions struct {
	mu     sync.Mutex
	calls  map[string]int
	events map[string]map[string]any // the last of each function
	answer map[string]func(event map[string]any) (any, error)
}

func (f *functions) Invoke(_ context.Context, name string, payload []byte) ([]byte, error) {
	var event map[string]any
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.calls[name]++
	f.events[name] = event
	answer := f.answer[name]
	f.mu.Unlock()
	if answer == nil {
		return nil, lambda.ErrNoFunction
	}
	v, err := answer(event)
	if err != nil {
		return nil, err
	}
	if raw, ok := v.(string); ok {
		return []byte(raw), nil
	}
	return json.Marshal(v)
}

func policyOf(effect string, context map[string]any) func(map[string]any) (any, error) {
	return func(e map[string]any) (any, error) {
		stage, _, _ := strings.Cut(e["methodArn"].(string), "/")
		return map[string]any{"principalId": "someone", "context": context, "policyDocument": map[string]any{
			"Version": "2012-10-17", "Statement": []any{map[string]any{"Action": "execute-api:Invoke", "Effect": effect, "Resource": stage + "/live/*"}},
		}}, nil
	}
}

func ok(map[string]any) (any, error) {
	return map[string]any{"statusCode": 200, "headers": map[string]any{"Content-Type": "text/plain"}, "body": "fine"}, nil
}

func testAPI() *translated.API {
	return &translated.API{
		Stage: "live",
		Routes: []translated.Route{
			{Method: "GET", Path: "/v1/orgs", Function: "Orgs", Authorizer: "A"},
			{Method: "GET", Path: "/v1/orgs/{orgId}", Function: "Orgs", Authorizer: "A"},
			{Method: "DELETE", Path: "/v1/orgs/{orgId}/keys/{keyId}", Function: "Orgs", Authorizer: "A"},
			{Method: "GET", Path: "/v1/orgs/new", Function: "New"},
			{Method: "POST", Path: "/open", Function: "Open"},
			{Method: "ANY", Path: "/files/{path+}", Function: "Open"},
			{Method: "GET", Path: "/missing", Function: "Missing"},
		},
		Authorizers: map[string]translated.Authorizer{"A": {Function: "Auth"}},
		Responses: map[string]translated.GatewayResponse{
			"ACCESS_DENIED": {
				Status:     401,
				Parameters: map[string]string{"gatewayresponse.header.Content-Type": "'application/problem+json'", "gatewayresponse.header.WWW-Authenticate": "'Bearer'"},
				Templates:  map[string]string{"application/json": `{"code":"$context.authorizer.code","requestId":"$context.extendedRequestId"}`},
			},
			"AUTHORIZER_FAILURE":             {Status: 503, Templates: map[string]string{"application/json": "failure"}},
			"AUTHORIZER_CONFIGURATION_ERROR": {Status: 503, Templates: map[string]string{"application/json": "configuration"}},
			"INTEGRATION_TIMEOUT":            {Status: 503, Templates: map[string]string{"application/json": "timeout"}},
			"DEFAULT_5XX":                    {Status: 500, Templates: map[string]string{"application/json": "default5xx"}},
		},
	}
}

func newFunctions() *functions {
	return &functions{calls: map[string]int{}, events: map[string]map[string]any{}, answer: map[string]func(map[string]any) (any, error){
		"Orgs": ok, "New": ok, "Open": ok, "Auth": policyOf("Allow", map[string]any{"kind": "user", "n": 1.0}),
	}}
}

func setUp(t *testing.T, api *translated.API) (*functions, *httptest.Server) {
	t.Helper()
	f := newFunctions()
	g, err := New(api, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config = NewServer(g)
	s.Listener = Mend(s.Listener)
	s.Start()
	t.Cleanup(s.Close)
	return f, s
}

func do(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func TestEventIsOfFormatOne(t *testing.T) {
	f, s := setUp(t, testAPI())
	res, _ := do(t, "DELETE", s.URL+"/v1/orgs/a%2Fb/keys/k1?x=1&x=2&y=%20", "body", "Authorization", "Bearer one", "Authorization", "Bearer two", "Www-Authenticate", "x")
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	e := f.events["Orgs"]
	want := map[string]any{
		"resource": "/v1/orgs/{orgId}/keys/{keyId}", "path": "/v1/orgs/a%2Fb/keys/k1", "httpMethod": "DELETE",
		"body": "body", "isBase64Encoded": false, "stageVariables": nil,
		"pathParameters":                  map[string]any{"orgId": "a/b", "keyId": "k1"},
		"queryStringParameters":           map[string]any{"x": "2", "y": " "},
		"multiValueQueryStringParameters": map[string]any{"x": []any{"1", "2"}, "y": []any{" "}},
	}
	for name, v := range want {
		if !reflect.DeepEqual(e[name], v) {
			t.Errorf("%s is %v, want %v", name, e[name], v)
		}
	}
	headers, many := e["headers"].(map[string]any), e["multiValueHeaders"].(map[string]any)
	if headers["Authorization"] != "Bearer two" || !reflect.DeepEqual(many["Authorization"], []any{"Bearer one", "Bearer two"}) {
		t.Errorf("Authorization %v, %v", headers["Authorization"], many["Authorization"])
	}
	if _, there := headers["Www-Authenticate"]; there {
		t.Error("WWW-Authenticate reached the function")
	}
	c := e["requestContext"].(map[string]any)
	if c["extendedRequestId"] != res.Header.Get("X-Amz-Apigw-Id") || c["stage"] != "live" || c["path"] != "/live/v1/orgs/a%2Fb/keys/k1" || c["resourcePath"] != want["resource"] {
		t.Errorf("request context %v", c)
	}
	if a := c["authorizer"].(map[string]any); a["kind"] != "user" || a["n"] != "1" || a["principalId"] != "someone" {
		t.Errorf("authorizer's context %v", a)
	}
	if ip := c["identity"].(map[string]any)["sourceIp"]; ip != "127.0.0.1" {
		t.Errorf("sourceIp %v", ip)
	}
	if a := f.events["Auth"]; a["type"] != "REQUEST" || !strings.HasSuffix(a["methodArn"].(string), "/live/DELETE/v1/orgs/a%2Fb/keys/k1") || a["body"] != nil {
		t.Errorf("authorizer's event %v", a)
	}
}

func TestClientChoosesNotTheExtendedRequestID(t *testing.T) {
	f, s := setUp(t, testAPI())
	res, _ := do(t, "POST", s.URL+"/open", "", "X-Amzn-Requestid", "mine", "X-Amz-Apigw-Id", "mine")
	c := f.events["Open"]["requestContext"].(map[string]any)
	if c["extendedRequestId"] == "mine" || res.Header.Get("X-Amz-Apigw-Id") == "mine" || c["requestId"] != "mine" {
		t.Errorf("%v", c)
	}
	if f.events["Open"]["body"] != nil || f.events["Open"]["pathParameters"] != nil {
		t.Error("what is not there is not null")
	}
}

func TestMostParticularRouteIsTaken(t *testing.T) {
	f, s := setUp(t, testAPI())
	for path, want := range map[string]string{"/v1/orgs/new": "New", "/v1/orgs/other": "Orgs", "/files/a/b": "Open"} {
		before := f.calls[want]
		if res, body := do(t, "GET", s.URL+path, ""); res.StatusCode != 200 || f.calls[want] != before+1 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if p := f.events["Open"]["pathParameters"].(map[string]any)["path"]; p != "a/b" {
		t.Errorf("greedy parameter %v", p)
	}
}

func TestUnknownRoutesAreTakenForBadSignatures(t *testing.T) {
	_, s := setUp(t, testAPI())
	for _, path := range []string{"/", "/nope", "/v1/orgs/", "/v1/orgs/a/b", "/v1//orgs"} {
		res, body := do(t, "GET", s.URL+path, "")
		if res.StatusCode != 403 || body != `{"message":"Missing Authentication Token"}` {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if res, _ := do(t, "PUT", s.URL+"/open", "", "Authorization", "Bearer x"); res.StatusCode != 403 || res.Header.Get(responseHeader) != "INVALID_SIGNATURE" {
		t.Errorf("with a Bearer header: %s %v", res.Status, res.Header)
	}
}

func TestDenyIsTheTemplatesAnswer(t *testing.T) {
	f, s := setUp(t, testAPI())
	f.answer["Auth"] = policyOf("Deny", map[string]any{"code": "key_revoked"})
	res, body := do(t, "GET", s.URL+"/v1/orgs", "")
	want := `{"code":"key_revoked","requestId":"` + res.Header.Get("X-Amz-Apigw-Id") + `"}`
	if res.StatusCode != 401 || body != want || res.Header.Get("Content-Type") != "application/problem+json" || res.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%s %v %s, want %s", res.Status, res.Header, body, want)
	}
	if f.calls["Orgs"] != 0 {
		t.Error("a denied request reached the function")
	}
}

func TestPolicyOfAnotherResourceAllowsNothing(t *testing.T) {
	f, s := setUp(t, testAPI())
	f.answer["Auth"] = func(map[string]any) (any, error) {
		return `{"principalId":"p","policyDocument":{"Statement":[{"Action":"execute-api:Invoke","Effect":"Allow","Resource":["arn:aws:execute-api:*:*:*/live/POST/*"]}]}}`, nil
	}
	if res, _ := do(t, "GET", s.URL+"/v1/orgs", ""); res.StatusCode != 401 || f.calls["Orgs"] != 0 {
		t.Errorf("%s, %d calls", res.Status, f.calls["Orgs"])
	}
}

func TestAuthorizersFailureNeverOpens(t *testing.T) {
	cases := map[string]struct {
		answer func(map[string]any) (any, error)
		status int
		body   string
	}{
		"error":        {func(map[string]any) (any, error) { return nil, &lambda.FunctionError{Message: "boom"} }, 503, "configuration"},
		"unauthorized": {func(map[string]any) (any, error) { return nil, &lambda.FunctionError{Message: "Unauthorized"} }, 401, `{"message":"Unauthorized"}`},
		"crash":        {func(map[string]any) (any, error) { return nil, lambda.ErrCrash }, 503, "failure"},
		"time-out":     {func(map[string]any) (any, error) { return nil, lambda.ErrTimeout }, 503, "failure"},
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
		res, body := do(t, "GET", s.URL+"/v1/orgs", "")
		if res.StatusCode != c.status || body != c.body || f.calls["Orgs"] != 0 {
			t.Errorf("%s: %s %s, %d calls", name, res.Status, body, f.calls["Orgs"])
		}
	}
}

func TestAuthorizersCacheIsTheTemplates(t *testing.T) {
	api := testAPI()
	f, s := setUp(t, api)
	for range 3 {
		do(t, "GET", s.URL+"/v1/orgs", "", "Authorization", "k")
	}
	if f.calls["Auth"] != 3 {
		t.Errorf("cache time 0: asked %d times of 3", f.calls["Auth"])
	}
	api.Authorizers["A"] = translated.Authorizer{Function: "Auth", TTL: time.Minute, Identity: []string{"method.request.header.Authorization"}}
	f, s = setUp(t, api)
	for _, key := range []string{"k", "k", "other"} {
		do(t, "GET", s.URL+"/v1/orgs", "", "Authorization", key)
	}
	if f.calls["Auth"] != 2 {
		t.Errorf("cache of a minute: asked %d times for two identities", f.calls["Auth"])
	}
	if res, _ := do(t, "GET", s.URL+"/v1/orgs", ""); res.StatusCode != 401 || f.calls["Auth"] != 2 {
		t.Errorf("without the identity source: %s, asked %d times", res.Status, f.calls["Auth"])
	}
}

func TestFunctionsFaultsAreGatewayResponses(t *testing.T) {
	answers := map[string]struct {
		answer func(map[string]any) (any, error)
		status int
		body   string
	}{
		"failed":         {func(map[string]any) (any, error) { return nil, &lambda.FunctionError{} }, 500, "default5xx"},
		"crashed":        {func(map[string]any) (any, error) { return nil, lambda.ErrCrash }, 500, "default5xx"},
		"too slow":       {func(map[string]any) (any, error) { return nil, context.DeadlineExceeded }, 503, "timeout"},
		"not an object":  {func(map[string]any) (any, error) { return `"text"`, nil }, 500, "default5xx"},
		"no status":      {func(map[string]any) (any, error) { return `{"body":"x"}`, nil }, 500, "default5xx"},
		"body no text":   {func(map[string]any) (any, error) { return `{"statusCode":200,"body":{}}`, nil }, 500, "default5xx"},
		"header no text": {func(map[string]any) (any, error) { return `{"statusCode":200,"headers":{"a":[]}}`, nil }, 500, "default5xx"},
	}
	for name, c := range answers {
		f, s := setUp(t, testAPI())
		f.answer["Open"] = c.answer
		if res, body := do(t, "POST", s.URL+"/open", ""); res.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %s %s", name, res.Status, body)
		}
	}
	api := testAPI()
	api.Responses = nil
	f, s := setUp(t, api)
	f.answer["Open"] = answers["crashed"].answer
	if res, body := do(t, "POST", s.URL+"/open", ""); res.StatusCode != 502 || body != `{"message":"Internal server error"}` {
		t.Errorf("without the template's words: %s %s", res.Status, body)
	}
}

func TestGatewayWaitsNoLongerThanItsLimits(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	slow := func(map[string]any) (any, error) { <-hang; return nil, lambda.ErrCrash }
	for name, c := range map[string]struct{ function, path, body string }{
		"integration": {"Open", "/open", "timeout"}, "authorizer": {"Auth", "/v1/orgs", "failure"},
	} {
		f := newFunctions()
		f.answer[c.function] = slow
		g, err := New(testAPI(), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.integrationLimit, g.authorizerLimit = 50*time.Millisecond, 50*time.Millisecond
		w := httptest.NewRecorder()
		method := map[string]string{"/open": "POST", "/v1/orgs": "GET"}[c.path]
		g.ServeHTTP(w, httptest.NewRequest(method, c.path, nil))
		if w.Code != 503 || w.Body.String() != c.body {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestFunctionsHeadersAreRemapped(t *testing.T) {
	f, s := setUp(t, testAPI())
	f.answer["Open"] = func(map[string]any) (any, error) {
		return `{"statusCode":"201","headers":{"WWW-Authenticate":"Bearer","server":"x","X-A":"1","Transfer-Encoding":"chunked","Content-Length":"9999"},"multiValueHeaders":{"Set-Cookie":["a","b"],"X-A":["2","3"]},"body":"YQ==","isBase64Encoded":true}`, nil
	}
	res, body := do(t, "POST", s.URL+"/open", "")
	if res.StatusCode != 201 || body != "YQ==" {
		t.Errorf("%s %q", res.Status, body)
	}
	want := map[string][]string{"Www-Authenticate": nil, "X-Amzn-Remapped-Www-Authenticate": {"Bearer"}, "X-Amzn-Remapped-Server": {"x"}, "Set-Cookie": {"a", "b"}, "X-A": {"2", "3"}}
	for name, values := range want {
		if !reflect.DeepEqual(res.Header[name], values) {
			t.Errorf("%s: %v, want %v", name, res.Header[name], values)
		}
	}
}

func TestBodyLimitIsTenMegabytes(t *testing.T) {
	f, s := setUp(t, testAPI())
	if res, _ := do(t, "POST", s.URL+"/open", strings.Repeat("a", maxBody)); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if res, _ := do(t, "POST", s.URL+"/open", strings.Repeat("a", maxBody+1)); res.StatusCode != 413 || f.calls["Open"] != 1 {
		t.Errorf("%s, %d calls", res.Status, f.calls["Open"])
	}
}

// Raw requests, because a Go client sends no such path.
func TestPercentSignsThatEscapeNothingArrive(t *testing.T) {
	f, s := setUp(t, testAPI())
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	answers := make([]byte, 4096)
	for _, x := range []struct{ path, orgID string }{{"100%", "100%"}, {"%zz%41", "%zzA"}, {"plain", "plain"}, {"%00", "\x00"}, {"%", "%"}} {
		if _, err := io.WriteString(c, "GET /v1/orgs/"+x.path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(answers)
		if err != nil || !strings.HasPrefix(string(answers[:n]), "HTTP/1.1 200 ") {
			t.Fatalf("%s: %v %s", x.path, err, answers[:n])
		}
		if got := f.events["Orgs"]["pathParameters"].(map[string]any)["orgId"]; got != x.orgID {
			t.Errorf("%s: the function got %q", x.path, got)
		}
	}
}

func TestMistakesInGatewayResponsesStopTheStart(t *testing.T) {
	for name, r := range map[string]translated.GatewayResponse{
		"ACCES_DENIED":  {},
		"ACCESS_DENIED": {Templates: map[string]string{"application/json": "$context.nonsense"}},
		"UNAUTHORIZED":  {Parameters: map[string]string{"gatewayresponse.header.X": "unquoted"}},
		"THROTTLED":     {Parameters: map[string]string{"X": "'v'"}},
	} {
		api := testAPI()
		api.Responses = map[string]translated.GatewayResponse{name: r}
		if _, err := New(api, nil, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfTheLambdaServiceAreToldApart(t *testing.T) {
	_, s := setUp(t, testAPI())
	if res, _ := do(t, "GET", s.URL+"/missing", ""); res.Header.Get(responseHeader) != "INTEGRATION_FAILURE" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	if integrationFault(errors.New("anything")) != malformedAnswer {
		t.Error("an unknown fault is not a malformed answer")
	}
}

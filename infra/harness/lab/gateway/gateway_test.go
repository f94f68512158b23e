package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
)

// functions is a stand-in for the Lambda service. answer has a func for each function; it returns the answer as a text, or as a
// value that becomes JSON.
type functions struct {
	mu     sync.Mutex
	calls  map[string]int
	events map[string]map[string]any // the last event of each function
	answer map[string]func(event map[string]any) (any, error)
	trace  string // the trace id of the last call
}

func (f *functions) Invoke(ctx context.Context, name string, payload []byte) ([]byte, error) {
	var event map[string]any
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.trace = lambda.Trace(ctx)
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

// policyOf returns an authorizer whose policy has this effect on every route of the stage.
func policyOf(effect string, context map[string]any) func(map[string]any) (any, error) {
	return func(e map[string]any) (any, error) {
		stage, _, _ := strings.Cut(e["methodArn"].(string), "/")
		return map[string]any{"principalId": "someone", "context": context, "policyDocument": map[string]any{
			"Version": "2012-10-17", "Statement": []any{map[string]any{"Action": "execute-api:Invoke", "Effect": effect, "Resource": stage + "/live/*"}},
		}}, nil
	}
}

// ok is a function that answers 200.
func ok(map[string]any) (any, error) {
	return map[string]any{"statusCode": 200, "headers": map[string]any{"Content-Type": "text/plain"}, "body": "fine"}, nil
}

func testAPI() *translated.API {
	return &translated.API{
		Stage: "live", Variables: map[string]string{"executeApi": "open"},
		Routes: []translated.Route{
			{Method: "GET", Path: "/v1/pets", Function: "Pets", Authorizer: "A"},
			{Method: "GET", Path: "/v1/pets/{petId}", Function: "Pets", Authorizer: "A"},
			{Method: "DELETE", Path: "/v1/pets/{petId}/tags/{tagId}", Function: "Pets", Authorizer: "A"},
			{Method: "GET", Path: "/v1/pets/new", Function: "New"},
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
		"Pets": ok, "New": ok, "Open": ok, "Auth": policyOf("Allow", map[string]any{"kind": "user", "n": 1790000000}),
	}}
}

// markOfTests is a header that shows the type of a gateway response.
const markOfTests = "X-Type"

var noLines = log.New(io.Discard, "", 0)

func setUp(t *testing.T, api *translated.API) (*functions, *httptest.Server) {
	t.Helper()
	f := newFunctions()
	g, err := New(api, f, noLines, markOfTests)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return f, s
}

// do sends a request. In headers, a value follows each name.
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

func TestTheGatewaySendsEventsInFormatOne(t *testing.T) {
	f, s := setUp(t, testAPI())
	res, _ := do(t, "DELETE", s.URL+"/v1/pets/a%2Fb/tags/k1?x=1&x=2&y=%20", "body", "Authorization", "Bearer one", "Authorization", "Bearer two", "Www-Authenticate", "x")
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	e := f.events["Pets"]
	want := map[string]any{
		"resource": "/v1/pets/{petId}/tags/{tagId}", "path": "/v1/pets/a%2Fb/tags/k1", "httpMethod": "DELETE",
		"body": "body", "isBase64Encoded": false, "stageVariables": map[string]any{"executeApi": "open"},
		"pathParameters":                  map[string]any{"petId": "a%2Fb", "tagId": "k1"},
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
	if c["extendedRequestId"] != res.Header.Get("X-Amz-Apigw-Id") || c["stage"] != "live" || c["path"] != "/live/v1/pets/a%2Fb/tags/k1" || c["resourcePath"] != want["resource"] {
		t.Errorf("request context %v", c)
	}
	if a := c["authorizer"].(map[string]any); a["kind"] != "user" || a["n"] != "1790000000" || a["principalId"] != "someone" {
		t.Errorf("authorizer's context %v", a)
	}
	if ip := c["identity"].(map[string]any)["sourceIp"]; ip != "127.0.0.1" {
		t.Errorf("sourceIp %v", ip)
	}
	if a := f.events["Auth"]; a["type"] != "REQUEST" || !strings.HasSuffix(a["methodArn"].(string), "/live/DELETE/v1/pets/a%2Fb/tags/k1") || a["body"] != nil {
		t.Errorf("authorizer's event %v", a)
	}
}

func TestAClientCannotChooseTheExtendedRequestID(t *testing.T) {
	f, s := setUp(t, testAPI())
	res, _ := do(t, "POST", s.URL+"/open", "", "X-Amzn-Requestid", "mine", "X-Amz-Apigw-Id", "mine")
	c := f.events["Open"]["requestContext"].(map[string]any)
	if c["extendedRequestId"] == "mine" || res.Header.Get("X-Amz-Apigw-Id") == "mine" || c["requestId"] != "mine" {
		t.Errorf("%v", c)
	}
	if f.events["Open"]["body"] != nil || f.events["Open"]["pathParameters"] != nil {
		t.Error("a missing body or missing path parameters are not null")
	}
}

func TestTheMostSpecificRouteWins(t *testing.T) {
	f, s := setUp(t, testAPI())
	for path, want := range map[string]string{"/v1/pets/new": "New", "/v1/pets/other": "Pets", "/files/a/b": "Open"} {
		before := f.calls[want]
		if res, body := do(t, "GET", s.URL+path, ""); res.StatusCode != 200 || f.calls[want] != before+1 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if p := f.events["Open"]["pathParameters"].(map[string]any)["path"]; p != "a/b" {
		t.Errorf("greedy parameter %v", p)
	}
}

// TestAResourceWithoutTheMethodIsSkipped checks a behaviour of AWS (infra/adr/0047-one-route-of-preflights.md).
func TestAResourceWithoutTheMethodIsSkipped(t *testing.T) {
	api := testAPI()
	api.Routes = append(api.Routes, translated.Route{Method: "OPTIONS", Path: "/v1/{proxy+}", Function: "Open"})
	f, s := setUp(t, api)
	for path, proxy := range map[string]string{"/v1/pets": "pets", "/v1/pets/new": "pets/new", "/v1/pets/p/tags/t": "pets/p/tags/t", "/v1/none": "none"} {
		res, body := do(t, "OPTIONS", s.URL+path, "")
		if res.StatusCode != 200 || f.events["Open"]["resource"] != "/v1/{proxy+}" || f.events["Open"]["pathParameters"].(map[string]any)["proxy"] != proxy {
			t.Errorf("%s: %s %s %v", path, res.Status, body, f.events["Open"]["pathParameters"])
		}
	}
	if res, _ := do(t, "PUT", s.URL+"/v1/pets", ""); res.StatusCode != 403 || f.calls["Pets"]+f.calls["Auth"] != 0 {
		t.Errorf("no resource has PUT: %s, calls %v", res.Status, f.calls)
	}
}

func TestUnknownRoutesAreAnsweredAsBadSignatures(t *testing.T) {
	_, s := setUp(t, testAPI())
	for _, path := range []string{"/", "/nope", "/v1/pets/a/b", "/v1//pets"} {
		res, body := do(t, "GET", s.URL+path, "")
		if res.StatusCode != 403 || body != `{"message":"Missing Authentication Token"}` {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if res, _ := do(t, "PUT", s.URL+"/open", "", "Authorization", "Bearer x"); res.StatusCode != 403 || res.Header.Get(markOfTests) != "INVALID_SIGNATURE" {
		t.Errorf("with a Bearer header: %s %v", res.Status, res.Header)
	}
}

func TestPolicyOfAnotherResourceAllowsNothing(t *testing.T) {
	f, s := setUp(t, testAPI())
	f.answer["Auth"] = func(map[string]any) (any, error) {
		return `{"principalId":"p","policyDocument":{"Statement":[{"Action":"execute-api:Invoke","Effect":"Allow","Resource":["arn:aws:execute-api:*:*:*/live/POST/*"]}]}}`, nil
	}
	if res, _ := do(t, "GET", s.URL+"/v1/pets", ""); res.StatusCode != 401 || f.calls["Pets"] != 0 {
		t.Errorf("%s, %d calls", res.Status, f.calls["Pets"])
	}
}

func TestMockIntegrationAnswersWithoutAFunction(t *testing.T) {
	f, s := setUp(t, &translated.API{Stage: "live", Routes: []translated.Route{{
		Method: "OPTIONS", Path: "/x", Mock: &translated.Mock{Status: 200, Body: "{}\n", Header: http.Header{"Access-Control-Allow-Origin": {"https://a.example"}}},
	}}})
	res, body := do(t, "OPTIONS", s.URL+"/x", "")
	if res.StatusCode != 200 || body != "{}\n" || res.Header.Get("Access-Control-Allow-Origin") != "https://a.example" || len(f.calls) != 0 {
		t.Errorf("%s %v %q, calls %v", res.Status, res.Header, body, f.calls)
	}
}

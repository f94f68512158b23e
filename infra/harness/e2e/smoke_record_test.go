package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// fact is an entry of infra/harness/lab/testdata/recorded.yaml, printed as JSON, which is also YAML.
type fact struct {
	Of      string            `json:"of"`
	Request string            `json:"request"`
	Body    string            `json:"body sent,omitempty"`
	Answers string            `json:"answers,omitempty"`
	Event   map[string]any    `json:"event,omitempty"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Text    *string           `json:"body,omitempty"`
}

// recorded are the requests to record. Without Answers, the event is recorded that the gateway sends to the function. With Answers, which
// the function returns, the gateway's answer is recorded.
var recorded = []fact{
	{Request: "GET /one"}, {Request: "GET /one/"}, {Request: "GET //one"}, {Request: "GET /a%2Fb/c%20d"}, {Request: "GET /hardcoded/"},
	{Request: "GET /one?a=1&a=2&b=%20+"}, {Request: "POST /one", Body: "text"},
	{Request: "GET /told", Answers: `{"statusCode": 201, "headers": {"X-One": "1"}, "multiValueHeaders": {"x-one": ["2"]}, "body": "b"}`},
	{Request: "GET /told", Answers: `{"statusCode": 200, "unknown": "member"}`}, {Request: "GET /told", Answers: `{"headers": {"X-One": "1"}}`},
}

// record prints facts about API Gateway. The function of the API answers with its event, or with the header X-Answer. No request has a
// credential, and only members of an event that name no account are printed.
func record(t *testing.T, url string) {
	if url == "" {
		t.Skip("no API is given (ECHO_URL): nothing was recorded")
	}
	tg := newTarget("deployed", url, nil)
	for _, f := range recorded {
		header := http.Header{}
		if f.Answers != "" {
			header.Set("X-Answer", f.Answers)
		}
		method, path, _ := strings.Cut(f.Request, " ")
		r, err := tg.try(t.Context(), call{method: method, path: path, body: f.Body, contentType: "text/plain", header: header})
		if err != nil {
			t.Fatal(err)
		}
		f.Of, f.Status = "a trial, "+time.Now().UTC().Format(time.DateOnly), r.status
		if f.Answers != "" {
			f.Text, f.Headers = &r.text, map[string]string{}
			for _, name := range []string{"Content-Type", "X-One", "X-Amzn-Errortype"} {
				if values := r.header.Values(name); values != nil {
					f.Headers[name] = strings.Join(values, ", ")
				}
			}
		} else {
			f.Event = part(r.body, "path", "resource", "httpMethod", "pathParameters", "queryStringParameters", "multiValueQueryStringParameters", "stageVariables", "body", "isBase64Encoded")
			requestContext, _ := r.body["requestContext"].(map[string]any)
			f.Event["requestContext"] = part(requestContext, "path", "resourcePath", "stage", "httpMethod", "protocol")
		}
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("RECORDED   - %s", line)
	}
}

// part returns the members of an object that have these names.
func part(object map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		if value, has := object[name]; has {
			out[name] = value
		}
	}
	return out
}

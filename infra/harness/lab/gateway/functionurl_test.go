package gateway

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/lambda"
)

func setUpURL(t *testing.T, answer func(map[string]any) (any, error)) (*functions, *httptest.Server) {
	t.Helper()
	f := newFunctions()
	f.answer["Url"] = answer
	s := httptest.NewServer(FunctionURL("Url", f, noLines))
	t.Cleanup(s.Close)
	return f, s
}

// TestAFunctionURLSendsEventsInFormatTwo follows the Lambda developer guide, "Invoking Lambda function URLs". The
// event has the header Cookie as well as the list of cookies, and the encoded path.
func TestAFunctionURLSendsEventsInFormatTwo(t *testing.T) {
	f, s := setUpURL(t, ok)
	res, _ := do(t, "PURGE", s.URL+"/my%2Fpath/x?a=1&a=%202&b=", `{"a":1}`, "Content-Type", "application/json",
		"X-Many", "one", "X-Many", "two", "Cookie", "a=1; b=2", "Cookie", "c=3", "Authorization", "Bearer x", "User-Agent", "agent")
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	e := f.events["Url"]
	for name, want := range map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": "/my%2Fpath/x", "rawQueryString": "a=1&a=%202&b=",
		"cookies": []any{"a=1", "b=2", "c=3"}, "queryStringParameters": map[string]any{"a": "1, 2", "b": ""},
		"body": `{"a":1}`, "isBase64Encoded": false,
	} {
		if !reflect.DeepEqual(e[name], want) {
			t.Errorf("%s is %v, want %v", name, e[name], want)
		}
	}
	headers := e["headers"].(map[string]any)
	for name, want := range map[string]any{
		"x-many": "one,two", "authorization": "Bearer x", "cookie": "a=1; b=2,c=3", "x-forwarded-for": "127.0.0.1", "X-Many": nil,
	} {
		if headers[name] != want {
			t.Errorf("header %s is %v, want %v", name, headers[name], want)
		}
	}
	c := e["requestContext"].(map[string]any)
	http := map[string]any{"method": "PURGE", "path": "/my%2Fpath/x", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "agent"}
	if !reflect.DeepEqual(c["http"], http) || c["accountId"] != "anonymous" || c["requestId"] != res.Header.Get("X-Amzn-Requestid") ||
		c["domainName"] != strings.TrimPrefix(s.URL, "http://") || c["stage"] != "$default" || c["authorizer"] != nil {
		t.Errorf("request context %v", c)
	}
	do(t, "GET", s.URL+"/", "")
	for _, name := range []string{"body", "cookies", "queryStringParameters"} {
		if v, there := f.events["Url"][name]; there {
			t.Errorf("a request without %s has %v", name, v)
		}
	}
}

func TestAFunctionURLEncodesABinaryBody(t *testing.T) {
	f, s := setUpURL(t, ok)
	for _, c := range []struct {
		contentType, body, want string
		encoded                 bool
	}{
		{"application/problem+json; charset=utf-8", "é", "é", false},
		{"text/plain", "a", "a", false},
		{"text/plain", "a\xff", "Yf8=", true},
		{"application/x-www-form-urlencoded", "token=a", "dG9rZW49YQ==", true},
		{"", "a", "YQ==", true},
	} {
		do(t, "POST", s.URL+"/", c.body, "Content-Type", c.contentType)
		if e := f.events["Url"]; e["body"] != c.want || e["isBase64Encoded"] != c.encoded {
			t.Errorf("%q %q: %v, %v", c.contentType, c.body, e["body"], e["isBase64Encoded"])
		}
	}
}

func TestAFunctionURLSendsTheFunctionsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer  string
		status  int
		body    string
		headers map[string][]string
	}{
		"formatted": {
			`{"statusCode":401,"headers":{"content-type":"text/plain","X-N":1790000000,"WWW-Authenticate":"Basic"},"cookies":["a=1; Path=/","b=2"],"body":"no","isBase64Encoded":false}`,
			401, "no", map[string][]string{
				"Content-Type": {"text/plain"}, "X-N": {"1790000000"}, "Set-Cookie": {"a=1; Path=/", "b=2"}, "Www-Authenticate": nil, "X-Amzn-Remapped-Www-Authenticate": {"Basic"},
			},
		},
		"encoded":                {`{"statusCode":200,"body":"Yf8=","isBase64Encoded":true}`, 200, "a\xff", map[string][]string{"Content-Type": {"application/json"}}},
		"no body":                {`{"statusCode":204}`, 204, "", nil},
		"an object":              {`{"message":"hi"}`, 200, `{"message":"hi"}`, map[string][]string{"Content-Type": {"application/json"}}},
		"a text":                 {`"hi"`, 200, "hi", map[string][]string{"Content-Type": {"application/json"}}},
		"status is not a number": {`{"statusCode":"x"}`, 502, "Internal Server Error", map[string][]string{"Content-Type": {"text/plain"}}},
		"body is not base64":     {`{"statusCode":200,"body":"?","isBase64Encoded":true}`, 502, "Internal Server Error", nil},
		"header is not a text":   {`{"statusCode":200,"headers":{"a":[]}}`, 502, "Internal Server Error", nil},
		"not JSON":               {`nonsense`, 502, "Internal Server Error", nil},
		"cookies are not a list": {`{"statusCode":200,"cookies":"a=1"}`, 502, "Internal Server Error", nil},
	} {
		_, s := setUpURL(t, func(map[string]any) (any, error) { return c.answer, nil })
		res, body := do(t, "GET", s.URL+"/", "")
		if res.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %s %q", name, res.Status, body)
		}
		for header, want := range c.headers {
			if !reflect.DeepEqual(res.Header[header], want) {
				t.Errorf("%s: %s: %q, want %q", name, header, res.Header[header], want)
			}
		}
	}
}

func TestAFunctionURLHidesTheFunctionsError(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{&lambda.FunctionError{Message: "secret"}, 502, "Internal Server Error"},
		{lambda.ErrCrash, 502, "Internal Server Error"},
		{lambda.ErrTimeout, 502, "Internal Server Error"},
		{lambda.ErrThrottled, 429, `{"Message":"Rate Exceeded."}`},
	} {
		_, s := setUpURL(t, func(map[string]any) (any, error) { return nil, c.err })
		if res, body := do(t, "GET", s.URL+"/", ""); res.StatusCode != c.status || body != c.body {
			t.Errorf("%v: %s %s", c.err, res.Status, body)
		}
	}
}

// TestAFunctionURLAcceptsSixMegabytes checks that the limit is for the whole event, as on Lambda. The event has between 100 and 2000
// bytes more than the body, and base64 makes an image longer by a third.
func TestAFunctionURLAcceptsSixMegabytes(t *testing.T) {
	f, s := setUpURL(t, ok)
	for _, c := range []struct {
		bytes  int
		typ    string
		status int
	}{
		{6<<20 - 2000, "text/plain", 200}, {6<<20 - 100, "text/plain", 413}, {6<<20 + 1, "text/plain", 413},
		{6 << 20 * 3 / 4, "image/png", 413}, {6<<20*3/4 - 2000, "image/png", 200},
	} {
		if res, body := do(t, "POST", s.URL+"/", strings.Repeat("a", c.bytes), "Content-Type", c.typ); res.StatusCode != c.status {
			t.Errorf("%d bytes of %s: %s %.99s", c.bytes, c.typ, res.Status, body)
		}
	}
	if f.calls["Url"] != 2 {
		t.Errorf("%d calls", f.calls["Url"])
	}
}

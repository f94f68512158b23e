package lambda_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"latchkey/pkg/lambda"
	"latchkey/pkg/problem"
)

// serveURL calls the function of a handler, as a function URL does.
func serveURL(t *testing.T, e events.APIGatewayV2HTTPRequest, h http.HandlerFunc) events.APIGatewayV2HTTPResponse {
	t.Helper()
	out, err := lambda.URL(h)(context.Background(), e)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	return out
}

// urlEvent returns the event of a POST to a path.
func urlEvent(path string) (e events.APIGatewayV2HTTPRequest) {
	e.RawPath, e.RawQueryString = path, "scope=a&scope=b%20c"
	e.Headers = map[string]string{"authorization": "Bearer a,Bearer b", "content-type": "application/x-www-form-urlencoded", "x-golambdaproxy-apigw-context": "forged"}
	e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("token=x")), true
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = "POST", "192.0.2.1"
	e.RequestContext.RequestID, e.RequestContext.DomainName = "r-1", "u.lambda-url.us-east-1.on.aws"
	return e
}

func TestAFunctionURLsEventIsARequest(t *testing.T) {
	for _, path := range []string{"/authorize/x", "/authorize/100%", "/authorize/\x00", "//authorize", "/authorize/%zz", ""} {
		out := serveURL(t, urlEvent(path), func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method != "POST" || r.URL.RawQuery != "scope=a&scope=b%20c" || string(body) != "token=x" {
				t.Errorf("%q: %s %s %q", path, r.Method, r.URL, body)
			}
			if id := problem.RequestID(r.Context()); r.RemoteAddr != "192.0.2.1" || id != "r-1" {
				t.Errorf("%q: from %s, request %s", path, r.RemoteAddr, id)
			}
			if strings.HasPrefix(path, "/authorize") && !strings.HasPrefix(r.URL.Path, "/authorize") {
				t.Errorf("%q became %q", path, r.URL.Path)
			}
			if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer a,Bearer b" {
				t.Errorf("Authorization %q", got)
			}
			if got := r.Header.Get(core.APIGwContextHeader); got != "" { // the proxy library would trust this header of a caller
				t.Errorf("the context of the gateway is %q", got)
			}
			w.Header().Set("X-Empty", "")
			w.WriteHeader(http.StatusForbidden)
		})
		if empty, there := out.Headers["X-Empty"]; out.StatusCode != 403 || !there || empty != "" {
			t.Errorf("%q: %+v", path, out)
		}
	}
}

func TestAFunctionURLAnswersItsFaultsWith503(t *testing.T) {
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	broken := urlEvent("/authorize")
	broken.Body = "no base64"
	out := serveURL(t, broken, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if out.StatusCode != 503 || !strings.Contains(out.Body, `"code":"unavailable"`) || strings.Contains(log.String(), "ChecksFailed") {
		t.Errorf("a broken body: %+v, %s", out, log.String())
	}
	if out := serveURL(t, urlEvent("/authorize"), func(http.ResponseWriter, *http.Request) { panic("boom") }); out.StatusCode != 503 || !strings.Contains(log.String(), `"ChecksFailed":1`) {
		t.Errorf("a panic: %+v, %s", out, log.String())
	}
}

// FuzzAPathArrivesUnchanged: a handler gets the unchanged path of the event, and the route of the gateway.
func FuzzAPathArrivesUnchanged(f *testing.F) {
	for _, seed := range []string{
		"", "/", "/v1/orgs/x", "//evil", "/a/../b", "/a/./b", "/%2e%2e/b", "/100%", "/%zz", "/%2F", "/a?b#c", "/a;b", "/\x00", "/\xff", "/é", "*", "a:b", "@b/c", `/..\..\b`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		want, served := "/"+strings.TrimPrefix(path, "/"), 0
		answer := func(route, query string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				served++
				if w.WriteHeader(http.StatusOK); r.URL.Path != want || r.Pattern != route || r.URL.RawQuery != query || route != "" && r.PathValue("orgId") != path {
					t.Errorf("%q arrives as %q of %q, its id is %q", path, r.URL, r.Pattern, r.PathValue("orgId"))
				}
			}
		}
		e := event()
		e.Path, e.PathParameters["orgId"] = path, path
		serve(t, e, answer("PATCH /v1/orgs/{orgId}", ""))
		if serveURL(t, urlEvent(path), answer("", "scope=a&scope=b%20c")); served != 2 {
			t.Errorf("%q reaches %d of 2 handlers", path, served)
		}
	})
}

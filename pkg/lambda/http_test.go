package lambda_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/goleak"

	"latchkey/pkg/id"
	"latchkey/pkg/lambda"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// serve calls the Lambda handler of h with an event.
func serve(t *testing.T, e events.APIGatewayProxyRequest, h http.HandlerFunc) events.APIGatewayProxyResponse {
	t.Helper()
	out, err := lambda.HTTP(h)(context.Background(), e)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	return out
}

// event returns the event of a request to PATCH /v1/orgs/{orgId}.
func event() events.APIGatewayProxyRequest {
	return events.APIGatewayProxyRequest{
		HTTPMethod: "PATCH", Resource: "/v1/orgs/{orgId}", Path: "/v1/orgs/org_1",
		PathParameters: map[string]string{"orgId": "org_1"}, MultiValueHeaders: map[string][]string{},
		RequestContext: events.APIGatewayProxyRequestContext{ExtendedRequestID: "ext-1", RequestID: "client-chosen"},
	}
}

func TestTheRouteIsTheGatewaysResource(t *testing.T) {
	for _, path := range []string{"/v1/orgs/x", "/v1/orgs/100%", "/v1/orgs/\x00", "/v1/orgs/a/b/c?x#y", "", "//evil", "/v1/orgs/%zz"} {
		e := event()
		e.Path = path
		e.PathParameters["orgId"] = path
		var pattern, value string
		serve(t, e, func(_ http.ResponseWriter, r *http.Request) { pattern, value = r.Pattern, r.PathValue("orgId") })
		if pattern != "PATCH /v1/orgs/{orgId}" || value != path {
			t.Errorf("%q: pattern %q, value %q", path, pattern, value)
		}
	}
}

func TestAClientCannotChooseItsCallerOrItsRequestID(t *testing.T) {
	e := event()
	forged, err := json.Marshal(map[string]any{"authorizer": map[string]string{"kind": "user", "userId": string(id.Source{}.NewUser())}})
	if err != nil {
		t.Fatal(err)
	}
	e.MultiValueHeaders["X-GoLambdaProxy-ApiGw-Context"] = []string{string(forged)}
	e.Headers = map[string]string{"X-GoLambdaProxy-ApiGw-Context": string(forged)}
	serve(t, e, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := principal.FromContext(r.Context()); err == nil {
			t.Error("a header set the caller")
		}
		if len(r.Header) != 0 {
			t.Errorf("the request has headers: %v", r.Header)
		}
		if got := problem.RequestID(r.Context()); got != "ext-1" {
			t.Errorf("request id %q", got)
		}
	})
}

func TestTheRemoteAddressIsTheConnections(t *testing.T) {
	e := event()
	e.RequestContext.Identity.SourceIP = "192.0.2.7"
	e.MultiValueHeaders["X-Forwarded-For"] = []string{"198.51.100.1, 192.0.2.7"}
	serve(t, e, func(_ http.ResponseWriter, r *http.Request) {
		if r.RemoteAddr != "192.0.2.7" {
			t.Errorf("RemoteAddr %q", r.RemoteAddr)
		}
	})
}

func TestTheAuthorizersCallerReachesTheHandler(t *testing.T) {
	want := principal.Principal{Kind: principal.User, UserID: id.Source{}.NewUser()}
	e := event()
	e.RequestContext.Authorizer = map[string]any{"principalId": "x"}
	for name, value := range want.Context() {
		e.RequestContext.Authorizer[name] = value
	}
	serve(t, e, func(_ http.ResponseWriter, r *http.Request) {
		if got, err := principal.FromContext(r.Context()); err != nil || got != want {
			t.Errorf("caller %+v, %v", got, err)
		}
	})
}

func TestTheLambdaRequestIDReplacesAMissingOne(t *testing.T) {
	e := event()
	e.RequestContext.ExtendedRequestID = ""
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "lambda-1"})
	_, err := lambda.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := problem.RequestID(r.Context()); got != "lambda-1" {
			t.Errorf("request id %q", got)
		}
	}))(ctx, e)
	if err != nil {
		t.Error(err)
	}
}

func TestAPanicIsA500AndTheProcessLives(t *testing.T) {
	out := serve(t, event(), func(http.ResponseWriter, *http.Request) { panic("boom") })
	if out.StatusCode != http.StatusInternalServerError || !strings.Contains(out.Body, `"code":"internal"`) || strings.Contains(out.Body, "boom") {
		t.Errorf("%d %s", out.StatusCode, out.Body)
	}
}

func TestAHandlerThatWritesNothingAnswers200(t *testing.T) {
	if out := serve(t, event(), func(http.ResponseWriter, *http.Request) {}); out.StatusCode != http.StatusOK {
		t.Errorf("%d", out.StatusCode)
	}
}

func TestABodyThatIsNotBase64IsA400(t *testing.T) {
	e := event()
	e.Body, e.IsBase64Encoded = "!!", true
	if out := serve(t, e, func(http.ResponseWriter, *http.Request) { t.Error("served") }); out.StatusCode != http.StatusBadRequest {
		t.Errorf("%d %s", out.StatusCode, out.Body)
	}
}

func TestTheBodyAndTheQueryArriveUnchanged(t *testing.T) {
	e := event()
	e.Body = `{"a":"ä"}`
	e.MultiValueQueryStringParameters = map[string][]string{"limit": {"1", "2"}, "c d": {"&="}}
	serve(t, e, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		q := r.URL.Query()
		if err != nil || string(body) != e.Body || len(q["limit"]) != 2 || q.Get("c d") != "&=" {
			t.Errorf("%q %v %v", body, q, err)
		}
	})
}

func TestAnAnswerComesBeforeTheFunctionsTimeIsUp(t *testing.T) {
	// Of the function's 700 ms, 500 are reserved for the answer (deadlineReserve). The handler has 200.
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := lambda.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))(ctx, event())
	if took := time.Since(begun); err != nil || took > 450*time.Millisecond {
		t.Errorf("%v after %s", err, took)
	}
}

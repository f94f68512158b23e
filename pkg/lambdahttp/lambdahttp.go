// Package lambdahttp turns API Gateway's proxy events into net/http and back. It is the only
// importer of aws-lambda-go-api-proxy, and closes that module's traps: it does not use the
// accessor that trusts a client's header, and removes that header; it takes any path; it
// answers 400 to a body that is not base64, and 500 for a panic; and a handler may write
// nothing.
package lambdahttp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"latchkey/pkg/metric"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

const (
	// deadlineReserve is taken off the function's time, to answer 503 before the gateway gives
	// up.
	deadlineReserve = 500 * time.Millisecond

	// samLeast is how long a call must last under SAM local, which waits a second longer after
	// a call shorter than 6 ms.
	samLeast = 6 * time.Millisecond
)

// Start serves h as a Lambda function. It does not return.
func Start(h http.Handler) {
	metric.Started()
	lambda.Start(Handler(h))
}

// Handler turns h into a Lambda handler. A request's Pattern is its method and resource ("GET
// /v1/orgs/{orgId}"). Its RemoteAddr is the address that the gateway saw, because a client can
// write any X-Forwarded-For. Its path values are the gateway's. Its context has the request
// id, the principal (when the route has an authorizer) and a deadline.
func Handler(h http.Handler) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	local := os.Getenv("AWS_SAM_LOCAL") == "true"
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		begun := time.Now()
		ctx, cancel := withReserve(problem.WithRequestID(ctx, requestID(ctx, e)))
		defer cancel()
		w := core.NewProxyResponseWriter()
		r, err := request(ctx, e)
		if err != nil {
			problem.Write(ctx, w, problem.Wrap(problem.InvalidJSON, "The request cannot be read.", err))
		} else {
			serve(h, w, r)
		}
		out, err := w.GetProxyResponse()
		if err != nil { // nothing was written
			out = events.APIGatewayProxyResponse{StatusCode: http.StatusOK}
		}
		if local {
			time.Sleep(time.Until(begun.Add(samLeast)))
		}
		return out, nil
	}
}

// requestID returns the id that the gateway chose, or else Lambda's. It does not use
// requestContext.requestId: a client can set it, and SAM local sends the same one with every
// call.
func requestID(ctx context.Context, e events.APIGatewayProxyRequest) string {
	if id := e.RequestContext.ExtendedRequestID; id != "" {
		return id
	}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

func withReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-deadlineReserve))
}

// request builds the net/http request of an event.
func request(ctx context.Context, e events.APIGatewayProxyRequest) (*http.Request, error) {
	var accessor core.RequestAccessor
	// The accessor puts the path, which the gateway may have decoded, into a URL. Any escaped
	// path parses. The ids of a request come from the path parameters.
	e.Path = (&url.URL{Path: e.Path}).EscapedPath()
	r, err := accessor.EventToRequest(e)
	if err != nil {
		return nil, err
	}
	r.Header.Del(core.APIGwContextHeader)
	r.Header.Del(core.APIGwStageVarsHeader)
	r.Pattern = e.HTTPMethod + " " + e.Resource
	for name, value := range e.PathParameters {
		r.SetPathValue(name, value)
	}
	if p, err := principal.Parse(e.RequestContext.Authorizer); err == nil {
		ctx = principal.NewContext(ctx, p)
	}
	return r.WithContext(ctx), nil
}

// serve calls the handler. A panic, which would end the process, becomes a 500.
func serve(h http.Handler, w *core.ProxyResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(r.Context(), "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()),
				"requestId", problem.RequestID(r.Context()))
			problem.Write(r.Context(), w, problem.New(problem.Internal, "Something went wrong on our side."))
		}
	}()
	h.ServeHTTP(w, r)
}

// Package lambda turns Lambda's events into net/http requests and plain calls: events of API Gateway, its authorizer, a
// function URL, the table's stream, a queue and a schedule. Only this package imports Lambda's events and
// aws-lambda-go-api-proxy. Its own event structs have only the fields that are read, because decoding the full ones costs
// the authorizer a fifth of its time.
package lambda

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"latchkey/pkg/metric"
	"latchkey/pkg/problem"
)

// deadlineReserve is subtracted from the function's time, so that it can answer 503 before the gateway gives up.
const deadlineReserve = 500 * time.Millisecond

// start serves a handler of Lambda events, and does not return.
func start(handler any) {
	metric.Started()
	awslambda.Start(handler)
}

// prepared returns a context with a request id and with a deadline that leaves time to answer.
// extended is the id that the gateway chose; when it is "", prepared uses Lambda's id. It never uses the gateway's
// requestContext.requestId: a client can set it, and SAM local sends the same one
// with every call.
func prepared(ctx context.Context, extended string) (context.Context, context.CancelFunc) {
	requestID := extended
	if lc, ok := lambdacontext.FromContext(ctx); ok && requestID == "" {
		requestID = lc.AwsRequestID
	}
	ctx = problem.WithRequestID(ctx, requestID)
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-deadlineReserve))
}

// traced returns a context with the trace id of a header X-Amzn-Trace-Id, if the header has one.
func traced(ctx context.Context, header string) context.Context {
	if trace := traceID(header); trace != "" {
		ctx = problem.WithTrace(ctx, trace)
	}
	return ctx
}

// traceID returns the trace id in a header X-Amzn-Trace-Id, such as 1-5759e988-bd862e3fe1be46a994272793. It returns "" for a text of
// another form: a client may have written the header, and the log gets no other text of a client.
func traceID(header string) string {
	_, root, _ := strings.Cut(header, "Root=")
	root, _, _ = strings.Cut(root, ";")
	if len(root) != 35 || strings.ContainsFunc(root, func(r rune) bool { return !strings.ContainsRune("-0123456789abcdef", r) }) {
		return ""
	}
	return root
}

// guarded calls run, and turns a panic into an error: a panic would end the process and all of its calls.
func guarded(ctx context.Context, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			slog.ErrorContext(ctx, "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()), "requestId", problem.RequestID(ctx))
		}
	}()
	return run()
}

package lambda

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"latchkey/pkg/metric"
	"latchkey/pkg/problem"
)

// StartURL serves h as a Lambda function behind a function URL. It does not return.
func StartURL(h http.Handler) { start(URL(h)) }

// URL turns h into a handler of a function URL's events (payload 2.0). It answers 503 when the request cannot be read
// or h panics.
func URL(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		ctx, cancel := prepared(traced(ctx, e.Headers["x-amzn-trace-id"]), e.RequestContext.RequestID)
		defer cancel()
		w := core.NewProxyResponseWriterV2()
		// An escaped path always parses. A client's own path, such as /%zz, may not. The path only chooses the handler.
		e.RawPath = (&url.URL{Path: e.RawPath}).EscapedPath()
		var accessor core.RequestAccessorV2
		r, err := accessor.EventToRequest(e)
		if err == nil {
			r.Header.Del(core.APIGwContextHeader) // only a client can have sent these two headers
			r.Header.Del(core.APIGwStageVarsHeader)
			err = guarded(ctx, func() error {
				h.ServeHTTP(w, r.WithContext(ctx))
				return nil
			})
			if err != nil { // Lambda counts no error, because the answer is a 503
				slog.ErrorContext(ctx, "a check has failed", metric.ChecksFailed.With(1)...)
			}
		}
		if err != nil {
			problem.Write(ctx, w, problem.Wrap(problem.Unavailable, "The request cannot be answered.", err))
		}
		return w.GetProxyResponse()
	}
}

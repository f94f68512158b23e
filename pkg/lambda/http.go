package lambda

import (
	"context"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// StartHTTP serves h as a Lambda function behind API Gateway. It does not return.
func StartHTTP(h http.Handler) { start(HTTP(h)) }

// HTTP turns h into a Lambda handler. A request's Pattern is its method and resource ("GET
// /v1/orgs/{orgId}"). Its RemoteAddr is the address that the gateway saw, because a client can
// write any X-Forwarded-For. Its path values are the path parameters of the event. Its context has the
// request id, the principal (when the route has an authorizer) and a deadline.
func HTTP(h http.Handler) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		ctx, cancel := prepared(traced(ctx, e.Headers["X-Amzn-Trace-Id"]), e.RequestContext.ExtendedRequestID)
		defer cancel()
		w := core.NewProxyResponseWriter()
		r, err := request(ctx, e)
		if err != nil {
			problem.Write(ctx, w, problem.Wrap(problem.InvalidJSON, "The request cannot be read.", err))
		} else {
			serve(h, w, r)
		}
		out, err := w.GetProxyResponse()
		if err != nil { // h has written nothing: net/http answers 200 then
			out = events.APIGatewayProxyResponse{StatusCode: http.StatusOK}
		}
		return out, nil
	}
}

// request builds the net/http request of an event. It avoids three problems of aws-lambda-go-api-proxy. It removes the headers with which
// a client could forge an authorizer's context, and reads the principal from the event. It accepts any path. It returns an error for a
// body that should be base64 but is not.
func request(ctx context.Context, e events.APIGatewayProxyRequest) (*http.Request, error) {
	var accessor core.RequestAccessor
	// The accessor puts the path into a URL. The gateway may have decoded the path, but each escaped
	// path parses. The ids of a request come from the path parameters, not from the path.
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

// serve calls the handler. A panic becomes a 500.
func serve(h http.Handler, w *core.ProxyResponseWriter, r *http.Request) {
	err := guarded(r.Context(), func() error {
		h.ServeHTTP(w, r)
		return nil
	})
	if err != nil {
		problem.Write(r.Context(), w, problem.Wrap(problem.Internal, "Something went wrong on our side.", err))
	}
}

// Package gateway serves a translated template's REST API on this machine, like API Gateway. Routes, authorizers, their cache,
// and gateway responses come from the template. A client or a function sees no difference from API Gateway, except that the
// gateway does not throttle. FunctionURL serves the URL of a function, like Lambda. The package is generic: it serves any template.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
)

// maxBody is API Gateway's limit for the body of a request, in bytes.
const maxBody = 10 << 20

// maxHeaders is API Gateway's limit for all header lines of a request together, in bytes. Its developer guide, "Quotas", calls them
// header values.
const maxHeaders = 10_240

// integrationLimit is the time after which API Gateway answers INTEGRATION_TIMEOUT.
const integrationLimit = 29 * time.Second

// authorizerLimit is the time that API Gateway waits for an authorizer.
const authorizerLimit = 10 * time.Second

// Invoker calls functions; lambda.Service implements it.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
}

// Gateway is the HTTP handler of one API.
type Gateway struct {
	api       *translated.API
	routes    []route
	responses responses
	invoker   Invoker
	kept      sync.Map    // answers of authorizers (keptVerdict), by cacheKey
	requests  *log.Logger // gets one line for each request
	mark      string      // the name of a header with the type of a gateway response; "": no such header
	now       func() time.Time

	integrationLimit, authorizerLimit time.Duration
}

// New makes the handler of an API. It refuses a gateway response of an unknown type, and a template of a gateway response
// with an unknown variable. The handler writes one line for each request to requests. Gateway responses get the header mark, with their
// type; AWS has no such header.
func New(api *translated.API, invoker Invoker, requests *log.Logger, mark string) (*Gateway, error) {
	rs, err := newResponses(api.Responses)
	if err != nil {
		return nil, err
	}
	routes, err := compile(api.Routes)
	if err != nil {
		return nil, err
	}
	return &Gateway{
		api: api, routes: routes, responses: rs, invoker: invoker, requests: requests, mark: mark, now: time.Now,
		integrationLimit: integrationLimit, authorizerLimit: authorizerLimit,
	}, nil
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(g, r)
	x.answer(w)
	x.log(g.requests, g.now())
}

// log writes the line of the request.
func (x *exchange) log(requests *log.Logger, now time.Time) {
	note := ""
	if x.failure != "" {
		note = "  " + x.failure
	}
	requests.Printf("%s %s %d %s%s", x.r.Method, x.r.URL.EscapedPath(), x.status, now.Sub(x.begun).Round(100*time.Microsecond), note)
}

// exchange is one request and the state of its answer.
type exchange struct {
	g         *Gateway
	r         *http.Request
	begun     time.Time
	id        string // the request id
	trace     string // the trace id, in X-Amzn-Trace-Id
	extended  string // the extended request id
	matched   match
	found     bool // whether the request has a route: matched
	body      []byte
	principal map[string]any // the authorizer's context, allowed or not
	status    int
	failure   string // the error of a function or of this gateway, for the line of the request
}

func newExchange(g *Gateway, r *http.Request) *exchange {
	x := &exchange{g: g, r: r, begun: g.now(), id: lambda.NewID(), extended: newExtendedID()}
	x.trace = traceID(r, x.begun)
	// A client may choose the request id, but not the extended request id.
	if chosen := r.Header.Get("X-Amzn-Requestid"); chosen != "" {
		x.id = chosen
	}
	x.matched, x.found = find(g.routes, r.Method, x.path())
	return x
}

// path returns the escaped path, with a single slash at the beginning. Only requestContext.path keeps more slashes.
func (x *exchange) path() string { return "/" + strings.TrimLeft(x.r.URL.EscapedPath(), "/") }

// answer passes a request through the steps of API Gateway: limits, route, authorizer, integration.
func (x *exchange) answer(w http.ResponseWriter) {
	h := w.Header()
	h.Set("X-Amzn-Requestid", x.id)
	h.Set("X-Amz-Apigw-Id", x.extended)
	switch {
	case headerBytes(x.r) > maxHeaders:
		// AWS sends no gateway response here. Users report this text.
		h.Set("Content-Type", "application/json")
		x.send(w, http.StatusRequestHeaderFieldsTooLarge, `{"message":"HTTP header is larger than 10240 bytes."}`)
		return
	case !x.found:
		x.unknownRoute(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, x.r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			x.respond(w, requestTooLarge, "Request entity too large")
		} else {
			x.respond(w, badRequestBody, "the body cannot be read")
		}
		return
	}
	x.body = body
	if refusal := x.unpack(); refusal != "" {
		x.respond(w, refusal, "the body cannot be unpacked")
		return
	}
	if refusal := x.authorize(); refusal != nil {
		x.respond(w, refusal.kind, refusal.message)
		return
	}
	if mock := x.matched.route.Mock; mock != nil {
		h.Set("Content-Type", "application/json")
		maps.Copy(h, mock.Header)
		x.send(w, mock.Status, mock.Body)
		return
	}
	x.integrate(w)
}

// headerBytes returns the bytes of a request's header lines, with the ends of lines.
func headerBytes(r *http.Request) int {
	const separators = len(": \r\n")
	n := len("Host") + len(r.Host) + separators
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + separators
		}
	}
	return n
}

// unknownRoute answers a request with an unknown path or method. Like API Gateway, it expects a signature for AWS, and
// answers that this signature is missing or invalid.
func (x *exchange) unknownRoute(w http.ResponseWriter) {
	if x.r.Header.Get("Authorization") != "" {
		x.respond(w, invalidSignature, "'…' not a valid key=value pair (missing equal-sign) in Authorization header")
		return
	}
	x.respond(w, missingAuthenticationToken, "Missing Authentication Token")
}

// integrate calls the route's function and writes its answer.
func (x *exchange) integrate(w http.ResponseWriter) {
	payload, err := x.proxyEvent()
	if err != nil {
		x.failure = err.Error()
		x.respond(w, default5XX, "Internal server error")
		return
	}
	answer, err := x.invoke(x.matched.route.Function, payload, x.g.integrationLimit)
	if err != nil {
		x.failure = fmt.Sprintf("%s: %v", x.matched.route.Function, err)
		x.respond(w, integrationFault(err), "Internal server error")
		return
	}
	if err := x.write(w, answer); err != nil {
		x.failure = fmt.Sprintf("%s: malformed Lambda proxy answer: %v", x.matched.route.Function, err)
		x.respond(w, malformedAnswer, "Internal server error")
	}
}

// invoke calls a function and waits for its answer. After the limit it returns context.DeadlineExceeded. As on AWS, the
// function continues then, and also when the client closes the connection.
func (x *exchange) invoke(function string, payload []byte, limit time.Duration) ([]byte, error) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	ctx := lambda.WithTrace(context.WithoutCancel(x.r.Context()), x.trace)
	go func() {
		answer, err := x.g.invoker.Invoke(ctx, function, payload)
		done <- result{answer, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-timer.C:
		return nil, context.DeadlineExceeded
	}
}

// integrationFault returns the response when a call gave no answer. For API Gateway, a function that fails, crashes or times out
// has a malformed answer. By Lambda's developer guide ("Handling Lambda errors with an API Gateway API"), a throttled call is 500
// "Internal server error". The type of this response is not documented; users also report INTEGRATION_FAILURE.
func integrationFault(err error) kind {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return integrationTimeout
	case errors.Is(err, lambda.ErrNoFunction):
		return integrationFailure
	case errors.Is(err, lambda.ErrThrottled):
		return default5XX
	}
	return malformedAnswer
}

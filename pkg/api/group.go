// Package api is the HTTP surface: it decodes requests strictly, renders answers, and has
// one file for each group of routes. The routes are in package route.
package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/text"
)

// maxOperator and maxReason bound the texts of a principal.Claim, in characters. Longer texts are cut.
const (
	maxOperator = 100
	maxReason   = 200
)

// call is one request and the values that its handler needs.
type call struct {
	*http.Request
	route  route.Route
	caller principal.Principal // the zero value on a public route
	body   []byte              // unchanged from the request; "{}" for an empty body
	shape  reflect.Type        // the struct that the body was decoded into
	org    id.Org              // the org of the path or of the API key; "": neither
	app    id.App              // the app of the path or of the API key; id.NoApp if the path has no valid id
	mends  bool                // accept invalid characters in the body, as U+FFFD
	newest bool                // the list begins with the newest item: the query has order=desc (fromQuery)
	role   org.Role            // the role of a user in the org of the path (inApp); "" on any other route

	options
}

// options are the settings of the deployment that decide which requests are valid.
type options struct {
	maxAge     time.Duration // the greatest age of a recent sign-in (call.actor); 0: any age
	maxLife    time.Duration // the longest life of a new API key; 0: a key may live without an end
	prefix     string        // of new API keys
	imports    bool          // imported API keys are accepted
	users      users
	rights     route.Rights
	byServices bool                             // only services can create orgs
	refusal    func(url string) (reason string) // why a URL must not be registered; "" allows it
}

// answer is the result of a handler.
type answer struct {
	status int
	body   any               // marshalled as JSON; nil: no body; document: sent unchanged
	header map[string]string // added to the headers that every answer has; also sent with an error
}

// document is a body that is not JSON.
type document struct {
	mediaType string
	text      []byte
}

// group serves the routes of one function.
type group struct {
	handlers map[string]handler     // by Route.Operation
	routes   map[string]route.Route // by Route.Name
	console  []string               // origins whose pages may call the routes under /v1
	logger   *slog.Logger
	options  options
}

// newGroup binds handlers to the routes of a function, by operation. It adds the handler of preflights. It panics for a route
// without a handler and for a handler without a route, so that such a function does not start.
func newGroup(function string, handlers map[string]handler, console []string, o options) *group {
	g := &group{handlers: handlers, routes: map[string]route.Route{}, console: console, logger: slog.Default(), options: o}
	handlers[route.Preflight] = g.preflight
	bound := map[string]bool{route.Preflight: true} // also for a function without preflights
	for _, r := range route.ServedBy(function) {
		if handlers[r.Operation] == nil {
			panic(fmt.Sprintf("api: function %s has no handler for %s", function, r.Operation))
		}
		g.routes[r.Name()] = r
		bound[r.Operation] = true
	}
	for operation := range handlers {
		if !bound[operation] {
			panic(fmt.Sprintf("api: %s is not a route of function %s", operation, function))
		}
	}
	return g
}

// ServeHTTP answers a request whose Pattern is the name of a route.
func (g *group) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	ctx := r.Context()
	found, ok := g.routes[r.Pattern]
	var a answer
	var caller principal.Principal
	var err error
	if ok {
		g.setCORS(w.Header(), r, found)
		a, caller, err = g.answer(ctx, w, r, found)
	} else {
		err = problem.New(problem.RouteNotFound, "There is no such route.")
	}
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	status := a.status
	if err == nil {
		err = a.write(w)
	}
	if err != nil {
		status = problem.From(err).Code.Status()
		problem.Write(ctx, w, err)
	}
	g.log(r, found, caller, status, time.Since(begun), err)
}

// answer runs the handler of a route, after the checks that all routes share. It also returns
// the caller, for the log.
func (g *group) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, rt route.Route) (answer, principal.Principal, error) {
	c := &call{Request: r, route: rt, options: g.options}
	w.Header().Set("Cache-Control", "no-store") // unless the handler's answer sets another
	if rt.Takes != principal.Public {
		var err error
		if c.caller, err = admitted(ctx, rt); err != nil {
			return answer{}, c.caller, err
		}
		if c.caller.Kind == principal.Service {
			ctx = principal.WithClaim(ctx, principal.Claim{
				Operator: text.Cleaned(r.Header.Get("Latchkey-Operator"), maxOperator), Reason: text.Cleaned(r.Header.Get("Latchkey-Reason"), maxReason),
			})
			if !rt.PerMember {
				err = c.needs(rt.Right)
			}
			if err != nil {
				return answer{}, c.caller, err
			}
		}
		c.org, c.app = c.caller.OrgID, c.caller.AppID
		if l := c.caller.Limit; l.Policy != "" {
			w.Header().Set("RateLimit-Policy", l.Policy)
			w.Header().Set("RateLimit", l.State)
		}
		if !c.caller.Deferred { // the authorizer cannot answer 429
			if err := c.withinLimits(); err != nil {
				return answer{}, c.caller, err
			}
		}
	}
	if err := checkQuery(r, rt); err != nil {
		return answer{}, c.caller, err
	}
	body, err := readBody(r, cmp.Or(rt.MaxBody, route.DefaultMaxBody))
	if err != nil {
		return answer{}, c.caller, err
	}
	c.body = body
	a, err := g.handlers[rt.Operation](ctx, c)
	return a, c.caller, err
}

// admitted returns the caller that the authorizer let in. If the request has no authorizer's context, or a kind of caller that
// the route does not accept, the route has lost its authorizer. Then the answer is a 500 (ErrMissing has no code), so that the
// route is not open to everyone.
func admitted(ctx context.Context, rt route.Route) (principal.Principal, error) {
	p, err := principal.FromContext(ctx)
	if err != nil {
		return p, err
	}
	switch {
	case rt.Takes == principal.UserToken && p.Kind == principal.None:
		return p, problem.New(problem.IdentityIncomplete, "The access token has no email, and the issuer did not send one either.")
	case rt.Takes == principal.UserToken && (p.Kind == principal.User || p.Kind == principal.Service),
		rt.Takes == principal.APIKey && p.Kind == principal.Key:
		return p, nil
	default:
		return p, principal.ErrMissing
	}
}

// log writes one line for the request. For a refused request (4xx), the line also has the source address that the gateway saw.
func (g *group) log(r *http.Request, rt route.Route, caller principal.Principal, status int, took time.Duration, err error) {
	ctx := r.Context()
	attrs := []any{
		"route", rt.Name(), "status", status, "durationMs", took.Milliseconds(),
		"requestId", problem.RequestID(ctx), "trace", problem.Trace(ctx), "caller", caller.ID(),
	}
	level := slog.LevelInfo
	if err != nil {
		attrs = append(attrs, "code", string(problem.From(err).Code))
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		attrs = append(attrs, "sourceIp", r.RemoteAddr)
	}
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
		attrs = append(attrs, "error", fmt.Sprint(err))
	}
	g.logger.Log(ctx, level, "request", attrs...)
}

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

// maxOperator and maxReason bound the texts of a principal.Claim, in characters. The rest is cut.
const (
	maxOperator = 100
	maxReason   = 200
)

// call is one request on its way through a handler.
type call struct {
	*http.Request
	route  route.Route
	caller principal.Principal // the zero value on a public route
	body   []byte              // unchanged from the request; "{}" for an empty body
	shape  reflect.Type        // of the struct into which the body was decoded
	org    id.Org              // the org of the path or of the API key; "": neither
	app    id.App              // the app of the path or of the API key; id.NoApp when the path's does not parse
	mends  bool                // the body may have broken text, which is read as U+FFFD
	newest bool                // the query has order=desc: the newest first (fromQuery)
	role   org.Role            // of a person, in the org of the app in the path (inApp); "" on any other route

	options
}

// options are the settings of the deployment that decide which requests are valid.
type options struct {
	maxAge     time.Duration // the greatest age of a recent sign-in (call.actor); 0: any age
	maxLife    time.Duration // the longest life of a new API key; 0: it need not expire
	prefix     string        // of new API keys
	imports    bool          // imported API keys are good
	users      users
	rights     route.Rights
	byServices bool                             // only services make orgs
	refusal    func(url string) (reason string) // why a URL may not be registered, "" when it may
}

// answer is the result of a handler.
type answer struct {
	status int
	body   any               // marshalled as JSON; nil: no body; document: sent unchanged
	header map[string]string // in addition to the headers of every answer; sent with an error too
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

// newGroup binds handlers, by the name of their operation, to the routes of a function. It
// adds the handler of preflights. It panics for a route without a handler and for a handler
// without a route, so that such a function does not start.
func newGroup(function string, handlers map[string]handler, console []string, o options) *group {
	g := &group{handlers: handlers, routes: map[string]route.Route{}, console: console, logger: slog.Default(), options: o}
	handlers[route.Preflight] = g.preflight
	bound := map[string]bool{route.Preflight: true} // also of a function that has no preflight
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

// admitted returns the caller that the authorizer let in. A request without the
// authorizer's context, or with a kind of caller that the route does not accept, means that a
// route has lost its authorizer. The answer is then a 500 (ErrMissing has no code), so that
// the route is not open to everyone.
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

// log writes the one line of a request. A refused request (4xx) also names the address that
// it came from, as the gateway saw it.
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

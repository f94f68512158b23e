package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// call is one request on its way through a handler.
type call struct {
	*http.Request
	route  Route
	caller principal.Principal // the zero value on a public route
	body   []byte              // as it was sent, "{}" for an empty one
}

// answer is what a handler makes of a request.
type answer struct {
	status int
	body   any               // marshalled as JSON; nil: no body; raw: JSON already; document: sent as it is
	header map[string]string // beyond the usual; sent with an error too
}

// raw is a body that is JSON already.
type raw []byte

// document is a body that is not JSON.
type document struct {
	mediaType string
	text      []byte
}

// handler answers a request, or says why not. It holds no status-code plumbing.
type handler func(ctx context.Context, c *call) (answer, error)

// group serves the routes of one function.
type group struct {
	handlers map[string]handler // by Route.Name
	byName   map[string]Route
	console  []string // origins whose pages may call the routes under /v1
	logger   *slog.Logger
}

// newGroup binds handlers to the routes of a function; a preflight needs none. A
// route without a handler, or a handler without a route, is a mistake that ends the
// start.
func newGroup(function string, handlers map[string]handler, console []string) *group {
	g := &group{handlers: handlers, byName: map[string]Route{}, console: console, logger: slog.Default()}
	for _, r := range routes {
		if r.Function == function {
			g.byName[r.Name()] = r
		}
		if r.Function == function && r.Method == http.MethodOptions {
			handlers[r.Name()] = g.preflight
		}
	}
	for name := range g.byName {
		if handlers[name] == nil {
			panic(fmt.Sprintf("api: function %s has no handler for %s", function, name))
		}
	}
	for name := range handlers {
		if _, ok := g.byName[name]; !ok {
			panic(fmt.Sprintf("api: %s is not a route of function %s", name, function))
		}
	}
	return g
}

// ServeHTTP answers the request whose Pattern is the name of a route.
func (g *group) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	ctx := r.Context()
	route, ok := g.byName[r.Pattern]
	var a answer
	var caller principal.Principal
	err := error(problem.New(problem.RouteNotFound, "There is no such route."))
	if ok {
		g.share(w.Header(), r, route)
		a, caller, err = g.answer(ctx, w, r, route)
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
	g.log(r, route, caller, status, time.Since(begun), err)
}

func (g *group) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, route Route) (answer, principal.Principal, error) {
	c := &call{Request: r, route: route}
	w.Header().Set("Cache-Control", "no-store") // unless the handler says otherwise
	if route.Takes != principal.Public {
		var err error
		if c.caller, err = admitted(ctx, route); err != nil {
			return answer{}, c.caller, err
		}
	}
	if err := checkQuery(r, route); err != nil {
		return answer{}, c.caller, err
	}
	body, err := readBody(r)
	if err != nil {
		return answer{}, c.caller, err
	}
	c.body = body
	a, err := g.handlers[route.Name()](ctx, c)
	return a, c.caller, err
}

// admitted gives the caller that the authorizer let in. No context, or a kind of
// caller the route does not take, means that a route stands without its
// authorizer: a 500, so that nothing opens.
func admitted(ctx context.Context, route Route) (principal.Principal, error) {
	p, err := principal.FromContext(ctx)
	if err != nil {
		return p, err
	}
	switch {
	case route.Takes == principal.UserToken && p.Kind == principal.None:
		return p, problem.New(problem.IdentityIncomplete, "The access token names no user: it has no email, and the issuer tells none.")
	case route.Takes == principal.UserToken && p.Kind == principal.User,
		route.Takes == principal.APIKey && p.Kind == principal.Key:
		return p, nil
	default:
		return p, principal.ErrMissing
	}
}

// log writes the one line of a request. One that is refused for what it is (4xx)
// names the address it came from, which the gateway has seen.
func (g *group) log(r *http.Request, route Route, caller principal.Principal, status int, took time.Duration, err error) {
	ctx := r.Context()
	attrs := []any{
		"route", route.Name(), "status", status, "durationMs", took.Milliseconds(),
		"requestId", problem.RequestID(ctx), "caller", caller.ID(),
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

package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// preflightKept is how long a browser may keep the answer to a preflight, in seconds.
const preflightKept = "86400"

// setCORS sets the headers that make a browser let a page read the answer, also when the answer
// is an error (the Fetch standard, "HTTP CORS protocol"). Pages of any origin may read a public
// route, and pages of the console's origins may read the routes under /v1. No page may read a
// route that accepts an API key: a browser must not have an API key. Allow-Credentials is never sent,
// because no request uses a cookie.
func (g *group) setCORS(h http.Header, r *http.Request, rt route.Route) {
	switch origin := r.Header.Get("Origin"); {
	case rt.ForConsole() && len(g.console) > 0:
		h.Set("Vary", "Origin") // also without an Origin: else a cache could give a page the answer without these headers
		if slices.Contains(g.console, origin) {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Retry-After, Idempotency-Replayed")
		}
	case !rt.ForConsole() && rt.Takes == principal.Public:
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "Retry-After")
	}
}

// preflight answers the request that a browser sends before a page calls a path (the Fetch standard, "CORS-preflight fetch").
// Under /v1, only the console's origins get a preflight. Others get the 404 of a path that no page may call. setCORS has
// already set Access-Control-Allow-Origin. One route under /v1 has the preflights of all paths, because each route needs a
// place in the function's policy.
func (g *group) preflight(_ context.Context, c *call) (answer, error) {
	a := answer{status: http.StatusNoContent}
	path := strings.Replace(c.route.Pattern, "{proxy+}", strings.TrimSuffix(c.PathValue("proxy"), "/"), 1)
	methods, allowedHeaders := route.Methods(path), "Content-Type"
	if c.route.ForConsole() {
		if len(methods) == 0 || !slices.Contains(g.console, c.Header.Get("Origin")) {
			a.header = map[string]string{"Access-Control-Allow-Origin": "*"} // like the gateway's own 404
			return a, problem.New(problem.RouteNotFound, "There is no such route.")
		}
		allowedHeaders = "Authorization, Content-Type, Idempotency-Key"
	}
	a.header = map[string]string{
		"Access-Control-Allow-Methods": strings.Join(methods, ", "),
		"Access-Control-Allow-Headers": allowedHeaders,
		"Access-Control-Max-Age":       preflightKept,
	}
	return a, nil
}

package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"latchkey/pkg/callback"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// Need is a requirement of Handler for a request: RequireScope, RequireRole, OrgOf or AllowSuspended.
type Need func(*needs)

type needs struct {
	scopes []string
	role   org.Role                   // "": the request needs an API key; otherwise an access token
	orgOf  func(*http.Request) string // returns the org's id; nil: the id is the path's wildcard orgId
	orgs   *callback.Calls            // runs orgOf

	allowsSuspended bool
}

// RequireScope requires an API key with all of these scopes.
func RequireScope(scopes ...string) Need {
	return func(n *needs) { n.scopes = append(n.scopes, scopes...) }
}

// RequireRole requires an access token instead of an API key. The token's user must have this role (admin, member or
// viewer) or a stronger one in the org of the request. The path's wildcard orgId names the org, unless OrgOf is given.
// RequireRole panics for a text that is not a role.
func RequireRole(role string) Need {
	r, ok := org.ParseRole(role)
	if !ok {
		panic(fmt.Sprintf("guard: %q is no role: want admin, member or viewer", role))
	}
	return func(n *needs) {
		if n.role != "" {
			panic("guard: RequireRole asks for one role")
		}
		n.role = r
	}
}

// OrgOf sets the function that returns the id of the org for RequireRole. The function runs only for a good access token, in its own
// goroutine, at most 256 times at once; other requests wait. If it panics, or does not return within the time of the check
// (AnswersWithin), the caller gets 503. If it reads the body, set http.Server.ReadTimeout: it keeps its place until the body has come.
func OrgOf(orgID func(*http.Request) string) Need {
	return func(n *needs) { n.orgOf, n.orgs = orgID, callback.New(orgsAtOnce) }
}

// AllowSuspended also lets in the members of a suspended org, on a route with RequireRole: for the page on which a customer pays.
func AllowSuspended() Need {
	return func(n *needs) { n.allowsSuspended = true }
}

// Handler calls next for a request that meets all needs, with the principal in the request's context (FromContext). It
// answers every other request itself, as application/problem+json: 401 or 403 for a refusal, 429 for a key over its
// limits, 503 when the table or the issuer of tokens cannot be reached. Without a Need it requires an API key. It panics for needs that
// cannot be combined: scopes and a role, two roles, OrgOf or AllowSuspended without a role.
func (g *Guard) Handler(next http.Handler, wanted ...Need) http.Handler {
	var n needs
	for _, need := range wanted {
		need(&n)
	}
	if n.role != "" && n.scopes != nil {
		panic("guard: RequireScope asks for an API key, and RequireRole for an access token")
	}
	if n.role == "" && n.orgOf != nil {
		panic("guard: OrgOf counts only with RequireRole")
	}
	if n.role == "" && n.allowsSuspended {
		panic("guard: AllowSuspended counts only with RequireRole")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := g.check(r, n)
		if p.Limit.Policy != "" {
			w.Header().Set("RateLimit-Policy", p.Limit.Policy)
			w.Header().Set("RateLimit", p.Limit.State)
		}
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, p)))
	})
}

// check decides on the credential of a request. It returns the errors of Key and Member, and an error for a route without an
// org.
func (g *Guard) check(r *http.Request, n needs) (Principal, error) {
	authorization := r.Header.Values("Authorization")
	switch {
	case n.role == "":
		return g.Key(r.Context(), authorization, n.scopes...)
	case n.orgOf != nil:
		return g.member(r.Context(), authorization, n, func(ctx context.Context) (string, error) {
			err := n.orgs.Wait(ctx)
			var orgID string
			if err == nil {
				orgID, err = callback.Run(ctx, n.orgs, func() (string, error) { return n.orgOf(r), nil })
			}
			if err != nil {
				return "", fmt.Errorf("guard: OrgOf: %w", err)
			}
			return orgID, nil
		})
	case r.PathValue("orgId") == "":
		return Principal{}, errors.New("guard: the route's pattern has no wildcard orgId, and there is no OrgOf")
	default:
		return g.member(r.Context(), authorization, n, func(context.Context) (string, error) { return r.PathValue("orgId"), nil })
	}
}

// refuse answers a request that was not let through: 401, 403 or 429 for a refusal, 503 for every other error.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ctx := problem.WithRequestID(r.Context(), rand.Text())
	refused, ok := Refused(err)
	if !ok {
		callerWaits := !errors.Is(r.Context().Err(), context.Canceled) // otherwise the caller has caused the error
		if g.report != nil && callerWaits {
			logFault(ctx, g.reports.Report(func() { g.report(r, err) }))
		}
		problem.Write(ctx, w, Unknown())
		return
	}
	if refused.Code.Status() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", principal.Challenge(r.Header.Values("Authorization")))
	}
	if g.reportRefusal != nil { // from here on, only a report reads r, because a late report may still run
		logFault(ctx, g.reports.Report(func() { g.reportRefusal(r, refused) }))
	}
	problem.Write(ctx, w, refused)
}

// logCause is the default of Config.Report. It logs no path and no query, because they can contain a secret.
func logCause(r *http.Request, err error) {
	slog.ErrorContext(r.Context(), "guard: a credential was not checked", "route", r.Pattern, "error", err)
}

// logFault logs the fault of a report. The caller's answer does not change.
func logFault(ctx context.Context, err error) {
	if err != nil {
		slog.ErrorContext(ctx, "guard: a report failed", "error", err)
	}
}

// Unknown returns the error that a caller gets when a check ended without a decision.
func Unknown() error {
	return problem.New(problem.Unavailable, "The credential cannot be checked right now. Try again.")
}

type contextKey struct{}

// FromContext returns the principal that Handler put into a request's context. ok is false in a
// request that Handler has not let through.
func FromContext(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(contextKey{}).(Principal)
	return p, ok
}

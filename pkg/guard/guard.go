// Package guard lets the endpoints of another API accept Latchkey's API keys and roles. The owner of a deployment imports
// it. It reads the deployment's table directly.
//
//	g := guard.New(guard.Config{AWS: cfg, Table: "latchkey-Table-1ABC"})
//	http.Handle("GET /invoices", g.Handler(list, guard.RequireScope("invoices:read")))
//
// A check of an API key is one strongly consistent read of the key's row. A check of a role is three such reads, two of them
// at the same time. No row that decides is kept between two checks: a revoked key is refused by the next check.
// An access token whose signature was verified is not verified again for up to a minute.
// A check writes the time of a key's last use, at most once an hour. For a key with limits, it writes how many requests
// this process may let through. For refused requests of a key, it writes their number, at most once a minute.
//
// While an org is suspended, its keys are refused with 401 key_suspended, and its members with 403 org_suspended, except on
// a route with AllowSuspended. The access tokens of a stopped person are refused with 401 user_stopped. The access tokens from before a
// person's sign-out are refused with 401 token_ended. A guard that was compiled before these states existed behaves differently: it
// answers 503 for a key of a suspended org and for a stopped person, it lets in the members of a suspended org, and it accepts tokens
// from before a sign-out until they expire. Build such a program again before you suspend the first org, or stop or sign out the first
// person: infra/docs/protect.md, "Programs with an older guard".
//
// The process needs the rights of the stack's managed policy (output GuardPolicyArn), and no others.
package guard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/callback"
	"latchkey/pkg/clock"
	"latchkey/pkg/fetch"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// AnswersWithin limits the time of a check. A caller must get its 503 within 3 s, so this leaves half a second.
const AnswersWithin = 2500 * time.Millisecond

// fallbacksAtOnce limits the concurrent calls of Config.Fallback, because a caller can send unknown texts without cost.
const fallbacksAtOnce = 16

// reportsAtOnce limits the concurrent calls of Config.Report and ReportRefusal, orgsAtOnce the concurrent calls of an OrgOf.
const reportsAtOnce, orgsAtOnce = 16, 256

// Config has the settings of a Guard.
type Config struct {
	// AWS has the region and the credentials, and may have the endpoint. Its HTTP client and its
	// retries are not used, because a check needs short time-outs.
	AWS aws.Config

	// Table is the name of the table: the stack's output TableName.
	Table string

	// Tokens are the settings of access tokens. They must equal the stack's parameters. nil: Member and
	// RequireRole always fail.
	Tokens *Tokens

	// ImportedKeys makes the Guard accept imported API keys too, as the parameter of the same name does.
	ImportedKeys bool
	// Fallback is called with a text that has neither the form of Latchkey's keys nor of access tokens (three parts with dots between
	// them), and that was not imported yet.
	// It looks for the key in an earlier system of yours. If the key is valid there, it imports the key by the API (importKeys),
	// with the token of a service. The Guard then reads the imported key's row, which decides. An error or a panic of
	// Fallback makes the check fail, so that the caller gets 503. Report does not get the text of the error, which may contain the
	// key: it gets only a known cause (a timeout, a refused connection, the status of an error with HTTPStatusCode() int), or the
	// error's types. At most 16 calls run at the same time; others wait. Fallback should end when the context ends. nil: a text that
	// was not imported is refused. Fallback needs ImportedKeys.
	Fallback func(ctx context.Context, text string) error
	// CountRequests counts the requests of keys without limits too, as the parameter of the same name does.
	CountRequests bool
	// Report is called with the error when Handler answers 503; nil: log/slog writes the error and the route's pattern.
	//
	// Report and ReportRefusal run in their own goroutines, at most 16 at once. The answer waits for them 400 ms at most. A report is
	// lost when it takes longer, panics, or finds 16 others that run. log/slog logs it, and LostReports counts it. The caller gets its answer.
	Report func(*http.Request, error)

	// ReportRefusal is called when Handler answers 401, 403 or 429; nil: no report. The error's KeyID is the API key whose
	// secret has matched, for example a revoked key; "" when no secret has matched.
	ReportRefusal func(*http.Request, *problem.Error)
}

// Tokens are the settings of access tokens. Each field has the name of its parameter in template.yaml. service.Parse reads
// the parameter Services. The tokens of Services are refused where a user is required.
type Tokens = accesstoken.Config

// Guard checks credentials. Make it with New. It is safe for concurrent use.
type Guard struct {
	checks *authn.Authorizer
	report func(*http.Request, error)

	reportRefusal func(*http.Request, *problem.Error)
	reports       *callback.Calls // runs both
}

// New returns a Guard. It makes no request. It panics without a Table, for Tokens without an Issuer or with neither Audience nor
// ClientIDs, and for a Fallback without ImportedKeys: otherwise every request would be refused for a mistake in the settings. It also
// panics for an address in Tokens that is neither https nor http on this machine: an attacker in the network could replace the issuer's keys.
func New(c Config) *Guard {
	if c.Table == "" {
		panic("guard: Config.Table is empty")
	}
	if c.Tokens != nil && c.Tokens.Issuer == "" {
		panic("guard: Config.Tokens.Issuer is empty")
	}
	if c.Tokens != nil && c.Tokens.Audience == "" && len(c.Tokens.ClientIDs) == 0 {
		panic("guard: Config.Tokens has neither Audience nor ClientIDs")
	}
	if c.Tokens != nil && !hasSafeAddresses(*c.Tokens) {
		panic("guard: in Config.Tokens, Issuer, JWKSURL, UserinfoURL and the issuers of Services must be https, or http on this machine")
	}
	if c.Fallback != nil && !c.ImportedKeys {
		panic("guard: Config.Fallback imports keys, and Config.ImportedKeys is false")
	}
	db := dynamodb.NewFromConfig(c.AWS, func(o *dynamodb.Options) {
		o.HTTPClient = boot.NewHTTPClient()
		o.Retryer = boot.Retryer()
		o.RetryMaxAttempts = 0 // AWS_MAX_ATTEMPTS would limit this Retryer
	})
	var tokens authn.Tokens // without Tokens, this interface must be nil
	if c.Tokens != nil {
		tokens = accesstoken.New(c.Tokens.ForUsers(), boot.NewIssuerClient(), clock.Now)
	}
	checks := authn.New(store.New(db, c.Table), tokens)
	if c.ImportedKeys {
		checks.TakeImported(c.Fallback, fallbacksAtOnce)
	}
	if c.CountRequests {
		checks.CountRequests()
	}
	if c.Report == nil {
		c.Report = logCause
	}
	g := On(checks)
	g.report, g.reportRefusal, g.reports = c.Report, c.ReportRefusal, callback.New(reportsAtOnce)
	return g
}

// hasSafeAddresses reports whether all addresses in the settings are safe. An empty address is not used.
func hasSafeAddresses(t Tokens) bool {
	addresses := []string{t.Issuer, t.JWKSURL, t.UserinfoURL}
	for _, s := range t.Services {
		addresses = append(addresses, s.Issuer)
	}
	return !slices.ContainsFunc(addresses, func(address string) bool { return address != "" && !fetch.IsSafe(address) })
}

// LostReports returns how many calls of Config.Report and ReportRefusal were not made, panicked, or did not return in time.
func (g *Guard) LostReports() uint64 { return g.reports.Failed() }

// missingScopes returns the refusal of a key that lacks one of these scopes.
func missingScopes(scopes []string) error {
	return &problem.Error{
		Code: problem.InsufficientScope, Scopes: scopes, Detail: "The API key does not have all scopes that this needs: " + strings.Join(scopes, ", ") + ".",
	}
}

// On returns a Guard that uses an authorizer. It is for our own functions, which create the authorizer.
func On(a *authn.Authorizer) *Guard { return &Guard{checks: a, reports: &callback.Calls{}} }

// Key decides on the values of a request's Authorization headers. They must have one valid API key that has all scopes and a
// request left of its limits. Key spends this request. A refusal is a *problem.Error with status 401, 403 for
// insufficient_scope, or 429 for rate_limited, with which Key returns the principal too. The error has the key's id as KeyID
// if the key's secret has matched. Every other error means that it is not known whether the request may pass: answer 503.
func (g *Guard) Key(ctx context.Context, authorization []string, scopes ...string) (Principal, error) {
	return g.key(ctx, authorization, true, scopes...)
}

// Describe checks a key as Key does, for introspection. It spends none of the key's limits, and counts no refusal.
func (g *Guard) Describe(ctx context.Context, authorization []string) (Principal, error) {
	return g.key(ctx, authorization, false)
}

// key checks an API key. With spends, it spends one request of the key's limits and counts a refusal.
func (g *Guard) key(ctx context.Context, authorization []string, spends bool, scopes ...string) (p Principal, err error) {
	ctx, cancel := context.WithTimeout(ctx, AnswersWithin)
	defer cancel()
	row, err := g.checks.Key(ctx, authorization)
	if spends {
		defer func() { g.checks.NoteRefusal(ctx, row, err) }()
	}
	p = keyPrincipal(row) // p has a KeyID only if the secret has matched, even if the key is refused
	if err == nil && !p.HasScopes(scopes...) {
		err = missingScopes(scopes)
	}
	if refused, ok := Refused(err); ok {
		refused.KeyID = p.KeyID
	}
	if err != nil {
		return Principal{}, err
	}
	if spends {
		p.Limit, err = g.checks.Spend(ctx, row)
	}
	if err != nil && !problem.Is(err, problem.RateLimited) {
		return Principal{}, err
	}
	return p, err
}

// Member decides on the values of a request's Authorization headers. They must have one access token, and its user must have
// this role or a stronger one in the org. A refusal is a *problem.Error with status 401, or 403 for insufficient_role.
// This 403 is the same for a member with a weaker role, for a user who is not a member, and for an org that does not
// exist. A member with the role gets 403 org_suspended while the org is suspended, unless AllowSuspended is given; Member panics for
// any other Need. Every other error means that it is not known whether the request may pass: answer 503.
func (g *Guard) Member(ctx context.Context, authorization []string, orgID string, role org.Role, wanted ...Need) (Principal, error) {
	var n needs
	for _, need := range wanted {
		need(&n)
	}
	if n.scopes != nil || n.role != "" || n.orgOf != nil {
		panic("guard: Member accepts no other Need than AllowSuspended")
	}
	n.role = role
	return g.member(ctx, authorization, n, func(context.Context) (string, error) { return orgID, nil })
}

// member decides on an access token, for the org that orgOf returns. It verifies the token first, so orgOf runs only for a good token.
func (g *Guard) member(ctx context.Context, authorization []string, n needs, orgOf func(context.Context) (string, error)) (Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswersWithin)
	defer cancel()
	claims, err := g.checks.Token(ctx, authorization)
	if err != nil {
		return Principal{}, err
	}
	orgID, err := orgOf(ctx)
	if err != nil {
		return Principal{}, err
	}
	m, err := g.checks.MemberOf(ctx, claims, orgID, n.allowsSuspended)
	hasRole := err == nil || problem.Is(err, problem.OrgSuspended)
	if hasRole && !m.Role.AtLeast(n.role) {
		return Principal{}, authn.NoRole()
	}
	if err != nil {
		return Principal{}, err
	}
	return userPrincipal(m, orgID), nil
}

// Refused returns the refusal in an error of Key or Member. ok is false for every other error, which means a fault on our side:
// answer 503. The caller may see the refusal's Code and Detail. Its KeyID is only for your log.
func Refused(err error) (refused *problem.Error, ok bool) {
	return problem.Refusal(err)
}

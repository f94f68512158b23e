// Package authn turns the credential of a request into a principal or a refusal. It does not depend on Lambda.
//
// A refusal is a *problem.Error with status 401, or 403 for a user who is not a member: the credential is not accepted.
// Every other error means that it is not known whether the credential is good. The caller of this package must then answer
// 503, and must never let the request through.
package authn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/clock"
	"latchkey/pkg/email"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// Table is the part of store.Store that the authorizer uses.
type Table interface {
	// APIKey reads a key's row, strongly consistent. ok is false when there is no row.
	APIKey(ctx context.Context, o id.Org, k id.Key) (row store.APIKey, ok bool, err error)
	// Imported reads the key that a text was imported as, strongly consistent. ok is false for a text that was never imported.
	Imported(ctx context.Context, h apikey.Hash) (at store.Imported, ok bool, err error)
	// NoteUse writes that a key was used. It returns no error, so it never fails a request.
	NoteUse(ctx context.Context, k store.APIKey, at int64)
	// Role reads the role of a user in an org, strongly consistent. ok is false when the user has none.
	Role(ctx context.Context, o id.Org, u id.User) (role org.Role, ok bool, err error)
	// Suspended reads whether an org is suspended, strongly consistent. It returns false for an unknown org.
	Suspended(ctx context.Context, o id.Org) (bool, error)
	// Identity reads the user of a token's issuer and subject. ok is false for a pair that was never seen.
	Identity(ctx context.Context, issuer, subject string) (known store.Identity, ok bool, err error)
	// Lease charges requests to the limits of a key.
	limit.Table
	// SignIn records the data of a token about its user, and creates an unknown user.
	SignIn(ctx context.Context, known store.Identity, isKnown bool, seen store.Seen) (id.User, error)
}

// Tokens verifies access tokens.
type Tokens interface {
	Verify(ctx context.Context, raw string) (accesstoken.Claims, error)
	Userinfo(ctx context.Context, raw, subject string) (accesstoken.Profile, error)
}

// Authorizer turns credentials into principals. Make it with New.
type Authorizer struct {
	table  Table
	tokens Tokens
	Now    func() time.Time
	used   hourly // limits the writes of a key's use to one an hour

	imported *imported // nil: imported keys are refused
	limits   *limit.Limiter
	counts   bool // set by CountRequests
}

// New returns an authorizer. Without tokens (nil) it accepts only API keys.
func New(table Table, tokens Tokens) *Authorizer {
	a := &Authorizer{table: table, tokens: tokens, Now: clock.Now, limits: limit.New(table)}
	a.limits.Now = func() time.Time { return a.Now() }
	return a
}

// CountRequests makes the authorizer count the requests of keys that have no limits (limit.Limiter.Tally).
func (a *Authorizer) CountRequests() { a.counts = true }

// askAgainAfter is the time between two calls of the issuer's userinfo endpoint for a user.
const askAgainAfter = 24 * time.Hour

// AuthorizeRoute is Authorize for a route by its method and pattern.
func (a *Authorizer) AuthorizeRoute(ctx context.Context, method, pattern string, headers []string) (principal.Principal, error) {
	r, ok := route.Find(method, pattern)
	if !ok {
		return principal.Principal{}, fmt.Errorf("authn: %s %s is not in the route table", method, pattern)
	}
	return a.Authorize(ctx, r, headers)
}

// Authorize decides on the Authorization headers of a request to a route. With most errors it returns an empty principal. With the errors
// key_revoked, key_expired and key_suspended it returns the principal of the key, only for the log: the secret has matched, so the log
// never names another caller's key. With rate_limited it returns the principal, whose Limit is violated, because the function of the route
// answers. On a route that MayEnd something, it returns a Deferred principal with rate_limited, and also when the limits cannot be read.
// A request to a route that Ends something spends nothing.
func (a *Authorizer) Authorize(ctx context.Context, r route.Route, headers []string) (principal.Principal, error) {
	switch r.Takes {
	case principal.UserToken:
		return a.user(ctx, headers)
	case principal.APIKey:
		row, err := a.Key(ctx, headers)
		if row.ID == "" {
			return principal.Principal{}, err
		}
		p := principal.Principal{Kind: principal.Key, OrgID: row.OrgID, AppID: row.AppID, KeyID: row.ID}
		if err == nil && !r.Ends {
			p.Limit, err = a.Spend(ctx, row)
			p.Deferred = r.MayEnd && (problem.Is(err, problem.RateLimited) || limit.LogCode(err) != "")
		}
		if !p.Deferred {
			a.NoteRefusal(ctx, row, err)
		}
		return p, err
	default: // a public route has no authorizer, so a call for it is our own mistake
		return principal.Principal{}, problem.New(problem.Internal, "The route has no credential.")
	}
}

// bearer returns the credential of the only Authorization header (RFC 6750).
func bearer(headers []string) (string, error) {
	switch {
	case len(headers) == 0, len(headers) == 1 && headers[0] == "":
		return "", problem.New(problem.MissingCredentials, "Send your credential after the word Bearer in the Authorization header.")
	case len(headers) > 1:
		return "", problem.New(problem.InvalidCredentials, "Send exactly one Authorization header.")
	}
	credential, ok := principal.Bearer(headers[0])
	if !ok {
		return "", problem.New(problem.InvalidCredentials, "The Authorization header must have the word Bearer and then one credential.")
	}
	return credential, nil
}

// Key decides on the Authorization headers of a request that needs an API key. It first checks the form and the
// checksum, without a read, and then the row. With the errors key_revoked, key_expired and key_suspended it also returns the row,
// only for the log.
func (a *Authorizer) Key(ctx context.Context, headers []string) (store.APIKey, error) {
	raw, err := bearer(headers)
	if err != nil {
		return store.APIKey{}, err
	}
	row, hash, ok, err := a.rowOf(ctx, raw)
	if err != nil {
		return store.APIKey{}, err
	}
	// Only a caller with the key's secret may see the key's state.
	if !ok || !row.Matches(hash) {
		return store.APIKey{}, errInvalid()
	}
	now := a.Now().UnixMilli()
	if err := keyRefusal(row, now); err != nil {
		return row, err
	}
	if a.used.first(row.ID, now) {
		a.table.NoteUse(ctx, row, now)
	}
	return row, nil
}

// keyRefusal returns the refusal of a key that is not valid at a time, nil for a valid key.
func keyRefusal(row store.APIKey, now int64) error {
	switch row.Verdict(now) {
	case apikey.Good:
		return nil
	case apikey.Expired:
		return problem.New(problem.KeyExpired, "This API key has expired.")
	case apikey.Suspended:
		return problem.New(problem.KeySuspended, "The org of this API key is suspended.")
	default:
		return problem.New(problem.KeyRevoked, "This API key was revoked.")
	}
}

// Spend spends one request of the limits of a valid key. The caller must have read its row for this request. Call Spend after all other
// checks. When the limits are changed at this moment, it reads the key again. Errors: rate_limited, key_revoked,
// key_expired. Any other error means that it is not known whether the request may pass.
func (a *Authorizer) Spend(ctx context.Context, row store.APIKey) (principal.Limit, error) {
	l, err := a.spend(ctx, row)
	for range 3 {
		if !errors.Is(err, limit.ErrChanged) {
			break
		}
		again, ok, readErr := a.table.APIKey(ctx, row.OrgID, row.ID)
		if readErr != nil || !ok {
			return principal.Limit{}, errors.Join(err, readErr)
		}
		if err = keyRefusal(again, a.Now().UnixMilli()); err == nil {
			l, err = a.spend(ctx, again)
		}
	}
	return l, err
}

// spend spends one request of the limits in the row, and of the org's allowance.
func (a *Authorizer) spend(ctx context.Context, row store.APIKey) (principal.Limit, error) {
	if !row.Limited() && row.OrgState.Allowance == "" {
		a.count(ctx, row)
		return principal.Limit{}, nil
	}
	s, err := a.limits.Take(ctx, limit.Request{
		Org: row.OrgID, Key: row.ID, LimitID: row.LimitID(), Limits: row.Limits, Ceilings: row.Ceilings,
		Allowance: row.OrgState.Allowance, AllowanceVersion: row.OrgState.Version,
	})
	if err != nil {
		return principal.Limit{}, err
	}
	violated := s.Violated()
	l := principal.Limit{Policy: s.Policy(), State: s.State(), Violated: strings.Join(violated, " "), RetryAfter: int64(s.RetryAfter() / time.Second)}
	if violated == nil {
		if !row.Limited() {
			a.count(ctx, row)
		}
		return l, nil
	}
	over := problem.OverLimits(l.Refusal(a.Now()), violated, s.RetryAfter())
	over.KeyID = string(row.ID)
	return l, over
}

// NoteRefusal counts a refusal of a key that Key has returned, for the usage of the key (limit.Limiter.Refuse). It counts nothing for
// any other error, or for nil.
func (a *Authorizer) NoteRefusal(ctx context.Context, row store.APIKey, err error) {
	refused, ok := problem.Refusal(err)
	if !ok || row.ID == "" {
		return
	}
	if why, ok := store.Refusal(refused.Code); ok {
		a.limits.Refuse(ctx, limit.Refused{
			Org: row.OrgID, Key: row.ID, LimitID: row.LimitID(), Limited: row.Limited(), Rotated: row.RotatedTo != id.ShortKey{},
		}, why)
	}
}

// count counts a request of a key without limits that was let through.
func (a *Authorizer) count(ctx context.Context, row store.APIKey) {
	if a.counts {
		a.limits.Tally(ctx, limit.Owner{Org: row.OrgID, Key: row.LimitID()})
	}
}

// rowOf reads the row of a key, and returns the hash of the key's text. ok is false when there is no row.
func (a *Authorizer) rowOf(ctx context.Context, raw string) (row store.APIKey, hash apikey.Hash, ok bool, err error) {
	parsed, err := apikey.Parse(raw)
	if err == nil {
		row, ok, err = a.table.APIKey(ctx, parsed.Org, parsed.Key)
		return row, parsed.Hash, ok, err
	}
	if a.imported != nil && apikey.IsForeign(raw) { // also a text like an access token: a hash does not show the form of its text
		hash = apikey.HashOf(raw)
		if row, ok, err = a.imported.row(ctx, a.table, raw, hash); ok || err != nil {
			return row, hash, ok, err
		}
	}
	if accesstoken.LooksLikeJWT(raw) {
		return row, hash, false, problem.New(problem.APIKeyRequired, "This route needs an API key, not an access token.")
	}
	return row, hash, false, nil
}

// errInvalid returns the same refusal for a malformed key, an unknown key and a wrong secret.
func errInvalid() error {
	return problem.New(problem.InvalidCredentials, "The API key is not valid.")
}

// Member is a user with a role in an org.
type Member struct {
	UserID id.User
	Role   org.Role
	Email  string // "" unless the user has proved it
}

// Member decides on the Authorization headers of a request that needs a member of an org. It writes
// nothing, so a user who has never called the API is not a member. A user who is not a member, and a service, get
// insufficient_role, also for an unknown org and for a text that is not an org's id. While the org is suspended, a member gets
// org_suspended, unless allowsSuspended is true. With this error, Member returns the member too, so that the caller can first refuse a
// role that is too weak. A stopped person gets user_stopped. A token of a sign-in before the person's last sign-out gets token_ended.
func (a *Authorizer) Member(ctx context.Context, headers []string, orgID string, allowsSuspended bool) (Member, error) {
	claims, err := a.Token(ctx, headers)
	if err != nil {
		return Member{}, err
	}
	return a.MemberOf(ctx, claims, orgID, allowsSuspended)
}

// Token verifies the access token in the Authorization headers of a request, without a read of the table. Errors: those of the token.
func (a *Authorizer) Token(ctx context.Context, headers []string) (accesstoken.Claims, error) {
	claims, _, err := a.verify(ctx, headers)
	return claims, err
}

// MemberOf is Member for the claims that Token has returned.
func (a *Authorizer) MemberOf(ctx context.Context, claims accesstoken.Claims, orgID string, allowsSuspended bool) (Member, error) {
	o, err := id.ParseOrg(orgID)
	isService := claims.Service != "" // true even if its subject was a user before it was configured as a service
	if err != nil || isService {
		return Member{}, NoRole()
	}
	known, isKnown, err := a.table.Identity(ctx, claims.Issuer, claims.Subject)
	if err != nil {
		return Member{}, err
	}
	if err := known.Refusal(signedInAt(claims)); err != nil {
		return Member{}, err
	}
	if !isKnown {
		return Member{}, NoRole()
	}
	isSuspended, orgErr := false, error(nil)
	var concurrent sync.WaitGroup
	if !allowsSuspended {
		concurrent.Go(func() { isSuspended, orgErr = a.table.Suspended(ctx, o) })
	}
	role, isMember, err := a.table.Role(ctx, o, known.UserID)
	concurrent.Wait()
	if err != nil {
		return Member{}, err
	}
	if !isMember {
		return Member{}, NoRole()
	}
	if orgErr != nil {
		return Member{}, orgErr
	}
	m := Member{UserID: known.UserID, Role: role}
	// known has the address of an earlier token. The member has this address only if the present token has no email, or has the
	// same email as verified.
	showsEmail := claims.Email != "" || claims.OddEmail
	isSameAddress := claims.EmailVerified && claims.Email == known.Email
	if !showsEmail || isSameAddress {
		m.Email = known.ProvedEmail()
	}
	if isSuspended {
		return m, problem.New(problem.OrgSuspended, "This org is suspended.")
	}
	return m, nil
}

// NoRole returns the refusal of a user who has no role in an org, or a role that is too weak.
func NoRole() error {
	return problem.New(problem.InsufficientRole, "You do not have a role in this org that allows this.")
}

// verify verifies the access token of a request. It also returns the token's text.
func (a *Authorizer) verify(ctx context.Context, headers []string) (accesstoken.Claims, string, error) {
	raw, err := bearer(headers)
	if err != nil {
		return accesstoken.Claims{}, "", err
	}
	if _, err := apikey.Parse(raw); err == nil {
		return accesstoken.Claims{}, "", problem.New(problem.UserTokenRequired, "This route needs an access token, not an API key.")
	}
	if a.tokens == nil {
		return accesstoken.Claims{}, "", errors.New("authn: no issuer of access tokens is configured")
	}
	claims, err := a.tokens.Verify(ctx, raw)
	return claims, raw, err
}

// signedInAt returns when the user of a token signed in, in seconds since the epoch: the token's auth_time, which stays the same when a
// token is refreshed. Without auth_time, it returns iat, and 0 without both.
func signedInAt(c accesstoken.Claims) int64 {
	if c.SignedInAt == 0 && !c.IssuedAt.IsZero() {
		return c.IssuedAt.Unix()
	}
	return c.SignedInAt
}

// user decides on an access token, and finds or creates its user. Errors: the errors of the token, user_stopped, and token_ended after a
// sign-out. These are found before the issuer's userinfo endpoint is called.
func (a *Authorizer) user(ctx context.Context, headers []string) (principal.Principal, error) {
	claims, raw, err := a.verify(ctx, headers)
	if err != nil {
		return principal.Principal{}, err
	}
	if claims.Service != "" {
		return principal.Principal{Kind: principal.Service, Name: claims.Service}, nil
	}
	known, isKnown, err := a.table.Identity(ctx, claims.Issuer, claims.Subject)
	if err != nil {
		return principal.Principal{}, err
	}
	if err := known.Refusal(signedInAt(claims)); err != nil {
		return principal.Principal{}, err
	}
	seen, ok, err := a.profile(ctx, raw, claims, known)
	if err != nil {
		return principal.Principal{}, err
	}
	if !ok { // there is nothing to record
		if isKnown {
			return principal.Principal{Kind: principal.User, UserID: known.UserID, SignedInAt: claims.SignedInAt}, nil
		}
		return principal.Principal{Kind: principal.None}, nil // the issuer shows no email of a new user; routes refuse None
	}
	u, err := a.table.SignIn(ctx, known, isKnown, seen)
	if err != nil {
		return principal.Principal{}, err
	}
	return principal.Principal{Kind: principal.User, UserID: u, SignedInAt: claims.SignedInAt}, nil
}

// profile returns the user's email and name for SignIn. They come from the token or, when it has no email, from the
// issuer's userinfo endpoint, which is called once a day. known is zero for a new user. ok is false when there is
// nothing to record: the issuer has no email, or the endpoint was called within the last day, or it fails for a known user, who
// must still be able to revoke and to leave. An unusable email is ignored, and the user is recorded without one. This is also done for a
// new user whose profile cannot be read.
func (a *Authorizer) profile(ctx context.Context, raw string, c accesstoken.Claims, known store.Identity) (seen store.Seen, ok bool, err error) {
	s := store.Seen{Issuer: c.Issuer, Subject: c.Subject, Email: c.Email, Verified: c.EmailVerified, Name: c.Name, SignedInAt: signedInAt(c)}
	if !c.IssuedAt.IsZero() {
		s.IssuedAt = c.IssuedAt.Unix()
	}
	showsEmail := s.Email != "" || c.OddEmail
	if s.Email == "" {
		now := a.Now()
		if known.AskedAt != 0 && now.Sub(time.UnixMilli(known.AskedAt)) < askAgainAfter {
			return store.Seen{}, false, nil
		}
		p, err := a.tokens.Userinfo(ctx, raw, c.Subject)
		if err != nil && known.UserID != "" {
			slog.WarnContext(ctx, "userinfo fails, and the user is known from before", "error", err)
			return store.Seen{}, false, nil
		}
		if err != nil {
			return store.Seen{}, false, err
		}
		s.Email, s.Verified, s.Name, s.AskedAt = p.Email, p.EmailVerified, cmp.Or(p.Name, c.Name), now.UnixMilli()
		showsEmail = showsEmail || s.Email != "" || p.OddEmail || p.Unreadable && known.UserID == ""
	}
	if !showsEmail {
		return store.Seen{}, false, nil
	}
	folded, isUsable := email.Fold(s.Email)
	if !isUsable { // the user then also loses an earlier address
		s.Email, s.Verified = "", false
	}
	if org.CleanedName(s.Name) == "" && known.Name != org.NameFor("", known.Email) {
		s.Name = known.Name // another client of the user, with more scopes, got tokens with the name
	}
	s.Folded, s.Name = folded, org.NameFor(s.Name, s.VerifiedEmail())
	return s, true, nil
}

// hourly has the keys whose use this process has noted in the current hour.
type hourly struct {
	mu   sync.Mutex
	hour int64 // hours since the epoch
	keys map[id.Key]struct{}
}

// hourlyMax limits the keys in memory. When it is reached, all are forgotten, and their uses are noted once more, which is
// harmless.
const hourlyMax = 20_000

// first reports whether a key is used for the first time in the hour of now (milliseconds since the epoch).
func (h *hourly) first(k id.Key, now int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	hour := now / time.Hour.Milliseconds()
	isNewHour := h.keys == nil || hour != h.hour
	if isNewHour || len(h.keys) >= hourlyMax {
		h.hour, h.keys = hour, map[id.Key]struct{}{}
	}
	if _, seen := h.keys[k]; seen {
		return false
	}
	h.keys[k] = struct{}{}
	return true
}

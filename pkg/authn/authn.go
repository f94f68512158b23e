// Package authn turns the credential of a request into a principal, or into the reason of a
// refusal. It does not depend on Lambda.
//
// A refusal (a *problem.Error with status 401, or 403 for a user who is not a member) means that the
// credential is not good. Every other error means that this is not known: the caller must answer
// 503, and must never let the request through.
package authn

import (
	"context"
	"errors"
	"sync"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// Table is the part of the store that the authorizer uses.
type Table interface {
	// APIKey reads a key's row, strongly consistent. ok is false when there is no row.
	APIKey(ctx context.Context, o id.Org, k id.Key) (row store.APIKey, ok bool, err error)
	// NoteUse writes that a key was used. It never fails a request.
	NoteUse(ctx context.Context, k store.APIKey, at int64)
	// Role reads which role a user has in an org, strongly consistent. ok is false when there is none.
	Role(ctx context.Context, o id.Org, u id.User) (role org.Role, ok bool, err error)
	// Identity and SignIn turn a token's (issuer, subject) into a user.
	Identity(ctx context.Context, issuer, subject string) (store.Identity, bool, error)
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
	used   hourly
}

// New returns an authorizer. Without tokens (nil) it decides on API keys only.
func New(table Table, tokens Tokens) *Authorizer {
	return &Authorizer{table: table, tokens: tokens, Now: time.Now}
}

// askAgain is how long an answer of the issuer's userinfo endpoint is used.
const askAgain = 24 * time.Hour

// Authorize decides on the Authorization headers of a request to a route that takes the
// credential want. With key_revoked and key_expired it also returns the principal of the key,
// only for the log: the secret has matched, so that no caller can choose which key the log
// names. With every other error the principal is empty.
func (a *Authorizer) Authorize(ctx context.Context, want principal.Credential, headers []string) (principal.Principal, error) {
	switch want {
	case principal.UserToken:
		return a.user(ctx, headers)
	case principal.APIKey:
		row, err := a.Key(ctx, headers)
		if row.ID == "" {
			return principal.Principal{}, err
		}
		return principal.Principal{Kind: principal.Key, OrgID: row.OrgID, AppID: row.AppID, KeyID: row.ID}, err
	default: // a public route has no authorizer, so this is a mistake of ours
		return principal.Principal{}, problem.New(problem.Internal, "The route takes no credential.")
	}
}

// bearer returns the credential of the only Authorization header (RFC 6750).
func bearer(headers []string) (string, error) {
	switch {
	case len(headers) == 0 || len(headers) == 1 && headers[0] == "":
		return "", problem.New(problem.MissingCredentials, "Send the header Authorization: Bearer with your credential.")
	case len(headers) > 1:
		return "", problem.New(problem.InvalidCredentials, "Send exactly one Authorization header.")
	}
	credential, ok := principal.Bearer(headers[0])
	if !ok {
		return "", problem.New(problem.InvalidCredentials, "The Authorization header must have the scheme Bearer and one credential.")
	}
	return credential, nil
}

// Key decides on the Authorization headers of a request that needs an API key: on the key's form
// and checksum without a read, then on its row. With key_revoked and key_expired it also returns
// the row, as Authorize does.
func (a *Authorizer) Key(ctx context.Context, headers []string) (store.APIKey, error) {
	raw, err := bearer(headers)
	if err != nil {
		return store.APIKey{}, err
	}
	parsed, err := apikey.Parse(raw)
	if err != nil {
		if accesstoken.LooksLikeJWT(raw) {
			return store.APIKey{}, problem.New(problem.APIKeyRequired, "This route takes an API key, not an access token.")
		}
		return store.APIKey{}, errInvalid()
	}
	row, ok, err := a.table.APIKey(ctx, parsed.Org, parsed.Key)
	if err != nil {
		return store.APIKey{}, err
	}
	// Only a caller who has a key's secret may learn the key's state.
	if !ok || !row.Hash.Equal(parsed.Hash) {
		return store.APIKey{}, errInvalid()
	}
	now := a.Now().UnixMilli()
	switch row.Verdict(now) {
	case apikey.Good:
	case apikey.Expired:
		return row, problem.New(problem.KeyExpired, "This API key has expired.")
	default:
		return row, problem.New(problem.KeyRevoked, "This API key was revoked.")
	}
	if a.used.first(parsed.Key, now) {
		a.table.NoteUse(ctx, row, now)
	}
	return row, nil
}

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
// nothing: a user who has never called the API is not a member. A user who is not a member gets
// insufficient_role, also for an unknown org and for a text that is not an org's id.
func (a *Authorizer) Member(ctx context.Context, headers []string, of string) (Member, error) {
	claims, _, err := a.verify(ctx, headers)
	if err != nil {
		return Member{}, err
	}
	o, err := id.ParseOrg(of)
	if err != nil {
		return Member{}, NoRole()
	}
	known, isKnown, err := a.table.Identity(ctx, claims.Issuer, claims.Subject)
	if err != nil {
		return Member{}, err
	}
	if !isKnown {
		return Member{}, NoRole()
	}
	role, isMember, err := a.table.Role(ctx, o, known.UserID)
	if err != nil {
		return Member{}, err
	}
	if !isMember {
		return Member{}, NoRole()
	}
	m := Member{UserID: known.UserID, Role: role}
	if claims.Email == "" || claims.EmailVerified && claims.Email == known.Email { // else the token shows another address
		m.Email = known.ProvedEmail()
	}
	return m, nil
}

// NoRole returns the refusal of who has no role in an org, or too weak a one.
func NoRole() error {
	return problem.New(problem.InsufficientRole, "You have no role in this org that allows this.")
}

// verify verifies the access token of a request. It returns the token's text too.
func (a *Authorizer) verify(ctx context.Context, headers []string) (accesstoken.Claims, string, error) {
	raw, err := bearer(headers)
	if err != nil {
		return accesstoken.Claims{}, "", err
	}
	if _, err := apikey.Parse(raw); err == nil {
		return accesstoken.Claims{}, "", problem.New(problem.UserTokenRequired, "This route takes an access token, not an API key.")
	}
	if a.tokens == nil {
		return accesstoken.Claims{}, "", errors.New("authn: no issuer of access tokens is configured")
	}
	claims, err := a.tokens.Verify(ctx, raw)
	return claims, raw, err
}

// user decides on an access token, and finds or creates its user.
func (a *Authorizer) user(ctx context.Context, headers []string) (principal.Principal, error) {
	claims, raw, err := a.verify(ctx, headers)
	if err != nil {
		return principal.Principal{}, err
	}
	known, isKnown, err := a.table.Identity(ctx, claims.Issuer, claims.Subject)
	if err != nil {
		return principal.Principal{}, err
	}
	seen, ok, err := a.seen(ctx, raw, claims, known)
	if err != nil {
		return principal.Principal{}, err
	}
	if !ok {
		if isKnown {
			return principal.Principal{Kind: principal.User, UserID: known.UserID, SignedInAt: claims.SignedInAt}, nil
		}
		return principal.Principal{Kind: principal.None}, nil
	}
	u, err := a.table.SignIn(ctx, known, isKnown, seen)
	if err != nil {
		return principal.Principal{}, err
	}
	return principal.Principal{Kind: principal.User, UserID: u, SignedInAt: claims.SignedInAt}, nil
}

// seen returns the user's email and name: those of the token, or else those of the issuer's
// userinfo endpoint, which is called once a day. ok is false when there is no usable email,
// or nothing newer than what known has.
func (a *Authorizer) seen(ctx context.Context, raw string, c accesstoken.Claims, known store.Identity) (store.Seen, bool, error) {
	s := store.Seen{Issuer: c.Issuer, Subject: c.Subject, Email: c.Email, Verified: c.EmailVerified, Name: c.Name}
	if !c.IssuedAt.IsZero() {
		s.IssuedAt = c.IssuedAt.Unix()
	}
	if s.Email == "" {
		now := a.Now()
		if known.AskedAt != 0 && now.Sub(time.UnixMilli(known.AskedAt)) < askAgain {
			return store.Seen{}, false, nil
		}
		p, err := a.tokens.Userinfo(ctx, raw, c.Subject)
		if err != nil {
			return store.Seen{}, false, err
		}
		s.Email, s.Verified, s.Name, s.AskedAt = p.Email, p.EmailVerified, p.Name, now.UnixMilli()
	}
	folded, ok := org.FoldEmail(s.Email)
	switch {
	case !ok && (s.Email == "" || known.UserID == ""):
		return store.Seen{}, false, nil
	case !ok: // the issuer has another address now: the earlier one is no longer the user's
		s.Email, s.Verified = "", false
	}
	s.Folded, s.Name = folded, org.NameFor(s.Name, s.VerifiedEmail())
	return s, true, nil
}

// hourly holds the keys that this process has noted as used in this hour.
type hourly struct {
	mu   sync.Mutex
	hour int64
	keys map[id.Key]struct{}
}

// hourlyMax bounds the memory. Past it, keys are noted once more, which does no harm.
const hourlyMax = 20_000

// first reports whether a key is seen for the first time in this hour.
func (h *hourly) first(k id.Key, now int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hour := now / time.Hour.Milliseconds(); h.keys == nil || hour != h.hour || len(h.keys) >= hourlyMax {
		h.hour, h.keys = hour, map[id.Key]struct{}{}
	}
	if _, seen := h.keys[k]; seen {
		return false
	}
	h.keys[k] = struct{}{}
	return true
}

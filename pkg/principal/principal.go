// Package principal describes the caller of a request: a user with an access token, an API key
// of an app, or a verified token that names no user. The authorizer writes the principal into
// the request context, and the route's function reads it there.
package principal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"latchkey/pkg/id"
)

// Credential is the kind of credential that a route accepts in its Authorization header.
type Credential string

// The credentials that a route may accept.
const (
	Public    Credential = "public"     // none: the route has no authorizer
	UserToken Credential = "user_token" // an OAuth access token (JWT)
	APIKey    Credential = "api_key"    // an API key of an app
)

// Limit has the rest of the limits of an API key after a request. It is zero for a key without limits.
type Limit struct {
	Policy, State string // of the headers RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11)
	Violated      string // the limits that the request is over, separated by a space: such a request is to be answered 429; "": none
	RetryAfter    int64  // seconds until their windows end
}

// AddTo adds a limit to the fields of a principal. For a key without limits it adds nothing.
func (l Limit) AddTo(fields map[string]string) {
	if l.Policy != "" {
		fields["rateLimitPolicy"], fields["rateLimit"] = l.Policy, l.State
	}
	if l.Violated != "" {
		fields["limited"], fields["retryAfter"] = l.Violated, strconv.FormatInt(l.RetryAfter, 10)
	}
}

// Refusal returns the sentence for a request that is over its limits. If the request is over the allowance of the org, the sentence
// names the allowance, because another key of the org would not help. Of several windows it names the longest. now is the time of the
// check. Its clock may be half a minute early or late: each window ends with a minute, so Refusal rounds the end to a minute.
func (l Limit) Refusal(now time.Time) string {
	violated := strings.Fields(l.Violated)
	if len(violated) > 0 {
		last := violated[len(violated)-1] // the org's limits come last, the longest at the end
		per, ofOrg := strings.CutPrefix(last, "org-")
		_, policy, _ := strings.Cut(l.Policy, `"`+last+`";`)
		_, state, _ := strings.Cut(l.State, `"`+last+`";`)
		requests, errPolicy := parameter(policy, "q=")
		reset, errState := parameter(state, "t=")
		if ofOrg && errPolicy == nil && errState == nil {
			if per == "hour" {
				per = "n " + per
			} else {
				per = " " + per
			}
			ends := now.Add(time.Duration(reset) * time.Second).UTC().Round(time.Minute).Format(time.RFC3339)
			return fmt.Sprintf("The org has used its allowance of %d a%s. The next one begins at %s.", requests, per, ends)
		}
	}
	return "The API key has no requests left in the current window."
}

// parameter returns the first number in a list of parameters that has a name.
func parameter(list, name string) (int64, error) {
	_, rest, _ := strings.Cut(list, name)
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	return strconv.ParseInt(rest[:digits], 10, 64)
}

// Bearer returns the credential of an Authorization header's value: the scheme in any case, one
// space or more, and the credential (RFC 9110, section 11.4; RFC 6750). ok is false for
// another scheme, and when no credential follows.
func Bearer(header string) (credential string, ok bool) {
	scheme, rest, _ := strings.Cut(header, " ")
	credential = strings.TrimLeft(rest, " ")
	return credential, strings.EqualFold(scheme, "Bearer") && credential != ""
}

// maxSubject is the most bytes of a subject (OpenID Connect Core, section 2).
const maxSubject = 255

// IsSubject reports whether a text can be the sub of a user's or a service's token. A JSON decoder replaces half a surrogate
// pair by U+FFFD, which would make two users one.
func IsSubject(sub string) bool {
	return sub != "" && len(sub) <= maxSubject && !strings.ContainsRune(sub, utf8.RuneError) && !strings.ContainsFunc(sub, unicode.IsControl)
}

// Challenge returns the WWW-Authenticate of a refusal of a request with these Authorization headers.
// It is one of two constants, because the gateway's template does not escape. It names no error when
// the request had no Bearer credential (RFC 6750, section 3).
func Challenge(headers []string) string {
	for _, h := range headers {
		if _, ok := Bearer(h); ok {
			return `Bearer error="invalid_token"`
		}
	}
	return "Bearer"
}

// CodeMisconfigured marks a MisconfiguredError in the log.
const CodeMisconfigured = "authorizer_misconfigured"

// MisconfiguredError names a fault in the settings of the API or the proxy that calls an authorizer. It is not
// a refusal, because the fault is not the caller's. The request must still not be let through.
type MisconfiguredError string

func (m MisconfiguredError) Error() string { return CodeMisconfigured + ": " + string(m) }

// Kind is the kind of a Principal.
type Kind string

// The kinds of callers.
const (
	User Kind = "user" // a user: UserID is set
	Key  Kind = "key"  // an API key: OrgID, AppID and KeyID are set
	None Kind = "none" // a good token that names no user: its email cannot be found

	Service Kind = "service" // a server, job or pipeline of the owner: Name is set
)

// IsServiceName reports whether a text can name a service: 1 to 32 lower-case letters, digits and hyphens. A hyphen
// cannot be the first.
func IsServiceName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 32 && s[0] != '-'
}

// Principal is one verified caller.
type Principal struct {
	Kind   Kind
	UserID id.User
	// SignedInAt is when the user last signed in, by the issuer: seconds since the epoch; 0: not known.
	SignedInAt int64
	OrgID      id.Org
	AppID      id.App
	KeyID      id.Key
	Name       string // of a service
	Limit      Limit  // of an API key
	Deferred   bool   // the API key is over its limits, or, without Limit.Violated, its limits are not known: the route's handler decides
}

// ErrMissing means that a request has no authorizer context, or an incomplete one. Nothing may
// be served then: otherwise a route that has lost its authorizer would be open.
var ErrMissing = errors.New("principal: no valid authorizer context")

// Context returns the principal in the form of an authorizer's context in API Gateway: strings
// only.
func (p Principal) Context() map[string]string {
	switch p.Kind {
	case User:
		context := map[string]string{"kind": string(User), "userId": string(p.UserID)}
		if p.SignedInAt != 0 {
			context["signedInAt"] = strconv.FormatInt(p.SignedInAt, 10)
		}
		return context
	case Key:
		context := map[string]string{
			"kind": string(Key), "orgId": string(p.OrgID),
			"appId": string(p.AppID), "keyId": string(p.KeyID),
		}
		p.Limit.AddTo(context)
		if p.Deferred {
			context["deferred"] = "true"
		}
		return context
	case Service:
		return map[string]string{"kind": string(Service), "name": p.Name}
	default:
		return map[string]string{"kind": string(None)}
	}
}

// Parse is the reverse of Context. It returns ErrMissing for any other context.
func Parse(m map[string]any) (Principal, error) {
	text := func(name string) string { s, _ := m[name].(string); return s }
	switch Kind(text("kind")) {
	case User:
		u, err := id.ParseUser(text("userId"))
		if err != nil {
			return Principal{}, ErrMissing
		}
		at, _ := strconv.ParseInt(text("signedInAt"), 10, 64) // 0, not known, for a time that cannot be read
		return Principal{Kind: User, UserID: u, SignedInAt: at}, nil
	case Key:
		o, errO := id.ParseOrg(text("orgId"))
		a, errA := id.ParseApp(text("appId"))
		k, errK := id.ParseKey(text("keyId"))
		if errors.Join(errO, errA, errK) != nil {
			return Principal{}, ErrMissing
		}
		limit := Limit{Policy: text("rateLimitPolicy"), State: text("rateLimit"), Violated: text("limited")}
		limit.RetryAfter, _ = strconv.ParseInt(text("retryAfter"), 10, 64) // 0, not known, for a number that cannot be read
		return Principal{Kind: Key, OrgID: o, AppID: a, KeyID: k, Limit: limit, Deferred: text("deferred") != ""}, nil
	case None:
		return Principal{Kind: None}, nil
	case Service:
		if name := text("name"); IsServiceName(name) {
			return Principal{Kind: Service, Name: name}, nil
		}
		return Principal{}, ErrMissing
	default:
		return Principal{}, ErrMissing
	}
}

// servicePrefix is the beginning of the id of a service. The ids of users and keys have no colon.
const servicePrefix = "service:"

// ServiceOf returns the name of the service that a result of ID names. ok is false for the id of a user or a key.
func ServiceOf(id string) (name string, ok bool) { return strings.CutPrefix(id, servicePrefix) }

// ID returns the caller's id, for the log and audit entries. The id of a service is service:NAME.
func (p Principal) ID() string {
	switch p.Kind {
	case User:
		return string(p.UserID)
	case Key:
		return string(p.KeyID)
	case Service:
		return servicePrefix + p.Name
	default:
		return ""
	}
}

type contextKey struct{}

// NewContext returns a context that holds the caller of a request.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the caller that NewContext has stored in the context, or ErrMissing.
func FromContext(ctx context.Context) (Principal, error) {
	p, ok := ctx.Value(contextKey{}).(Principal)
	if !ok {
		return Principal{}, ErrMissing
	}
	return p, nil
}

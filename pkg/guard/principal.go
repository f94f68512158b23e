package guard

import (
	"slices"
	"strconv"
	"strings"

	"latchkey/pkg/authn"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/principal"
	"latchkey/pkg/store"
)

// Version is the version of the principal's fields. A version may get new fields, but no field changes.
const Version = "1"

// Kind is the kind of a Principal.
type Kind string

// The kinds of principals.
const (
	Key  Kind = "key"  // an API key
	User Kind = "user" // a user with a role in an org
)

// Principal is one verified caller. It has the fields of its kind; the others are empty.
type Principal struct {
	Kind  Kind
	OrgID string

	// The fields of an API key.
	AppID, KeyID string
	KeyPrefix    string // the public part of the key, which people recognise
	KeyName      string
	Scopes       []string          // sorted
	Metadata     map[string]string // nil: none
	ExpiresAt    int64             // milliseconds since the epoch; 0: never
	Plan         string            // the owner's name for the plan that the org has bought; "": none
	Limit        Limit             // what is left of the key's limits

	// The fields of a user.
	UserID string
	Role   string // admin, member or viewer
	Email  string // an address that the user has proved; "": none
}

// Limit has what is left of the limits of an API key after a request: texts for the headers RateLimit-Policy and RateLimit, and the
// violated limits.
type Limit = principal.Limit

// ID returns the id of the key or of the user.
func (p Principal) ID() string {
	if p.Kind == User {
		return p.UserID
	}
	return p.KeyID
}

// HasScopes reports whether the principal is a key with all of these scopes.
func (p Principal) HasScopes(scopes ...string) bool {
	for _, s := range scopes {
		if !slices.Contains(p.Scopes, s) {
			return false
		}
	}
	return p.Kind == Key
}

// Fields returns the fields of the principal's kind. All are texts, because gateways accept only texts (infra/docs/protect.md,
// "The principal"). metadata is JSON: an object of texts. scopes are separated by one space. expiresAt is in milliseconds, "" for a key
// that never expires. plan is "" when the org has none. Only a key with limits has rateLimitPolicy and rateLimit, and only a request
// over them has limited and retryAfter. The zero Principal has no fields.
func (p Principal) Fields() map[string]string {
	switch p.Kind {
	case User:
		return map[string]string{
			"v": Version, "kind": string(User), "userId": p.UserID, "orgId": p.OrgID, "role": p.Role, "email": p.Email,
		}
	case Key:
		fields := map[string]string{
			"v": Version, "kind": string(Key), "orgId": p.OrgID, "appId": p.AppID,
			"keyId": p.KeyID, "keyPrefix": p.KeyPrefix, "keyName": p.KeyName,
			"scopes": strings.Join(p.Scopes, " "), "metadata": metadataText(p.Metadata), "expiresAt": expiryText(p.ExpiresAt),
			"plan": p.Plan,
		}
		p.Limit.AddTo(fields)
		return fields
	default:
		return nil
	}
}

// metadataText returns metadata as JSON, sorted by name. It ignores the error, because metadata is valid UTF-8 and always
// marshals.
func metadataText(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	text, _ := plainjson.Marshal(m)
	return string(text)
}

// expiryText returns a time in milliseconds as a decimal number, and "" for 0, which means that the key never expires.
func expiryText(at int64) string {
	if at == 0 {
		return ""
	}
	return strconv.FormatInt(at, 10)
}

func keyPrincipal(k store.APIKey) Principal {
	return Principal{
		Kind: Key, OrgID: string(k.OrgID), AppID: string(k.AppID), KeyID: string(k.ID), KeyPrefix: k.Prefix, KeyName: k.Name,
		Scopes: strings.Fields(k.Scopes), Metadata: k.Metadata, ExpiresAt: k.ExpiresAt, Plan: k.OrgState.Plan,
	}
}

func userPrincipal(m authn.Member, orgID string) Principal {
	return Principal{Kind: User, OrgID: orgID, UserID: string(m.UserID), Role: string(m.Role), Email: m.Email}
}

package api

import (
	"context"
	"net/http"
	"strings"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

const maxSource = 500 // characters of the URL where a key was found

// holderIn is a body that has the whole text of an API key. A finder of the key sends it to revoke the key.
type holderIn struct {
	Key    *string `json:"key"`
	Source *string `json:"source"` // a URL
}

// holder is a checked holderIn.
type holder struct{ text, source string }

func (in holderIn) parse(*call) (h holder, err error) {
	if err := required("/key", in.Key); err != nil {
		return h, err
	}
	h = holder{*in.Key, orZero(in.Source)}
	if h.source != "" && (!isWeb(h.source) || len(h.source) > maxSource) {
		return h, problem.Invalid("/source", "format", "The value must be an http or https URL of at most 500 visible ASCII characters.")
	}
	if hasText(h.source, h.text) {
		h.source = "" // no log may have a secret, and the revocation must not wait for another try
	}
	return h, nil
}

// revokeByText revokes an API key for a caller who has its text, because the text is a proof. A stranger learns nothing: the
// answer is the same for a key that exists and for one that does not. A text that is not complete gets validation_failed,
// because the finder has copied it wrongly.
func (k keys) revokeByText(ctx context.Context, c *call, h holder) (answer, error) {
	found, isKnown, err := k.byText(ctx, c, h.text)
	if err != nil {
		return answer{}, err
	}
	switch _, malformed := apikey.Parse(h.text); {
	case isKnown:
		if err := k.store.RevokeByHolder(ctx, found, h.source); err != nil {
			return answer{}, err
		}
	case malformed != nil && !c.mayBeImported(h.text):
		return answer{}, problem.Invalid("/key", "format", "The value must be the complete text of an API key. Copy the text again, with nothing before or after it.")
	}
	return answer{status: http.StatusAccepted, body: okBody{true}}, nil
}

// mayBeImported reports whether a text can be a key of the owner's earlier system, although no such key was imported. If it
// begins like one of our keys, also after a quote, or has a blank, it was copied wrongly.
func (c *call) mayBeImported(text string) bool {
	isOurs := apikey.BeginsWith(strings.TrimLeft(text, "\"'`<("), c.prefix)
	return c.imports && isVisible(text, 1, len(text)) && apikey.IsForeign(text) && !isOurs
}

// byText reads the API key with this text. ok is false when there is none.
func (k keys) byText(ctx context.Context, c *call, text string) (found store.APIKey, ok bool, err error) {
	parsed, err := apikey.Parse(text)
	if err == nil {
		return k.matching(ctx, parsed.Org, parsed.Key, parsed.Hash)
	}
	if !c.imports || !apikey.IsForeign(text) {
		return found, false, nil
	}
	return k.byHash(ctx, apikey.HashOf(text))
}

// byHash reads the API key that was imported with this hash.
func (k keys) byHash(ctx context.Context, hash apikey.Hash) (found store.APIKey, ok bool, err error) {
	at, ok, err := k.store.Imported(ctx, hash)
	if err != nil || !ok {
		return found, false, err
	}
	return k.matching(ctx, at.Org, at.Key, hash)
}

// matching reads an API key. ok is false when the hash of its text is another one.
func (k keys) matching(ctx context.Context, o id.Org, key id.Key, hash apikey.Hash) (found store.APIKey, ok bool, err error) {
	found, ok, err = k.store.APIKey(ctx, o, key)
	return found, ok && found.Matches(hash), err
}

// findIn is a body that names an API key by exactly one of its members.
type findIn struct {
	Key     *string `json:"key"`     // the whole text
	Locator *string `json:"locator"` // the text before its second "_", which is public
	SHA256  *string `json:"sha256"`  // the hash of the text of an imported key
}

// foundBody is the API key that was found; nil: no key was found.
type foundBody struct {
	Found *foundKey `json:"found"`
}

type foundKey struct {
	OrgID  id.Org `json:"orgId"`
	AppID  id.App `json:"appId"`
	KeyID  id.Key `json:"keyId"`
	Name   string `json:"name"`
	Status string `json:"status"` // active, suspended, expired or revoked
}

var statuses = map[apikey.Verdict]string{apikey.Good: "active", apikey.Suspended: "suspended", apikey.Expired: "expired", apikey.Revoked: "revoked"}

// find returns the API key for the text, the locator or the hash that a service sends. It also finds revoked and expired keys.
func (k keys) find(ctx context.Context, c *call, in findIn) (foundBody, error) {
	found, ok, err := k.lookUp(ctx, c, in)
	if err != nil || !ok {
		return foundBody{}, err
	}
	return foundBody{&foundKey{found.OrgID, found.AppID, found.ID, found.Name, statuses[found.Verdict(k.store.Now().UnixMilli())]}}, nil
}

func (k keys) lookUp(ctx context.Context, c *call, in findIn) (found store.APIKey, ok bool, err error) {
	switch {
	case in.Key != nil && in.Locator == nil && in.SHA256 == nil:
		return k.byText(ctx, c, *in.Key)
	case in.Key == nil && in.Locator != nil && in.SHA256 == nil:
		o, key, err := apikey.ParseLocator(*in.Locator)
		if err != nil {
			return found, false, problem.Invalid("/locator", "format", "The value must be the text of an API key before its second _, such as lk_ and then 43 characters.")
		}
		return k.store.APIKey(ctx, o, key)
	case in.Key == nil && in.Locator == nil && in.SHA256 != nil:
		hash, ok := parseHash(*in.SHA256)
		if !ok {
			return found, false, problem.Invalid("/sha256", "format", "The value must be a SHA-256 in hex or base64.")
		}
		return k.byHash(ctx, hash)
	}
	return found, false, problem.Invalid("/key", "required", "Send exactly one of key, locator and sha256.")
}

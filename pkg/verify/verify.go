// Package verify verifies Latchkey's webhooks. Receivers import it. It needs only the standard library.
//
//	v, err := verify.New(verify.Config{BaseURL: "https://api.example.com", EndpointID: "whe_…"})
//	http.Handle("/webhooks", v.Handler(func(ctx context.Context, e verify.Event) error {
//		return save(ctx, e) // nil: answer 204; an error: answer 500, and the event comes again
//	}))
//
// An event comes at least once. When it comes again, it has the same Event.ID. The header webhook-id has this id too,
// but only the token is signed. Keep each Event.ID that was handled for 30 days: Latchkey can send an event again for
// this time. For an event whose id is known, answer success at once.
//
// The package must not be used for access tokens: it trusts only the keys that sign webhooks.
package verify

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"latchkey/pkg/callback"
	"latchkey/pkg/clock"
	"latchkey/pkg/fetch"
)

const (
	maxAge        = 5 * time.Minute // of a token; each attempt has a new token
	defaultLeeway = time.Minute
)

// Config has the settings of a Verifier.
type Config struct {
	// BaseURL is the address of the API that sends: https, or http on loopback.
	BaseURL string

	// EndpointID is the id of this receiver's endpoint: whe_… Webhooks to any other endpoint are
	// refused, because one key signs the webhooks of all endpoints.
	EndpointID string

	// Issuer is the iss that tokens must have; "": any iss. Any iss is safe, because the keys always come from
	// BaseURL.
	Issuer string

	// Client looks up keys, without following a redirect; nil: the Verifier makes a client. A lookup ends after five seconds, even if the
	// client ignores its context.
	Client *http.Client
	Now    func() time.Time // nil: time.Now

	// Leeway is the largest allowed difference between the clocks of sender and receiver; 0: one
	// minute.
	Leeway time.Duration

	// Report is called with the error when Handler answers 401, 500 or 503; nil: no report. The error is ErrRefused,
	// ErrUnavailable, or the error of the function do of Handler. Report runs in its own goroutine, at most 16 times at once. The
	// answer waits for it 400 ms at most. LostReports counts a report that takes longer, panics, or finds 16 others that run.
	Report func(ctx context.Context, err error)
}

// Event is an event of an app.
type Event struct {
	ID        string // evt_…: the same in every delivery of the event
	Type      string // such as link.claimed
	Test      bool   // true: an example of the type, sent to test the endpoint; nothing happened
	CreatedAt time.Time
	Data      json.RawMessage // an object; its members depend on Type
	Attempt   string          // the id of the attempt; different when the event comes again
}

// Verifier verifies webhooks to one endpoint. It is safe for concurrent use.
type Verifier struct {
	config  Config
	keys    *keys
	reports *callback.Calls
}

// reportsAtOnce limits the concurrent calls of Config.Report.
const reportsAtOnce = 16

// LostReports returns how many calls of Config.Report were not made, panicked, or did not return in time.
func (v *Verifier) LostReports() uint64 { return v.reports.Failed() }

// New makes a Verifier. It returns an error for a configuration without an endpoint id, with a negative leeway, or with
// a base URL that is not a URL or not safe.
func New(c Config) (*Verifier, error) {
	base, err := url.Parse(c.BaseURL)
	isPlainAddress := err == nil && base.Host != "" && base.User == nil && base.RawQuery == "" && base.Fragment == ""
	switch {
	case err != nil:
		return nil, errors.New("verify: BaseURL is not a URL")
	case !isPlainAddress:
		return nil, errors.New("verify: BaseURL is not the address of an API")
	case !fetch.IsSafe(c.BaseURL):
		return nil, errors.New("verify: BaseURL must be https")
	case c.EndpointID == "":
		return nil, errors.New("verify: EndpointID is missing")
	case c.Leeway < 0:
		return nil, errors.New("verify: Leeway is negative")
	}
	if c.Leeway == 0 {
		c.Leeway = defaultLeeway
	}
	now := c.Now
	if now == nil {
		now = clock.Now
	}
	c.Now = func() time.Time { return now().Round(0) } // Config.Now may be time.Now: see clock.Now
	lookup := strings.TrimSuffix(c.BaseURL, "/") + "/webhook_verification_key/get"
	return &Verifier{config: c, keys: newKeys(lookup, c.Client, c.Now), reports: callback.New(reportsAtOnce)}, nil
}

// Verify returns the event of a webhook with this body. The error is ErrRefused when the webhook is bad (answer
// 401), and ErrUnavailable when it is not known now whether the webhook is good (answer 503).
//
// The checks that need no key come first, so that only a recent token for this endpoint causes a lookup.
func (v *Verifier) Verify(ctx context.Context, body []byte) (Event, error) {
	t, err := parse(body)
	if err != nil {
		return Event{}, err
	}
	issuedAt, err := v.checkClaims(t.claims)
	if err != nil {
		return Event{}, err
	}
	event, err := eventOf(t.claims)
	if err != nil {
		return Event{}, err
	}
	k, err := v.keys.get(ctx, t.kid)
	if err != nil {
		return Event{}, err
	}
	digest := sha256.Sum256(t.signed)
	r := new(big.Int).SetBytes(t.signature[:coordinate])
	s := new(big.Int).SetBytes(t.signature[coordinate:])
	switch {
	case !ecdsa.Verify(k.public, digest[:], r, s):
		return Event{}, refused(WrongSignature)
	case k.expiredAt != 0 && issuedAt.UnixMilli() >= k.expiredAt: // the earlier signatures of a retired key stay valid
		return Event{}, refused(RetiredKey)
	}
	return event, nil
}

// checkClaims checks the sender, the receiver and the times of a token. The leeway is for clocks that differ. It
// applies only to iat: the sender sets exp to five minutes after iat.
func (v *Verifier) checkClaims(claims object) (issuedAt time.Time, err error) {
	iat, okIat := claims.integer("iat")
	exp, okExp := claims.integer("exp")
	issuedAt = time.Unix(iat, 0)
	now := v.config.Now()
	switch {
	case v.config.Issuer != "" && !claims.is("iss", v.config.Issuer):
		err = refused(WrongIssuer)
	case !v.isAudience(claims["aud"]):
		err = refused(WrongAudience)
	case !okIat || !okExp:
		err = refused(WrongTime)
	case now.Unix() >= exp:
		err = refused(Expired)
	case issuedAt.Before(now.Add(-maxAge - v.config.Leeway)):
		err = refused(Stale)
	case issuedAt.After(now.Add(v.config.Leeway)):
		err = refused(NotYet)
	}
	return issuedAt, err
}

// isAudience reports whether aud is the endpoint's id, or an array with only this id (RFC 7519
// section 4.1.3).
func (v *Verifier) isAudience(aud json.RawMessage) bool {
	if bytes.HasPrefix(aud, []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(aud, &list); err != nil || len(list) != 1 {
			return false
		}
		aud = list[0]
	}
	return object{"aud": aud}.is("aud", v.config.EndpointID)
}

// eventOf returns the event of a token. The error is Incomplete. Only jti, the id of the attempt, may be missing.
func eventOf(claims object) (Event, error) {
	o, ok := objectOf(claims["event"])
	if !ok {
		return Event{}, refused(Incomplete)
	}
	id, okID := o.text("id")
	kind, okType := o.text("type")
	createdAt, okCreated := o.integer("createdAt")
	attempt, _ := claims.text("jti")
	_, okData := objectOf(o["data"])
	if !okID || !okType || !okCreated || !okData {
		return Event{}, refused(Incomplete)
	}
	return Event{ID: id, Type: kind, Test: string(o["test"]) == "true", CreatedAt: time.UnixMilli(createdAt), Data: o["data"], Attempt: attempt}, nil
}

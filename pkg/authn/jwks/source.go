// Package jwks fetches and keeps what a token issuer publishes: its verification keys (RFC 7517)
// and its discovery document.
//
// It fetches only when a caller needs an answer, and has no goroutine. An answer is fresh for 15
// minutes, and is used for 24 hours while calls to the issuer fail. A set of keys of which none can
// be used, in a readable answer, ends this at the 15 minutes. An unknown kid or a bad
// signature forces at most one fetch in 10 seconds. Concurrent callers share one fetch. A fetch
// takes at most the time of a Patience and 1 MiB. A key that cannot be read is skipped, without effect on
// other keys.
//
// This package must not be used to decide whether a token is good: package token does that.
package jwks

import (
	"context"
	"crypto"
	"errors"
	"net/http"
	"time"
)

// Source fetches and keeps the keys of one issuer.
type Source struct {
	keys cached[keys]
}

// New returns the Source of the keys at an address. With address "" it is the address in the
// discovery document. It makes no call.
func New(address string, discovery *Discovery, client *http.Client, patience Patience, now func() time.Time) *Source {
	return &Source{cached[keys]{now: now, patience: patience, fetch: func(ctx context.Context) (keys, error) {
		at := address
		if at == "" {
			doc, err := discovery.Get(ctx)
			if err != nil {
				return nil, err
			}
			if at = doc.JWKSURI; at == "" {
				return nil, errors.New("jwks: the discovery document names no jwks_uri")
			}
		}
		body, err := read(ctx, client, at)
		if err != nil {
			return nil, err
		}
		return parse(body)
	}}}
}

// Snapshot is the keys as one caller saw them.
type Snapshot struct{ view view[keys] }

// Same reports whether two snapshots are of one answer of the issuer.
func (s Snapshot) Same(other Snapshot) bool { return s.view.round == other.view.round }

// Knows reports whether the issuer has published a key with this id, usable or not.
func (s Snapshot) Knows(kid string) bool {
	_, known := s.view.value[ref{kid: kid}]
	return known
}

// Asked reports whether the issuer was called during the call that returned the snapshot: the
// issuer has no other keys then.
func (s Snapshot) Asked() bool { return s.view.asked }

// At returns when the issuer was called for these keys.
func (s Snapshot) At() time.Time { return s.view.gotAt }

// Find returns the keys that may verify a signature by this key id and algorithm: mostly one,
// none when the id is unknown or its key is not for the algorithm.
func (s Snapshot) Find(kid, alg string) []crypto.PublicKey { return s.view.value[ref{kid, alg}] }

// Keys returns the keys. An error means that the issuer cannot be called and that no keys
// younger than 24 hours are kept.
func (s *Source) Keys(ctx context.Context) (Snapshot, error) {
	v, err := s.keys.get(ctx)
	return Snapshot{v}, err
}

// Newer returns keys that are newer than seen, for a token that those do not verify. changed is
// false when there are none, or when the issuer was called only a moment ago: next.Asked
// distinguishes these cases. An error means that the issuer cannot be called, so it is not known
// whether the token is good.
func (s *Source) Newer(ctx context.Context, seen Snapshot) (next Snapshot, changed bool, err error) {
	v, changed, err := s.keys.newer(ctx, seen.view)
	return Snapshot{v}, changed, err
}

// Package jwks fetches and keeps two documents of a token issuer: its verification keys (RFC 7517)
// and its discovery document.
//
// It fetches only when a caller needs an answer. An answer is fresh for 15 minutes, and is used
// for 24 hours while calls to the issuer fail or take longer than a second. When the issuer answers with a set that has no usable key, the kept keys
// are used only while they are fresh. An unknown kid or a bad signature forces at most one fetch in 10 seconds.
// Concurrent callers share one fetch, which goes on when they leave. The Timeout of a Patience and 1 MiB limit a fetch. A key that
// cannot be read is skipped, without effect on other keys.
//
// This package must not be used to decide whether a token is good: package accesstoken does that.
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

// New returns the Source of the keys at address. When address is "", each fetch reads the address from the discovery
// document. New makes no call.
func New(address string, discovery *Discovery, client *http.Client, patience Patience, now func() time.Time) *Source {
	return &Source{cached[keys]{now: now, patience: patience, fetch: func(ctx context.Context) (keys, error) {
		keysURL := address
		if keysURL == "" {
			doc, err := discovery.Get(ctx)
			if err != nil {
				return nil, err
			}
			if keysURL = doc.JWKSURI; keysURL == "" {
				return nil, errors.New("jwks: the discovery document names no jwks_uri")
			}
		}
		a, err := read(ctx, client, keysURL)
		if err != nil {
			return nil, err
		}
		return parse(a.Body)
	}}}
}

// Snapshot has the keys at the time of one call of Keys or Newer.
type Snapshot struct{ view view[keys] }

// Same reports whether two snapshots come from the same answer of the issuer.
func (s Snapshot) Same(other Snapshot) bool { return s.view.round == other.view.round }

// Knows reports whether the issuer has published a key with this id, usable or not.
func (s Snapshot) Knows(kid string) bool {
	_, known := s.view.value[ref{kid: kid}]
	return known
}

// Asked reports whether the issuer was called during the call that returned the snapshot. Then the snapshot has the
// issuer's present keys.
func (s Snapshot) Asked() bool { return s.view.asked }

// At returns the time at which the fetch of these keys began.
func (s Snapshot) At() time.Time { return s.view.gotAt }

// Find returns the keys that may verify a signature with this key id and algorithm. It returns no key when the id is
// unknown or its key is for another algorithm, and several keys when the issuer published several with this id.
func (s Snapshot) Find(kid, alg string) []crypto.PublicKey { return s.view.value[ref{kid, alg}] }

// Keys returns the keys. An error means that the issuer cannot be called or ctx has ended, and that there are no kept keys that
// may still be used.
func (s *Source) Keys(ctx context.Context) (Snapshot, error) {
	v, err := s.keys.get(ctx)
	return Snapshot{v}, err
}

// Newer returns newer keys than seen, for a token that the keys of seen do not verify. changed is false in two cases:
// the issuer has no newer keys (next.Asked is true), or Newer did not call the issuer, because it was forced to in
// the last 10 seconds (next.Asked is false). An error means that the issuer cannot be called, so it is not known
// whether the token is good.
func (s *Source) Newer(ctx context.Context, seen Snapshot) (next Snapshot, changed bool, err error) {
	v, changed, err := s.keys.newer(ctx, seen.view)
	return Snapshot{v}, changed, err
}

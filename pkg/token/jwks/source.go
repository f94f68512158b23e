// Package jwks gets and keeps what a token issuer publishes: its verification
// keys (RFC 7517) and its discovery document.
//
// It is lazy and has no goroutine. An answer is fresh for 15 minutes and is used
// for 24 hours while the issuer cannot be asked; an unknown kid or a bad
// signature forces at most one fetch in 10 seconds; concurrent callers share one
// fetch; a refresh takes at most 3 seconds and 1 MiB. A key that cannot be read
// is skipped: it takes no other key with it.
//
// This package must not be used to decide whether a token is good: that is
// package token's.
package jwks

import (
	"context"
	"crypto"
	"errors"
	"net/http"
	"time"
)

// Source keeps the keys of one issuer.
type Source struct {
	keys cached[keys]
}

// New gives the keys at an address; with address "" it is the one that the
// discovery document names. It asks nothing yet.
func New(address string, discovery *Discovery, client *http.Client, now func() time.Time) *Source {
	return &Source{cached[keys]{now: now, fetch: func(ctx context.Context) (keys, error) {
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

// Knows reports whether the issuer published a key of this id, one that can be used
// or not.
func (s Snapshot) Knows(kid string) bool {
	_, known := s.view.value[ref{kid: kid}]
	return known
}

// Asked reports whether the issuer was asked during the call that gave the
// snapshot: it has no other keys then.
func (s Snapshot) Asked() bool { return s.view.asked }

// At is when the issuer was asked for these keys.
func (s Snapshot) At() time.Time { return s.view.gotAt }

// Find gives the keys that may verify a signature by this key id and algorithm:
// mostly one, none when the id is unknown or its key is not for the algorithm.
func (s Snapshot) Find(kid, alg string) []crypto.PublicKey { return s.view.value[ref{kid, alg}] }

// Keys gives the keys. An error means that the issuer cannot be asked and that
// no keys younger than 24 hours are kept.
func (s *Source) Keys(ctx context.Context) (Snapshot, error) {
	v, err := s.keys.get(ctx)
	return Snapshot{v}, err
}

// Newer gives keys newer than those seen, for a token that those do not verify.
// changed is false when there are none, or when the issuer was asked a moment ago:
// next.Asked tells these apart. An error means that it cannot be asked, so whether
// the token is good is not known.
func (s *Source) Newer(ctx context.Context, seen Snapshot) (next Snapshot, changed bool, err error) {
	v, changed, err := s.keys.newer(ctx, seen.view)
	return Snapshot{v}, changed, err
}

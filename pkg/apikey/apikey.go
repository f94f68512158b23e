// Package apikey is the grammar of API keys, that of package opaque: prefix is a
// deploy parameter, and the locator has the key's id and the org's.
//
// This package must not be used to decide whether a key is good: only its stored
// hash, expiry and revocation do that.
package apikey

import (
	"io"

	"latchkey/pkg/id"
	"latchkey/pkg/opaque"
	"latchkey/pkg/secret"
)

// ErrMalformed means that a text has not the form of a key, or not its checksum.
var ErrMalformed = opaque.ErrMalformed

// ValidPrefix reports whether a deploy parameter can stand before a key: a lower
// case letter and up to 15 more letters or digits, and not what link tokens begin
// with.
func ValidPrefix(prefix string) bool {
	return opaque.ValidPrefix(prefix) && prefix != opaque.LinkPrefix
}

// Hash is the SHA-256 of a whole key: what is stored in its place.
type Hash = opaque.Hash

// Minted is a new key. Key is shown once and never stored; Prefix is its public
// part, by which people tell keys apart.
type Minted struct {
	Key    secret.String
	Prefix string
	Hash   Hash
}

// Mint makes the key text for a key's id in an org. random nil is crypto/rand.
func Mint(prefix string, org id.Org, key id.Key, random io.Reader) (Minted, error) {
	if !ValidPrefix(prefix) {
		return Minted{}, opaque.ErrPrefix
	}
	keyBits, err := key.Bits()
	if err != nil {
		return Minted{}, err
	}
	orgBits, err := org.Bits()
	if err != nil {
		return Minted{}, err
	}
	m, err := opaque.Mint(prefix, keyBits, orgBits, random)
	return Minted{Key: m.Text, Prefix: m.Prefix, Hash: m.Hash}, err
}

// Parsed is what a key's text tells without a read: where its row is, and the
// hash to hold against the row's.
type Parsed struct {
	Org  id.Org
	Key  id.Key
	Hash Hash
}

// Parse takes a key's text apart. Any valid prefix is taken, so that keys
// outlive a change of the deploy parameter; the hash covers it. The only error
// is ErrMalformed.
func Parse(text string) (Parsed, error) {
	p, err := opaque.Parse(text)
	if err != nil || !ValidPrefix(p.Prefix) {
		return Parsed{}, ErrMalformed
	}
	return Parsed{Org: id.OrgFromBits(p.Owner), Key: id.KeyFromBits(p.Item), Hash: p.Hash}, nil
}

// Package apikey has the rules of API keys: their grammar, when one is active, and what one carries. The grammar is
// package secret's: the prefix is a deploy parameter, and the locator has the ids of the key and of its org.
//
// This package must not be used to decide whether a key is good: only its stored hash, expiry
// and revocation do that.
package apikey

import (
	"io"
	"slices"
	"strings"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/secret"
)

// ErrMalformed means that a text does not have the form of a key, or has a wrong checksum.
var ErrMalformed = secret.ErrMalformed

// ValidPrefix reports whether a text can be the prefix of keys: a lower-case letter and up to
// 15 more letters or digits. The prefix of link tokens is not one.
func ValidPrefix(prefix string) bool {
	return secret.ValidPrefix(prefix) && prefix != secret.LinkPrefix
}

// Hash is the SHA-256 of a whole key. The table has it in place of the key.
type Hash = secret.Hash

// Minted is a new key. Key is shown once and never stored. Prefix is its public part, by
// which people recognise a key.
type Minted struct {
	Key    secret.String
	Prefix string
	Hash   Hash
}

// Mint makes the text of a key with this id in an org. random nil means crypto/rand.
func Mint(prefix string, org id.Org, key id.Key, random io.Reader) (Minted, error) {
	if !ValidPrefix(prefix) {
		return Minted{}, secret.ErrPrefix
	}
	keyBits, err := key.Bits()
	if err != nil {
		return Minted{}, err
	}
	orgBits, err := org.Bits()
	if err != nil {
		return Minted{}, err
	}
	m, err := secret.Mint(prefix, keyBits, orgBits, random)
	return Minted{Key: m.Text, Prefix: m.Prefix, Hash: m.Hash}, err
}

// Parsed is the content of a key's text: the ids that lead to its row, and the hash to
// compare with that of the row.
type Parsed struct {
	Org  id.Org
	Key  id.Key
	Hash Hash
}

// Parse reads a key's text. It takes any valid prefix, so that keys survive a change of the
// deploy parameter; the hash covers the prefix. The only error is ErrMalformed.
func Parse(text string) (Parsed, error) {
	p, err := secret.Parse(text)
	if err != nil || !ValidPrefix(p.Prefix) {
		return Parsed{}, ErrMalformed
	}
	return Parsed{Org: id.OrgFromBits(p.Owner), Key: id.KeyFromBits(p.Item), Hash: p.Hash}, nil
}

// The bounds of what a key carries for the owner's endpoints (infra/docs/api.md, "Limits").
const (
	MaxScopes   = 32
	MaxScope    = 64      // characters of one scope
	MaxMetadata = 1 << 10 // bytes of the metadata as JSON
)

// reserved is the beginning of scopes that no one may give a key.
const reserved = "latchkey."

// ValidScope reports whether s may be a scope: 1 to 64 of a to z, 0 to 9 and _.:- that do not
// begin with "latchkey.".
func ValidScope(s string) bool {
	return s != "" && len(s) <= MaxScope && !strings.HasPrefix(s, reserved) && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:-", r)
	})
}

// JoinScopes returns valid scopes as the row of a key has them: sorted, without duplicates, with
// one space between two, "" for none.
func JoinScopes(scopes []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(scopes))), " ")
}

// SplitScopes returns the scopes that JoinScopes joined. The slice is never nil.
func SplitScopes(joined string) []string { return strings.Fields(joined) }

// ValidMetadata reports whether m may be a key's metadata: at most 1,024 bytes as the text of
// plainjson.Marshal.
func ValidMetadata(m map[string]string) bool {
	text, err := plainjson.Marshal(m)
	return err == nil && len(text) <= MaxMetadata
}

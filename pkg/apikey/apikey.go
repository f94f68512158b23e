// Package apikey has the rules of API keys: when a key is active, and which scopes and metadata it may carry. Package secret has
// the grammar of a key's text. The prefix is a deploy parameter, and the locator has the ids of the key and of its org.
//
// A text that Parse accepts need not be a good key. Package authn compares its hash with the stored row, and State decides by
// the row's expiry and revocation.
package apikey

import (
	"io"
	"slices"
	"strings"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/secret"
)

// ErrMalformed means that a text does not have the form of a key, or that its checksum is wrong.
var ErrMalformed = secret.ErrMalformed

// ValidPrefix reports whether a text can be the prefix of keys: a lower-case letter and up to 15 more lower-case letters or
// digits. The prefix of link tokens is not allowed, so that a key and a link token never have the same text.
func ValidPrefix(prefix string) bool {
	return secret.ValidPrefix(prefix) && prefix != secret.LinkPrefix
}

// Hash is the SHA-256 of a key's whole text. The table stores the hash in place of the key.
type Hash = secret.Hash

// HashOf returns the hash of the text of a key from another system. The text may have any form.
func HashOf(text string) Hash { return secret.HashOf(text) }

// Minted is a new key. Key is its whole text, which is shown once and never stored. Prefix is the public beginning of
// the text. People recognise the key by it.
type Minted struct {
	Key    secret.String
	Prefix string
	Hash   Hash
}

// Mint makes the text of a key from the ids of the key and of its org. If random is nil, Mint uses crypto/rand.
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
// compare with the hash in that row.
type Parsed struct {
	Org  id.Org
	Key  id.Key
	Hash Hash
}

// Parse reads a key's text. It accepts any valid prefix, so that keys survive a change of the
// deploy parameter. A changed prefix is safe, because the hash covers the prefix. The only error is ErrMalformed.
func Parse(text string) (Parsed, error) {
	p, err := secret.Parse(text)
	if err != nil || !ValidPrefix(p.Prefix) {
		return Parsed{}, ErrMalformed
	}
	return Parsed{Org: id.OrgFromBits(p.Owner), Key: id.KeyFromBits(p.Item), Hash: p.Hash}, nil
}

// ParseLocator reads the text of a key before its second "_", which is public. The only error is ErrMalformed.
func ParseLocator(text string) (id.Org, id.Key, error) {
	p, err := secret.ParseLocator(text)
	if err != nil || !ValidPrefix(p.Prefix) {
		return "", "", ErrMalformed
	}
	return id.OrgFromBits(p.Owner), id.KeyFromBits(p.Item), nil
}

// LocatorOf returns the locator of a key, which is the text before its second "_". shown is the beginning that lists show
// (Minted.Prefix). For an imported key, which has no locator, LocatorOf returns "".
func LocatorOf(shown string, org id.Org, key id.Key) string {
	prefix, _, _ := strings.Cut(shown, "_")
	item, err := key.Bits()
	owner, otherErr := org.Bits()
	locator := secret.Locator(secret.Parsed{Prefix: prefix, Item: item, Owner: owner})
	if err != nil || otherErr != nil || !strings.HasPrefix(locator, shown) {
		return ""
	}
	return locator
}

// BeginsWith reports whether a text begins like a key of the deployment: with prefix, perhaps more letters or digits, and then
// "_".
func BeginsWith(text, prefix string) bool {
	head, _, ok := strings.Cut(text, "_")
	return ok && strings.HasPrefix(head, prefix) && secret.ValidPrefix(head)
}

// IsForeign reports whether a text has neither the form of a key nor the form of a link token. It can then be an imported key.
func IsForeign(text string) bool {
	_, err := secret.Parse(text)
	return err != nil
}

// The bounds of the scopes and the metadata that a key carries for the owner's own API (infra/docs/api.md, "Limits").
const (
	MaxScopes   = 32      // scopes of one key
	MaxScope    = 64      // characters of one scope
	MaxMetadata = 1 << 10 // bytes of the metadata as JSON
)

// reservedPrefix begins the scopes that are reserved for Latchkey itself. No key can have them.
const reservedPrefix = "latchkey."

// ValidScope reports whether s can be a scope: 1 to 64 characters of a to z, 0 to 9 and _.:- that do not begin with
// "latchkey.".
func ValidScope(s string) bool {
	if s == "" || len(s) > MaxScope || strings.HasPrefix(s, reservedPrefix) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		isLetter, isDigit := 'a' <= r && r <= 'z', '0' <= r && r <= '9'
		return !isLetter && !isDigit && !strings.ContainsRune("_.:-", r)
	})
}

// JoinScopes returns valid scopes in the form of a key's row: sorted, without duplicates, and separated by one space. It
// returns "" for no scopes.
func JoinScopes(scopes []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(scopes))), " ")
}

// SplitScopes returns the scopes that JoinScopes joined. The slice is never nil.
func SplitScopes(joined string) []string { return strings.Fields(joined) }

// ValidMetadata reports whether m can be a key's metadata: at most 1,024 bytes as JSON from plainjson.Marshal.
func ValidMetadata(m map[string]string) bool {
	text, err := plainjson.Marshal(m)
	return err == nil && len(text) <= MaxMetadata
}

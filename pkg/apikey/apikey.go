// Package apikey is the grammar of API keys:
//
//	<prefix>_<locator>_<secret><check>
//
// prefix is a deploy parameter; locator is where the key's row is (43 base62
// characters: the key's id, its random part first, then the org's id); secret is
// 256 random bits in 43 base62 characters; check is the CRC-32 of all before it,
// in 6. A text of another form or another checksum is refused without a read.
//
// This package must not be used to decide whether a key is good: only its stored
// hash, expiry and revocation do that.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash/crc32"
	"io"
	"math/big"
	"strings"

	"latchkey/pkg/id"
	"latchkey/pkg/secret"
)

// ErrMalformed means that a text has not the form of a key, or not its checksum.
var ErrMalformed = errors.New("apikey: malformed")

const (
	wordBytes = 32 // locator and secret
	wordChars = 43 // 62^43 > 2^256
	checkLen  = 6  // 62^6 > 2^32
	shownLen  = 8  // of the locator, in a key's public prefix
	maxPrefix = 16
	maxLen    = maxPrefix + 1 + wordChars + 1 + wordChars + checkLen
)

// ValidPrefix reports whether a deploy parameter can stand before a key: a lower
// case letter and up to 15 more letters or digits.
func ValidPrefix(prefix string) bool {
	if len(prefix) < 1 || len(prefix) > maxPrefix || prefix[0] < 'a' || prefix[0] > 'z' {
		return false
	}
	for _, c := range []byte(prefix) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Hash is the SHA-256 of a whole key: what is stored in its place.
type Hash [sha256.Size]byte

// Equal compares in constant time.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

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
		return Minted{}, errors.New("apikey: prefix must be a lower-case letter and up to 15 letters or digits")
	}
	if random == nil {
		random = rand.Reader
	}
	keyBits, err := key.Bits()
	if err != nil {
		return Minted{}, err
	}
	orgBits, err := org.Bits()
	if err != nil {
		return Minted{}, err
	}
	var secretBits [wordBytes]byte
	if _, err := io.ReadFull(random, secretBits[:]); err != nil {
		return Minted{}, err
	}
	locator := encode(pack(keyBits, orgBits))
	body := prefix + "_" + locator + "_" + encode(secretBits)
	text := body + checksum(body)
	return Minted{
		Key: secret.New(text), Prefix: prefix + "_" + locator[:shownLen],
		Hash: sha256.Sum256([]byte(text)),
	}, nil
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
	if len(text) > maxLen {
		return Parsed{}, ErrMalformed
	}
	parts := strings.Split(text, "_")
	if len(parts) != 3 || !ValidPrefix(parts[0]) || len(parts[1]) != wordChars || len(parts[2]) != wordChars+checkLen {
		return Parsed{}, ErrMalformed
	}
	body, check := text[:len(text)-checkLen], text[len(text)-checkLen:]
	if checksum(body) != check {
		return Parsed{}, ErrMalformed
	}
	word, err := decode(parts[1])
	if err != nil {
		return Parsed{}, err
	}
	key, org := unpack(word)
	return Parsed{Org: id.OrgFromBits(org), Key: id.KeyFromBits(key), Hash: sha256.Sum256([]byte(text))}, nil
}

// pack puts the key's 80 random bits first, then its 48 bits of time, then the
// org: the leading characters then tell keys apart and tell nothing of time.
func pack(key, org [16]byte) (w [wordBytes]byte) {
	copy(w[0:], key[6:])
	copy(w[10:], key[:6])
	copy(w[16:], org[:])
	return w
}

func unpack(w [wordBytes]byte) (key, org [16]byte) {
	copy(key[6:], w[0:10])
	copy(key[:6], w[10:16])
	copy(org[:], w[16:])
	return key, org
}

func encode(w [wordBytes]byte) string { return pad(new(big.Int).SetBytes(w[:]).Text(62), wordChars) }

// decode refuses what encode never writes: other characters, and numbers of
// more than 256 bits.
func decode(s string) (w [wordBytes]byte, err error) {
	for i := range len(s) {
		if !isBase62(s[i]) {
			return w, ErrMalformed
		}
	}
	n, ok := new(big.Int).SetString(s, 62)
	if !ok || n.BitLen() > 8*wordBytes {
		return w, ErrMalformed
	}
	n.FillBytes(w[:])
	return w, nil
}

func isBase62(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func checksum(body string) string {
	return pad(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62), checkLen)
}

func pad(s string, n int) string { return strings.Repeat("0", n-len(s)) + s }

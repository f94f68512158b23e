package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
	"strings"
)

// The errors of Mint and Parse.
var (
	ErrMalformed = errors.New("secret: malformed") // another form, or a wrong checksum
	ErrPrefix    = errors.New("secret: a prefix is a lower-case letter and up to 15 letters or digits")
)

const (
	base      = 62
	wordBytes = 32 // locator and secret
	wordChars = 43 // 62^43 > 2^256
	checkLen  = 6  // 62^6 > 2^32
	shownLen  = 8  // characters of the locator in the public part
	maxPrefix = 16
	maxLen    = maxPrefix + 1 + wordChars + 1 + wordChars + checkLen
)

// LinkPrefix begins link tokens, and no other text.
const LinkPrefix = "lkt"

// ValidPrefix reports whether a text can be a prefix: a lower-case letter and up to 15 more
// letters or digits.
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

// Hash is the SHA-256 of a whole text. The table has it in place of the text.
type Hash [sha256.Size]byte

// Equal reports whether two hashes are the same, in constant time.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// Minted is a new text. Text is shown once and never stored. Prefix is its public part, by
// which people recognise a text.
type Minted struct {
	Text   String
	Prefix string
	Hash   Hash
}

// Mint makes a text that leads to a row. item is the bits of the row's ULID, owner those of
// its partition's id. random nil means crypto/rand. Errors: ErrPrefix, and those of random.
func Mint(prefix string, item, owner [16]byte, random io.Reader) (Minted, error) {
	if !ValidPrefix(prefix) {
		return Minted{}, ErrPrefix
	}
	if random == nil {
		random = rand.Reader
	}
	var secretBits [wordBytes]byte
	if _, err := io.ReadFull(random, secretBits[:]); err != nil {
		return Minted{}, err
	}
	locator := encode(pack(item, owner))
	body := prefix + "_" + locator + "_" + encode(secretBits)
	text := body + checksum(body)
	return Minted{
		Text: New(text), Prefix: prefix + "_" + locator[:shownLen],
		Hash: sha256.Sum256([]byte(text)),
	}, nil
}

// Parsed is the content of a text: the bits that lead to its row, and the hash to compare with
// that of the row.
type Parsed struct {
	Prefix      string
	Item, Owner [16]byte
	Hash        Hash
}

// Parse reads a text. It takes any valid prefix. The only error is ErrMalformed.
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
	if _, err := decode(parts[2][:wordChars]); err != nil {
		return Parsed{}, err
	}
	item, owner := unpack(word)
	return Parsed{Prefix: parts[0], Item: item, Owner: owner, Hash: sha256.Sum256([]byte(text))}, nil
}

// pack puts the item's 80 random bits first, then its 48 bits of time, then the owner. The
// leading characters then differ from text to text, and reveal no time.
func pack(item, owner [16]byte) (w [wordBytes]byte) {
	copy(w[0:], item[6:])
	copy(w[10:], item[:6])
	copy(w[16:], owner[:])
	return w
}

func unpack(w [wordBytes]byte) (item, owner [16]byte) {
	copy(item[6:], w[0:10])
	copy(item[:6], w[10:16])
	copy(owner[:], w[16:])
	return item, owner
}

// digits are those of base 62, in their order.
const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// limbs is a word as a number: the lowest 64 bits first.
type limbs [wordBytes / 8]uint64

// encode writes a word as a number in base 62.
func encode(w [wordBytes]byte) string {
	var n limbs
	for i := range n {
		n[i] = binary.BigEndian.Uint64(w[wordBytes-8*(i+1):])
	}
	var out [wordChars]byte
	for at := wordChars - 1; at >= 0; at-- {
		var digit uint64
		for i := len(n) - 1; i >= 0; i-- {
			n[i], digit = bits.Div64(digit, n[i], base)
		}
		out[at] = digits[digit]
	}
	return string(out[:])
}

// decode refuses texts that encode never writes: other characters, and numbers of more than
// 256 bits.
func decode(s string) (w [wordBytes]byte, err error) {
	var n limbs
	for at := range len(s) {
		carry, ok := digit(s[at])
		for i := range n {
			high, low := bits.Mul64(n[i], base)
			var more uint64
			n[i], more = bits.Add64(low, carry, 0)
			carry = high + more
		}
		if !ok || carry != 0 {
			return w, ErrMalformed
		}
	}
	for i := range n {
		binary.BigEndian.PutUint64(w[wordBytes-8*(i+1):], n[i])
	}
	return w, nil
}

// digit returns the value of a character in base 62.
func digit(c byte) (value uint64, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0'), true
	case 'a' <= c && c <= 'z':
		return uint64(c-'a') + 10, true
	case 'A' <= c && c <= 'Z':
		return uint64(c-'A') + 36, true
	}
	return 0, false
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var out [checkLen]byte
	for at := checkLen - 1; at >= 0; at-- {
		out[at] = digits[sum%base]
		sum /= base
	}
	return string(out[:])
}

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
	ErrMalformed = errors.New("secret: malformed") // the text has another form, or its checksum is wrong
	ErrPrefix    = errors.New("secret: a prefix is a lower-case letter and up to 15 lower-case letters or digits, and not the prefix of link tokens")
)

const (
	base      = 62
	wordBytes = 32 // the bytes of a word: the locator and the secret are words
	wordChars = 43 // the characters of a word: 62^43 > 2^256
	checkLen  = 6  // the characters of the checksum: 62^6 > 2^32
	shownLen  = 8  // the characters of the locator in Minted.Prefix
	maxPrefix = 16
	maxLen    = maxPrefix + 1 + wordChars + 1 + wordChars + checkLen
)

// LinkPrefix is the prefix of link tokens. No key may have it.
const LinkPrefix = "lkt"

// ValidPrefix reports whether a text can be a prefix: a lower-case letter and up to 15 more
// lower-case letters or digits.
func ValidPrefix(prefix string) bool {
	if len(prefix) < 1 || len(prefix) > maxPrefix {
		return false
	}
	for i, c := range []byte(prefix) {
		isLetter, isDigit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		isGood := isLetter || i > 0 && isDigit
		if !isGood {
			return false
		}
	}
	return true
}

// Hash is the SHA-256 of a whole text. The table has the hash instead of the text.
type Hash [sha256.Size]byte

// HashOf returns the hash of a text.
func HashOf(text string) Hash { return sha256.Sum256([]byte(text)) }

// Equal reports whether two hashes are the same, in constant time.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// Minted is a new text. Text is shown once and never stored. Prefix is the public beginning of Text. People
// recognise the text by it.
type Minted struct {
	Text   String
	Prefix string
	Hash   Hash
}

// Mint makes a text that leads to a row. item has the bits of the row's ULID. owner has the bits of the id in the row's
// partition key. If random is nil, Mint uses crypto/rand. Errors: ErrPrefix, and the errors of random.
func Mint(prefix string, item, owner [16]byte, random io.Reader) (Minted, error) {
	if !ValidPrefix(prefix) {
		return Minted{}, ErrPrefix
	}
	if random == nil {
		random = rand.Reader
	}
	var secretWord [wordBytes]byte
	if _, err := io.ReadFull(random, secretWord[:]); err != nil {
		return Minted{}, err
	}
	locator := Locator(Parsed{Prefix: prefix, Item: item, Owner: owner})
	body := locator + "_" + encode(secretWord)
	text := body + checksum(body)
	return Minted{
		Text: New(text), Prefix: locator[:len(prefix)+1+shownLen],
		Hash: HashOf(text),
	}, nil
}

// Parsed is the content of a text: the bits that lead to its row, and the hash to compare with the hash in that row.
type Parsed struct {
	Prefix      string
	Item, Owner [16]byte
	Hash        Hash
}

// Parse reads a text. It accepts any valid prefix. The only error is ErrMalformed.
func Parse(text string) (Parsed, error) {
	if len(text) > maxLen {
		return Parsed{}, ErrMalformed
	}
	parts := strings.Split(text, "_")
	if len(parts) != 3 {
		return Parsed{}, ErrMalformed
	}
	prefix, locator, secretAndCheck := parts[0], parts[1], parts[2]
	if !ValidPrefix(prefix) || len(locator) != wordChars || len(secretAndCheck) != wordChars+checkLen {
		return Parsed{}, ErrMalformed
	}
	body, check := text[:len(text)-checkLen], text[len(text)-checkLen:]
	if checksum(body) != check {
		return Parsed{}, ErrMalformed
	}
	if _, err := decode(secretAndCheck[:wordChars]); err != nil {
		return Parsed{}, err
	}
	p, err := ParseLocator(prefix + "_" + locator)
	p.Hash = HashOf(text)
	return p, err
}

// ParseLocator reads the locator of a text, which is the text before its second "_". The result has no Hash. The only error is
// ErrMalformed.
func ParseLocator(text string) (Parsed, error) {
	prefix, locator, _ := strings.Cut(text, "_")
	if !ValidPrefix(prefix) || len(locator) != wordChars {
		return Parsed{}, ErrMalformed
	}
	word, err := decode(locator)
	if err != nil {
		return Parsed{}, err
	}
	item, owner := unpack(word)
	return Parsed{Prefix: prefix, Item: item, Owner: owner}, nil
}

// Locator returns the locator of a text from the result of Parse.
func Locator(p Parsed) string { return p.Prefix + "_" + encode(pack(p.Item, p.Owner)) }

// pack makes the word of a locator: the 80 random bits of the item's ULID, then the 48 bits of its time, then the owner. The
// first characters of a locator are public. With this order they differ from text to text, and do not reveal the time.
func pack(item, owner [16]byte) (w [wordBytes]byte) {
	copy(w[0:], item[6:])
	copy(w[10:], item[:6])
	copy(w[16:], owner[:])
	return w
}

// unpack is the inverse of pack.
func unpack(w [wordBytes]byte) (item, owner [16]byte) {
	copy(item[6:], w[0:10])
	copy(item[:6], w[10:16])
	copy(owner[:], w[16:])
	return item, owner
}

// digits are the digits of base 62, in the order of their values.
const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// limbs is a word as a number of four 64-bit parts. The lowest part is first, although the word itself is big-endian.
type limbs [wordBytes / 8]uint64

// encode writes a word as a number in base 62.
func encode(w [wordBytes]byte) string {
	var n limbs
	for i := range n {
		n[i] = binary.BigEndian.Uint64(w[wordBytes-8*(i+1):])
	}
	var out [wordChars]byte
	for at := wordChars - 1; at >= 0; at-- {
		// Long division of n by base, the highest limb first. The last remainder is the digit.
		var remainder uint64
		for i := len(n) - 1; i >= 0; i-- {
			n[i], remainder = bits.Div64(remainder, n[i], base)
		}
		out[at] = digits[remainder]
	}
	return string(out[:])
}

// decode is the inverse of encode. Error: ErrMalformed for other characters, and for a number of more than 256 bits.
func decode(s string) (w [wordBytes]byte, err error) {
	var n limbs
	for at := range len(s) {
		// n = n*base + digit. The digit is the first carry. A carry after the last part means more than 256 bits.
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

// checksum returns the CRC-32 of a text in base 62.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var out [checkLen]byte
	for at := checkLen - 1; at >= 0; at-- {
		out[at] = digits[sum%base]
		sum /= base
	}
	return string(out[:])
}

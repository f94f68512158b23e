package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxBody is the largest webhook, in bytes.
const MaxBody = 256 << 10

// maxDepth limits the levels of nested objects, arrays and values below the outer object of a token.
const maxDepth = 64

const (
	coordinate      = 32 // bytes of r, and of s, in a signature on P-256
	signatureLength = 2 * coordinate
)

// object is a JSON object. It is a map, because encoding/json would put "AUD" into the field "aud" of a struct.
type object map[string]json.RawMessage

// token is a compact JWS (RFC 7515 section 7.1) that is not verified yet.
type token struct {
	signed    []byte // header and payload, which the signature covers
	kid       string
	claims    object
	signature []byte // r and s, 32 bytes each
}

// parse reads a token and checks its form and its header. Errors: Malformed, WrongHeader, WrongSignature.
func parse(body []byte) (token, error) {
	if len(body) > MaxBody {
		return token{}, refused(Malformed)
	}
	parts := strings.Split(string(body), ".")
	if len(parts) != 3 {
		return token{}, refused(Malformed)
	}
	header, okHeader := decodeObject(parts[0])
	claims, okClaims := decodeObject(parts[1])
	signature, okSignature := decode64(parts[2])
	if !okHeader || !okClaims || !okSignature {
		return token{}, refused(Malformed)
	}
	kid, err := checkHeader(header)
	if err != nil {
		return token{}, err
	}
	if len(signature) != signatureLength {
		return token{}, refused(WrongSignature)
	}
	signed := body[:len(parts[0])+1+len(parts[1])]
	return token{signed: signed, kid: kid, claims: claims, signature: signature}, nil
}

// checkHeader checks a header and returns its kid. Only ES256 is accepted. A key in the header itself (jwk,
// jku, x5c, x5u) is ignored.
func checkHeader(h object) (kid string, err error) {
	// crit names extensions that a receiver must know. This package knows none.
	_, isCritical := h["crit"]
	kid, hasKid := h.text("kid")
	thumbprint, isBase64 := decode64(kid)
	isThumbprint := hasKid && isBase64 && len(thumbprint) == sha256.Size // RFC 7638
	if isCritical || !isThumbprint || !h.is("alg", "ES256") || !h.is("typ", "webhook+jwt") {
		return "", refused(WrongHeader)
	}
	return kid, nil
}

// decode64 decodes base64url in its canonical spelling: no padding, no line breaks (which encoding/base64 would skip),
// and zeros in the unused bits of the last character.
func decode64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}

// decodeObject decodes a header or a payload.
func decodeObject(part string) (object, bool) {
	b, ok := decode64(part)
	if !ok || !utf8.Valid(b) || !unambiguous(b) {
		return nil, false
	}
	return objectOf(b)
}

// objectOf reads a JSON object. unambiguous must have accepted the text.
func objectOf(b []byte) (object, bool) {
	var o object
	if err := json.Unmarshal(b, &o); err != nil || o == nil {
		return nil, false
	}
	return o, true
}

// text returns a member that is a string. ok is false when the member is missing, of another type or empty.
func (o object) text(name string) (value string, ok bool) {
	var s *string // stays nil for null
	if err := json.Unmarshal(o[name], &s); err != nil || s == nil {
		return "", false
	}
	return *s, *s != ""
}

// is reports whether a member is a string with this value.
func (o object) is(name, want string) bool {
	s, ok := o.text(name)
	return ok && s == want
}

// integer returns a member that is a number. ok is false when the member is missing or not a whole number above 0.
func (o object) integer(name string) (value int64, ok bool) {
	var n *int64 // stays nil for null
	if err := json.Unmarshal(o[name], &n); err != nil || n == nil {
		return 0, false
	}
	return *n, *n > 0
}

// unambiguous reports whether a text is one JSON value in which no object has two members with one name. Parsers differ
// in which of the two they use.
func unambiguous(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if !walkValue(d, 0) {
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}

// walkValue reads one JSON value. It returns false for two members with one name, and for too many levels.
func walkValue(d *json.Decoder, depth int) bool {
	t, err := d.Token()
	if err != nil || depth > maxDepth {
		return false
	}
	open, isDelim := t.(json.Delim)
	if !isDelim {
		return true
	}
	seen := map[string]struct{}{}
	for d.More() {
		if open == '{' && !newName(d, seen) {
			return false
		}
		if !walkValue(d, depth+1) {
			return false
		}
	}
	_, err = d.Token() // the closing bracket
	return err == nil
}

// newName reads the name of a member and adds it to seen. It returns false for a name that was seen before.
func newName(d *json.Decoder, seen map[string]struct{}) bool {
	t, err := d.Token()
	name, isName := t.(string)
	if err != nil || !isName {
		return false
	}
	_, twice := seen[name]
	seen[name] = struct{}{}
	return !twice
}

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

// maxDepth bounds the nesting of a token's JSON.
const maxDepth = 64

const (
	coordinate      = 32 // bytes of a number of P-256
	signatureLength = 2 * coordinate
)

// object is a JSON object with exact names: encoding/json would take "AUD" for the field "aud"
// of a struct.
type object map[string]json.RawMessage

// token is a compact JWS (RFC 7515 section 7.1) that is not verified yet.
type token struct {
	signed    []byte // what the signature covers
	kid       string
	claims    object
	signature []byte // r and s, 32 bytes each
}

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

// checkHeader returns the kid. The algorithm is fixed, and a key in the header itself (jwk, jku,
// x5c, x5u) is ignored.
func checkHeader(h object) (kid string, err error) {
	_, critical := h["crit"]
	kid, ok := h.text("kid")
	b, isBase64 := decode64(kid)
	switch {
	case critical, !ok, !isBase64, len(b) != sha256.Size, // a thumbprint (RFC 7638)
		!h.is("alg", "ES256"), !h.is("typ", "webhook+jwt"):
		return "", refused(WrongHeader)
	}
	return kid, nil
}

// decode64 reads base64url in its one canonical spelling: no padding, no line breaks (which
// encoding/base64 skips), no stray bits.
func decode64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}

func decodeObject(part string) (object, bool) {
	b, ok := decode64(part)
	if !ok || !utf8.Valid(b) || !unambiguous(b) {
		return nil, false
	}
	return objectOf(b)
}

// objectOf reads an object that unambiguous has accepted.
func objectOf(b []byte) (object, bool) {
	var o object
	if err := json.Unmarshal(b, &o); err != nil || o == nil {
		return nil, false
	}
	return o, true
}

// text returns a member that is a string and not empty.
func (o object) text(name string) (string, bool) {
	var s *string
	if err := json.Unmarshal(o[name], &s); err != nil || s == nil {
		return "", false
	}
	return *s, *s != ""
}

// is reports whether a member is a string and has this value.
func (o object) is(name, want string) bool {
	s, ok := o.text(name)
	return ok && s == want
}

// integer returns a member that is a whole number above 0.
func (o object) integer(name string) (int64, bool) {
	var n *int64
	if err := json.Unmarshal(o[name], &n); err != nil || n == nil {
		return 0, false
	}
	return *n, *n > 0
}

// unambiguous reports whether a text is one JSON value in which no object has a member twice:
// parsers differ in which of two members counts.
func unambiguous(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if !walk(d, 0) {
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}

func walk(d *json.Decoder, depth int) bool {
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
		if !walk(d, depth+1) {
			return false
		}
	}
	_, err = d.Token() // the closing bracket
	return err == nil
}

func newName(d *json.Decoder, seen map[string]struct{}) bool {
	t, err := d.Token()
	name, ok := t.(string)
	if err != nil || !ok {
		return false
	}
	_, twice := seen[name]
	seen[name] = struct{}{}
	return !twice
}

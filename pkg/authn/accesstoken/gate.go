package accesstoken

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"latchkey/pkg/problem"
	"latchkey/pkg/strictjson"
)

const (
	maxToken  = 8 << 10  // bytes of a whole token
	maxAnswer = 64 << 10 // bytes of a signed answer of userinfo
	maxDepth  = 16       // of nested objects and arrays in a header or payload
)

// LooksLikeJWT reports whether a credential has three parts with dots between them. It is then
// an access token, good or not, and no API key.
func LooksLikeJWT(raw string) bool { return strings.Count(raw, ".") == 2 }

// opened is a token of a good form. Nothing in it is proved yet.
type opened struct{ header, payload map[string]any }

// The faults of a token's form. The log shows these errors, so they have nothing of the token.
var (
	errSize     = errors.New("token: too long")
	errParts    = errors.New("token: not three parts")
	errAlphabet = errors.New("token: not exact base64url")
	errUTF8     = errors.New("token: not UTF-8")
)

// open is the gate before everything else. Two parsers must never read two different tokens from
// one text, so open accepts only the one exact form of a token.
func open(raw string, limit int) (opened, error) {
	var t opened
	if len(raw) > limit {
		return t, invalid(errSize)
	}
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return t, invalid(errParts)
	}
	var texts [3][]byte
	for i, part := range parts {
		text, err := decode(part)
		if err != nil {
			return t, invalid(err)
		}
		texts[i] = text
	}
	var err error
	if t.header, err = object(texts[0]); err != nil {
		return t, invalid(err)
	}
	if t.payload, err = object(texts[1]); err != nil {
		return t, invalid(err)
	}
	return t, nil
}

func invalid(cause error) error {
	return problem.Wrap(problem.TokenInvalid, detailInvalid, cause)
}

// decode reads a part: base64url without padding (RFC 7515, section 2), and no bits set behind
// the last byte. It checks the alphabet itself, because the decoder skips line breaks.
func decode(part string) ([]byte, error) {
	if part == "" {
		return nil, errParts
	}
	for _, c := range []byte(part) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return nil, errAlphabet
		}
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return nil, errAlphabet
	}
	return text, nil
}

// object reads a JSON object without duplicate members at any depth. Numbers keep their spelling.
func object(text []byte) (map[string]any, error) {
	if !utf8.Valid(text) {
		return nil, errUTF8
	}
	if err := strictjson.Check(text, strictjson.Rules{Depth: maxDepth, Name: whole}); err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var o map[string]any
	err := d.Decode(&o)
	return o, err
}

// whole reports whether a member's name is what was sent. encoding/json replaces half a surrogate
// pair by U+FFFD: two names that another parser keeps apart would be one here.
func whole(name string) bool { return !strings.ContainsRune(name, utf8.RuneError) }

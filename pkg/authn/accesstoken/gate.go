package accesstoken

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"latchkey/pkg/problem"
	"latchkey/pkg/strictjson"
)

const (
	maxToken = 8 << 10 // bytes of a whole token
	maxDepth = 16      // levels of nested objects and arrays in a header or payload
)

// LooksLikeJWT reports whether a credential has three parts with dots between them. Latchkey's own API keys have no dots, but a
// key that was imported may look so.
func LooksLikeJWT(raw string) bool { return strings.Count(raw, ".") == 2 }

// opened is the content of a token whose form is correct. Its signature is not verified yet.
type opened struct{ header, payload map[string]any }

// The faults of a token's form. The log shows these errors, so they contain no part of the token.
var (
	errSize     = errors.New("token: too long")
	errParts    = errors.New("token: not three parts")
	errAlphabet = errors.New("token: not exact base64url")
	errUTF8     = errors.New("token: not UTF-8")

	errUnreadable = errors.New("token: userinfo answers no JSON object")
)

// open decodes the header of a token and, with read, its payload, before any other check. limit is the largest size in bytes. Two parsers
// must never read different contents from one text, so open accepts only the one exact form of a token.
func open(raw string, limit int, read func([]byte) (map[string]any, error)) (opened, error) {
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
	if t.payload, err = read(texts[1]); err != nil {
		return t, invalid(err)
	}
	return t, nil
}

func invalid(cause error) error {
	return problem.Wrap(problem.TokenInvalid, detailInvalid, cause)
}

// decode decodes a part of a token: base64url without padding (RFC 7515, section 2), with zeros in the unused bits of the last
// character. It checks the alphabet itself, because the decoder of the standard library skips line breaks.
func decode(part string) ([]byte, error) {
	if part == "" {
		return nil, errParts
	}
	for _, c := range []byte(part) {
		isLetter, isDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
		if !isLetter && !isDigit && c != '-' && c != '_' {
			return nil, errAlphabet
		}
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return nil, errAlphabet
	}
	return text, nil
}

// object reads a JSON object without duplicate names at any depth. Numbers keep their spelling.
func object(text []byte) (map[string]any, error) {
	if !utf8.Valid(text) {
		return nil, errUTF8
	}
	if err := strictjson.Check(text, strictjson.Rules{Depth: maxDepth, Name: isAsSent}); err != nil {
		return nil, errors.New("token: " + err.Error()) // not wrapped: the error contains names of the object
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var o map[string]any
	err := d.Decode(&o)
	return o, err
}

// members reads a JSON object. A person may have written parts of it, so invalid characters become U+FFFD, and duplicate names
// in nested objects are allowed. A name that the object itself has twice becomes null. Error: errUnreadable.
func members(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	d.UseNumber()
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, errUnreadable
	}
	o := map[string]any{}
	for d.More() {
		token, err := d.Token()
		var value any
		if err != nil || d.Decode(&value) != nil {
			return nil, errUnreadable
		}
		name, _ := token.(string)
		if _, isTwice := o[name]; isTwice {
			value = nil
		}
		o[name] = value
	}
	_, err := d.Token() // the object's end
	if _, behind := d.Token(); err != nil || !errors.Is(behind, io.EOF) {
		return nil, errUnreadable
	}
	return o, nil
}

// isAsSent reports whether a decoded text is the text that was sent. encoding/json replaces half of a surrogate pair with
// U+FFFD, so two names or two subjects that another parser distinguishes would become equal.
func isAsSent(text string) bool { return !strings.ContainsRune(text, utf8.RuneError) }

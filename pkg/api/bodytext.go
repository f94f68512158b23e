package api

import (
	"bytes"
	"unicode/utf8"
)

// replacement is U+FFFD in UTF-8. API Gateway puts it in place of bytes that are not UTF-8,
// so that the function cannot know the bytes that were sent. The escape \ufffd arrives as it
// was sent, and is taken.
var replacement = []byte("\uFFFD")

// checkText refuses a body whose text encoding/json would silently replace. The error is
// errEncoding.
func checkText(body []byte) error {
	if !utf8.Valid(body) || bytes.Contains(body, replacement) || halfSurrogate(body) {
		return errEncoding
	}
	return nil
}

// halfSurrogate reports whether a \u escape is half a surrogate pair, which encoding/json
// would silently replace.
func halfSurrogate(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if high, ok := escape(body[i:]); ok && high >= 0xd800 && high <= 0xdfff {
			low, ok := escape(body[min(i+6, len(body)):])
			if high >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
		i++ // the character behind the backslash is no escape of its own
	}
	return false
}

// escape reads a \uXXXX escape at the beginning of b.
func escape(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		r <<= 4
		switch {
		case '0' <= c && c <= '9':
			r |= rune(c - '0')
		case 'a' <= c && c <= 'f':
			r |= rune(c-'a') + 10
		case 'A' <= c && c <= 'F':
			r |= rune(c-'A') + 10
		default:
			return 0, false
		}
	}
	return r, true
}

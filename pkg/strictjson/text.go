package strictjson

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// hasInvalidText reports whether Rules.Texts refuses the name or string that begins at an offset and was just read.
func (w walker) hasInvalidText(begin int64) bool {
	if !w.rules.Texts {
		return false
	}
	read := w.text[begin:w.InputOffset()]
	return !utf8.Valid(read) || halfSurrogate(read) || !w.inRaw && bytes.ContainsRune(read, utf8.RuneError)
}

// escapeLength is the length of an escape of the form \uXXXX.
const escapeLength = 6

// halfSurrogate reports whether a JSON string has an escape of one half of a surrogate pair without the other half.
// encoding/json would silently replace it.
func halfSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if high, ok := escape(text[i:]); ok && utf16.IsSurrogate(high) {
			low, ok := escape(text[i+escapeLength:])
			if !ok || utf16.DecodeRune(high, low) == utf8.RuneError { // RuneError: they are not a pair
				return true
			}
			i += escapeLength
		}
		i++ // skips the character after the backslash, which may be another backslash
	}
	return false
}

// escape reads the \uXXXX escape at the beginning of b. b is the end of a valid JSON text or string.
func escape(b []byte) (r rune, ok bool) {
	if !bytes.HasPrefix(b, []byte(`\u`)) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:escapeLength]), 16, 16)
	return rune(n), err == nil
}

// The characters that have an escape of two bytes, and the second bytes of these escapes.
const escaped, escapes = "\"\\\b\f\n\r\t", `"\bfnrt`

// Unescaped replaces each escape that JSON does not need by its character, and each other escape by its shortest form. Check
// must accept the text.
func Unescaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, isEscape := escape(text[i:])
		length := escapeLength
		if isEscape && utf16.IsSurrogate(r) {
			low, _ := escape(text[i+escapeLength:])
			r, length = utf16.DecodeRune(r, low), 2*escapeLength
		}
		short := strings.IndexRune(escaped, r)
		switch {
		case isEscape && short >= 0:
			out = append(out, '\\', escapes[short])
			i += length
		case isEscape && r >= ' ':
			out = utf8.AppendRune(out, r)
			i += length
		case bytes.HasPrefix(text[i:], []byte(`\/`)):
			out = append(out, '/')
			i += 2
		case text[i] == '\\': // the next character may be another backslash
			out = append(out, text[i:i+2]...)
			i += 2
		default:
			out = append(out, text[i])
			i++
		}
	}
	return out
}

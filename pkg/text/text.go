// Package text decides which texts may be shown to people as names and descriptions. Characters
// that a reader cannot see can make two names look the same, or reverse a line.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The characters that are hidden and belong to emoji (Unicode TR 51, sections 1.4.3 and 2.3).
const (
	zeroWidthJoiner = '\u200d' // makes one emoji of several
	presentation    = '\ufe0f' // shows a character as an emoji
	keycap          = '\u20e3' // makes an emoji of a digit
)

// emoji has emoji that are no symbols of Unicode's category So.
const emoji = "‼⁉ℹ↔⤴⤵◻◼◽◾〰"

// blank has letters and symbols that look like a space.
const blank = "\u115f\u1160\u2800\u3164\uffa0"

// Plain reports whether a text is valid UTF-8 without hidden characters: no control or format
// characters, none that is ignored where it is not known, no variation selectors (except joiners and the
// presentation of emoji), no private use, no line or paragraph separators. The empty text is plain.
func Plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	var before rune
	for i, r := range s {
		after, size := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		joins := r == zeroWidthJoiner && isEmojiPart(before) && size > 0 && unicode.Is(unicode.So, after)
		shows := r == presentation && hasPresentation(before, after)
		if hidden(r) && !joins && !shows {
			return false
		}
		before = r
	}
	return true
}

func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// hasPresentation reports whether a character can be shown as an emoji: a symbol, or what is an emoji before a keycap.
func hasPresentation(r, after rune) bool {
	return unicode.Is(unicode.So, r) || strings.ContainsRune(emoji, r) || after == keycap && strings.ContainsRune("#*0123456789", r)
}

// isEmojiPart reports whether a character can end an emoji to which a joiner adds another: a
// symbol, a skin tone or the presentation.
func isEmojiPart(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk) || r == presentation
}

// Visible reports whether a text has a character that can be seen.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(blank, r)
	})
}

// Shown returns a text with a space in place of each character that Plain refuses.
func Shown(s string) string {
	if Plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}

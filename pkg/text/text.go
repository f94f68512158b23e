// Package text decides which texts may be shown to people as names and descriptions. Characters
// that a reader cannot see can make two names look the same, or reverse a line.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The characters that cannot be seen themselves and belong to emoji (Unicode TR 51, sections 1.4.3 and 2.3).
const (
	zeroWidthJoiner = '\u200d' // makes one emoji of the two beside it
	presentation    = '\ufe0f' // shows the character before it as an emoji
	keycap          = '\u20e3' // makes an emoji of the digit before it, with a presentation between
)

// otherEmoji has the emoji that are not in Unicode's category So (other symbols).
const otherEmoji = "‼⁉ℹ↔⤴⤵◻◼◽◾〰〽"

// blank has letters and symbols that look like a space.
const blank = "\u115f\u1160\u2800\u3164\uffa0"

// Plain reports whether a text is valid UTF-8 without hidden characters. Joiners and the presentation are allowed
// inside emoji. The empty text is plain.
func Plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	var before rune
	for i, r := range s {
		after, size := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		isBeforeEmoji := size > 0 && isSymbol(after) // size 0: r is the last character
		joinsEmoji := r == zeroWidthJoiner && isEmojiPart(before) && isBeforeEmoji
		showsEmoji := r == presentation && hasPresentation(before, after)
		if hidden(r) && !joinsEmoji && !showsEmoji {
			return false
		}
		before = r
	}
	return true
}

// hidden reports whether a character cannot be seen, or looks different on each device.
func hidden(r rune) bool {
	return unicode.In(r,
		unicode.Cc, unicode.Cf, // control and format characters
		unicode.Co,             // private use
		unicode.Zl, unicode.Zp, // line and paragraph separators
		unicode.Other_Default_Ignorable_Code_Point, // characters that a font without them does not show
		unicode.Variation_Selector)
}

// hasPresentation reports whether a presentation between r and after makes an emoji of r: r is a symbol, or the sign on
// a keycap.
func hasPresentation(r, after rune) bool {
	isOnKeycap := after == keycap && strings.ContainsRune("#*0123456789", r)
	return isSymbol(r) || isOnKeycap
}

// isSymbol reports whether a character can be an emoji: a symbol of the category So, or one of otherEmoji.
func isSymbol(r rune) bool { return unicode.Is(unicode.So, r) || strings.ContainsRune(otherEmoji, r) }

// isEmojiPart reports whether a character can stand before a joiner, as the end of an emoji: a symbol, a skin tone
// (category Sk) or the presentation.
func isEmojiPart(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk) || r == presentation
}

// Visible reports whether a text has a character that can be seen.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(blank, r)
	})
}

// Cleaned returns a text that a machine reports, such as the name of a device, as it may be shown: without hidden characters
// and without U+FFFD, which stands for a character that could not be read (a space is put in place of each), trimmed, and cut
// to most characters. It returns "" for a text that then has no visible character.
func Cleaned(s string, most int) string {
	if s = strings.ReplaceAll(s, string(utf8.RuneError), " "); !Plain(s) {
		s = strings.Map(func(r rune) rune {
			if hidden(r) || r == utf8.RuneError { // a byte that is not UTF-8
				return ' '
			}
			return r
		}, s)
	}
	runes := []rune(strings.TrimSpace(s))
	runes = runes[:min(len(runes), most)]
	for !Plain(string(runes)) { // the cut is inside an emoji
		runes = runes[:len(runes)-1]
	}
	if s = strings.TrimSpace(string(runes)); !Visible(s) {
		return ""
	}
	return s
}

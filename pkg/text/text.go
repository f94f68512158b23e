// Package text decides which texts people may see as names and descriptions. Hidden characters can make two names look the same, or
// reverse a line.
package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The hidden characters that belong to emoji (Unicode TR 51, sections 1.4 and 2.3) and to words.
const (
	zeroWidthNonJoiner = '\u200c' // separates the letters before and after it
	zeroWidthJoiner    = '\u200d' // joins the characters before and after it to one emoji or one form
	textPresentation   = '\ufe0e' // shows the character before it as text
	presentation       = '\ufe0f' // shows the character before it as an emoji
	keycap             = '\u20e3' // turns a digit into an emoji; a presentation is between them
	flag               = '🏴'      // begins the flag of a region; the region's code follows as tags, and then endOfTags
	tags               = 0xe0000  // the code of a tag is tags + the code of its ASCII character
	endOfTags          = tags + 0x7f
	vowelSeparator     = '\u180e' // changes the form of the Mongolian vowel after it
)

// blank has letters and symbols that look like a space.
const blank = "\u115f\u1160\u2800\u3164\uffa0"

// keptRa has pairs of the letter ra and the virama, one pair for each script. In these scripts, a joiner between the two keeps the form
// of the ra (The Unicode Standard, chapter 12).
const keptRa = "\u0930\u094d \u09b0\u09cd \u09f0\u09cd \u0ab0\u0acd \u0b30\u0b4d \u0c30\u0c4d \u0cb0\u0ccd \u0d30\u0d4d"

// Plain reports whether a text is valid UTF-8, and has hidden characters only where belongs allows them. The empty text is
// plain.
func Plain(s string) bool { return utf8.ValidString(s) && withoutHidden(s) == s }

// withoutHidden replaces each hidden character by a space, unless belongs allows it. It repeats this until nothing changes,
// because a replaced character may have been the reason why belongs allowed another one.
func withoutHidden(s string) string {
	for {
		next := replaceHiddenOnce(s)
		if next == s {
			return s
		}
		s = next
	}
}

// replaceHiddenOnce makes one pass for withoutHidden. For each character, belongs gets the replaced text before it and the
// original text after it.
func replaceHiddenOnce(s string) string {
	var out strings.Builder
	for i, r := range s {
		if isHidden(r) && !belongs(r, out.String(), s[i+utf8.RuneLen(r):]) {
			r = ' '
		}
		out.WriteRune(r)
	}
	return out.String()
}

// isHidden reports whether a character cannot be seen, or looks different on each device.
func isHidden(r rune) bool {
	return unicode.In(r,
		unicode.Cc, unicode.Cf, // control and format characters
		unicode.Co,                      // private use
		unicode.Noncharacter_Code_Point, // never used for a character
		unicode.Zl, unicode.Zp,          // line and paragraph separators
		unicode.Other_Default_Ignorable_Code_Point,                                            // characters that a font without them does not show
		unicode.Variation_Selector) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || // the signs of this class are visible, although they are format characters
		strings.ContainsRune(blank, r)
}

// belongs reports whether a hidden character changes the look of the texts before and after it: inside an emoji, or in a word
// of a script that needs the character.
func belongs(r rune, before, after string) bool {
	var last, next rune // 0: none
	if before != "" {
		last, _ = utf8.DecodeLastRuneInString(before)
	}
	if after != "" {
		next, _ = utf8.DecodeRuneInString(after)
	}
	switch {
	case (r == zeroWidthJoiner || r == zeroWidthNonJoiner) && isSymbol(next):
		return r == zeroWidthJoiner && isEmojiPart(last)
	case r == zeroWidthJoiner && slices.Contains(strings.Fields(keptRa), string([]rune{last, next})):
		return true
	case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
		return joins(before, r, after)
	case r == presentation || r == textPresentation:
		return hasPresentation(last, next)
	case unicode.Is(unicode.Variation_Selector, r):
		isOfIdeograph := r >= '\ufe00' && r <= '\ufe02' || r >= 0xe0100
		return isOfIdeograph && unicode.Is(unicode.Han, last) || unicode.Is(unicode.Mongolian, r) && isMongolianLetter(last)
	case r == vowelSeparator:
		return last != r && unicode.Is(unicode.Mongolian, last) && isMongolianLetter(next)
	default:
		return isInFlag(before, string(r)+after)
	}
}

func isMongolianLetter(r rune) bool { return unicode.Is(unicode.Mongolian, r) && unicode.IsLetter(r) }

// isInFlag reports whether the tags at the end of before and at the beginning of after make the flag of a region (Unicode TR 51,
// ED-14a): flag, the two letters of the country, one to four letters and digits of the region, and endOfTags.
func isInFlag(before, after string) bool {
	isTag := func(r rune) bool { return r >= tags && r <= endOfTags }
	base := strings.TrimRightFunc(before, isTag)
	code := []rune(before[len(base):] + after[:len(after)-len(strings.TrimLeftFunc(after, isTag))])
	if len(code) < 4 || len(code) > 7 || code[len(code)-1] != endOfTags || !strings.HasSuffix(base, string(flag)) {
		return false
	}
	for i, r := range code[:len(code)-1] {
		isLetter, isDigit := r >= tags+'a' && r <= tags+'z', r >= tags+'0' && r <= tags+'9'
		if !isLetter && (!isDigit || i < 2) {
			return false
		}
	}
	return true
}

// hasPresentation reports whether a presentation after r changes the look of r: r is a symbol, or the sign on a keycap.
func hasPresentation(r, after rune) bool {
	isOnKeycap := after == keycap && strings.ContainsRune("#*0123456789", r)
	return isSymbol(r) || isOnKeycap
}

func isSymbol(r rune) bool { return unicode.Is(emoji, r) }

// isEmojiPart reports whether a character can end the emoji before a joiner: a symbol, a skin tone or a presentation.
func isEmojiPart(r rune) bool {
	isTone := r >= '🏻' && r <= '🏿'
	return isSymbol(r) || isTone || r == presentation
}

// Visible reports whether a text has at least one visible character.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(blank, r)
	})
}

// Cleaned returns a text from a machine, such as the name of a device, in a form that people may see. It replaces each hidden
// character and each U+FFFD, which marks an unreadable character, by a space. Then it trims the text and cuts it to most
// characters. It returns "" if no visible character is left.
func Cleaned(s string, most int) string {
	s = withoutHidden(strings.ReplaceAll(strings.ToValidUTF8(s, " "), string(utf8.RuneError), " "))
	runes := []rune(strings.TrimSpace(s))
	runes = runes[:min(len(runes), most)]
	for !Plain(string(runes)) { // the cut has split an emoji or a word
		runes = runes[:len(runes)-1]
	}
	if s = strings.TrimSpace(string(runes)); !Visible(s) {
		return ""
	}
	return s
}

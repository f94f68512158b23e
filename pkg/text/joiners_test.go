package text_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/idna"

	"latchkey/pkg/text"
)

const (
	zwnj, zwj = "\u200c", "\u200d"
	beh       = "\u0628" // joins the letters on both sides
)

// TestJoinersAreAllowedAsInDomains puts each character before a joiner, and compares with package idna, which follows RFC 5892.
func TestJoinersAreAllowedAsInDomains(t *testing.T) {
	labels, allowed := idna.New(idna.CheckJoiners(true)), idna.New(idna.MapForLookup())
	letters, viramas := 0, 0
	for r := range unicode.MaxRune {
		if !unicode.In(r, unicode.L, unicode.M) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
			continue
		}
		for _, s := range []string{"a" + string(r) + zwj, "a" + string(r) + zwnj, string(r) + zwnj + beh, beh + string(r) + zwnj + beh, beh + string(r) + zwj} {
			domain := strings.ToLower(s)
			plain := strings.NewReplacer(zwnj, "", zwj, "").Replace(domain)
			if mapped, err := allowed.ToUnicode(plain); err != nil || mapped != plain {
				continue // domains cannot have the character
			}
			_, err := labels.ToUnicode(domain)
			if text.Plain(s) != (err == nil) {
				t.Errorf("%+q: plain %v, in a domain: %v", s, text.Plain(s), err)
			}
			if err == nil && strings.HasPrefix(s, "a") {
				viramas++
			} else if err == nil {
				letters++
			}
		}
	}
	if letters < 1000 || viramas < 100 { // Unicode has far more
		t.Errorf("%d with letters, %d with viramas", letters, viramas)
	}
}

// TestANonJoinerNeedsALetterThatJoins puts each letter after a non-joiner, which package idna does not check. apart has the
// letters of cursive scripts that do not join the letter before them (DerivedJoiningType.txt of the Unicode Character
// Database).
func TestANonJoinerNeedsALetterThatJoins(t *testing.T) {
	const apart = "\u0621\u0674\u06e5\u06e6\u07f4\u07f5\u07fa\u0861\u0866\u0883\u0884\u0885\u0887\u08ad\u08c9\u1880\u1881\u1882\u1883\u1884\ua872\ua873"
	isCursive := func(r rune) bool {
		return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Phags_Pa, unicode.Adlam) &&
			(r < 0xfb50 || r > 0xfeff) && r < 0x1ee00 || // presentation forms and mathematical letters never change their form
			unicode.Is(unicode.Hanifi_Rohingya, r) && r != 0x10d00
	}
	for r := range unicode.MaxRune {
		isOfOldScript := unicode.In(r, unicode.Manichaean, unicode.Psalter_Pahlavi, unicode.Sogdian, unicode.Chorasmian, unicode.Old_Uyghur)
		if !unicode.IsLetter(r) || isOfOldScript || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			continue
		}
		joins := isCursive(r) && !strings.ContainsRune(apart, r)
		if r == 0x1e94b { // adlamNukta
			joins = false
		}
		if s := beh + zwnj + string(r); text.Plain(s) != joins {
			t.Errorf("%+q: plain %v, want %v", s, !joins, joins)
		}
	}
}

// TestNoJoinerIsBetweenALetterAndASymbol: in either order, in every script, and with digits and marks. The text looks the same
// without the joiner.
func TestNoJoinerIsBetweenALetterAndASymbol(t *testing.T) {
	signs := []string{"a", "Я", "λ", "א", beh, "م", "ܒ", "ߞ", "ᠠ", "क", "र", "ක", "क\u094d", "ක\u0dca", "日", "ア", "か", "한", "ก", "1", "٣", "१", "a\u0301", "ن\u064e", "_", ".", "\u0662", "1\ufe0f\u20e3"}
	for _, sign := range signs {
		for _, symbol := range []string{"🚀", "❤\ufe0f", "♂\ufe0f", "☠", "👩🏽", "🏴", "©", "⬛"} {
			for _, s := range []string{sign + zwj + symbol, sign + zwnj + symbol, symbol + zwj + sign, symbol + zwnj + sign, beh + zwnj + sign + zwj + symbol} {
				if text.Plain(s) {
					t.Errorf("%+q is accepted", s)
				}
			}
		}
	}
}

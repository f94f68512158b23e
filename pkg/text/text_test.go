package text_test

import (
	"testing"

	"latchkey/pkg/text"
)

func TestATextWithHiddenCharactersIsNotPlain(t *testing.T) {
	for _, s := range []string{ // plain
		"", "Ada Lovelace", "Zoë", "Ω≈ç", "日本語", "नमस्ते", "O'Neil & Söhne (1)", "a\u0301",
		"❤\ufe0f", "©\ufe0f", "‼\ufe0f", "1\ufe0f\u20e3 Team", "🏳\ufe0f\u200d🌈", "♂\ufe0f", "👩\u200d🚀", "👩🏽\u200d🚀", "❤\ufe0f\u200d🔥", "👨\u200d👩\u200d👧\u200d👦 Ltd",
		"〽\ufe0f", "🙂\u200d↔\ufe0f", // emoji of other categories
	} {
		if !text.Plain(s) {
			t.Errorf("%+q is refused", s)
		}
	}
	for _, s := range []string{ // not plain
		"a\x00b", "a\nb", "a\u0085b", "\xff", // controls, and what is not UTF-8
		"a\u200bb", "\u202eevil", "a\u2066b", "a\u00adb", "\ufeffname", "\U000e0041", // format characters
		"a\u2028b", "a\u2029b", // separators of lines and paragraphs
		"\ue000", "\U000f0000", // private use
		"a\u200db", "👩\u200d", "\u200d🚀", "👩\u200d\u200d🚀", "👩\u200da", // a joiner that is not between two emoji
		"a\ufe0fb", "\ufe0f", "a\ufe0f", "1\ufe0f", "❤\ufe0f\ufe0f", // a presentation that makes no emoji
		"❤\ufe0e", "葛\U000e0100", "a\u180bb", "a\ufe00b", // other variation selectors
		"a\u034fb", "a\u115fb", "a\u17b4b", "a\u2065b", "a\u3164b", "a\uffa0b", "a\ufff0b", "a\U000e01f0b", // what fonts do not show
	} {
		if text.Plain(s) {
			t.Errorf("%+q is taken", s)
		}
	}
}

func TestANameNeedsACharacterThatCanBeSeen(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "1": true, "-": true, "🚀": true, "日": true,
		"": false, " ": false, "\u3164": false, "\u2800\u2800": false, "\u0301": false, "\ufe0f": false, "\u00a0": false,
	} {
		if text.Visible(s) != want {
			t.Errorf("%+q: %v, want %v", s, !want, want)
		}
	}
}

func TestHiddenCharactersAreCleanedAway(t *testing.T) {
	for s, want := range map[string]string{
		"Ada": "Ada", "👩\u200d🚀": "👩\u200d🚀", // plain texts stay as they are
		"A\u202eB": "A B", "A\x00B": "A B", "A\ufffd\u200bB": "A  B", "A\xffB": "A B",
		" \u200eAda\n": "Ada", "\u200b": "", "\u3164": "", "": "",
		"1234567890": "12345678", "1234567 \u200b": "1234567", "1234567👩\u200d🚀": "1234567👩", "123456❤\ufe0f\u200d🔥": "123456❤\ufe0f", "\u00a0\u2800": "",
	} {
		if got := text.Cleaned(s, 8); got != want {
			t.Errorf("%+q: %+q, want %+q", s, got, want)
		}
	}
}

package text_test

import (
	"strings"
	"testing"

	"latchkey/pkg/text"
)

func TestATextWithHiddenCharactersIsNotPlain(t *testing.T) {
	for _, s := range []string{ // plain texts
		"", "Ada Lovelace", "Zoë", "Ω≈ç", "日本語", "नमस्ते", "O'Neil & Söhne (1)", "a\u0301", "צה״ל", "ש״ע", "한글",
		"❤\ufe0f", "©\ufe0f", "‼\ufe0f", "1\ufe0f\u20e3 Team", "🏳\ufe0f\u200d🌈", "♂\ufe0f", "👩\u200d🚀", "👩🏽\u200d🚀", "❤\ufe0f\u200d🔥", "👨\u200d👩\u200d👧\u200d👦 Ltd",
		"〽\ufe0f", "🙂\u200d↔\ufe0f", // emoji of other categories
		"🏴\u200d☠\ufe0f", "👁\ufe0f\u200d🗨\ufe0f", "🐈\u200d⬛", "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿", "🇳🇱", "Love ♥\ufe0e", "☎\ufe0e 1", "™\ufe0f", "Ⓜ\ufe0f", "㊙\ufe0f", "🚶\u200d➡\ufe0f", "⛓\ufe0f\u200d💥", "🐦\u200d🔥", "🧑\u200d⚖\ufe0f", "🏳\ufe0f\u200d⚧\ufe0f", "🅰\ufe0f", "⭐\ufe0f", "🫱🏻\u200d🫲🏿", "↔\ufe0f\u200d🚀",
		flag("gbeng"), "Rugby " + flag("gbsct") + flag("gbwls") + "!", flag("ustx"), "🏴", flag("fr75c"), flag("azb"), flag("azza09"),
	} {
		if !text.Plain(s) {
			t.Errorf("%+q is refused", s)
		}
	}
	for _, s := range []string{ // not plain
		"a\x00b", "a\nb", "a\u0085b", "\xff", // control characters, and bytes that are not UTF-8
		"a\u200bb", "\u202eevil", "a\u2066b", "\u2068a\u2069", "a\u00adb", "\ufeffname", "a\u2060b", "a\u200e", "א\u200f", "\u061cا", // format characters
		"a\u2028b", "a\u2029b", // separators of lines and paragraphs
		"\ue000", "\U000f0000", "\uf8ff", // private use
		"a\u200db", "👩\u200d", "\u200d🚀", "👩\u200d\u200d🚀", "👩\u200da", "a\u200d🚀", "ක්\u200d🚀", "ක්\u200c🚀", "👩\u200c🚀", // joiners that are not between two emoji
		"a\ufe0fb", "\ufe0f", "a\ufe0f", "1\ufe0f", "❤\ufe0f\ufe0f", "a\ufe0eb", "1\ufe0e", "❤\ufe0e\u200d🔥", // presentations that make no emoji
		"a\u180bb", "a\ufe00b", "a\U000e0100", "❤\ufe01", "葛\U000e0100\U000e0100", "葛\ufe0f", "葛\ufe03", "葛\u180b", "葛\u034f", "ᠠ\u180b\u180b", "ᠠ\ufe00", "か\U000e0100", // other variation selectors
		"a\u034fb", "a\u115fb", "\u115fᅡ", "a\u17b4b", "a\u2065b", "a\u3164b", "a\uffa0b", "a\ufff0b", "a\U000e01f0b", // characters that fonts do not show
		"\U000e0041", "a\U000e0067\U000e007f", "🏴\U000e007f", "🏴\U000e0067", strings.TrimSuffix(flag("gbeng"), "\U000e007f"), // tags that do not make a flag
		flag("gb"), flag("gbenglan"), flag("gbENG"), flag("gb eng"), flag("12345"), flag("gbeng") + "\U000e007f", "🏳" + strings.TrimPrefix(flag("gbeng"), "🏴"),
		"°\u200d°", "25°\ufe0f", "\ufffc\ufe0f\u200d\ufffc", "¦\ufe0f", "№\ufe0f", "✓\ufe0f", "♩\ufe0e", "^\u200d🚀", "´\u200d🚀", "🚀\u200d°", "🇩\u200d🇪", "🄰\ufe0f", "🙰\ufe0f", "㊀\ufe0f", // symbols that are not emoji
		"a\uffff", "a\ufdd0b", "\U0001fffe", "\U0010ffff", "A\u2800B", // codes that are never characters, and a blank
		"Acme \u200dর", "x \u200dరy", "Acme \u200dര", " \u200dর", "\u200dর", "् \u200dর", // no ra with a virama
		"สวัสดี\u200bครับ", "ខ្មែរ\u200bខ្មែរ", // an invisible place for a line break
	} {
		if text.Plain(s) {
			t.Errorf("%+q is accepted", s)
		}
	}
}

// flag returns the emoji of a region's flag (Unicode TR 51, ED-14a): a black flag, the code of the region as tags, and the end
// of the tags.
func flag(region string) string {
	return "🏴" + strings.Map(func(r rune) rune { return 0xe0000 + r }, region) + "\U000e007f"
}

// TestWordsCanHaveTheHiddenCharactersOfTheirScript if they change the look of the word. Each line is a decision: for joiners by
// RFC 5892, appendixes A.1 and A.2, and for other characters by the chapter on the script in the Unicode Standard.
func TestWordsCanHaveTheHiddenCharactersOfTheirScript(t *testing.T) {
	for _, s := range []string{ // plain
		"نرم\u200cافزار", "می\u200cخواهم", "علی\u200cرضا", "خانه\u200cهای ما", "شرکت\u200cهای «بین\u200cالمللی»", "دُر\u0651ّ ن\u064eم\u200cا", // Persian, the last with vowel signs
		"هه\u200cڵه\u200cبجه", "آپ\u200cکا", // Kurdish, Urdu
		"ශ්\u200dරී ලංකා", "ක්\u200dෂ්\u200dය", "විද්\u200dයාලය", // Sinhala
		"क्\u200dष", "र्\u200dय", "राष्\u200cट्र", "ক্\u200cষ", "അവന്\u200d", "ന്\u200d പ", "தமிழ்\u200cநாடு", "ગ્\u200dય", "ನ್\u200c", // Devanagari, Bengali, Malayalam, Tamil, Gujarati, Kannada
		"র\u200d্যাব", "ৰ\u200d্যা", "ರ\u200d್ಯಾಂಕ್", "ర\u200d్యాలీ", "ର\u200d୍ୟ", // a ra that keeps its form before a virama; A.2 does not have this case
		"ܫܠ\u200cܡ", "ߒߞ\u200cߏ", // Syriac, N'Ko
		"ᠬᠠᠷ\u180eᠠ", "ᠠ\u180b", "ᠭ\u180d\u180eᠠ", // Mongolian: vowel separator and variation selectors
		"葛\U000e0100城", "辻\U000e0101", "\u537f\ufe00", "\u5bee\ufe02", // variants of ideographs in people's names
		"\u0600١٢", "سورة \u06dd١", "\u070fܐ", // numbers and abbreviations: their signs are visible, although they are format characters
	} {
		if !text.Plain(s) {
			t.Errorf("%+q is refused", s)
		}
	}
	for _, s := range []string{ // not plain
		"a\u200cb", "а\u200cб", "α\u200dβ", "日\u200d本", "1\u200c2", "한\u200d글", "א\u200cב", "ก\u200cข", "\u200cنرم", "نرم\u200c", "نرم\u200c افزار", "نرم \u200cافزار", // no letters that join
		"نرم\u200c\u200cافزار", "نر\u200d\u200cم", "نرم\u200ca", "نرم\u200cא", "نرم\u200cء", "نرم\u200cक", "a\u200cنرم", "ن1\u200cم", // there are no two letters to separate
		"کار\u200cها", "بے\u200cشک", "دا\u200cد", "و\u200cو", // the letter before never joins the next one, so the joiner changes nothing
		"نر\u200dم", "ه\u200d", "ක\u200dර", "क\u200cष", "ක\u200d්ර", "क\u200d्", "a\u200d্", "র\u200d्", "র\u200dয", // no virama before
		"a\u180eb", "ᠠ\u180e", "\u180eᠠ", "ᠠ\u180eb", "ᠠ\u180e\u180eᠠ", "ᠠ\u180e ᠠ",
	} {
		if text.Plain(s) {
			t.Errorf("%+q is accepted", s)
		}
	}
}

func TestATextIsVisibleIfItHasAVisibleCharacter(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "1": true, "-": true, "🚀": true, "日": true,
		"": false, " ": false, "\u3164": false, "\u2800\u2800": false, "\u0301": false, "\ufe0f": false, "\u00a0": false,
	} {
		if text.Visible(s) != want {
			t.Errorf("%+q: %v, want %v", s, !want, want)
		}
	}
}

func TestCleanedRemovesHiddenCharacters(t *testing.T) {
	for s, want := range map[string]string{
		"Ada": "Ada", "👩\u200d🚀": "👩\u200d🚀", // plain texts do not change
		"A\u202eB": "A B", "A\x00B": "A B", "A\ufffd\u200bB": "A  B", "A\xffB": "A B", "\u200eنرم\u200cافزار": "نرم\u200cافزا", "abc نرم\u200cا": "abc نرم", "\u200f👩\u200d🚀": "👩\u200d🚀", "a\ufe0f\u200d🚀": "a  🚀",
		"ب\u200c\ufe0fب Me": "ب  ب Me", "ب\u200c\u034fب Me": "ب  ب Me", "न\u200c\u200d x": "न   x", "ب\u200c\u180b\ufe0fب A": "ب   ب A", "ب\u200c\U000e0100ب A": "ب  ب A", "A\u2800B\uffff": "A B", "25°\ufe0f C": "25°  C",
		" \u200eAda\n": "Ada", "\u200b": "", "\u3164": "", "": "",
		"1234567890": "12345678", "1234567 \u200b": "1234567", "1234567👩\u200d🚀": "1234567👩", "123456❤\ufe0f\u200d🔥": "123456❤\ufe0f", "\u00a0\u2800": "",
	} {
		if got := text.Cleaned(s, 8); got != want || !text.Plain(got) {
			t.Errorf("%+q: %+q, want %+q", s, got, want)
		}
	}
}

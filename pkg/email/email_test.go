package email_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"latchkey/pkg/email"
)

func TestAnAddressIsOneAddrSpec(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("a", 250) + "@b.c": strings.Repeat("a", 250) + "@b.c", // 254 bytes
		"a@example.com":                   "a@example.com",
		"!~@b.c":                          "!~@b.c",
		"A.B+c@EXAMPLE.Com":               "a.b+c@example.com",
		"a@localhost":                     "a@localhost",
	} {
		if got, ok := email.Fold(in); !ok || got != want {
			t.Errorf("Fold(%q) = %q, %v", in, got, ok)
		}
	}
	for _, bad := range []string{
		"", "a", "@", "a@", "@b", "a b@c.d", "a@b@c", "A <a@b.c>", "<a@b.c>", "a@b.c (x)", `"a b"@c.d`, "ä@b.c", "ä@bücher.de",
		"a@b.c\n", " a@b.c", "a@b.c,d@e.f", "a@[127.0.0.1]",
		"\u212a@k.k", // the Kelvin sign, whose lower case is k
		strings.Repeat("a", 251) + "@b.c", "a..b@c.d",
		"a\x00@b.c", "a\x7f@b.c", "a\t@b.c", "a@b\tc", "a\r\n@b.c", "\x80@b.c", "a\u0080@b.c", "a\u00a0@b.c",
	} {
		if got, ok := email.Fold(bad); ok {
			t.Errorf("Fold(%q) = %q: accepted", bad, got)
		}
	}
}

// TestADomainIsTheSameInEachSpelling tries the forms that UTS 46 folds, and domains that it refuses.
func TestADomainIsTheSameInEachSpelling(t *testing.T) {
	for want, spellings := range map[string][]string{
		"ada@xn--bcher-kva.example":   {"ada@bücher.example", "Ada@BÜCHER.Example", "ada@bu\u0308cher.example", "ada@XN--Bcher-KVA.example", "ada@bücher\u3002example", "ada@ｂücher.example"},
		"ada@mail.xn--bcher-kva.ch":   {"ada@mail.bücher.ch", "ada@mail.xn--bcher-kva.ch"},
		"ada@xn--strae-oqa.de":        {"ada@straße.de", "ada@STRAße.DE"}, // not strasse.de, which is another domain
		"ada@xn--wgv71a.xn--wgv71a":   {"ada@日本.日本", "ada@日本｡日本"},
		"ada@xn--mgba3gch31f.example": {"ada@نامهای.example"},
		"ada@xn--80aswg.xn--p1ai":     {"ada@сайт.рф", "ada@САЙТ.РФ"},
		"ada@example.com":             {"ada@ｅxample.com", "ada@EXAMPLE.com", "ada@exam\u00adple.com"},
	} {
		for _, s := range spellings {
			if got, ok := email.Fold(s); !ok || got != want {
				t.Errorf("Fold(%+q) = %q, %v, want %q", s, got, ok, want)
			}
		}
	}
	for _, bad := range []string{
		"adä@bücher.example", "ada@bücher..example", "ada@.bücher.example", "ada@bücher.example.", "ada@bü cher.example", "ada@bü_cher.example", "ada@bücher@example", "ada@b\u200dücher.example",
		"ada@-bücher.example", "ada@bücher.example (x)", "Ada <ada@bücher.example>", "ada@\u0308cher.example", "ada@b\xfccher.example", "ada@אa.example", "ada@\ufffd.example", "ada@ü\x00.example", "ada@\u00ad",
		"ada@" + strings.Repeat("ü", 126) + ".example", strings.Repeat("a", 235) + "@bücher.example", // longer than 254 bytes in one form
	} {
		if got, ok := email.Fold(bad); ok {
			t.Errorf("Fold(%+q) = %q: accepted", bad, got)
		}
	}
}

// FuzzFold: of the ASCII texts, Fold accepts only addr-specs of RFC 5322 of at most 254 bytes, in which both parts are
// atoms with dots between them. Folding changes only their case.
func FuzzFold(f *testing.F) {
	const atoms = "[!#-'*+/-9=?A-Z^-~-]+(?:\\.[!#-'*+/-9=?A-Z^-~-]+)*"
	addrSpec := regexp.MustCompile("^" + atoms + "@" + atoms + "$")
	for _, seed := range []string{
		"A.B+c@EXAMPLE.Com", "!#$%&'*+-/=?^_`{|}~@b.c", "a@localhost", "=?utf-8?q?a?=@b.c", strings.Repeat("a", 250) + "@b.c", strings.Repeat("a", 251) + "@b.c",
		"", "@", "a@", ".a@b.c", "a.@b.c", "a..b@c.d", "a@b..c", "a@b.c.", "a@b@c", `"a b"@c.d`, "a@[127.0.0.1]", "A <a@b.c>", "a@b.c (x)", "a@b.c,d@e.f", "a:b@c.d;",
		"\u212a@k.k", "a@b\u0131.c", "a@b.c\n", "a\x00@b.c", "\xff@b.c", "a@bücher.de", "ä@b.de", "a@b\u3002c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := email.Fold(text)
		isASCII := !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
		if want := len(text) <= email.MaxLen && addrSpec.MatchString(text); isASCII && (ok != want || ok && got != strings.ToLower(text)) {
			t.Fatalf("Fold(%q) = %q, %v, want accepted: %v", text, got, ok, want)
		}
		if again, okAgain := email.Fold(got); ok && addrSpec.MatchString(got) != ok || again != got || okAgain != ok {
			t.Errorf("%q is folded to %q, and then to %q", text, got, again)
		}
	})
}

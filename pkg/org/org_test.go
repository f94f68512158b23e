package org_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/org"
)

func TestAnEmailIsOneASCIIAddrSpec(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("a", 250) + "@b.c": strings.Repeat("a", 250) + "@b.c", // 254 bytes
		"a@example.com":                   "a@example.com",
		"!~@b.c":                          "!~@b.c",
		"A.B+c@EXAMPLE.Com":               "a.b+c@example.com",
		"a@localhost":                     "a@localhost",
	} {
		if got, ok := org.FoldEmail(in); !ok || got != want {
			t.Errorf("FoldEmail(%q) = %q, %v", in, got, ok)
		}
	}
	for _, bad := range []string{
		"", "a", "@", "a@", "@b", "a b@c.d", "a@b@c", "A <a@b.c>", "<a@b.c>", "a@b.c (x)", `"a b"@c.d`, "ä@b.c", "a@bücher.de",
		"a@b.c\n", " a@b.c", "a@b.c,d@e.f", "a@[127.0.0.1]",
		"\u212a@k.k", // the Kelvin sign, whose lower case is k
		strings.Repeat("a", 251) + "@b.c", "a..b@c.d",
		"a\x00@b.c", "a\x7f@b.c", "a\t@b.c", "a@b\tc", "a\r\n@b.c", "\x80@b.c", "a\u0080@b.c", "a\u00a0@b.c",
	} {
		if got, ok := org.FoldEmail(bad); ok {
			t.Errorf("FoldEmail(%q) = %q: taken", bad, got)
		}
	}
}

func TestANameIsOneToHundredPrintableCharacters(t *testing.T) {
	for in, want := range map[string]string{" Acme ": "Acme", strings.Repeat("ä", 100): strings.Repeat("ä", 100), "日本 🏢": "日本 🏢"} {
		if got, ok := org.CleanName(in); !ok || got != want {
			t.Errorf("CleanName(%q) = %q, %v", in, got, ok)
		}
	}
	for _, bad := range []string{"", "  ", "\t\n", "a\x00b", "a\nb", "a\u0085b", strings.Repeat("ä", 101), "\xff"} {
		if _, ok := org.CleanName(bad); ok {
			t.Errorf("CleanName(%q): taken", bad)
		}
	}
}

func TestAUsersNameIsFromTheIssuerOrElseFromTheAddress(t *testing.T) {
	for _, c := range []struct{ name, email, want string }{
		{"Ada", "a@b.c", "Ada"}, {"", "ada@b.c", "ada"}, {" \n ", "ada@b.c", "ada"}, {"", "", ""}, {"A\x00B", "a@b.c", "A B"},
		{"\u3164", "ada@b.c", "ada"}, // a letter that looks like a space
		{strings.Repeat("x", 300), "a@b.c", strings.Repeat("x", 100)},
	} {
		if got := org.NameFor(c.name, c.email); got != c.want {
			t.Errorf("NameFor(%q, %q) = %q, want %q", c.name, c.email, got, c.want)
		}
	}
}

func TestAStrongerRoleMayDoAllThatAWeakerOneMay(t *testing.T) {
	for _, c := range []struct {
		role    org.Role
		atLeast []org.Role
	}{
		{org.Admin, []org.Role{org.Admin, org.Member, org.Viewer}},
		{org.Member, []org.Role{org.Member, org.Viewer}},
		{org.Viewer, []org.Role{org.Viewer}},
		{"owner", nil}, // not a role
		{"", nil},
	} {
		for _, other := range org.AllRoles() {
			if got := c.role.AtLeast(other); got != slices.Contains(c.atLeast, other) {
				t.Errorf("%q for %s: %v", c.role, other, got)
			}
		}
		if c.role.AtLeast("owner") {
			t.Errorf("%q is at least a role that does not exist", c.role)
		}
	}
}

// FuzzFoldEmail: FoldEmail takes the addr-specs of RFC 5322 whose two parts are atoms with dots between them, in at most 254
// bytes, and no other text. Folding changes nothing but the case.
func FuzzFoldEmail(f *testing.F) {
	const atoms = "[!#-'*+/-9=?A-Z^-~-]+(?:\\.[!#-'*+/-9=?A-Z^-~-]+)*"
	addrSpec := regexp.MustCompile("^" + atoms + "@" + atoms + "$")
	for _, seed := range []string{
		"A.B+c@EXAMPLE.Com", "!#$%&'*+-/=?^_`{|}~@b.c", "a@localhost", "=?utf-8?q?a?=@b.c", strings.Repeat("a", 250) + "@b.c", strings.Repeat("a", 251) + "@b.c",
		"", "@", "a@", ".a@b.c", "a.@b.c", "a..b@c.d", "a@b..c", "a@b.c.", "a@b@c", `"a b"@c.d`, "a@[127.0.0.1]", "A <a@b.c>", "a@b.c (x)", "a@b.c,d@e.f", "a:b@c.d;",
		"\u212a@k.k", "a@b\u0131.c", "a@b.c\n", "a\x00@b.c", "\xff@b.c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := org.FoldEmail(text)
		if want := len(text) <= org.MaxEmailLen && addrSpec.MatchString(text); ok != want || ok && got != strings.ToLower(text) {
			t.Fatalf("FoldEmail(%q) = %q, %v, want it taken: %v", text, got, ok, want)
		}
		if again, okAgain := org.FoldEmail(got); again != got || okAgain != ok {
			t.Errorf("%q is folded to %q, and then to %q", text, got, again)
		}
	})
}

package org_test

import (
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/org"
)

func TestANameIsOneToHundredPrintableCharacters(t *testing.T) {
	for in, want := range map[string]string{" Acme ": "Acme", strings.Repeat("ä", 100): strings.Repeat("ä", 100), "日本 🏢": "日本 🏢"} {
		if got, ok := org.CleanName(in); !ok || got != want {
			t.Errorf("CleanName(%q) = %q, %v", in, got, ok)
		}
	}
	for _, bad := range []string{"", "  ", "\t\n", "a\x00b", "a\nb", "a\u0085b", strings.Repeat("ä", 101), "\xff"} {
		if _, ok := org.CleanName(bad); ok {
			t.Errorf("CleanName(%q): accepted", bad)
		}
	}
}

func TestAUsersNameIsTheIssuersOrTheLocalPart(t *testing.T) {
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

func TestAStrongerRoleIncludesTheWeakerOnes(t *testing.T) {
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

func TestAPlanIsAShortPlainName(t *testing.T) {
	for text, want := range map[string]bool{
		"pro": true, "a": true, "0-9": true, "abcdefghijklmnop": true, "-": true, "z": true,
		"": false, "abcdefghijklmnopq": false, "Pro": false, "a b": false, "a_b": false, "é": false, "a/": false, "a:": false, "a`": false, "a{": false, "a,": false,
	} {
		if org.ValidPlan(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

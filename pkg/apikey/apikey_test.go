package apikey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/secret"
)

// mint returns a new key with the ids of its org and of itself.
func mint(t *testing.T) (apikey.Minted, id.Org, id.Key) {
	t.Helper()
	org, key := id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now())
	m, err := apikey.Mint("lk", org, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, org, key
}

func TestAKeyNamesItsOwnRow(t *testing.T) {
	for range 200 { // the ids are random
		m, org, key := mint(t)
		p, err := apikey.Parse(m.Key.Reveal())
		if err != nil || p.Org != org || p.Key != key || !p.Hash.Equal(m.Hash) {
			t.Fatalf("Parse = %+v, %v; want %s %s", p, err, org, key)
		}
		if !strings.HasPrefix(m.Key.Reveal(), m.Prefix) || len(m.Prefix) != len("lk_")+8 {
			t.Fatalf("prefix %q is not the key's beginning", m.Prefix)
		}
	}
}

// TestAKeyAlteredInAnyOneCharacterIsRefusedWithoutARead: Parse refuses the altered key by its form or its checksum, so that no
// row is read for it.
func TestAKeyAlteredInAnyOneCharacterIsRefusedWithoutARead(t *testing.T) {
	m, _, _ := mint(t)
	text := m.Key.Reveal()
	for i := range len(text) {
		for _, c := range []byte("0aZ_ .x") { // letters, digits and characters that no key has
			if text[i] == c {
				continue
			}
			altered := text[:i] + string(c) + text[i+1:]
			if _, err := apikey.Parse(altered); err == nil {
				t.Fatalf("taken with character %d changed to %q", i, c)
			}
		}
	}
}

func TestAKeyOfAnotherFormIsRefused(t *testing.T) {
	m, _, _ := mint(t)
	text := m.Key.Reveal()
	other, _, _ := mint(t)
	parts, otherParts := strings.Split(text, "_"), strings.Split(other.Key.Reveal(), "_")
	for name, bad := range map[string]string{
		"empty": "", "truncated": text[:len(text)-1], "longer": text + "0", "doubled": text + text,
		"all letters upper case": strings.ToUpper(text), "all letters lower case": strings.ToLower(text),
		"space before": " " + text, "space behind": text + " ", "newline": text + "\n",
		"another key's secret":    parts[0] + "_" + parts[1] + "_" + otherParts[2],
		"no secret":               parts[0] + "_" + parts[1] + "_",
		"a JWT in place of a key": "eyJhbGciOiJub25lIn0.e30.", "a NUL byte inside": text[:10] + "\x00" + text[11:],
	} {
		if _, err := apikey.Parse(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestALinksTokenIsNoKey: the token of a link has the grammar of a key, but the prefix lkt, which no key may have.
func TestALinksTokenIsNoKey(t *testing.T) {
	for prefix, want := range map[string]bool{"lk": true, "lkt2": true, secret.LinkPrefix: false} {
		m, err := secret.Mint(prefix, [16]byte{}, [16]byte{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := apikey.Parse(m.Text.Reveal()); (err == nil) != want || apikey.ValidPrefix(prefix) != want {
			t.Errorf("%s: %v", prefix, err)
		}
		// Neither a key nor the token of a link is foreign. A text with one more character has another form, so it is.
		if text := m.Text.Reveal(); apikey.IsForeign(text) || !apikey.IsForeign(text+"0") {
			t.Errorf("%s: IsForeign is %t, and with one more character %t", prefix, apikey.IsForeign(text), apikey.IsForeign(text+"0"))
		}
	}
	for _, prefix := range []string{"", "LK", "l_k"} {
		if apikey.ValidPrefix(prefix) {
			t.Errorf("%q may begin a key", prefix)
		}
	}
}

func TestAMintedKeyPrintsRedacted(t *testing.T) {
	m, _, _ := mint(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if out := fmt.Sprintf(verb, m); strings.Contains(out, m.Key.Reveal()) {
			t.Errorf("%s shows the key", verb)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("lk_0_0") // three parts, and far too short
	m, err := apikey.Mint("lk", id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now()), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.Key.Reveal())
	f.Fuzz(func(t *testing.T, text string) {
		p, err := apikey.Parse(text)
		if err != nil {
			return
		}
		if _, err := id.ParseOrg(string(p.Org)); err != nil {
			t.Fatalf("%q names an org that does not parse", text)
		}
	})
}

func TestAScopeHasTheCharactersOfTheContract(t *testing.T) {
	for s, want := range map[string]bool{
		// Only the beginning "latchkey." is reserved, with its dot.
		"a": true, "invoices:read": true, "a_b.c-d:0": true, ".": true, "latchkey": true, "latchkeys.a": true, "a.latchkey.b": true,
		strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
		"": false, " ": false, "a b": false, "A": false, "ä": false, "a\n": false, "a,b": false, "a/b": false, "a*": false,
		"latchkey.": false, "latchkey.keys": false,
	} {
		if got := apikey.ValidScope(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	for c := range rune(256) {
		if want := strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_.:-", c); apikey.ValidScope(string(c)) != want {
			t.Errorf("%q: %v", c, !want)
		}
	}
}

func TestScopesAreJoinedSortedAndOnce(t *testing.T) {
	for want, scopes := range map[string][]string{
		"": nil, "a": {"a"}, "a b:1 b:2": {"b:2", "a", "b:1", "a", "b:2"},
	} {
		before := slices.Clone(scopes)
		got := apikey.JoinScopes(scopes)
		if got != want || !slices.Equal(scopes, before) {
			t.Errorf("%v: %q, %v afterwards", before, got, scopes)
		}
		if parts := apikey.SplitScopes(got); parts == nil || strings.Join(parts, " ") != want {
			t.Errorf("%q: %v", got, parts)
		}
	}
}

// TestMetadataIsMeasuredInBytesOfItsJSON makes metadata of exactly MaxMetadata bytes, each time with another character. size
// is how many bytes the character takes in JSON, where some are escaped.
func TestMetadataIsMeasuredInBytesOfItsJSON(t *testing.T) {
	const around = len(`{"a":""}`) // bytes of the JSON without the value
	for character, size := range map[string]int{"x": 1, "&": 1, `"`: 2, "ä": 2, "🔑": 4, "\x01": 6, "\u2028": 6} {
		room := apikey.MaxMetadata - around
		fill := strings.Repeat(character, room/size) + strings.Repeat("x", room%size)
		for value, want := range map[string]bool{fill: true, fill + "x": false} {
			if got := apikey.ValidMetadata(map[string]string{"a": value}); got != want {
				t.Errorf("%q, %d bytes: %v", character, len(value), got)
			}
		}
	}
	if !apikey.ValidMetadata(map[string]string{}) || !apikey.ValidMetadata(nil) {
		t.Error("empty or nil metadata is refused")
	}
}

package apikey_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/secret"
)

// mint returns a new key, and the ids of its org and of itself.
func mint(t *testing.T) (apikey.Minted, id.Org, id.Key) {
	t.Helper()
	org, key := id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now())
	m, err := apikey.Mint("lk", org, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, org, key
}

func TestAKeysTextLeadsToItsRow(t *testing.T) {
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

// TestAKeyWithOneChangedCharacterIsRefused by its form or its checksum, so that no row is read for it.
func TestAKeyWithOneChangedCharacterIsRefused(t *testing.T) {
	m, _, _ := mint(t)
	text := m.Key.Reveal()
	for i := range len(text) {
		for _, c := range []byte("0aZ_ .x") { // letters, digits and characters that no key has
			if text[i] == c {
				continue
			}
			altered := text[:i] + string(c) + text[i+1:]
			if _, err := apikey.Parse(altered); err == nil {
				t.Fatalf("accepted with character %d changed to %q", i, c)
			}
		}
	}
}

func TestATextWithoutTheFormOfAKeyIsRefused(t *testing.T) {
	m, _, _ := mint(t)
	text := m.Key.Reveal()
	other, _, _ := mint(t)
	parts, otherParts := strings.Split(text, "_"), strings.Split(other.Key.Reveal(), "_")
	for name, bad := range map[string]string{
		"empty": "", "truncated": text[:len(text)-1], "longer": text + "0", "doubled": text + text,
		"all letters upper case": strings.ToUpper(text), "all letters lower case": strings.ToLower(text),
		"space before": " " + text, "space after": text + " ", "newline": text + "\n",
		"another key's secret":    parts[0] + "_" + parts[1] + "_" + otherParts[2],
		"no secret":               parts[0] + "_" + parts[1] + "_",
		"a JWT in place of a key": "eyJhbGciOiJub25lIn0.e30.", "a NUL byte inside": text[:10] + "\x00" + text[11:],
	} {
		if _, err := apikey.Parse(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestALocatorLeadsToItsKey. A list can show the locator, because it follows from the shown beginning and the ids. Imported
// keys have none.
func TestALocatorLeadsToItsKey(t *testing.T) {
	m, org, key := mint(t)
	text := m.Key.Reveal()
	locator := text[:strings.LastIndex(text, "_")]
	gotOrg, gotKey, err := apikey.ParseLocator(locator)
	if err != nil || gotOrg != org || gotKey != key {
		t.Errorf("%s %s, %v", gotOrg, gotKey, err)
	}
	for shown, want := range map[string]string{m.Prefix: locator, "lk_": locator, "sk_live_": "", "lk_00000000": "", "other_" + m.Prefix[3:]: "other_" + locator[3:]} {
		if got := apikey.LocatorOf(shown, org, key); got != want {
			t.Errorf("%q: %q, want %q", shown, got, want)
		}
	}
	if noOrg, noKey := apikey.LocatorOf(m.Prefix, "org_", key), apikey.LocatorOf(m.Prefix, org, "key_"); noOrg != "" || noKey != "" {
		t.Errorf("without ids: %q, %q", noOrg, noKey)
	}
	for _, bad := range []string{"", "lk", "lk_", text, locator + "0", locator[:len(locator)-1], "lk_" + strings.Repeat("Z", 43), "LK" + locator[2:], "lkt" + locator[2:], locator + "_"} {
		if _, _, err := apikey.ParseLocator(bad); !errors.Is(err, apikey.ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestBeginsWithAcceptsLongerPrefixes(t *testing.T) {
	for text, want := range map[string]bool{
		"lk_x": true, "lk_": true, "lktest_x": true, "lkt_x": true, "lk0123456789abcd_x": true,
		"lk": false, "lk0123456789abcde_x": false, "lkTest_x": false, "xlk_x": false, "_lk": false, "": false, "l_k": false,
	} {
		if got := apikey.BeginsWith(text, "lk"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestALinkTokenIsNotAKey: it has the grammar of a key, but its prefix is lkt, which keys cannot have.
func TestALinkTokenIsNotAKey(t *testing.T) {
	for prefix, want := range map[string]bool{"lk": true, "lkt2": true, secret.LinkPrefix: false} {
		m, err := secret.Mint(prefix, [16]byte{}, [16]byte{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := apikey.Parse(m.Text.Reveal()); (err == nil) != want || apikey.ValidPrefix(prefix) != want {
			t.Errorf("%s: %v", prefix, err)
		}
		// Keys and link tokens are not foreign. With one more character, a text has another form and is foreign.
		if text := m.Text.Reveal(); apikey.IsForeign(text) || !apikey.IsForeign(text+"0") {
			t.Errorf("%s: IsForeign is %t, and with one more character %t", prefix, apikey.IsForeign(text), apikey.IsForeign(text+"0"))
		}
	}
	for _, prefix := range []string{"", "LK", "l_k"} {
		if apikey.ValidPrefix(prefix) {
			t.Errorf("%q is accepted as a prefix", prefix)
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

// form is the grammar of a key in infra/docs/contract.md.
var form = regexp.MustCompile(`^([a-z][a-z0-9]{0,15})_([0-9A-Za-z]{43})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$`)

// checksum returns the last six characters of a key with this body.
func checksum(body string) string {
	return fmt.Sprintf("%06s", big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62))
}

// isKey reports whether a text is a key. Unlike package secret, it computes with math/big. random is the secret of the key.
func isKey(text string) (random []byte, ok bool) {
	parts := form.FindStringSubmatch(text)
	if parts == nil || parts[1] == secret.LinkPrefix || parts[4] != checksum(text[:len(text)-6]) {
		return nil, false
	}
	locator, _ := new(big.Int).SetString(parts[2], 62) // no error: the form has digits only
	word, _ := new(big.Int).SetString(parts[3], 62)
	if locator.BitLen() > 256 || word.BitLen() > 256 {
		return nil, false
	}
	return word.FillBytes(make([]byte, 32)), true
}

// FuzzParse: Parse accepts the keys of the grammar and no other text. Mint makes the same text again from the result of Parse.
func FuzzParse(f *testing.F) {
	m, err := apikey.Mint("lk", id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now()), nil)
	if err != nil {
		f.Fatal(err)
	}
	minted, zeros := m.Key.Reveal(), strings.Repeat("0", 43)
	body, least := minted[:len(minted)-6], zeros+"_"+zeros
	for _, seed := range []string{
		minted, body, body[:20] + "!" + body[21:], "a_" + least, secret.LinkPrefix + "_" + least, "Lk_" + least, "abcdefghijklmnopq_" + least, "lk_0_0", "",
		"lk_" + strings.Repeat("Z", 43) + "_" + zeros, "lk_" + zeros + "_" + strings.Repeat("Z", 43), // more than 256 bits
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		for _, text := range []string{sent, sent + checksum(sent)} { // a fuzzer cannot guess a checksum
			p, err := apikey.Parse(text)
			random, want := isKey(text)
			if (err == nil) != want || err != nil && !errors.Is(err, apikey.ErrMalformed) {
				t.Fatalf("%q: %v, want a key: %t", text, err, want)
			}
			if err != nil {
				continue
			}
			prefix, _, _ := strings.Cut(text, "_")
			again, err := apikey.Mint(prefix, p.Org, p.Key, bytes.NewReader(random))
			if err != nil || again.Key.Reveal() != text || !again.Hash.Equal(p.Hash) {
				t.Errorf("%q is printed as %q, %v", text, again.Key.Reveal(), err)
			}
		}
	})
}

func TestAScopeHasOnlyTheContractsCharacters(t *testing.T) {
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

func TestJoinedScopesAreSortedAndUnique(t *testing.T) {
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

// TestMetadataIsMeasuredInBytesOfItsJSON makes metadata of exactly MaxMetadata bytes, each time with another character. size is
// the number of bytes that the character has in JSON, where some characters are escaped.
func TestMetadataIsMeasuredInBytesOfItsJSON(t *testing.T) {
	const frame = len(`{"a":""}`) // bytes of the JSON without the value
	for character, size := range map[string]int{"x": 1, "&": 1, `"`: 2, "ä": 2, "🔑": 4, "\x01": 6, "\u2028": 6} {
		room := apikey.MaxMetadata - frame
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

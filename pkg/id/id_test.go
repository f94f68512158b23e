package id_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
)

func TestAnIDHasExactlyOneSpelling(t *testing.T) {
	o := string(id.Source{}.NewOrg())
	if _, err := id.ParseOrg(o); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "org_", strings.ToUpper(o), o + "0", o[:len(o)-1], " " + o, o + "\x00",
		"usr_" + o[4:], strings.Replace(o, "_", "-", 1), o[:10] + "\n" + o[11:], o[:len(o)-1] + "\n", "org_" + strings.ToUpper(o[4:]),
		o[:len(o)-1] + "i", o[:len(o)-1] + "u", // not in the alphabet
		"org_8" + o[5:],                  // more than 128 bits
		"org_" + strings.Repeat("é", 13), // the number of bytes of an id
	} {
		if _, err := id.ParseOrg(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestIDsOfKeysSortByTime(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	if a, b := (id.Source{}).NewKey(at), (id.Source{}).NewKey(at.Add(time.Millisecond)); a >= b {
		t.Errorf("%s >= %s", a, b)
	}
}

func TestAnOrgsDefaultAppIsAnAppID(t *testing.T) {
	o := id.Source{}.NewOrg()
	if _, err := id.ParseApp(string(id.DefaultApp(o))); err != nil {
		t.Error(err)
	}
}

// TestAnIDIsSpelledAsAULID has the example of the specification of ULIDs, and the least and the
// greatest value.
func TestAnIDIsSpelledAsAULID(t *testing.T) {
	for text, want := range map[string]string{
		"01arz3ndektsv4rrffq69g5fav": "01563e3ab5d3d6764c61efb99302bd5b",
		"00000000000000000000000000": "00000000000000000000000000000000",
		"7zzzzzzzzzzzzzzzzzzzzzzzzz": "ffffffffffffffffffffffffffffffff",
	} {
		bits, err := id.Link("lnk_" + text).Bits()
		if got := hex.EncodeToString(bits[:]); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		if got := id.LinkFromBits(bits); got != id.Link("lnk_"+text) {
			t.Errorf("%s is spelled %s", text, got)
		}
	}
	at := time.UnixMilli(1469922850259)
	if got := string((id.Source{Rand: bytes.NewReader(make([]byte, 10))}).NewKey(at)); got != "key_01arz3ndek"+strings.Repeat("0", 16) || got[4:] != string(id.FirstEvent(at))[4:] {
		t.Error(got, id.FirstEvent(at))
	}
}

// parsed converts a Parse function for FuzzAnIDHasOneSpelling.
func parsed[ID ~string](parse func(string) (ID, error)) func(string) (string, error) {
	return func(text string) (string, error) { i, err := parse(text); return string(i), err }
}

// FuzzAnIDHasOneSpelling: an id is of one kind, in lower case, and the only text of its bits.
func FuzzAnIDHasOneSpelling(f *testing.F) {
	kinds := map[string]func(string) (string, error){ // a kind with Bits is converted to bits and back
		"org": func(s string) (string, error) { b, err := id.Org(s).Bits(); return string(id.OrgFromBits(b)), err },
		"app": func(s string) (string, error) { b, err := id.App(s).Bits(); return string(id.AppFromBits(b)), err },
		"key": func(s string) (string, error) { b, err := id.Key(s).Bits(); return string(id.KeyFromBits(b)), err },
		"lnk": func(s string) (string, error) { b, err := id.Link(s).Bits(); return string(id.LinkFromBits(b)), err },
		"usr": parsed(id.ParseUser), "aud": parsed(id.ParseAudit), "whe": parsed(id.ParseEndpoint), "evt": parsed(id.ParseEvent),
	}
	ulid := regexp.MustCompile(`^[0-7][0-9a-hjkmnp-tv-z]{25}$`)
	const least, most = "00000000000000000000000000", "7zzzzzzzzzzzzzzzzzzzzzzzzz"
	for kind := range kinds {
		f.Add(kind + "_" + most)
	}
	for _, seed := range []string{"", "org_" + least + "0", "org_" + least[1:], "ORG_" + least, "org_8" + least[1:], "key_" + least[1:] + "u", "lnk_" + most[:25] + "Z", "app_" + least[1:] + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prefix, rest, _ := strings.Cut(text, "_")
		for kind, parse := range kinds {
			want := kind == prefix && ulid.MatchString(rest)
			if got, err := parse(text); (err == nil) != want || !want && !errors.Is(err, id.ErrMalformed) || want && got != text {
				t.Errorf("%q as %s: %q, %v", text, kind, got, err)
			}
		}
	})
}

// TestAShortIDHasThe128BitsOfItsID: a text that is not an id of the kind has the zero value, and so have NoUser and NoKey.
func TestAShortIDHasThe128BitsOfItsID(t *testing.T) {
	user, key := id.Source{}.NewUser(), id.Source{}.NewKey(time.Now())
	for text, want := range map[string]bool{
		string(user): true, string(key): true, "usr_7zzzzzzzzzzzzzzzzzzzzzzzzz": true, "key_7zzzzzzzzzzzzzzzzzzzzzzzzz": true,
		"": false, string(id.NoUser): false, string(id.NoKey): false, "service:billing": false, string(user)[:29]: false, "ORG": false,
	} {
		gotUser, gotKey := string(id.User(text).Short().Long()), string(id.Key(text).Short().Long())
		isUser, isKey := want && text[:4] == "usr_", want && text[:4] == "key_"
		if (gotUser == text) != (isUser || text == "") || (gotUser == "") == isUser || (gotKey == text) != (isKey || text == "") || (gotKey == "") == isKey {
			t.Errorf("%q: %q and %q", text, gotUser, gotKey)
		}
	}
	if bits, _ := key.Bits(); key.Short() != bits {
		t.Errorf("%x, want %x", key.Short(), bits)
	}
}

// TestIDsHaveTheirKindAndTheirTime makes one id of each kind with a time, from bits that are all set.
func TestIDsHaveTheirKindAndTheirTime(t *testing.T) {
	at := time.UnixMilli(1469922850259) // 01arz3ndek in a ULID
	s := id.Source{Rand: bytes.NewReader(bytes.Repeat([]byte{255}, 6*10))}
	const rest = "01arz3ndekzzzzzzzzzzzzzzzz"
	for got, want := range map[string]string{
		string(s.NewApp(at)): "app_", string(s.NewKey(at)): "key_", string(s.NewAudit(at)): "aud_",
		string(s.NewLink(at)): "lnk_", string(s.NewEndpoint(at)): "whe_", string(s.NewEvent(at)): "evt_",
	} {
		if got != want+rest {
			t.Errorf("%s, want %s%s", got, want, rest)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("without randomness, an id was made")
		}
	}()
	s.NewKey(at)
}

// TestFirstEventIsTheLeastIDOfATime includes the last time that a ULID can have, and later times.
func TestFirstEventIsTheLeastIDOfATime(t *testing.T) {
	last := time.UnixMilli(1<<48 - 1)
	for at, want := range map[time.Time]id.Event{
		last:                       "evt_7zzzzzzzzz0000000000000000",
		last.Add(time.Millisecond): "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz",
		last.Add(1000 * time.Hour): "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz",
		time.UnixMilli(0):          "evt_00000000000000000000000000",
		time.UnixMilli(1):          "evt_00000000010000000000000000",
	} {
		if got := id.FirstEvent(at); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
		if got := id.FirstAudit(at); got[4:] != id.Audit(want)[4:] || got[:4] != "aud_" {
			t.Errorf("%s: %s", at, got)
		}
	}
}

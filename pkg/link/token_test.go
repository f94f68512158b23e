package link_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/secret"
)

func TestATokenLeadsToItsLink(t *testing.T) {
	for range 200 {
		app, l := id.Source{}.NewApp(time.Now()), id.Source{}.NewLink(time.Now())
		m, err := link.Mint(app, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := link.ParseToken(m.Text.Reveal())
		if err != nil || got.App != app || got.Link != l || !got.Hash.Equal(m.Hash) || !strings.HasPrefix(m.Text.Reveal(), "lkt_") {
			t.Fatalf("ParseToken = %+v, %v; want %s %s", got, err, app, l)
		}
	}
}

func TestATokenAlteredInAnyOneCharacterIsRefused(t *testing.T) {
	m, err := link.Mint(id.Source{}.NewApp(time.Now()), id.Source{}.NewLink(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := m.Text.Reveal()
	for i := range len(text) {
		for _, c := range []byte("0aZ_ .") { // characters of each kind, inside and outside the grammar
			if text[i] == c {
				continue
			}
			if _, err := link.ParseToken(text[:i] + string(c) + text[i+1:]); !errors.Is(err, secret.ErrMalformed) {
				t.Fatalf("character %d changed to %q: %v", i, c, err)
			}
		}
	}
}

// TestAPIKeysAndLinkTokensAreDistinct: an API key with any prefix does not parse as a link token, and a link token does not parse as
// an API key.
func TestAPIKeysAndLinkTokensAreDistinct(t *testing.T) {
	org, key := id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now())
	for _, prefix := range []string{"lk", "l", "lktt", "lkt1", "sk"} {
		k, err := apikey.Mint(prefix, org, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := link.ParseToken(k.Key.Reveal()); !errors.Is(err, secret.ErrMalformed) {
			t.Errorf("%s: a key is the token %+v, %v", prefix, got, err)
		}
	}
	if _, err := apikey.Mint("lkt", org, key, nil); err == nil || apikey.ValidPrefix("lkt") {
		t.Error("keys may have the prefix of link tokens")
	}
	m, err := link.Mint(id.Source{}.NewApp(time.Now()), id.Source{}.NewLink(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := apikey.Parse(m.Text.Reveal()); !errors.Is(err, apikey.ErrMalformed) {
		t.Errorf("a token is the key %+v, %v", got, err)
	}
}

func TestMalformedIDsMakeNoToken(t *testing.T) {
	for _, c := range []struct { // NoApp and NoLink are well formed, so that the other id is the malformed one
		app id.App
		l   id.Link
	}{{"", ""}, {id.NoApp, "lnk_"}, {"app_x", id.NoLink}, {id.App(id.NoLink), id.NoLink}} {
		if _, err := link.Mint(c.app, c.l, nil); err == nil {
			t.Errorf("%+v made a token", c)
		}
	}
}

func TestTheFirstEndOfALinkDecidesItsStatus(t *testing.T) {
	const end = 1_000_000 // any time, in milliseconds
	for _, c := range []struct {
		l    link.Link
		now  int64
		want link.Status
	}{
		{link.Link{ExpiresAt: end}, 0, link.Pending},
		{link.Link{ExpiresAt: end}, end - 1, link.Pending},
		{link.Link{ExpiresAt: end}, end, link.Expired},
		{link.Link{ExpiresAt: end, LapsedAt: end}, end - 1, link.Expired},
		{link.Link{ExpiresAt: end, ClaimedAt: 5}, end - 1, link.Claimed},
		{link.Link{ExpiresAt: end, ClaimedAt: 5}, end + 1, link.Claimed},
		{link.Link{ExpiresAt: end, RevokedAt: 5}, end - 1, link.Revoked},
		{link.Link{ExpiresAt: end, RevokedAt: 5}, end + 1, link.Revoked},
	} {
		if got := c.l.Status(c.now); got != c.want {
			t.Errorf("%+v at %d: %s", c.l, c.now, got)
		}
	}
}

func TestADeviceRepeatsItsClaimForADay(t *testing.T) {
	const claimed, day = 5, 86_400_000 // milliseconds
	key, other := [32]byte{1}, [32]byte{2}
	l := link.Link{ClaimedAt: claimed, ClaimKeyHash: key[:]}
	for _, c := range []struct {
		l    link.Link
		key  [32]byte
		now  int64
		want bool
	}{
		{l, key, claimed, true},
		{l, key, claimed + day - 1, true},
		{l, key, claimed + day, false},
		{l, other, claimed, false},
		{link.Link{ClaimedAt: claimed}, [32]byte{}, claimed, false}, // a row without a claimKey matches no key
	} {
		if got := c.l.ClaimedBefore(c.key, c.now); got != c.want {
			t.Errorf("%v at %d: %v", c.key[:1], c.now, got)
		}
	}
}

func TestMetadataHas20MembersAnd2KBAtMost(t *testing.T) {
	withMembers := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint(i)] = "v"
		}
		return m
	}
	ofBytes := func(n int) map[string]string { // n bytes as JSON
		return map[string]string{"k": strings.Repeat("x", n-len(`{"k":""}`))}
	}
	for name, c := range map[string]struct {
		m    map[string]string
		want bool
	}{
		"none": {nil, true}, "empty": {withMembers(0), true},
		"20 members": {withMembers(20), true}, "21 members": {withMembers(21), false},
		"2 KB": {ofBytes(2048), true}, "2 KB and a byte": {ofBytes(2049), false},
	} {
		if got := link.ValidMetadata(c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAClientUserIDHas1To128Characters(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "u": true, strings.Repeat("é", 128): true, strings.Repeat("é", 129): false, "a\nb": false, "a b": true,
	} {
		if got := link.ValidClientUserID(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestAClaimKeyHas22To64Base64URLCharacters(t *testing.T) {
	for s, want := range map[string]bool{
		strings.Repeat("a", 21): false, strings.Repeat("a", 22): true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"": false, "AZaz09-_AZaz09-_AZaz09": true, "AZaz09+/AZaz09+/AZaz09": false, "AZaz09-_AZaz09-_AZaz0=": false,
		"AZaz09-_AZaz09-_AZaz0 ": false, "AZaz09-_AZaz09-_AZaz0\n": false, strings.Repeat("é", 22): false,
	} {
		if got := link.ValidClaimKey(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestADeviceIsDescribedIn100Characters(t *testing.T) {
	for s, want := range map[string]string{
		"Ada's phone": "Ada's phone", strings.Repeat("é", 101): strings.Repeat("é", 100), "a\x00b": "a b", "a\n": "a", "\u200eAda": "Ada",
	} {
		if got := link.DeviceText(&s); got == nil || *got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	empty, hidden := "", "\u200f\u3164"
	for _, s := range []*string{nil, &empty, &hidden} {
		if got := link.DeviceText(s); got != nil {
			t.Errorf("%q", *got)
		}
	}
}

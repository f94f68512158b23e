package apikey_test

import (
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/apikey"
)

func TestAScopeHasTheCharactersOfTheContract(t *testing.T) {
	for s, want := range map[string]bool{
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

// TestMetadataIsMeasuredInBytesOfItsJSON fills the bound in characters of one to six bytes.
func TestMetadataIsMeasuredInBytesOfItsJSON(t *testing.T) {
	const around = len(`{"a":""}`)
	for unit, size := range map[string]int{"x": 1, "&": 1, `"`: 2, "ä": 2, "🔑": 4, "\x01": 6, "\u2028": 6} {
		room := apikey.MaxMetadata - around
		fill := strings.Repeat(unit, room/size) + strings.Repeat("x", room%size)
		for value, want := range map[string]bool{fill: true, fill + "x": false} {
			if got := apikey.ValidMetadata(map[string]string{"a": value}); got != want {
				t.Errorf("%q, %d bytes: %v", unit, len(value), got)
			}
		}
	}
	if !apikey.ValidMetadata(map[string]string{}) || !apikey.ValidMetadata(nil) {
		t.Error("no metadata is refused")
	}
}

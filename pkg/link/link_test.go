package link_test

import (
	"strings"
	"testing"

	"latchkey/pkg/link"
)

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
	for s, want := range map[string]bool{
		"": true, "Ada's phone": true, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false, "a\x00b": false, "a\nb": false,
	} {
		if got := link.ValidDeviceText(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

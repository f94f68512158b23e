package verify

import (
	"strings"
	"testing"
	"time"
)

// TestAVerifierUsesTheWallClock: the monotonic clock stops while Lambda freezes a receiver, so a revoked key would be kept for hours.
func TestAVerifierUsesTheWallClock(t *testing.T) {
	for name, now := range map[string]func() time.Time{"none": nil, "time.Now": time.Now} {
		v, err := New(Config{BaseURL: "https://api.example", EndpointID: "whe_1", Now: now})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{v.config.Now(), v.keys.now()} {
			if text := at.String(); strings.Contains(text, "m=") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

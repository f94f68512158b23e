package accesstoken

import (
	"strconv"
	"testing"
	"time"
)

func TestFloodOfRefusedTokensTakesBoundedMemory(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := newMemory(func() time.Time { return at })
	const flood = 10 * maxRemembered
	for n := range flood {
		m.add(strconv.Itoa(n))
		if held := len(m.younger) + len(m.older); held > 2*maxRemembered {
			t.Fatalf("%d tokens are held", held)
		}
	}
	if !m.has(strconv.Itoa(flood - maxRemembered)) {
		t.Error("a token of the youngest 4096 is forgotten")
	}
	if m.has("0") {
		t.Error("the oldest token is still remembered: where?")
	}
	at = at.Add(rememberFor)
	if m.has(strconv.Itoa(flood - 1)) {
		t.Error("a token is remembered for more than 5 minutes")
	}
}

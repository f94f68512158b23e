package accesstoken

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestAFloodOfTokensUsesLimitedMemory: at most 8,192 tokens are remembered, always including the newest 4,096.
func TestAFloodOfTokensUsesLimitedMemory(t *testing.T) {
	const half, rememberFor = 4096, 5 * time.Minute
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := newMemory[int](func() time.Time { return at })
	knows := func(n int) bool {
		value, ok := m.get(strconv.Itoa(n))
		return ok && value == n
	}
	for n := range 10*half + 1 { // the last token finds both halves full
		m.add(strconv.Itoa(n), n, at.Add(rememberFor))
		if n := len(m.younger) + len(m.older); n > 2*half {
			t.Fatalf("%d tokens are remembered", n)
		}
		if oldest := max(0, n-half+1); !knows(oldest) || !knows(n) || n >= 2*half && knows(n-2*half) {
			t.Fatalf("after token %d, one of the newest %d is forgotten, or a much older one is not", n, half)
		}
	}
	at = at.Add(rememberFor)
	if knows(10 * half) {
		t.Error("a token is remembered for more than 5 minutes")
	}
}

// TestAMemoryUsesTheWallClock: the monotonic clock stops while a Lambda function is frozen.
func TestAMemoryUsesTheWallClock(t *testing.T) {
	if at := newMemory[int](time.Now).wall().String(); strings.Contains(at, "m=") {
		t.Error(at)
	}
}

func TestAVerifiedTokenIsKnownForAMinute(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	exp := func(after time.Duration) jwt.MapClaims {
		return jwt.MapClaims{"exp": json.Number(strconv.FormatInt(at.Add(after).Unix(), 10))}
	}
	v := New(Config{}, http.DefaultClient, func() time.Time { return at })
	v.remember("long", exp(time.Hour), verified{})
	v.remember("short", exp(20*time.Second), verified{})
	for _, c := range []struct {
		passed                time.Duration // time since the previous case
		knowsLong, knowsShort bool
	}{
		{0, true, true},
		{20*time.Second - 1, true, true},
		{1, true, false}, // the exp of the token "short"
		{40*time.Second - 1, true, false},
		{1, false, false},                // a minute is over
		{-2 * time.Minute, false, false}, // the clock is set back
	} {
		at = at.Add(c.passed)
		_, long := v.known.get("long")
		_, short := v.known.get("short")
		if long != c.knowsLong || short != c.knowsShort {
			t.Errorf("at %s: long %v, short %v", at, long, short)
		}
	}
}

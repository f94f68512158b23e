package accesstoken

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestAFloodOfTokensTakesBoundedMemory(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := newMemory[int](func() time.Time { return at })
	const rememberFor = 5 * time.Minute
	const flood = 10 * maxRemembered
	for n := range flood {
		m.add(strconv.Itoa(n), n, at.Add(rememberFor))
		if held := len(m.younger) + len(m.older); held > 2*maxRemembered {
			t.Fatalf("%d tokens are held", held)
		}
	}
	if n, ok := m.get(strconv.Itoa(flood - maxRemembered)); !ok || n != flood-maxRemembered {
		t.Errorf("one of the youngest %d tokens is forgotten", maxRemembered)
	}
	if _, ok := m.get("0"); ok {
		t.Error("the oldest token is still remembered")
	}
	at = at.Add(rememberFor)
	if _, ok := m.get(strconv.Itoa(flood - 1)); ok {
		t.Error("a token is remembered for more than 5 minutes")
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
		passed                time.Duration // since the last case
		knowsLong, knowsShort bool
	}{
		{0, true, true},
		{20*time.Second - 1, true, true},
		{1, true, false}, // the exp of the short one
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

package apikey_test

import (
	"testing"
	"time"

	"latchkey/pkg/apikey"
)

func TestAKeyIsActiveUntilItIsRevokedRotatedOrExpires(t *testing.T) {
	for _, c := range []struct {
		s            apikey.State
		now          int64
		active, good bool
	}{
		{apikey.State{}, 1_000, true, true},
		{apikey.State{ExpiresAt: 1_000}, 999, true, true},
		{apikey.State{ExpiresAt: 1_000}, 1_000, false, false},
		{apikey.State{RevokedAt: 1}, 1_000, false, false},
		{apikey.State{RotatedTo: "key_x"}, 1_000, false, true},
		{apikey.State{RotatedTo: "key_x", ExpiresAt: 1_000}, 1_000, false, false},
		{apikey.State{RotatedTo: "key_x", RevokedAt: 1}, 1_000, false, false},
	} {
		if active, good := c.s.ActiveAt(c.now), c.s.GoodAt(c.now); active != c.active || good != c.good {
			t.Errorf("%+v at %d: active %v, good %v", c.s, c.now, active, good)
		}
	}
}

func TestAGraceNeverProlongsAKey(t *testing.T) {
	for _, c := range []struct{ expires, want int64 }{{0, 6_000}, {9_000, 6_000}, {3_000, 3_000}} {
		if got := (apikey.State{ExpiresAt: c.expires}).GraceEnds(1_000, 5*time.Second); got != c.want {
			t.Errorf("a key until %d: %d, want %d", c.expires, got, c.want)
		}
	}
}

func TestASuccessorKeepsTheLifetimeUnlessAnotherIsWanted(t *testing.T) {
	for _, c := range []struct {
		s    apikey.State
		life time.Duration
		want int64
	}{
		{apikey.State{CreatedAt: 100}, 0, 0},
		{apikey.State{CreatedAt: 100, ExpiresAt: 400}, 0, 1_300},
		{apikey.State{CreatedAt: 100, ExpiresAt: 400}, 5 * time.Second, 6_000},
		{apikey.State{CreatedAt: 100}, 5 * time.Second, 6_000},
	} {
		if got := c.s.SuccessorEnds(1_000, c.life); got != c.want {
			t.Errorf("%+v, life %v: %d, want %d", c.s, c.life, got, c.want)
		}
	}
}

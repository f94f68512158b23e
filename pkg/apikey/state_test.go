package apikey_test

import (
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
)

func TestAKeyIsActiveUntilItIsRevokedRotatedOrExpires(t *testing.T) {
	for _, c := range []struct {
		s                     apikey.State
		now                   int64
		wantActive, wantLives bool
	}{
		{apikey.State{}, 1_000, true, true},
		{apikey.State{ExpiresAt: 1_000}, 999, true, true},
		{apikey.State{ExpiresAt: 1_000}, 1_000, false, false},
		{apikey.State{RevokedAt: 1}, 1_000, false, false},
		{apikey.State{RotatedTo: id.ShortKey{1}}, 1_000, false, true},
		{apikey.State{RotatedTo: id.ShortKey{1}, ExpiresAt: 1_000}, 1_000, false, false},
		{apikey.State{RotatedTo: id.ShortKey{1}, RevokedAt: 1}, 1_000, false, false},
		{apikey.State{Held: true}, 1_000, true, true}, // its expiry is announced, and the key can be changed
		{apikey.State{Held: true, RevokedAt: 1}, 1_000, false, false},
		{apikey.State{Held: true, ExpiresAt: 1_000}, 1_000, false, false},
	} {
		if active, lives := c.s.ActiveAt(c.now), c.s.LivesAt(c.now); active != c.wantActive || lives != c.wantLives {
			t.Errorf("%+v at %d: active %v, lives %v", c.s, c.now, active, lives)
		}
	}
}

// TestEachStateOfAKeyHasOneVerdict checks each state at the time of 1,000 ms, with keys that expire at this time and 1 ms
// later.
func TestEachStateOfAKeyHasOneVerdict(t *testing.T) {
	for s, want := range map[apikey.State]apikey.Verdict{
		{}:                               apikey.Good,
		{ExpiresAt: 1_001}:               apikey.Good,
		{ExpiresAt: 1_000}:               apikey.Expired,
		{RevokedAt: 1}:                   apikey.Revoked,
		{RevokedAt: 2_000}:               apikey.Revoked, // revoked by a machine whose clock is ahead
		{RevokedAt: 900, ExpiresAt: 950}: apikey.Revoked,
		{RotatedTo: id.ShortKey{1}}:      apikey.Good,
		{RotatedTo: id.ShortKey{1}, ExpiresAt: 1_001}:                 apikey.Good,
		{RotatedTo: id.ShortKey{1}, ExpiresAt: 1_000}:                 apikey.Expired,
		{RotatedTo: id.ShortKey{1}, ExpiresAt: 2_000, RevokedAt: 900}: apikey.Revoked,
		{Held: true, ExpiresAt: 1_001}:                                apikey.Suspended,
		{Held: true, ExpiresAt: 1_000}:                                apikey.Expired,
		{Held: true, RevokedAt: 1}:                                    apikey.Revoked,
	} {
		if got := s.Verdict(1_000); got != want {
			t.Errorf("%+v: %d, want %d", s, got, want)
		}
	}
}

func TestLongLivedKeysAreAnnouncedAWeekBeforeTheirEnd(t *testing.T) {
	const created, day = 1_000, 86_400_000 // milliseconds
	for expires, want := range map[int64]int64{
		0:                    0, // never expires
		created + day:        0,
		created + 14*day:     0,
		created + 14*day + 1: created + 7*day + 1,
		created + 90*day:     created + 83*day,
	} {
		if got := (apikey.State{CreatedAt: created, ExpiresAt: expires}).WarnAt(); got != want {
			t.Errorf("a key until %d: %d, want %d", expires, got, want)
		}
	}
}

func TestAGraceNeverProlongsAKey(t *testing.T) {
	for _, c := range []struct{ expires, want int64 }{
		{expires: 0, want: 6_000}, // never expires
		{expires: 9_000, want: 6_000},
		{expires: 3_000, want: 3_000},
	} {
		if got := (apikey.State{ExpiresAt: c.expires}).GraceEnds(1_000, 5*time.Second); got != c.want {
			t.Errorf("a key until %d: %d, want %d", c.expires, got, c.want)
		}
	}
}

func TestASuccessorLivesAsLongAsTheOldKeyByDefault(t *testing.T) {
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

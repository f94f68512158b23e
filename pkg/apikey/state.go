package apikey

import (
	"time"

	"latchkey/pkg/id"
)

// State is the part of a key that decides when the key is good. Times are in milliseconds since the epoch; 0: not set.
type State struct {
	CreatedAt int64
	ExpiresAt int64
	RevokedAt int64
	RotatedTo id.ShortKey // the key that replaced this one; zero: the key was not rotated
	Held      bool        // the key's org is suspended
}

// Verdict is the decision about a key by its state.
type Verdict int

// The verdicts.
const (
	Revoked Verdict = iota // the zero value, so that a Verdict that was never set is not good
	Expired
	Suspended // good again when the org is resumed
	Good
)

// Verdict returns the verdict on a key at the time now. No other code decides whether a key is good. A key that is both revoked and
// expired is Revoked, also in a suspended org. A rotated key is good during its grace, which ends at ExpiresAt.
func (s State) Verdict(now int64) Verdict {
	switch {
	case s.RevokedAt != 0:
		return Revoked
	case s.ExpiresAt != 0 && now >= s.ExpiresAt:
		return Expired
	case s.Held:
		return Suspended
	default:
		return Good
	}
}

// LivesAt reports whether a key is neither revoked nor expired at the time now. A key of a suspended org lives, but it is not
// good.
func (s State) LivesAt(now int64) bool { v := s.Verdict(now); return v == Good || v == Suspended }

// WarnAt returns when an event must announce that a key will expire: a week before. It returns 0 for a key that never expires,
// and for a key that lives at most two weeks: machines rotate such keys, so no one needs a warning.
func (s State) WarnAt() int64 {
	const week = 7 * 24 * int64(time.Hour/time.Millisecond)
	neverExpires, isShortLived := s.ExpiresAt == 0, s.ExpiresAt-s.CreatedAt <= 2*week
	if neverExpires || isShortLived {
		return 0
	}
	return s.ExpiresAt - week
}

// ActiveAt reports whether a key lives and is not rotated. Only an active key can be rotated.
func (s State) ActiveAt(now int64) bool { return s.RotatedTo == (id.ShortKey{}) && s.LivesAt(now) }

// GraceEnds returns when a key stops being good if it is rotated now. A grace never prolongs the life of a key that
// expires.
func (s State) GraceEnds(now int64, grace time.Duration) int64 {
	ends := now + grace.Milliseconds()
	if s.ExpiresAt != 0 {
		ends = min(ends, s.ExpiresAt)
	}
	return ends
}

// SuccessorEnds returns when the new key of a rotation expires. It lives for life, or if life is 0, as long as this key was
// made to live. SuccessorEnds returns 0 for a key that never expires.
func (s State) SuccessorEnds(now int64, life time.Duration) int64 {
	switch {
	case life != 0:
		return now + life.Milliseconds()
	case s.ExpiresAt != 0:
		return now + s.ExpiresAt - s.CreatedAt
	default:
		return 0
	}
}

package apikey

import (
	"time"

	"latchkey/pkg/id"
)

// State is the part of a key that decides when it is good. Times are in milliseconds; 0: not set.
type State struct {
	CreatedAt int64
	ExpiresAt int64
	RevokedAt int64
	RotatedTo id.Key // the key that replaced it
}

// Verdict is what a key's state says about it.
type Verdict int

// The verdicts.
const (
	Revoked Verdict = iota // the zero value, so that nothing unset is good
	Expired
	Good
)

// Verdict decides about a key at a time. It is the one place that does. A key that is revoked and expired is Revoked. A
// rotated key is good in its grace.
func (s State) Verdict(now int64) Verdict {
	switch {
	case s.RevokedAt != 0:
		return Revoked
	case s.ExpiresAt != 0 && now >= s.ExpiresAt:
		return Expired
	default:
		return Good
	}
}

// GoodAt reports whether a key is good at a time.
func (s State) GoodAt(now int64) bool { return s.Verdict(now) == Good }

// WarnAt returns when it is announced that a new key expires: a week before. It returns 0 for never: the key does not
// expire, or lives no longer than two weeks, because machines rotate keys of short lives.
func (s State) WarnAt() int64 {
	const week = 7 * 24 * int64(time.Hour/time.Millisecond)
	if s.ExpiresAt-s.CreatedAt <= 2*week {
		return 0
	}
	return s.ExpiresAt - week
}

// ActiveAt reports whether a key is not revoked, expired or rotated.
func (s State) ActiveAt(now int64) bool { return s.RotatedTo == "" && s.GoodAt(now) }

// GraceEnds returns when a key ends that is rotated now: never later than it would have expired.
func (s State) GraceEnds(now int64, grace time.Duration) int64 {
	ends := now + grace.Milliseconds()
	if s.ExpiresAt != 0 {
		ends = min(ends, s.ExpiresAt)
	}
	return ends
}

// SuccessorEnds returns when the key expires that replaces this one now: after life, or after the
// lifetime of this key when life is 0. It returns 0 for never.
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

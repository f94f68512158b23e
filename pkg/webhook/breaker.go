package webhook

import (
	"net/http"
	"time"
)

// Breaker is the state of the breaker of an endpoint. Times are in milliseconds; 0: not set.
type Breaker struct {
	Failures     int64 // in a row
	OpenUntil    int64 // nothing is sent before this time
	FailingSince int64 // the first failure after the last success
}

// Fail returns the state after one more failure, and how long the breaker is open then; 0: it
// stays closed. ok is false when the failures are many, but not over BreakOver yet: the state stays
// as it is.
func (b Breaker) Fail(now time.Time) (failures int64, open time.Duration, ok bool) {
	failures = b.Failures + 1
	open = Break(int(failures), b.failing(now))
	return failures, open, failures < BreakAfter || open > 0
}

// Probe returns how long the breaker stays open for all other attempts while one is made.
func (b Breaker) Probe() time.Duration { return Break(int(b.Failures), BreakOver) }

// Disables returns why an endpoint is disabled after an attempt that it did not take, or "": it answered that it
// is gone, or has failed at every attempt for DisableAfter.
func (b Breaker) Disables(status int, now time.Time) DisabledReason {
	switch {
	case status == http.StatusGone:
		return DisabledByGone
	case b.failing(now) >= DisableAfter:
		return DisabledByFailing
	default:
		return ""
	}
}

// failing returns how long every attempt has failed.
func (b Breaker) failing(now time.Time) time.Duration {
	if b.FailingSince == 0 {
		return 0
	}
	return now.Sub(time.UnixMilli(b.FailingSince))
}

package webhook

import (
	"net/http"
	"time"
)

// Breaker is the state of the breaker of an endpoint. Times are in milliseconds; 0: not set.
type Breaker struct {
	Failures     int64 // in a row
	OpenUntil    int64 // nothing is sent before this time
	FailingSince int64 // the first failure after the last success, or after a quiet time: see WasQuiet
}

// Fail returns the number of failures after one more failure, and how long the breaker opens (0: it stays
// closed). ok is false when there are BreakAfter failures or more in less than BreakSpan. Then the caller must not change
// the state, so that the next failure is counted in the same way.
func (b Breaker) Fail(now time.Time) (failures int64, open time.Duration, ok bool) {
	failures = b.Failures + 1
	open = Break(int(failures), b.failing(now))
	tooFast := failures >= BreakAfter && open == 0
	return failures, open, !tooFast
}

// Probe returns how long the breaker stays open for all other attempts while the probe is made. It uses BreakSpan,
// because the failures that opened the breaker spanned at least this time. FailingSince may be later: see WasQuiet.
func (b Breaker) Probe() time.Duration { return Break(int(b.Failures), BreakSpan) }

// quiet is longer than the longest wait between two attempts of a delivery (28.8 hours).
const quiet = 29 * time.Hour

// WasQuiet reports whether the last failure is so long ago that no delivery has waited since. The receiver may have worked meanwhile, so the
// next failure counts as the first one. OpenUntil is at most a minute after the last failure.
func (b Breaker) WasQuiet(now time.Time) bool {
	return b.OpenUntil != 0 && now.Sub(time.UnixMilli(b.OpenUntil)) > quiet
}

// Disables returns why an endpoint is disabled after a failed attempt with this status: the endpoint has answered
// 410 Gone, or every attempt has failed for DisableAfter. It returns "" for an endpoint that stays enabled.
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

// failing returns the time since FailingSince; 0: the last attempt succeeded.
func (b Breaker) failing(now time.Time) time.Duration {
	if b.FailingSince == 0 {
		return 0
	}
	return now.Sub(time.UnixMilli(b.FailingSince))
}

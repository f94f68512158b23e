package webhook

import (
	"slices"
	"time"
)

// waits has the time to wait before each attempt, since the attempt before it. The first attempt is made at once.
// The last wait makes the sum about 72 hours.
var waits = [...]time.Duration{
	0, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
	3 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 20 * time.Hour,
}

// An endpoint's breaker opens after BreakAfter failures in a row that span at least BreakSpan. The number alone
// proves little: if many attempts are made at the same time and half of them fail, five may fail in a row
// within a moment.
const (
	BreakAfter = 5
	BreakSpan  = 10 * time.Second
)

const (
	// Lifetime is how long a delivery is tried at most. It is longer than the sum of all waits with the
	// largest jitter (87 hours), so a delivery reaches it only because of long values of Retry-After or an open breaker.
	Lifetime = 90 * time.Hour

	// lastCall is the time before the end of the Lifetime when a last attempt is made, if the next attempt would come after
	// the end. It is long enough for the sweep, which runs once a minute and wakes the delivery.
	lastCall = 10 * time.Minute

	jitter = 0.2 // a wait may be shorter or longer by this fraction

	firstBreak   = 30 * time.Second // how long a breaker is open at first; doubles with each failure
	longestBreak = time.Minute

	// DisableAfter is how long an endpoint may fail at every attempt before it is disabled.
	DisableAfter = 5 * 24 * time.Hour
)

// MaxAttempts returns how often a delivery is tried.
func MaxAttempts() int { return len(waits) }

// Next returns the wait after this number of attempts. ok is false after the last attempt. random, from 0 to 1,
// chooses the jitter. A Retry-After of the receiver (0: none) can make the wait longer, but not longer than the longest of
// this wait and the two waits after it, without jitter.
func Next(made int, retryAfter time.Duration, random float64) (wait time.Duration, ok bool) {
	if made < 0 || made >= len(waits) {
		return 0, false
	}
	wait = time.Duration(float64(waits[made]) * (1 - jitter + 2*jitter*random))
	longest := slices.Max(waits[made:min(made+3, len(waits))])
	return max(wait, min(retryAfter, longest)), true
}

// Break returns how long to stop sending to an endpoint after this number of failures in a row. failing is the time from
// the first of them to the last. It returns 0 for fewer than BreakAfter failures or for less than BreakSpan, 30 s for the fifth
// failure, and a minute from the sixth on.
func Break(failures int, failing time.Duration) time.Duration {
	if failures < BreakAfter || failing < BreakSpan {
		return 0
	}
	doublings := min(failures-BreakAfter, 10) // enough to reach longestBreak, and without an overflow of the shift
	return min(firstBreak<<doublings, longestBreak)
}

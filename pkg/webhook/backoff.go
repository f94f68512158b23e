package webhook

import "time"

// waits are the times before each attempt, from the attempt before: about 72 hours in all.
var waits = [...]time.Duration{
	0, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
	3 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 20 * time.Hour,
}

// An endpoint's breaker opens after BreakAfter failures in a row over at least BreakOver. With
// many attempts at once to an endpoint that takes every second one, five may fail in a row
// within a moment.
const (
	BreakAfter = 5
	BreakOver  = 10 * time.Second
)

const (
	// Lifetime is the longest time for which a delivery is tried, with the jitter of its waits.
	Lifetime = 90 * time.Hour

	jitter = 0.2 // of a wait, up or down

	firstBreak   = 30 * time.Second
	longestBreak = time.Minute

	// DisableAfter is how long an endpoint may fail at every attempt before it is disabled.
	DisableAfter = 5 * 24 * time.Hour
)

// MaxAttempts returns how often a delivery is tried.
func MaxAttempts() int { return len(waits) }

// Next returns the wait after this number of attempts. ok is false after the last. random is
// from 0 to 1. A receiver's Retry-After (0: none) makes the wait longer, up to twice the step.
func Next(made int, retryAfter time.Duration, random float64) (wait time.Duration, ok bool) {
	if made < 0 || made >= len(waits) {
		return 0, false
	}
	step := waits[made]
	wait = time.Duration(float64(step) * (1 - jitter + 2*jitter*random))
	return max(wait, min(retryAfter, 2*step)), true
}

// Break returns how long to stop sending to an endpoint after this number of failures in a row,
// over this time: 0 below BreakAfter failures or BreakOver, 30 s at the fifth failure, a minute
// from the sixth on.
func Break(failures int, failing time.Duration) time.Duration {
	if failures < BreakAfter || failing < BreakOver {
		return 0
	}
	return min(firstBreak<<min(failures-BreakAfter, 10), longestBreak)
}

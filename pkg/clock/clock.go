// Package clock has the clock by which a process decides how long it keeps what it has read.
package clock

import "time"

// Now returns the time without the monotonic reading of time.Now. The monotonic clock stops while Lambda freezes a process: by that
// clock, a copy that handles few requests would use a revoked key for hours. To measure the time of one request, use time.Now.
func Now() time.Time { return time.Now().Round(0) }

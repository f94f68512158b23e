package limit

import (
	"context"
	"errors"
	"time"
)

const (
	tallyEvery  = time.Minute // how often a process writes what it has counted of a key
	tallyWithin = 200 * time.Millisecond
)

// tally counts the requests of a key on a day that a process has let through and not written yet.
type tally struct {
	usage

	wroteAt time.Time
}

// Tally counts one request of a key without limits. The first request of a day waits for a write of the count, 200 ms at most, and so
// does the first one a minute or more after the last write. When a process ends, its unwritten count is lost, and a write without an
// answer is not repeated: the row never has more requests than were let through. Tally never fails a request.
func (l *Limiter) Tally(ctx context.Context, of Owner) {
	due, ok := l.tallyOne(of)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyWithin)
	defer cancel()
	_, _, err := l.table.Lease(ctx, Lease{Owner: of, Row: Day, Start: due.day, Counted: due.requests})
	if !errors.Is(err, ErrNotCharged) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.tallies[of]; c != nil && c.day == due.day {
		c.requests += due.requests
	}
}

// tallyOne counts one request. With ok, the caller must write due now.
func (l *Limiter) tallyOne(of Owner) (due usage, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	today, _ := Day.window(now)
	c := l.tallies[of]
	if c == nil {
		if len(l.tallies) >= maxBalances {
			clear(l.tallies)
		}
		c = &tally{usage: usage{day: today}}
		l.tallies[of] = c
	}
	if c.day != today {
		due = c.usage
		c.usage, c.wroteAt = usage{day: today}, time.Time{}
		if due.requests > 0 { // the unwritten count of an earlier day is written first, and the next request writes today's
			c.requests = 1
			return due, true
		}
	}
	c.requests++
	if since := now.Sub(c.wroteAt); since >= 0 && since < tallyEvery { // negative if the clock was set back
		return due, false
	}
	due = c.usage
	c.requests, c.wroteAt = 0, now
	return due, true
}

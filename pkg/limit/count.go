package limit

import (
	"context"
	"errors"
	"time"
)

const (
	countEvery  = time.Minute // how often a process writes what it has counted of a key
	countWithin = 200 * time.Millisecond
)

// count is how many requests of a key a process has let through on a day and not written yet.
type count struct {
	report

	wroteAt time.Time
}

// Count counts one request of a key without limits. The first request of a day and each one a minute or more after the last write
// waits for a write of what was counted, 200 ms at most. What a process has not written when it ends is lost, and so is a write
// without an answer: the row never has more requests than were let through. Count never fails a request.
func (l *Limiter) Count(ctx context.Context, of Owner) {
	due, ok := l.count(of)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countWithin)
	defer cancel()
	_, _, err := l.table.Lease(ctx, Lease{Owner: of, Row: Day, Start: due.day, Counted: due.requests})
	if !errors.Is(err, ErrNotCharged) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.counts[of]; c != nil && c.day == due.day {
		c.requests += due.requests
	}
}

// count counts one request. With ok, due is to be written now.
func (l *Limiter) count(of Owner) (due report, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	today, _ := Day.window(now)
	c := l.counts[of]
	if c == nil {
		if len(l.counts) >= maxBalances {
			clear(l.counts)
		}
		c = &count{report: report{day: today}}
		l.counts[of] = c
	}
	if c.day != today {
		due = c.report
		c.report, c.wroteAt = report{day: today}, time.Time{}
		if due.requests > 0 { // what is left of an earlier day comes first, and the next request writes today's
			c.requests = 1
			return due, true
		}
	}
	c.requests++
	if now.Sub(c.wroteAt) < countEvery {
		return due, false
	}
	due = c.report
	c.requests, c.wroteAt = 0, now
	return due, true
}

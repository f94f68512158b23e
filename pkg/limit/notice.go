package limit

import (
	"context"
	"time"

	"latchkey/pkg/id"
)

// Mark is a part of a limit. When the leased requests of a day or a month pass it, the app gets an event.
type Mark int

// The marks, the lower one first.
const (
	Near    Mark = iota // at least 80 % are leased
	Reached             // all are leased
	marks               // the number of marks
)

// Passed returns the highest mark that this number of leased requests has passed; ok is false when it has passed none.
func Passed(leased, limit int64) (m Mark, ok bool) {
	switch {
	case leased >= limit:
		return Reached, true
	case leased*5 >= limit*4:
		return Near, true
	}
	return 0, false
}

// Notice records that a window has passed a mark.
type Notice struct {
	Owner

	Used  id.Key // the key whose request made the lease, Owner's key or a successor; "": an org's allowance
	Row   Per    // Day or Month
	Start int64  // begin of the window, in seconds since the epoch
	Mark  Mark
	Limit int64 // limit of the window
}

const noticeWithin = 200 * time.Millisecond

// notice returns the notice to write after a lease, from the row after it; nil: no mark is passed, or it is noted on the row already.
func (b *balance) notice(l Lease, limit int64, found Charges) *Notice {
	is := found[l.Row]
	mark, ok := Passed(is.Requests, limit)
	if limit == 0 || !ok || is.Noted[mark] >= limit {
		return nil
	}
	return &Notice{Owner: b.owner, Used: b.used, Row: l.Row, Start: l.Start, Mark: mark, Limit: limit}
}

// announce writes the notice of a lease; nil: none. An error fails no request, because the next lease from the row finds the missing
// notice.
func (l *Limiter) announce(ctx context.Context, n *Notice) {
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeWithin)
	defer cancel()
	_ = l.table.Announce(ctx, *n)
}

package limit_test

import (
	"context"
	"sync"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
)

// row is the key of a row.
type row struct {
	limit.Owner
	per   limit.Per
	start int64
}

// rows is a table in memory that checks the conditions of a lease.
type rows struct {
	mu        sync.Mutex
	charges   map[row]*limit.Charges
	requests  map[row]int64
	counted   map[row]int64
	writes    int
	fail      func(limit.Lease) error // called before the write; its error fails the lease; nil: not used
	lose      func(limit.Lease) bool  // reports whether the answer of a write is lost; nil: never
	meanwhile func()                  // called at the start of Lease; nil: not used
	notices   []limit.Notice
	refused   map[row]limit.Refusals
	refuse    func(context.Context) error // called before NoteRefusals writes; its error fails the write; nil: not used
}

func newRows() *rows {
	return &rows{charges: map[row]*limit.Charges{}, requests: map[row]int64{}, counted: map[row]int64{}, refused: map[row]limit.Refusals{}}
}

func (r *rows) Lease(_ context.Context, l limit.Lease) (limit.Charges, bool, error) {
	if r.meanwhile != nil {
		r.meanwhile()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	if r.fail != nil {
		if err := r.fail(l); err != nil {
			return limit.Charges{}, false, err
		}
	}
	at := row{l.Owner, l.Row, l.Start}
	if r.charges[at] == nil {
		r.charges[at] = &limit.Charges{}
	}
	is := r.charges[at]
	for p, w := range l.Wants {
		held := is[p]
		switch {
		case w.Requests == 0:
		case limit.Per(p) == l.Row: // the row has one window of this length
			held.Start = w.Start
		case w.Begins && held.Start < w.Start:
			held = limit.Charged{}
		case w.Begins || held.Start != w.Start:
			return *is, false, nil
		}
		if w.Requests != 0 && w.Limit != 0 && held.Requests+w.Requests > w.Limit {
			return *is, false, nil
		}
	}
	for p, w := range l.Wants {
		switch {
		case w.Requests == 0:
		case w.Begins:
			is[p] = limit.Charged{Start: w.Start, Requests: w.Requests}
		default:
			is[p].Start, is[p].Requests = w.Start, is[p].Requests+w.Requests
		}
	}
	r.requests[at] += l.Requests
	r.counted[at] += l.Counted
	if r.lose != nil && r.lose(l) {
		return limit.Charges{}, false, context.DeadlineExceeded
	}
	return *is, true, nil
}

func (r *rows) NoteRefusals(ctx context.Context, k limit.Refused, day int64, n limit.Refusals) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	if r.refuse != nil {
		if err := r.refuse(ctx); err != nil {
			return err
		}
	}
	at := row{limit.Owner{Org: k.Org, Key: k.LimitID}, limit.Day, day}
	sum := r.refused[at]
	for why, times := range n {
		sum[why] += times
	}
	r.refused[at] = sum
	return nil
}

func (r *rows) Announce(_ context.Context, n limit.Notice) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, n)
	r.charges[row{n.Owner, n.Row, n.Start}][n.Row].Noted[n.Mark] = n.Limit
	return nil
}

// request returns a request of a key with these limits.
func request(k id.Key, limits string) limit.Request {
	return limit.Request{Org: "org_1", Key: k, LimitID: "key_1", Limits: limits}
}

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// at returns the UTC time in a text.
func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

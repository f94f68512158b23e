package limit

import (
	"time"

	"latchkey/pkg/id"
)

const (
	horizon      = 60.0  // seconds for which a process leases at most
	monthHorizon = 300.0 // the same for a month, whose row has no shorter window
)

// balance has what a process has leased of one account. A nil balance is an account without limits: its methods do nothing.
type balance struct {
	owner         Owner
	used          id.Key // of the account
	first, second string // the texts of the limits; both hold
	rules         Rules
	version       int   // one more with each change of the texts
	allowance     int64 // of an org: the version of its allowance

	windows [pers]window
	day     pace // of the leases from the row of the day
	month   pace

	unreported usage // of the present day
	late       usage // of an earlier one
	busy       *leasing
	waiting    int64 // requests that wait for busy
}

// window has what a process has leased of one window.
type window struct {
	start, end int64 // seconds since the epoch
	tokens     int64 // requests that the process has leased and not yet let through
	left       int64 // what any process may still lease, as far as this one knows
	begun      bool  // this process began the window on the row
	begins     bool  // the row is probably at an earlier window
}

// pace is how fast a process has let requests through since its last lease.
type pace struct {
	size int64 // of the lease; 0: there was none
	at   time.Time
	used int64
}

// usage is how many requests were let through on a day and are not on its row yet.
type usage struct{ day, requests int64 }

// useLimits applies the texts of the limits and the time to a balance, and drops what was leased under other texts. A request may change
// the texts once, when it begins: otherwise two requests that have read different texts would drop each other's leases without end.
// Error: ErrChanged.
func (b *balance) useLimits(first, second string, now time.Time, begins bool) error {
	if first != b.first || second != b.second || b.version == 0 {
		if !begins {
			return ErrChanged
		}
		one, err := Parse(first)
		if err != nil {
			return err
		}
		other, err := Parse(second)
		if err != nil {
			return err
		}
		*b = balance{
			owner: b.owner, used: b.used, first: first, second: second, rules: one.and(other), version: b.version + 1, allowance: b.allowance,
			unreported: b.unreported, late: b.late, busy: b.busy, waiting: b.waiting,
		}
	}
	for p := range pers {
		w := &b.windows[p]
		if !b.tracks(p) || now.Unix() < w.end {
			continue
		}
		start, end := p.window(now)
		*w = window{start: start, end: end, left: b.limit(p), begins: w.begun}
		if p == Day && b.unreported.day != start {
			b.late, b.unreported = b.unreported, usage{day: start}
		}
	}
	return nil
}

// useAllowance is useLimits for the balance of an org. While an allowance is changed, the rows of some keys have the text of before:
// the latest text that the process has seen holds, so that the keys do not drop each other's leases.
func (b *balance) useAllowance(r *Request, now time.Time) error {
	text := r.Allowance
	if r.AllowanceVersion < b.allowance {
		text = b.first
	}
	b.allowance = max(b.allowance, r.AllowanceVersion)
	return b.useLimits(text, "", now, true)
}

// tracks reports whether requests are charged to the windows of a length. Days always are, because their rows record how much a
// key is used.
func (b *balance) tracks(p Per) bool { return b.rules[p] != 0 || p == Day }

// limit returns how many requests may be let through in a window.
func (b *balance) limit(p Per) int64 {
	if b.rules[p] == 0 {
		return without
	}
	return b.rules[p]
}

// spent reports whether no request may be let through any more in one of the windows. Nothing that was charged is given back, so
// that stays so until the window ends.
func (b *balance) spent() bool {
	if b == nil {
		return false
	}
	for p := range pers {
		if b.isSpent(p) {
			return true
		}
	}
	return false
}

func (b *balance) isSpent(p Per) bool {
	w := &b.windows[p]
	return b.rules[p] != 0 && w.tokens < 1 && w.left < 1
}

// missingLease returns the lease that a request needs, nil for none. leads is true when no request is making it yet.
func (b *balance) missingLease() (needed *leasing, leads bool) {
	if b == nil {
		return nil, false
	}
	for p := range pers {
		if b.tracks(p) && b.windows[p].tokens < 1 {
			b.waiting++
			if b.busy == nil {
				b.busy, leads = &leasing{of: b, row: p.row(), done: make(chan struct{})}, true
			}
			return b.busy, leads
		}
	}
	return nil, false
}

// row returns which row has the windows of a length.
func (p Per) row() Per {
	if p == Month {
		return Month
	}
	return Day
}

// spendOne lets one request through.
func (b *balance) spendOne() {
	if b == nil {
		return
	}
	for p := range pers {
		if b.tracks(p) {
			b.windows[p].tokens--
		}
	}
	b.unreported.requests++
	b.day.used++
	b.month.used++
}

// nextLease returns the lease to make now, and how many requests the process then has in each window of the row.
func (b *balance) nextLease(row Per, now time.Time) (l Lease, size int64) {
	size = b.size(row, now)
	l = Lease{Owner: b.owner, Row: row, Start: b.windows[row].start}
	for p := range pers {
		w := &b.windows[p]
		if p.row() == row && b.tracks(p) && w.tokens < size {
			l.Wants[p] = Want{Start: w.start, Requests: size - w.tokens, Limit: b.rules[p], Begins: w.begins && p != row}
		}
	}
	if row == Day && b.unreported.day == l.Start {
		l.Requests, b.unreported.requests = b.unreported.requests, 0
	}
	return l, size
}

// size returns how many requests a process should have in each window of a row: what it needs at its own pace for a sixth of the
// shortest window, at most twice its last lease, and at most an eighth of what is left, so that little is lost with a process.
// It returns at least the number of requests that wait here, because they use their part at once.
func (b *balance) size(row Per, now time.Time) int64 {
	pace, ahead := b.pace(row), horizon
	if row == Month {
		ahead = monthHorizon
	}
	size, most := int64(1), int64(without)
	for p := row; p >= 0; p-- { // the shortest window comes last
		w := &b.windows[p]
		if p.row() != row || b.rules[p] == 0 {
			continue
		}
		ahead = min(ahead, float64(w.end-w.start)/6, float64(w.end-now.Unix()))
		most = min(most, w.tokens+max(w.left, 0)) // left is negative when the row was charged under a larger limit
	}
	if pace.size != 0 {
		since := max(now.Sub(pace.at).Seconds(), 0.05)
		size = min(int64(float64(pace.used)/since*ahead), 2*pace.size)
	}
	for p := range pers {
		if w := &b.windows[p]; p.row() == row && b.rules[p] != 0 {
			size = min(size, w.tokens+w.left/8)
		}
	}
	return min(max(size, b.waiting, 1), most)
}

// pace returns the pace of the leases from a row.
func (b *balance) pace(row Per) *pace {
	if row == Month {
		return &b.month
	}
	return &b.day
}

// applyLease adds what a lease has brought, or learns from the row what refused it.
func (b *balance) applyLease(l Lease, found Charges, done bool) error {
	for p := range pers {
		want, w, f := l.Wants[p], &b.windows[p], found[p]
		if want.Requests == 0 {
			continue
		}
		if p == l.Row {
			f.Start = want.Start
		}
		if f.Start > want.Start { // windows only go forward: the row is right, and this clock is late
			if f.Start > want.Start+seconds[p] {
				return ErrAhead
			}
			if f.Start > w.start {
				*w = window{start: f.Start, end: f.Start + seconds[p], left: b.limit(p) - f.Requests}
			}
			continue
		}
		if w.start != want.Start { // it has ended meanwhile
			continue
		}
		w.begins = f.Start < want.Start
		w.left = b.limit(p)
		if !w.begins {
			w.left -= f.Requests
		}
		if done {
			w.tokens += want.Requests
			w.begun = w.begun || want.Begins
		}
	}
	return nil
}

// keepUsage keeps what a lease has not reported.
func (b *balance) keepUsage(day, requests int64) {
	switch day {
	case b.unreported.day:
		b.unreported.requests += requests
	case b.late.day:
		b.late.requests += requests
	}
}

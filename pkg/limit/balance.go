package limit

import (
	"time"

	"latchkey/pkg/id"
)

const (
	horizon      = 60.0  // a process leases requests for at most this many seconds
	monthHorizon = 300.0 // the same for the row of a month
)

// balance has the leased requests of one account in this process. A nil balance is an account without limits: its methods do nothing.
type balance struct {
	owner         Owner
	used          id.Key // the key of the account
	first, second string // the two texts of limits; both apply
	rules         Rules
	version       int   // grows by one with each change of the texts
	allowance     int64 // for an org: the version of its allowance

	windows [pers]window
	day     pace // pace of the leases from the row of the day
	month   pace // pace of the leases from the row of the month

	unreported usage // of the present day
	late       usage // of an earlier day
	busy       *leasing
	waiting    int64 // how many requests wait for busy
}

// window has the leased requests of one window in this process.
type window struct {
	start, end int64 // seconds since the epoch
	tokens     int64 // leased requests that the process has not let through yet
	left       int64 // how many requests all processes may still lease, as of the last lease
	begun      bool  // this process began the window on the row
	begins     bool  // the row is probably still at an earlier window
}

// pace measures how fast a process has let requests through since its last lease.
type pace struct {
	size int64     // size of the lease; 0: there was none
	at   time.Time // time of the lease
	used int64     // requests let through since then
}

// usage counts the requests of a day that were let through and are not on its row yet.
type usage struct{ day, requests int64 }

// useLimits applies the texts of the limits and the time to a balance. It drops leases that were made under other texts. A request may
// change the texts only when it begins: otherwise two requests with different texts would drop each other's leases again and again.
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
		if !b.tracks(p) || w.isOfToday(now) {
			continue
		}
		start, end := p.window(now)
		*w = window{start: start, end: end, left: b.limit(p), begins: w.begun}
		if p == Day && b.unreported.day != start {
			b.reportUnder(start)
		}
	}
	return nil
}

// isOfToday reports whether requests may spend from a window: it has not ended, and belongs to today's row or this month's. A later
// minute or hour of today's row stays, because the row charges no earlier one any more. A later day or month is given up: a process has
// such a window when its clock was ahead and was set back.
func (w *window) isOfToday(now time.Time) bool {
	_, tomorrow := Day.window(now)
	return now.Unix() < w.end && w.start < tomorrow
}

// reportUnder begins to count usage for another day. What is not reported yet becomes late. The other day may be the late one, after
// the clock was set back.
func (b *balance) reportUnder(day int64) {
	earlier := b.late
	b.late, b.unreported = b.unreported, usage{day: day}
	if earlier.day == day {
		b.unreported = earlier
	}
}

// useAllowance does the same as useLimits for the balance of an org. While an allowance is changed, the rows of some keys still have the
// old text: the newest text that the process has seen applies, so that the keys do not drop each other's leases.
func (b *balance) useAllowance(r *Request, now time.Time) error {
	text := r.Allowance
	if r.AllowanceVersion < b.allowance {
		text = b.first
	}
	b.allowance = max(b.allowance, r.AllowanceVersion)
	return b.useLimits(text, "", now, true)
}

// tracks reports whether requests are charged to the windows of a length. Days are always charged, because their rows record the
// usage of a key.
func (b *balance) tracks(p Per) bool { return b.rules[p] != 0 || p == Day }

// limit returns how many requests may be let through in a window.
func (b *balance) limit(p Per) int64 {
	if b.rules[p] == 0 {
		return unlimited
	}
	return b.rules[p]
}

// spent reports whether one of the windows allows no more requests. A charge is never given back, so a window stays spent until
// it ends.
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

// isSpent reports whether the window of a length allows no more requests.
func (b *balance) isSpent(p Per) bool {
	w := &b.windows[p]
	return b.rules[p] != 0 && w.tokens < 1 && w.left < 1
}

// missingLease returns the lease that a request needs, nil for none. leads is true when the caller must make this lease.
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

// row returns the row that has the windows of this length.
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

// nextLease returns the lease to make now, and how many requests the process will have in each window of the row after it.
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

// size returns how many requests a process should have in each window of a row: its need at its present pace for a sixth of the
// shortest window, but at most twice its last lease, and at most an eighth of the requests that are left, so that the end of a process
// loses few. It returns at least the number of requests that wait here, because they use the lease at once.
func (b *balance) size(row Per, now time.Time) int64 {
	pace, ahead := b.pace(row), horizon
	if row == Month {
		ahead = monthHorizon
	}
	size, most := int64(1), int64(unlimited)
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

// applyLease adds the requests of a lease that was done. After a refusal it takes the state of the windows from the row.
func (b *balance) applyLease(l Lease, found Charges, done bool) error {
	for p := range pers {
		want, w, f := l.Wants[p], &b.windows[p], found[p]
		if want.Requests == 0 {
			continue
		}
		if p == l.Row {
			f.Start = want.Start
		}
		if f.Start > want.Start { // a window never goes back: the row is right, and this clock is late
			if f.Start > want.Start+seconds[p] {
				return ErrAhead
			}
			if w.start == want.Start { // otherwise the clock was set back meanwhile, and the window is another row's
				*w = window{start: f.Start, end: f.Start + seconds[p], left: b.limit(p) - f.Requests}
			}
			continue
		}
		if w.start != want.Start { // the window has ended meanwhile
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

// keepUsage keeps requests that a lease has failed to report.
func (b *balance) keepUsage(day, requests int64) {
	switch day {
	case b.unreported.day:
		b.unreported.requests += requests
	case b.late.day:
		b.late.requests += requests
	}
}

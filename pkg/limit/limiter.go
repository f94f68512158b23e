package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"latchkey/pkg/clock"
	"latchkey/pkg/id"
)

// Owner names a counter of requests: the first key of a chain of rotations, or the org when Key is "".
type Owner struct {
	Org id.Org
	Key id.Key
}

// Lease charges requests to the windows of one row.
type Lease struct {
	Owner

	Row      Per        // Day: the row of a day, with its minutes and hours; Month: the row of a month
	Start    int64      // begin of this day or month, in seconds since the epoch
	Wants    [pers]Want // one for each window of the row
	Requests int64      // requests to report: let through in the row's time and not reported yet
	Counted  int64      // the same for a key without limits, for which a lease charges nothing
}

// Want is the part of a lease for one window.
type Want struct {
	Start    int64 // begin of the window, in seconds since the epoch
	Requests int64 // requests to charge; 0: the lease does not change the window
	Limit    int64 // limit of the window; 0: none
	Begins   bool  // the row is at an earlier window of this length, and the lease begins this one
}

// Charged has the windows of one length on a row.
type Charged struct {
	Start    int64 // begin of the row's present window; 0: there is none yet
	Requests int64 // requests charged to this window

	// Noted has for each mark the largest limit that Table.Announce has noted for the window. Only days and months have it.
	Noted [marks]int64
}

// Charges has the windows of a row, by length.
type Charges [pers]Charged

// Table stores the rows.
type Table interface {
	// Lease makes one conditional write: all wants of the lease are charged, or none. found is the row after the write. done is
	// false when a condition failed. After an error the result is not known, except that an error that wraps ErrNotCharged means:
	// nothing was charged or reported.
	Lease(ctx context.Context, l Lease) (found Charges, done bool, err error)

	// Announce writes a notice once, even if it is called several times, and then notes it on the row.
	Announce(ctx context.Context, n Notice) error

	// NoteRefusals adds refusals of a key to the row of a day. day is its begin in seconds since the epoch. An error that wraps
	// ErrNotCharged means that nothing was added.
	NoteRefusals(ctx context.Context, k Refused, day int64, n Refusals) error
}

var (
	// ErrNotCharged means that a lease has charged nothing and reported nothing.
	ErrNotCharged = errors.New("limit: the lease was refused")

	// ErrAhead means that a row is later than the next window. Correct clocks never cause such a row.
	ErrAhead error = &fault{"limit_row_ahead", "limit: the row of a limit is more than one window ahead of this clock"}

	// errLease is wrapped by each error of Take that a lease caused and that has no other code.
	errLease error = &fault{"lease_failed", "limit: no lease"}

	// ErrChanged means that another request has found other limits of the key meanwhile. The caller must read the limits again.
	ErrChanged = errors.New("limit: the limits have changed")

	errBusy = errors.New("limit: each try of a lease lost a race")
)

const (
	takeTries   = 20 // tries of a request, when it loses its leases each time
	leaseTries  = 4
	leaseWithin = 500 * time.Millisecond

	// maxBalances limits the keys in memory. When it is reached, all are forgotten, and the requests that they had leased are lost:
	// so fewer requests are let through.
	maxBalances = 20_000
)

// Limiter has the leases of one process. Make it with New. It is safe for concurrent use.
type Limiter struct {
	table Table
	Now   func() time.Time

	mu       sync.Mutex
	balances map[account]*balance
	tallies  map[Owner]*tally
	refused  map[account]*refused
}

// account is the key of a balance in memory. It has the id of the key itself, unlike Owner: the two keys of a grace may have different
// limits, and with one account they would drop each other's leases.
type account struct {
	org id.Org
	key id.Key // "": the org
}

// New returns a limiter that has leased nothing.
func New(t Table) *Limiter {
	return &Limiter{table: t, Now: clock.Now, balances: map[account]*balance{}, tallies: map[Owner]*tally{}, refused: map[account]*refused{}}
}

// Request is one request with a valid key, and the limits on the row of the key. Rules.Text makes the texts.
type Request struct {
	Org id.Org
	Key id.Key

	LimitID          id.Key // the first key of the chain of rotations
	Limits, Ceilings string // both apply

	Allowance        string // the limits for all keys of the org together
	AllowanceVersion int64  // grows with each change of the allowance: the text with the higher version applies
}

// Take lets one request through unless Remaining.Violated names a limit. Call it after all other checks, so that a request that is
// refused for another reason spends nothing. The caller must read the texts for this request: leases under other texts are dropped.
// After an error it is not known whether the request may pass; after ErrChanged, read the texts and call Take again.
func (l *Limiter) Take(ctx context.Context, r Request) (Remaining, error) {
	for try := range takeTries {
		s, needed, leads, err := l.try(&r, try == 0)
		if needed == nil {
			return s, err
		}
		if leads {
			l.lease(ctx, needed)
			l.announce(ctx, needed.notice)
		}
		select {
		case <-needed.done:
		case <-ctx.Done():
			return Remaining{}, ctx.Err()
		}
		if needed.err != nil {
			return Remaining{}, noLease(needed.err)
		}
	}
	return Remaining{}, noLease(errBusy)
}

// noLease returns the error of a lease with a code for the log. Only the first code in an error counts.
func noLease(err error) error {
	if LogCode(err) != "" {
		return err
	}
	return fmt.Errorf("%w: %w", errLease, err)
}

// fault is an error after which it is not known whether a request may pass.
type fault struct{ logCode, text string }

func (f *fault) Error() string { return f.text }

// LogCode returns the code of the error in the log.
func (f *fault) LogCode() string { return f.logCode }

// LogCode returns the log's code of an error of Take, "" for an error without a code.
func LogCode(err error) string {
	if f := (*fault)(nil); errors.As(err, &f) {
		return f.logCode
	}
	return ""
}

// leasing is a lease in progress. All requests of the process that need it wait for it.
type leasing struct {
	of   *balance
	row  Per           // see Lease
	done chan struct{} // closed at the end
	err  error         // valid after done is closed

	notice *Notice // the request that leads writes it; nil: none
}

// try spends one leased request. When too few are leased, needed is the lease to wait for. With leads, the caller must make this
// lease, and then try again.
func (l *Limiter) try(r *Request, begins bool) (s Remaining, needed *leasing, leads bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	var key, org *balance // nil: no limit
	if r.Limits != "" || r.Ceilings != "" {
		key = l.balance(account{r.Org, r.Key}, Owner{r.Org, r.LimitID})
		err = key.useLimits(r.Limits, r.Ceilings, now, begins)
	}
	if r.Allowance != "" {
		org = l.balance(account{r.Org, ""}, Owner{r.Org, ""})
		err = errors.Join(err, org.useAllowance(r, now))
	}
	if err != nil {
		return Remaining{}, nil, false, err
	}
	limited := key.spent() || org.spent()
	if !limited {
		for _, b := range []*balance{key, org} {
			if needed, leads = b.missingLease(); needed != nil {
				return Remaining{}, needed, leads, nil
			}
		}
		key.spendOne()
		org.spendOne()
	}
	return Remaining{key.remaining(now, limited), org.remaining(now, limited)}, nil, false, nil
}

// balance returns the balance of an account. A new balance is empty.
func (l *Limiter) balance(of account, owner Owner) *balance {
	b := l.balances[of]
	if b == nil {
		if len(l.balances) >= maxBalances {
			clear(l.balances)
		}
		b = &balance{owner: owner, used: of.key}
		l.balances[of] = b
	}
	return b
}

// lease makes a lease in a few tries, because the row may be at another window than the process knew, or have fewer requests left.
// It ends after leaseWithin, also when the caller of the request that leads has gone.
func (l *Limiter) lease(ctx context.Context, made *leasing) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseWithin)
	defer cancel()
	made.err = errBusy
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		made.of.busy, made.of.waiting = nil, 0
		close(made.done)
	}()
	l.reportLate(ctx, made.of)
	for range leaseTries {
		again, err := l.charge(ctx, made)
		if !again {
			made.err = err
			return
		}
	}
}

// charge makes one try of a lease. again is true when the row differs from the state that the process knew.
func (l *Limiter) charge(ctx context.Context, made *leasing) (again bool, err error) {
	b, row := made.of, made.row
	l.mu.Lock()
	next, size := b.nextLease(row, l.Now())
	version, limit := b.version, b.rules[row]
	l.mu.Unlock()
	found, done, err := l.table.Lease(ctx, next)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !done && (err == nil || errors.Is(err, ErrNotCharged)) {
		b.keepUsage(next.Start, next.Requests)
	}
	switch {
	case err == nil:
		made.notice = b.notice(next, limit, found)
	case !errors.Is(err, ErrNotCharged): // perhaps charged, and then lost: the next lease may be lost, too, so it must be small
		*b.pace(row) = pace{}
	}
	if err != nil || b.version != version { // after a change of the texts, each waiting request tries again
		return false, err
	}
	if done {
		*b.pace(row) = pace{size: size, at: l.Now()}
	}
	err = b.applyLease(next, found, done)
	return err == nil && !done && !b.spent(), err
}

// reportLate reports the requests of an earlier day that were let through after the last lease of that day. When the write
// fails, the count of that day may stay too small.
func (l *Limiter) reportLate(ctx context.Context, b *balance) {
	l.mu.Lock()
	late := b.late
	b.late = usage{}
	l.mu.Unlock()
	if late.requests == 0 {
		return
	}
	_, _, err := l.table.Lease(ctx, Lease{Owner: b.owner, Row: Day, Start: late.day, Requests: late.requests})
	if errors.Is(err, ErrNotCharged) {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.late = late
	}
}

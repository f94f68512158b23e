package jwks

import (
	"context"
	"errors"
	"sync"
	"time"

	"latchkey/pkg/cause"
)

// How long an answer of the issuer is used, and how often the issuer is called.
const (
	fresh = 15 * time.Minute // a younger answer is used without a call
	stale = 24 * time.Hour   // a younger answer is used while calls fail, unless the issuer withdrew it

	// forcePause is the time between two forced fetches, so that a flood of tokens with
	// unknown kids or bad signatures does not cause a flood of calls to the issuer.
	forcePause = 10 * time.Second
	// downPause is the time between a failure and the next try while there is a usable
	// answer. Without it, each request would wait for an issuer that hangs.
	downPause = 10 * time.Second
	// keptWait is how long a caller waits for a new answer while there is a usable one. It is much less than the time of a
	// check (2.5 s at the doors), so that time remains for the table.
	keptWait = time.Second
	// endsWithin is the time after its timeout in which a fetch ends, also on a busy machine.
	endsWithin = time.Second
)

// Patience sets how long callers wait for an issuer that does not answer.
type Patience struct {
	Timeout time.Duration // of one fetch, with all its requests
	Pause   time.Duration // between a failure and the next try while there is no usable answer
}

// Patient is the Patience with an issuer of users, because users can do nothing without it. Its Pause is the Retry-After of our 503.
var Patient = Patience{Timeout: 3 * time.Second, Pause: time.Second}

// errWithdrawn is wrapped by the error of a fetch when the issuer answered that it has no value any more.
var errWithdrawn = errors.New("jwks: withdrawn")

// cached keeps the last result of fetch. It fetches only when a caller needs the value, because a Lambda function is frozen
// between requests. All callers share one fetch, which goes on when they leave.
type cached[T any] struct {
	fetch    func(context.Context) (T, error)
	now      func() time.Time
	patience Patience

	mu       sync.Mutex
	flight   *flight // the newest fetch; nil when it has ended
	value    T
	round    uint64    // how many fetches succeeded; 0: there is no value
	gotAt    time.Time // when the fetch of value began
	triedAt  time.Time // end of the last try
	forcedAt time.Time // when newer last began a fetch
	err      error     // error of the last try; nil when it succeeded
	// withdrawn means that the issuer has withdrawn the value. The value is then used only while it is fresh.
	withdrawn bool
}

// view is a cached value at the time of one call.
type view[T any] struct {
	value T
	round uint64
	gotAt time.Time // when the fetch of value began
	asked bool      // the issuer was called during the call that returned the view
}

// flight is a running fetch.
type flight struct {
	begun time.Time
	done  chan struct{} // closed when the fetch has ended
	late  chan struct{} // closed keptWait after the fetch has begun
}

// get returns the value. It fetches the value when it is not fresh. While the issuer is slow, it returns a usable value after
// keptWait. An error means that ctx has ended, or that there is no value, or only one that is too old.
func (c *cached[T]) get(ctx context.Context) (view[T], error) {
	asked := false
	for {
		c.mu.Lock()
		now := c.clock()
		if c.isFresh(now) || c.isDown(now) {
			defer c.mu.Unlock()
			if c.usable(now) {
				return view[T]{c.value, c.round, c.gotAt, asked}, nil
			}
			return view[T]{}, c.err
		}
		f, kept := c.running(now), view[T]{c.value, c.round, c.gotAt, false}
		if f == nil {
			f = c.begin(ctx, now)
		}
		var late chan struct{} // nil: get waits for the answer
		if c.usable(now) {
			late = f.late
		}
		c.mu.Unlock()
		select {
		case <-f.done:
			asked = true
		case <-late:
			return kept, ctx.Err()
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return view[T]{}, err
		}
	}
}

// newer returns a newer value than seen. For all callers together, it forces at most one fetch in forcePause. changed
// is false when the issuer has no newer value, or when newer may not fetch yet; then next is seen. An error means that
// the issuer could not be called.
func (c *cached[T]) newer(ctx context.Context, seen view[T]) (next view[T], changed bool, err error) {
	for {
		c.mu.Lock()
		now := c.clock()
		f := c.running(now)
		switch {
		case c.round != seen.round:
			defer c.mu.Unlock()
			return view[T]{c.value, c.round, c.gotAt, true}, true, nil
		case c.isDown(now):
			defer c.mu.Unlock()
			return seen, false, c.err
		case seen.asked, f == nil && within(now, c.forcedAt, forcePause):
			// seen is the newest value, or the pause is not over and no fetch is running that newer could wait for.
			c.mu.Unlock()
			return seen, false, nil
		}
		if f == nil {
			c.forcedAt = now
			f = c.begin(ctx, now)
		}
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return seen, false, err
		}
	}
}

// running returns the running fetch, nil if there is none. Callers do not wait for an interrupted one. The caller must hold mu.
func (c *cached[T]) running(now time.Time) *flight {
	if c.flight == nil || c.isInterrupted(c.flight, now) {
		return nil
	}
	return c.flight
}

// isInterrupted reports whether a fetch should have ended by now. If it has not, the process was frozen meanwhile.
func (c *cached[T]) isInterrupted(f *flight, now time.Time) bool {
	return !within(now, f.begun, c.patience.Timeout+endsWithin)
}

// begin begins a fetch in its own goroutine. The fetch does not end with the caller: a stranger who hangs up could otherwise cause one
// call of the issuer after another, and make each of them fail. The caller must hold mu.
func (c *cached[T]) begin(ctx context.Context, now time.Time) *flight {
	f := &flight{begun: now, done: make(chan struct{}), late: make(chan struct{})}
	c.flight = f
	go c.run(context.WithoutCancel(ctx), f)
	return f
}

// run fetches the value and keeps it.
func (c *cached[T]) run(ctx context.Context, f *flight) {
	late := time.AfterFunc(keptWait, func() { close(f.late) })
	defer late.Stop()
	defer func() {
		c.mu.Lock()
		if c.flight == f {
			c.flight = nil
		}
		c.mu.Unlock()
		close(f.done)
	}()
	value, err := c.call(ctx)

	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	isNewest := c.flight == f // otherwise it was interrupted, and another fetch began after it
	if err == nil && (isNewest || f.begun.After(c.gotAt)) {
		c.value, c.gotAt, c.round = value, f.begun, c.round+1
	}
	if isNewest && (err == nil || !c.isInterrupted(f, now)) { // an interrupted fetch fails because its connection was lost
		c.triedAt, c.err = now, err
		// Only a success ends a withdrawal. A later failure does not.
		c.withdrawn = err != nil && (c.withdrawn || errors.Is(err, errWithdrawn))
	}
}

// call calls fetch. A panic of fetch becomes an error, because in this goroutine it would end the process.
func (c *cached[T]) call(ctx context.Context) (value T, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience.Timeout)
	defer cancel()
	defer func() {
		if panicked := recover(); panicked != nil {
			err = cause.OfPanic(panicked)
		}
	}()
	return c.fetch(ctx)
}

// isFresh reports whether the value is used without a call.
func (c *cached[T]) isFresh(now time.Time) bool { return c.round > 0 && within(now, c.gotAt, fresh) }

// usable reports whether the value is used when calls fail.
func (c *cached[T]) usable(now time.Time) bool {
	isStale := c.round > 0 && within(now, c.gotAt, stale)
	return c.isFresh(now) || isStale && !c.withdrawn
}

// isDown reports whether the last try failed so recently that cached does not fetch again yet.
func (c *cached[T]) isDown(now time.Time) bool {
	pause := c.patience.Pause
	if c.usable(now) {
		pause = downPause
	}
	return c.err != nil && within(now, c.triedAt, pause)
}

// clock returns the time without the monotonic clock: that clock stops while a Lambda function is frozen, so an old
// answer would look young.
func (c *cached[T]) clock() time.Time { return c.now().Round(0) }

// within reports whether now is less than d after t. It is false for a t in the future: a clock that was set back does
// not make an answer usable for longer.
func within(now, t time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return age >= 0 && age < d
}

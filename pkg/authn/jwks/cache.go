package jwks

import (
	"context"
	"errors"
	"sync"
	"time"
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

// cached keeps the last result of fetch. It fetches only when a caller needs the value, and in the
// caller's goroutine, because a Lambda function is frozen between requests. One caller fetches, and the others wait.
type cached[T any] struct {
	fetch    func(context.Context) (T, error)
	now      func() time.Time
	patience Patience

	mu       sync.Mutex
	flight   chan struct{} // closed when the running fetch ends; nil when none runs
	value    T
	round    uint64    // how many fetches succeeded; 0: there is no value
	gotAt    time.Time // when the fetch of value began
	triedAt  time.Time // end of the last try
	forcedAt time.Time // when newer last began a fetch; zero: it may begin one at once
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

// get returns the value. It fetches the value when it is not fresh. An error means that there is
// no value, or only one that is too old.
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
		c.fetchOrWait(ctx, now)
		asked = true
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
		switch {
		case c.round != seen.round:
			defer c.mu.Unlock()
			return view[T]{c.value, c.round, c.gotAt, true}, true, nil
		case c.isDown(now):
			defer c.mu.Unlock()
			return seen, false, c.err
		case seen.asked, c.flight == nil && within(now, c.forcedAt, forcePause):
			// seen is the newest value, or the pause is not over and no fetch is running that newer could wait for.
			c.mu.Unlock()
			return seen, false, nil
		}
		if c.flight == nil {
			c.forcedAt = now
		}
		c.fetchOrWait(ctx, now)
		if err := ctx.Err(); err != nil {
			return seen, false, err
		}
	}
}

// fetchOrWait waits for the running fetch. When no fetch is running, it fetches. The caller must hold mu, and fetchOrWait
// releases it.
func (c *cached[T]) fetchOrWait(ctx context.Context, now time.Time) {
	if running := c.flight; running != nil {
		c.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
		}
		return
	}
	done := make(chan struct{})
	c.flight = done
	c.mu.Unlock()
	// After a panic of fetch, the other callers must still get an answer.
	defer func() {
		c.mu.Lock()
		c.flight = nil
		c.mu.Unlock()
		close(done)
	}()

	limited, cancel := context.WithTimeout(ctx, c.patience.Timeout)
	defer cancel()
	value, err := c.fetch(limited)

	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(ctx.Err(), context.Canceled) {
		// The caller ended the call. This is not a failure of the issuer, so another caller may fetch at once.
		c.forcedAt = time.Time{}
		return
	}
	c.triedAt, c.err = c.clock(), err
	if err == nil {
		c.value, c.gotAt, c.round = value, now, c.round+1
	}
	// Only a success ends a withdrawal. A later failure does not.
	c.withdrawn = err != nil && (c.withdrawn || errors.Is(err, errWithdrawn))
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

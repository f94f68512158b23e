package jwks

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How long an answer of the issuer holds, and how often it is asked.
const (
	fresh = 15 * time.Minute // an answer this young is used without asking
	stale = 24 * time.Hour   // an answer this young is used while the issuer cannot be asked

	// askTimeout bounds one refresh, with all the requests it is made of.
	askTimeout = 3 * time.Second
	// forcePause lies between two forced fetches, so that a flood of tokens with
	// unknown kids or bad signatures is not a flood at the issuer.
	forcePause = 10 * time.Second
	// downPause lies between a failure and the next try while there is an answer
	// to go on with: else each request would wait for a hanging issuer.
	downPause = 10 * time.Second
	// emptyPause is the same while there is none: as long as Retry-After says.
	emptyPause = time.Second
)

// cached keeps the last answer of fetch. It is lazy and has no goroutine, because
// a Lambda function is frozen between requests: a caller fetches, the others
// wait for it.
type cached[T any] struct {
	fetch func(context.Context) (T, error)
	now   func() time.Time

	mu       sync.Mutex
	flight   chan struct{} // closed when the running fetch ends; nil when none runs
	value    T
	round    uint64    // fetches that succeeded; 0: there is no value
	gotAt    time.Time // of value
	triedAt  time.Time // end of the last try
	forcedAt time.Time
	err      error // of the last try; nil when it succeeded
}

// view is what one caller sees of a cached value.
type view[T any] struct {
	value T
	round uint64
	gotAt time.Time // when the fetch of value began
	asked bool      // the issuer was asked during this very call
}

// get gives the value, asking for it when it is not fresh. An error means that
// there is none, or none young enough.
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

// newer asks for a value newer than the one seen, at most once in forcePause for
// all callers together. changed is false when there is none; next.asked tells
// whether that is the issuer's word of this very call. An error means that it
// could not be asked.
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
		case seen.asked || c.flight == nil && within(now, c.forcedAt, forcePause):
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

// fetchOrWait is called with mu held and returns with it released, after the
// fetch that was running, or else one of its own.
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
	// Even a panic must not leave the others waiting.
	defer func() {
		c.mu.Lock()
		c.flight = nil
		c.mu.Unlock()
		close(done)
	}()

	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	value, err := c.fetch(limited)

	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(ctx.Err(), context.Canceled) {
		// The caller went away: that says nothing of the issuer, so whoever
		// waited may ask at once.
		c.forcedAt = time.Time{}
		return
	}
	c.triedAt, c.err = c.clock(), err
	if err == nil {
		c.value, c.gotAt, c.round = value, now, c.round+1
	}
}

func (c *cached[T]) isFresh(now time.Time) bool { return c.round > 0 && within(now, c.gotAt, fresh) }

func (c *cached[T]) usable(now time.Time) bool { return c.round > 0 && within(now, c.gotAt, stale) }

// isDown reports whether the last try failed so short ago that it is not
// repeated.
func (c *cached[T]) isDown(now time.Time) bool {
	pause := emptyPause
	if c.usable(now) {
		pause = downPause
	}
	return c.err != nil && within(now, c.triedAt, pause)
}

// clock gives the wall time alone: the monotonic clock stands still while a
// Lambda function is frozen, and an old answer would look young.
func (c *cached[T]) clock() time.Time { return c.now().Round(0) }

// within reports whether now lies less than d after t. A clock that was set back
// is no reason to trust an answer for longer.
func within(now, t time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return age >= 0 && age < d
}

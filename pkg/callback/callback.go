// Package callback runs functions of an owner or a receiver, such as guard's Config.Fallback. Such a function may
// hang, panic, or end its goroutine (runtime.Goexit). It runs in its own goroutine: so a caller never waits for it
// longer than allowed, and the program continues. The number of these goroutines is limited.
package callback

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"latchkey/pkg/cause"
)

// ReportsWithin is how long an answer waits for a report.
const ReportsWithin = 400 * time.Millisecond

var (
	errNoReturn = errors.New("it ended its goroutine")
	errBusy     = errors.New("too many calls of it run already")
	errLate     = errors.New("it did not return in time")
)

// Calls limits the concurrent calls of a function, including calls that no caller waits for any more. Make it with
// New. It is safe for concurrent use.
type Calls struct {
	places chan struct{} // has an element for each call that runs
	failed atomic.Uint64
}

// New returns the Calls of a function that may run atOnce times at the same time.
func New(atOnce int) *Calls { return &Calls{places: make(chan struct{}, atOnce)} }

// Wait waits for a place. Then the caller must call Run, which uses the place, or Leave. An error means that ctx has ended.
func (c *Calls) Wait(ctx context.Context) error {
	select {
	case c.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives back an unused place.
func (c *Calls) Leave() { <-c.places }

// Run makes a call in the place from Wait, and returns its results. When ctx ends first, Run returns the
// error of ctx, and the call keeps its place until it returns. A panic becomes an error (cause.OfPanic).
func Run[T any](ctx context.Context, c *Calls, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ended := make(chan result, 1)
	go func() {
		r := result{err: errNoReturn} // the result if call neither returns nor panics
		defer func() {
			if value := recover(); value != nil {
				r = result{err: cause.OfPanic(value)}
			}
			c.Leave()
			ended <- r
		}()
		value, err := call()
		r = result{value, err}
	}()
	select {
	case r := <-ended:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Report calls a report function, while an answer waits for it. It waits at most for ReportsWithin. When all places are taken, it
// makes no call. The error is the reason why the report is lost, or may be lost. It contains no value of a panic.
func (c *Calls) Report(report func()) (err error) {
	defer func() {
		if err != nil {
			c.failed.Add(1)
		}
	}()
	select {
	case c.places <- struct{}{}:
	default:
		return errBusy
	}
	ctx, cancel := context.WithTimeout(context.Background(), ReportsWithin)
	defer cancel()
	_, err = Run(ctx, c, func() (struct{}, error) { report(); return struct{}{}, nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return errLate
	}
	return err
}

// Failed returns how many reports were lost or may be lost.
func (c *Calls) Failed() uint64 { return c.failed.Load() }

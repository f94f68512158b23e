package storetest

import (
	"context"
	"errors"
	"slices"
	"time"
)

// gathering holds calls until all of them have begun.
type gathering struct {
	missing []string      // operations of the calls that have not begun
	all     chan struct{} // closed when all calls have begun
	inTurn  bool          // a call has waited for longHold, and the others have not begun
}

// pending reports whether the calls have not been made at the same time, or not all yet.
func (g gathering) pending() bool { return g.inTurn || len(g.missing) > 0 }

// longHold bounds the time for which a call waits for the others, so that a test soon fails when the product
// makes the calls one after the other.
const longHold = 5 * time.Second

// Together holds the next call of each of these operations until all of the calls have begun. When the
// product waits for the answer to one call before it makes the next call, the held call fails after
// longHold, and Pending returns true.
func (f *Faults) Together(operations ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = gathering{missing: slices.Clone(operations), all: make(chan struct{})}
}

// gather holds a call if Together has named its operation, until the other calls have begun too.
func (f *Faults) gather(ctx context.Context, operation string) error {
	f.mu.Lock()
	at := slices.Index(f.held.missing, operation)
	if at < 0 {
		f.mu.Unlock()
		return nil
	}
	f.held.missing = slices.Delete(f.held.missing, at, at+1)
	all := f.held.all
	if len(f.held.missing) == 0 {
		close(all)
	}
	f.mu.Unlock()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(longHold):
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held.inTurn = true
		return errors.New("the calls are not made together")
	}
}

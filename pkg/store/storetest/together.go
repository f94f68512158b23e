package storetest

import (
	"context"
	"errors"
	"slices"
	"time"
)

// gathering holds calls until all of them have begun.
type gathering struct {
	missing []string // operations of the calls that have not begun
	all     chan struct{}
	inTurn  bool // a call has waited in vain
}

// pending reports whether the calls were not made together.
func (g gathering) pending() bool { return g.inTurn || len(g.missing) > 0 }

// longHold bounds how long a call waits for the others, so that a product that makes them in turn
// fails its test soon.
const longHold = 5 * time.Second

// Together holds the next call of each of these operations until all of the calls have begun. A
// product that waits for one answer before it makes the next call gets none: the held calls fail,
// and Pending reports it.
func (f *Faults) Together(operations ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = gathering{missing: slices.Clone(operations), all: make(chan struct{})}
}

// gather holds a call that Together named until the others have begun.
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

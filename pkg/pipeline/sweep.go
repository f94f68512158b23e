package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"latchkey/pkg/queue"
	"latchkey/pkg/store"
)

const (
	sweepPerShard = 250 // rows of a kind and shard, a run
	sweepAtOnce   = 16  // rows that are dealt with beside each other
)

// Sweep does, once a minute, what has become due and what was lost on the way: the
// rows are the truth, stream and queue only hurry.
type Sweep struct {
	Store  *store.Store
	FanOut FanOut
	Queue  queue.Sender
}

// Run does everything that is due, or as much as its time allows: the next run goes
// on. A row that fails does not stop the others; the error names them all.
func (s Sweep) Run(ctx context.Context) error {
	return errors.Join(
		s.each(ctx, store.DueEvent, func(ctx context.Context, d store.Due) error { return s.FanOut.Event(ctx, d.App, d.Event) }),
		s.deliveries(ctx),
		s.each(ctx, store.DueLink, func(ctx context.Context, d store.Due) error { return s.Store.ExpireLink(ctx, d.App, d.Link) }),
		s.each(ctx, store.DueKey, func(ctx context.Context, d store.Due) error { return s.Store.WarnOfKey(ctx, d.Org, d.Key) }),
		s.releases(ctx),
	)
}

// each does something with every row of a kind that is due, several at once.
func (s Sweep) each(ctx context.Context, kind store.DueKind, do func(context.Context, store.Due) error) error {
	due, err := s.Store.DueBefore(ctx, kind, s.Store.Now(), sweepPerShard)
	failed := []error{failure(string(kind), err)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, sweepAtOnce)
	for _, d := range due {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, d); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, failure(fmt.Sprint(kind, " ", d), err))
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// failure names the kind of row, or the row, that failed; nil stays nil.
func failure(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// deliveries queues those that are overdue, each by whoever moved its time.
func (s Sweep) deliveries(ctx context.Context) error {
	var mu sync.Mutex
	var moved []queue.Message
	err := s.each(ctx, store.DueDelivery, func(ctx context.Context, d store.Due) error {
		app, ok, err := s.Store.Requeue(ctx, d)
		if err == nil && ok {
			mu.Lock()
			defer mu.Unlock()
			moved = append(moved, queue.Message{App: app, Endpoint: d.Endpoint, Event: d.Event})
		}
		return err
	})
	wake(ctx, s.Queue, 0, moved...)
	return err
}

// releases lets held deliveries go that belong to endpoints enabled again, and
// cancels those of deleted ones, at most Limits.Released in a run.
func (s Sweep) releases(ctx context.Context) error {
	due, err := s.Store.DueBefore(ctx, store.DueEndpoint, s.Store.Now(), sweepPerShard)
	failed := []error{failure(string(store.DueEndpoint), err)}
	left := s.Store.Limits.Released
	for _, d := range due {
		for more := true; more && left > 0; {
			var n int
			n, more, err = s.release(ctx, d, left)
			left -= max(n, 1)
			if err != nil {
				failed = append(failed, failure(fmt.Sprint(store.DueEndpoint, " ", d), err))
				break
			}
		}
	}
	return errors.Join(failed...)
}

// release deals with up to limit deliveries of one endpoint, and reports with how
// many it did and whether more are left.
func (s Sweep) release(ctx context.Context, d store.Due, limit int) (n int, more bool, err error) {
	h, ok, err := s.Store.Releasable(ctx, d.App, d.Endpoint)
	if err != nil || !ok {
		return 0, false, err
	}
	waiting, next, err := s.Store.WaitingFor(ctx, h, limit)
	if err != nil {
		return 0, false, err
	}
	var released []queue.Message
	for _, held := range waiting {
		switch {
		case !h.Deleted:
			if ok, err = s.Store.Release(ctx, h, held.Event); ok {
				released = append(released, queue.Message{App: h.AppID, Endpoint: h.ID, Event: held.Event})
			}
		case held.Status == store.DeliveryPending || held.Status == store.DeliveryHeld:
			err = s.Store.Cancel(ctx, held)
		}
		if err != nil {
			return len(waiting), false, failure(string(held.Event), err) // the cursor stays: the next run does them again
		}
	}
	wake(ctx, s.Queue, 0, released...)
	return len(waiting), next != "", s.Store.Released(ctx, h, next, s.Store.Now().UnixMilli())
}

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const (
	// batchSize is how many deliveries of an endpoint are processed before another endpoint
	// has its turn.
	batchSize = 50

	// lookAgain is when the sweep reads an endpoint again which may still have parked
	// deliveries, or whose probe is under way.
	lookAgain = time.Minute
)

// endpoint processes some of the deliveries that wait for an endpoint: parked ones, which
// wait for its breaker, and held ones, which wait until it is enabled or deleted.
func (r *run) endpoint(ctx context.Context, d store.Due) (more bool, err error) {
	began := r.Store.Now()
	h, ok, err := r.Store.Deliveries().Waiting(ctx, d.App, d.Endpoint)
	if err != nil || !ok {
		return false, err
	}
	reserved := r.reserve(batchSize)
	if reserved == 0 {
		return false, nil // the next run goes on
	}
	b := batch{run: r, to: h, may: reserved}
	probing := h.Enabled && h.OpenUntil != 0 // the breaker's time is over: one attempt
	if probing {
		b.may = 1
	}
	err = errors.Join(b.parked(ctx), b.held(ctx))
	r.giveBack(reserved - len(b.woken))
	wake(ctx, r.Queue, 0, b.woken...)
	if err != nil {
		return false, err // the next run does them again
	}
	more = b.dealt >= batchSize || b.look.Held && !probing
	b.look.Began, b.look.Again = began, began.Add(lookAgain)
	if more {
		b.look.Again = began
	}
	return more, r.Store.Deliveries().LookedAt(ctx, h, b.look)
}

// batch is some of the deliveries that wait for one endpoint.
type batch struct {
	*run
	to    store.Endpoint
	may   int // how many deliveries the batch may still wake
	dealt int // how many parked deliveries are no longer parked
	woken []webhook.Message
	look  store.Looked
}

// parked processes up to batchSize parked deliveries. It begins behind those that this run has
// processed, because the index may still have them.
func (b *batch) parked(ctx context.Context) error {
	from := b.parkedUpTo(b.to.ID)
	found, err := b.Store.Deliveries().Parked(ctx, b.to.ID, from, batchSize)
	failed := []error{err}
	b.look.Parked = from != 0 || len(found) > 0
	for _, d := range found {
		ok, err := b.handleParked(ctx, d)
		if ok {
			b.dealt++
			b.setParkedUpTo(b.to.ID, d.At)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// handleParked processes a parked delivery. ok is false when it stays parked.
func (b *batch) handleParked(ctx context.Context, d store.Due) (ok bool, err error) {
	if d.Kind == store.DueStray {
		return false, b.Store.DropStray(ctx, d)
	}
	of, deliveries := webhook.DeliveryID{App: b.to.AppID, Endpoint: b.to.ID, Event: d.Event}, b.Store.Deliveries()
	switch (webhook.Round{Status: webhook.DeliveryPending, StartedAt: d.At}).Step(b.to.Receiver, b.Store.Now()) {
	case webhook.StepCancel:
		err = deliveries.Cancel(ctx, of)
	case webhook.StepHold:
		err = deliveries.Hold(ctx, of)
	case webhook.StepGiveUp:
		err = deliveries.GiveUp(ctx, of)
	default:
		if b.may == 0 {
			return false, nil
		}
		ok, err = deliveries.Unpark(ctx, d)
		if ok {
			b.wakes(of)
		}
		return ok, err
	}
	return err == nil, err
}

// held releases held deliveries, or cancels all deliveries that wait for a deleted endpoint. It
// ends at the first that fails.
func (b *batch) held(ctx context.Context) error {
	most := b.may
	if b.to.Deleted {
		most = 2 * batchSize
	}
	b.look.Held, b.look.Next = b.to.Releasing, b.to.ReleaseFrom
	if !b.to.Releasing || most == 0 {
		return nil
	}
	waiting, next, err := b.Store.Deliveries().WaitingFor(ctx, b.to, most)
	if err != nil {
		return err
	}
	for _, d := range waiting {
		ok := false
		switch {
		case !b.to.Deleted:
			ok, err = b.Store.Deliveries().Release(ctx, b.to, d.DeliveryID)
		case d.Status.Waits():
			err = b.Store.Deliveries().Cancel(ctx, d.DeliveryID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Event, err)
		}
		if ok {
			b.wakes(d.DeliveryID)
		}
	}
	b.look.Held, b.look.Next = next != "", next
	return nil
}

func (b *batch) wakes(d webhook.DeliveryID) {
	b.may--
	b.woken = append(b.woken, webhook.Message{Org: b.to.OrgID, DeliveryID: d})
}

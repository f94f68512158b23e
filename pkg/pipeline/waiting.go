package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey/pkg/parallel"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const (
	// batchSize is how many deliveries of an endpoint are processed before the next row
	// has its turn.
	batchSize = 50

	// lookAgain is the time after which the sweep reads an endpoint again, when the endpoint may still have
	// parked deliveries or a probe is under way.
	lookAgain = time.Minute
)

// endpoint processes one batch of the deliveries that wait for an endpoint: parked ones, which wait for its breaker, and
// held ones, which wait until it is enabled or deleted. more is true when the endpoint needs another batch in this run.
func (r *run) endpoint(ctx context.Context, d store.Due) (more bool, err error) {
	began := r.Store.Now()
	endpoint, ok, err := r.Store.Deliveries().Waiting(ctx, d.App, d.Endpoint)
	if err != nil || !ok {
		return false, err
	}
	reserved := r.reserve(batchSize)
	if reserved == 0 {
		return false, nil // the next run goes on
	}
	b := batch{run: r, to: endpoint, may: reserved}
	// An endpoint with an open breaker is due when the breaker's time is over. It gets one attempt as a probe.
	probing := endpoint.Enabled && endpoint.OpenUntil != 0
	if probing {
		b.may = 1
	}
	err = errors.Join(b.parked(ctx), b.held(ctx))
	r.giveBack(reserved - len(b.woken))
	wake(ctx, r.Queue, 0, b.woken...)
	if err != nil {
		return false, err // the endpoint stays due, so the next run does it again
	}
	moreParked := b.dealt >= batchSize
	moreHeld := b.look.Held && !probing // held ones wait for the result of a probe
	more = moreParked || moreHeld
	b.look.Began, b.look.Again = began, began.Add(lookAgain)
	if more {
		b.look.Again = began // due at once, in case this run ends before the next batch
	}
	return more, r.Store.Deliveries().LookedAt(ctx, endpoint, b.look)
}

// batch is one batch of the deliveries that wait for an endpoint.
type batch struct {
	*run
	to    store.Endpoint
	may   int // how many deliveries the batch may still wake
	dealt int // how many deliveries of the batch are no longer parked
	woken []webhook.Message
	look  store.Looked
}

// parked processes up to batchSize parked deliveries. It begins after the last batch of this run,
// because the index may still show deliveries that the run has processed.
func (b *batch) parked(ctx context.Context) error {
	from := b.parkedUpTo(b.to.ID)
	found, err := b.Store.Deliveries().Parked(ctx, b.to.ID, from, batchSize)
	failed := []error{err}
	// Only a list from the beginning can show that no delivery is parked.
	wholeList := from == 0
	b.look.Parked = len(found) > 0 || !wholeList
	for _, d := range found {
		ok, err := b.handleParked(ctx, d)
		if ok {
			b.dealt++
			b.setParkedUpTo(b.to.ID, d.At)
		}
		failed = append(failed, err)
	}
	return parallel.Joined(failed)
}

// handleParked processes a parked delivery. ok is false when the delivery stays parked, or was not parked any more.
func (b *batch) handleParked(ctx context.Context, d store.Due) (ok bool, err error) {
	if d.Kind == store.DueStray {
		return false, b.Store.DropStray(ctx, d)
	}
	delivery, deliveries := webhook.DeliveryID{App: b.to.AppID, Endpoint: b.to.ID, Event: d.Event}, b.Store.Deliveries()
	// The index lists a parked delivery at the time when its round began (Park). A Round without NextAttempt is due.
	round := webhook.Round{Status: webhook.DeliveryPending, StartedAt: d.At}
	switch round.Step(b.to.EndpointState, b.Store.Now()) {
	case webhook.StepCancel:
		err = deliveries.Cancel(ctx, delivery)
	case webhook.StepHold:
		_, err = deliveries.Hold(ctx, delivery)
	case webhook.StepGiveUp:
		err = deliveries.GiveUp(ctx, delivery)
	default: // an attempt or a probe is due
		if b.may == 0 {
			return false, nil
		}
		ok, err = deliveries.Unpark(ctx, d)
		if ok {
			b.wakes(delivery)
		}
		return ok, err
	}
	return err == nil, err
}

// held releases held deliveries, or cancels all deliveries that wait for a deleted endpoint. It
// stops at the first failure, and the next run begins where this batch began.
func (b *batch) held(ctx context.Context) error {
	most := b.may
	if b.to.Deleted {
		most = 2 * batchSize // a cancelled delivery is not queued, so b.may does not apply
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
		case d.Status.Waits(): // the list of a deleted endpoint also has deliveries that have ended
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

// wakes adds a delivery to woken, which the batch queues at its end.
func (b *batch) wakes(d webhook.DeliveryID) {
	b.may--
	b.woken = append(b.woken, webhook.Message{Org: b.to.OrgID, DeliveryID: d})
}

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
	// onePart is how many deliveries of an endpoint are processed before another endpoint
	// has its turn.
	onePart = 50

	// lookAgain is when the sweep reads an endpoint again which may still have parked
	// deliveries, or whose probe is under way.
	lookAgain = time.Minute
)

// endpoint processes a part of the deliveries that wait for an endpoint: parked ones, which
// wait for its breaker, and held ones, which wait until it is enabled or deleted.
func (r *run) endpoint(ctx context.Context, d store.Due) (more bool, err error) {
	began := r.Store.Now()
	h, ok, err := r.Store.Deliveries().Waiting(ctx, d.App, d.Endpoint)
	if err != nil || !ok {
		return false, err
	}
	took := r.take(onePart)
	if took == 0 {
		return false, nil // the next run goes on
	}
	p := part{run: r, to: h, may: took}
	probing := h.Enabled && h.OpenUntil != 0 // the breaker's time is over: one attempt
	if probing {
		p.may = 1
	}
	err = errors.Join(p.parked(ctx), p.held(ctx))
	r.giveBack(took - len(p.woken))
	wake(ctx, r.Queue, 0, p.woken...)
	if err != nil {
		return false, err // the next run does them again
	}
	more = p.dealt >= onePart || p.look.Held && !probing
	p.look.Began, p.look.Again = began, began.Add(lookAgain)
	if more {
		p.look.Again = began
	}
	return more, r.Store.Deliveries().LookedAt(ctx, h, p.look)
}

// part is a part of the deliveries that wait for one endpoint.
type part struct {
	*run
	to    store.Endpoint
	may   int // how many deliveries the part may still wake
	dealt int // how many parked deliveries are no longer parked
	woken []webhook.Message
	look  store.Looked
}

// parked processes up to onePart parked deliveries. It begins behind those that this run has
// processed, because the index may still have them.
func (p *part) parked(ctx context.Context) error {
	from := p.passed(p.to.ID, 0)
	found, err := p.Store.Deliveries().Parked(ctx, p.to.ID, from, onePart)
	failed := []error{err}
	p.look.Parked = from != 0 || len(found) > 0
	for _, d := range found {
		ok, err := p.one(ctx, d)
		if ok {
			p.dealt++
			p.passed(p.to.ID, d.At)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// one processes a parked delivery. ok is false when it stays parked.
func (p *part) one(ctx context.Context, d store.Due) (ok bool, err error) {
	of := webhook.DeliveryID{App: p.to.AppID, Endpoint: p.to.ID, Event: d.Event}
	switch {
	case d.Kind == store.DueStray:
		return false, p.Store.DropStray(ctx, d)
	case p.to.Deleted:
		err = p.Store.Deliveries().Cancel(ctx, of)
	case !p.to.Enabled:
		err = p.Store.Deliveries().Hold(ctx, of)
	case p.Store.Now().Sub(time.UnixMilli(d.At)) > webhook.Lifetime:
		err = p.Store.Deliveries().GiveUp(ctx, of)
	case p.may == 0:
		return false, nil
	default:
		ok, err = p.Store.Deliveries().Unpark(ctx, d)
		if ok {
			p.wakes(of)
		}
		return ok, err
	}
	return err == nil, err
}

// held releases held deliveries, or cancels all deliveries that wait for a deleted endpoint. It
// ends at the first that fails.
func (p *part) held(ctx context.Context) error {
	most := p.may
	if p.to.Deleted {
		most = 2 * onePart
	}
	p.look.Held, p.look.Next = p.to.Releasing, p.to.ReleaseFrom
	if !p.to.Releasing || most == 0 {
		return nil
	}
	waiting, next, err := p.Store.Deliveries().WaitingFor(ctx, p.to, most)
	if err != nil {
		return err
	}
	for _, d := range waiting {
		ok := false
		switch {
		case !p.to.Deleted:
			ok, err = p.Store.Deliveries().Release(ctx, p.to, d.DeliveryID)
		case d.Status == store.DeliveryPending || d.Status == store.DeliveryHeld:
			err = p.Store.Deliveries().Cancel(ctx, d.DeliveryID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Event, err)
		}
		if ok {
			p.wakes(d.DeliveryID)
		}
	}
	p.look.Held, p.look.Next = next != "", next
	return nil
}

func (p *part) wakes(d webhook.DeliveryID) {
	p.may--
	p.woken = append(p.woken, webhook.Message{Org: p.to.OrgID, DeliveryID: d})
}

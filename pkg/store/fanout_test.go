package store_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// claimed writes a link.claimed event for every endpoint that takes it, and returns its id.
func (c *connected) claimed(t *testing.T) id.Event {
	t.Helper()
	before := map[string]bool{}
	for _, r := range c.rowsOf(t, "EVTS#") {
		before[text(r, "SK")] = true
	}
	wants(t, second(c.ClaimLink(ctx, c.link(t, time.Hour).claim("k"))), "")
	for _, r := range c.rowsOf(t, "EVTS#") {
		if !before[text(r, "SK")] {
			return id.Event(text(r, "SK"))
		}
	}
	t.Fatal("no event")
	return ""
}

func TestFanOutTwiceAtOnceGivesEachDeliveryOnce(t *testing.T) {
	c := connect(t)
	for range 5 {
		c.endpoint(t)
	}
	for range 10 {
		e := c.claimed(t)
		var sent atomic.Int64
		for _, err := range atOnce(8, func(int) error {
			return persistent(func() error {
				send, err := c.Deliveries().FanOut(ctx, c.app, e)
				sent.Add(int64(len(send)))
				return err
			})
		}) {
			wants(t, err, "")
		}
		got, err := c.Deliveries().Of(ctx, c.app, e)
		if err != nil || len(got) != 5 || sent.Load() != 5 {
			t.Fatalf("%d deliveries, %d to be sent, %v", len(got), sent.Load(), err)
		}
		for _, d := range got {
			if d.Status != webhook.DeliveryPending || d.EventType != webhook.LinkClaimed || d.Attempts != 0 || d.NextAttempt != c.Now().UnixMilli() || d.App != c.app {
				t.Errorf("%+v", d)
			}
		}
	}
}

func TestAFanOutWhoseAnswerIsLostIsNotLost(t *testing.T) {
	for _, f := range []struct {
		fault storetest.Fault
		times int
	}{{storetest.LostBefore, 1}, {storetest.LostAfter, 1}, {storetest.Conflict, 2}, {storetest.LostAfter, -1}, {storetest.LostBefore, -1}} {
		c := connect(t)
		h := c.endpoint(t)
		c.stream(t)
		e := c.claimed(t)
		c.Faults.Plan("TransactWriteItems", f.fault, f.times)
		_, err := c.Deliveries().FanOut(ctx, c.app, e)
		if (err == nil) != (f.times > 0) {
			t.Errorf("%+v: %v", f, err)
		}
		c.Faults.Heal()
		wants(t, second(c.Deliveries().FanOut(ctx, c.app, e)), "") // the stream brings it again
		if got := c.status(t, h.ID, e); got != webhook.DeliveryPending {
			t.Errorf("%+v: %s", f, got)
		}
		c.pass(2 * time.Minute) // and the sweep finds the delivery, queued or not
		due, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10)
		if err != nil || len(due) != 1 || due[0].Endpoint != h.ID || due[0].Event != e {
			t.Errorf("%+v: due %+v, %v", f, due, err)
		}
		if events, err := c.DueBefore(ctx, store.DueEvent, c.Now(), 10); err != nil || len(events) != 0 {
			t.Errorf("%+v: the event is due still: %+v, %v", f, events, err)
		}
	}
}

// between runs change after the reads of a use case and before its transaction.
func (c *connected) between(change func()) {
	c.Faults.Before("TransactWriteItems", change)
}

// settled does for held deliveries of an endpoint what the sweep does, until none waits.
func (c *connected) sweepHeld(t *testing.T, h id.Endpoint) {
	t.Helper()
	for range 100 {
		now, ok, err := c.Deliveries().Waiting(ctx, c.app, h)
		wants(t, err, "")
		if !ok {
			return
		}
		waiting, next, err := c.Deliveries().WaitingFor(ctx, now, 3)
		wants(t, err, "")
		for _, d := range waiting {
			if now.Deleted {
				wants(t, c.Deliveries().Cancel(ctx, d.DeliveryID), "")
			} else {
				wants(t, second(c.Deliveries().Release(ctx, now, d.DeliveryID)), "")
			}
		}
		wants(t, c.Deliveries().LookedAt(ctx, now, store.Looked{Began: c.Now(), Held: next != "", Next: next, Again: c.Now()}), "")
	}
	t.Fatalf("100 runs have not settled %s", h)
}

// TestAnEndpointThatChangesDuringFanOutStrandsNoDelivery changes the endpoint between its read
// and the transaction. The sweep has run, too: after the change, and after the fan-out.
func TestAnEndpointThatChangesDuringFanOutStrandsNoDelivery(t *testing.T) {
	enable := func(c *connected, h id.Endpoint, is bool) {
		_, _ = c.UpdateEndpoint(ctx, c.app, h, store.EndpointChange{Enabled: &is})
	}
	for name, v := range map[string]struct {
		enabled bool
		change  func(c *connected, t *testing.T, h id.Endpoint)
		want    []webhook.DeliveryStatus
	}{
		"disabled":              {true, func(c *connected, _ *testing.T, h id.Endpoint) { enable(c, h, false) }, []webhook.DeliveryStatus{"pending"}}, // deliver holds it
		"enabled":               {false, func(c *connected, _ *testing.T, h id.Endpoint) { enable(c, h, true) }, []webhook.DeliveryStatus{"pending"}},
		"enabled and released":  {false, func(c *connected, t *testing.T, h id.Endpoint) { enable(c, h, true); c.sweepHeld(t, h) }, []webhook.DeliveryStatus{"pending"}},
		"enabled and disabled":  {false, func(c *connected, _ *testing.T, h id.Endpoint) { enable(c, h, true); enable(c, h, false) }, []webhook.DeliveryStatus{"held"}},
		"deleted, was enabled":  {true, func(c *connected, _ *testing.T, h id.Endpoint) { _ = c.DeleteEndpoint(ctx, c.app, h, id.NoKey) }, []webhook.DeliveryStatus{"cancelled"}},
		"deleted, was disabled": {false, func(c *connected, _ *testing.T, h id.Endpoint) { _ = c.DeleteEndpoint(ctx, c.app, h, id.NoKey) }, nil},
		"forgotten, was enabled": {true, func(c *connected, t *testing.T, h id.Endpoint) {
			_ = c.DeleteEndpoint(ctx, c.app, h, id.NoKey)
			c.sweepHeld(t, h)
		}, []webhook.DeliveryStatus{"pending"}}, // deliver cancels it
		"forgotten, was disabled": {false, func(c *connected, t *testing.T, h id.Endpoint) {
			_ = c.DeleteEndpoint(ctx, c.app, h, id.NoKey)
			c.sweepHeld(t, h)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			h := c.endpoint(t)
			if !v.enabled {
				c.enable(t, h.ID, false)
			}
			e := c.claimed(t)
			changed := false
			c.between(func() { changed = true; v.change(c, t, h.ID) })
			wants(t, second(c.Deliveries().FanOut(ctx, c.app, e)), "")
			if !changed {
				t.Fatal("nothing came between")
			}
			c.sweepHeld(t, h.ID)
			got, err := c.Deliveries().Of(ctx, c.app, e)
			wants(t, err, "")
			var statuses []webhook.DeliveryStatus
			for _, d := range got {
				statuses = append(statuses, d.Status)
			}
			if !slices.Equal(statuses, v.want) {
				t.Errorf("%v, want %v", statuses, v.want)
			}
			// A message that comes now never meets a deleted endpoint.
			if strings.HasPrefix(name, "forgotten") && v.enabled && !c.work(t, h.ID, e).To.Deleted {
				t.Error("it would be sent")
			}
		})
	}
}

// TestADeletionDuringAHoldStrandsNoDelivery deletes the endpoint, and has the sweep pass the
// delivery, between the read and the hold.
func TestADeletionDuringAHoldStrandsNoDelivery(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	e := c.fanned(t, h.ID)
	c.enable(t, h.ID, false)
	w := c.work(t, h.ID, e)
	wants(t, c.DeleteEndpoint(ctx, c.app, h.ID, id.NoKey), "")
	wants(t, c.Deliveries().Hold(ctx, w.DeliveryID), "")
	if got := c.status(t, h.ID, e); got != webhook.DeliveryPending {
		t.Errorf("deleted: %s", got)
	}
	// The endpoint is enabled again: the message that found it disabled must not hold the delivery.
	h = c.endpoint(t)
	e = c.fanned(t, h.ID)
	c.enable(t, h.ID, false)
	w = c.work(t, h.ID, e)
	c.enable(t, h.ID, true)
	wants(t, c.Deliveries().Hold(ctx, w.DeliveryID), "")
	if got := c.status(t, h.ID, e); got != webhook.DeliveryPending {
		t.Errorf("enabled: %s", got)
	}
	c.enable(t, h.ID, false)
	wants(t, c.Deliveries().Hold(ctx, c.work(t, h.ID, e).DeliveryID), "")
	if got := c.status(t, h.ID, e); got != webhook.DeliveryHeld {
		t.Errorf("disabled: %s", got)
	}
}

func TestAnEventGoesOnlyToEndpointsThatTakeIt(t *testing.T) {
	c := connect(t)
	all, one, other, off := c.endpoint(t), c.endpoint(t, "link.claimed", "key.created"), c.endpoint(t, "link.revoked"), c.endpoint(t)
	c.enable(t, off.ID, false)
	c.stream(t)
	to := func(e id.Event) map[id.Endpoint]webhook.DeliveryStatus {
		send, err := c.Deliveries().FanOut(ctx, c.app, e)
		wants(t, err, "")
		got, err := c.Deliveries().Of(ctx, c.app, e)
		wants(t, err, "")
		out, sent := map[id.Endpoint]webhook.DeliveryStatus{}, 0
		for _, d := range got {
			if out[d.Endpoint] = d.Status; d.Status == webhook.DeliveryPending {
				sent++
			}
		}
		if len(send) != sent {
			t.Errorf("%d of %d are to be sent", len(send), sent)
		}
		return out
	}
	if got := to(c.claimed(t)); len(got) != 3 || got[all.ID] != "pending" || got[one.ID] != "pending" || got[off.ID] != "held" {
		t.Errorf("link.claimed: %v", got)
	}
	if got := to(c.test(t, other.ID)); len(got) != 1 || got[other.ID] != "pending" {
		t.Errorf("test: %v", got)
	}
	if got := to(c.test(t, off.ID)); len(got) != 1 || got[off.ID] != "held" {
		t.Errorf("test of a disabled one: %v", got)
	}
	wants(t, c.Deliveries().DisableEndpoint(ctx, c.seen(t, all.ID), webhook.DisabledByGone), "")
	due, err := c.DueBefore(ctx, store.DueEvent, c.Now().Add(time.Hour), 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v, %v", due, err)
	}
	if got := to(due[0].Event); len(got) != 1 || got[off.ID] != "held" { // the only other that wants it
		t.Errorf("endpoint.disabled: %v", got)
	}
	wants(t, second(c.Deliveries().FanOut(ctx, id.NoApp, c.test(t, other.ID))), "") // another app has no such event
	wants(t, second(c.Deliveries().Of(ctx, id.NoApp, due[0].Event)), problem.EventNotFound)
}

package store_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// claimLink claims a new link, and returns the id of the event link.claimed, which is not fanned out yet.
func (c *connected) claimLink(t *testing.T) id.Event {
	t.Helper()
	before := map[string]bool{}
	for _, r := range c.rowsOf(t, "EVTS#") {
		before[text(r, "SK")] = true
	}
	noError(t, errorOf(c.ClaimLink(ctx, c.link(t, time.Hour).claim("k"))))
	for _, r := range c.rowsOf(t, "EVTS#") {
		if !before[text(r, "SK")] {
			return id.Event(text(r, "SK"))
		}
	}
	t.Fatal("no event")
	return ""
}

// TestConcurrentFanOutsReturnEachDeliveryOnce fans ten events out to five endpoints, each event eight times at
// once. Only one of the eight calls returns deliveries to send.
func TestConcurrentFanOutsReturnEachDeliveryOnce(t *testing.T) {
	c := connect(t)
	for range 5 {
		c.endpoint(t)
	}
	for range 10 {
		e := c.claimLink(t)
		var sent atomic.Int64
		for _, err := range atOnce(8, func(int) error {
			return persistent(func() error {
				send, err := c.Deliveries().FanOut(ctx, c.app, e)
				sent.Add(int64(len(send)))
				return err
			})
		}) {
			noError(t, err)
		}
		got, err := c.Deliveries().Of(ctx, c.app, e)
		if err != nil || len(got) != 5 || sent.Load() != 5 {
			t.Fatalf("%d deliveries, %d to be sent, %v", len(got), sent.Load(), err)
		}
		for _, d := range got {
			notTried := d.Status == webhook.DeliveryPending && d.Attempts == 0 && d.NextAttempt == c.Now().UnixMilli()
			if !notTried || d.EventType != webhook.LinkClaimed || d.App != c.app {
				t.Errorf("%+v", d)
			}
		}
	}
}

// isDue reports whether the sweep would find an event now.
func (c *connected) isDue(t *testing.T, e id.Event) bool {
	t.Helper()
	due, err := c.DueBefore(ctx, store.DueEvent, c.Now(), 100)
	noError(t, err)
	return slices.ContainsFunc(due, func(d store.Due) bool { return d.Event == e })
}

// TestAFanOutSurvivesALostAnswer: a fan-out returns an error if its writes fail all the time (times is -1). With every
// fault, the delivery exists after the stream has brought the event again, and it is due for the sweep.
func TestAFanOutSurvivesALostAnswer(t *testing.T) {
	for _, f := range []struct {
		fault     storetest.Fault
		times     int
		endpoints int // a single delivery needs no transaction
	}{
		{storetest.LostBefore, 1, 1}, {storetest.LostAfter, 1, 1}, {storetest.LostAfter, -1, 1}, {storetest.LostBefore, -1, 1},
		{storetest.LostBefore, 1, 2}, {storetest.LostAfter, 1, 2}, {storetest.Forgotten, 1, 2}, {storetest.Conflict, 2, 2},
		{storetest.LostAfter, -1, 2}, {storetest.LostBefore, -1, 2},
	} {
		c := connect(t)
		endpoint := c.endpoint(t)
		operation := "TransactWriteItems"
		if f.endpoints == 2 {
			c.endpoint(t)
		}
		c.fanOutAll(t) // the events endpoint.created, so that they are not due below
		e := c.claimLink(t)
		if f.endpoints == 1 {
			// The event is paid, so there is no charge: the first UpdateItem writes the delivery, and the second the mark.
			operation, e = "UpdateItem", c.testEvent(t, endpoint.ID)
		}
		c.Faults.Plan(operation, f.fault, f.times)
		send, err := c.Deliveries().FanOut(ctx, c.app, e)
		if f.times > 0 && len(send) != f.endpoints {
			t.Errorf("%+v: %d to be sent", f, len(send))
		}
		if (err == nil) != (f.times > 0) {
			t.Errorf("%+v: %v", f, err)
		}
		c.Faults.Heal()
		noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, e))) // the stream brings it again
		if got := c.status(t, endpoint.ID, e); got != webhook.DeliveryPending {
			t.Errorf("%+v: %s", f, got)
		}
		c.advanceClock(2 * time.Minute) // after a minute, the sweep queues a delivery whose message is lost
		due, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10)
		due = slices.DeleteFunc(due, func(d store.Due) bool { return d.Event != e })
		if err != nil || len(due) != f.endpoints {
			t.Errorf("%+v: due %+v, %v", f, due, err)
		}
		if c.isDue(t, e) {
			t.Errorf("%+v: the event is still due", f)
		}
	}
}

// beforeTransaction runs change after the reads of the next use case and before its transaction.
func (c *connected) beforeTransaction(change func()) {
	c.Faults.Before("TransactWriteItems", change)
}

// sweepHeld does the work of the sweep for the held deliveries of an endpoint, run after run, until none waits:
// it releases them, or cancels them when the endpoint is deleted.
func (c *connected) sweepHeld(t *testing.T, endpoint id.Endpoint) {
	t.Helper()
	for range 100 {
		now, ok, err := c.Deliveries().Waiting(ctx, c.app, endpoint)
		noError(t, err)
		if !ok {
			return
		}
		waiting, next, err := c.Deliveries().WaitingFor(ctx, now, 3)
		noError(t, err)
		for _, d := range waiting {
			if now.Deleted {
				noError(t, c.Deliveries().Cancel(ctx, d.DeliveryID))
			} else {
				noError(t, errorOf(c.Deliveries().Release(ctx, now, d.DeliveryID)))
			}
		}
		noError(t, c.Deliveries().LookedAt(ctx, now, store.Looked{Began: c.Now(), Held: next != "", Next: next, Again: c.Now()}))
	}
	t.Fatalf("after 100 runs, deliveries still wait for %s", endpoint)
}

// TestAnEndpointThatChangesDuringFanOutStrandsNoDelivery changes the endpoint after the fan-out has read it,
// and before the fan-out's write. In some cases the sweep runs right after the change. In all cases it runs
// after the fan-out. A stranded delivery would wait forever.
func TestAnEndpointThatChangesDuringFanOutStrandsNoDelivery(t *testing.T) {
	type change func(c *connected, t *testing.T, endpoint id.Endpoint)
	enabled := func(is bool) change {
		return func(c *connected, _ *testing.T, endpoint id.Endpoint) {
			_, _ = c.UpdateEndpoint(ctx, c.app, endpoint, store.EndpointChange{Enabled: &is})
		}
	}
	enable, disable := enabled(true), enabled(false)
	remove := func(c *connected, _ *testing.T, endpoint id.Endpoint) {
		_ = c.DeleteEndpoint(ctx, c.app, endpoint, store.ByKey(id.NoKey))
	}
	sweep := func(c *connected, t *testing.T, endpoint id.Endpoint) { c.sweepHeld(t, endpoint) }
	for name, v := range map[string]struct {
		enabled bool                     // as the fan-out reads the endpoint
		changes []change                 // between this read and the transaction
		want    []webhook.DeliveryStatus // of the event's deliveries in the end; nil: it has none
	}{
		// The deliver function holds a pending delivery of a disabled endpoint, and cancels one of a deleted
		// endpoint.
		"disabled":                        {true, []change{disable}, []webhook.DeliveryStatus{"pending"}},
		"enabled":                         {false, []change{enable}, []webhook.DeliveryStatus{"pending"}},
		"enabled and swept":               {false, []change{enable, sweep}, []webhook.DeliveryStatus{"pending"}},
		"enabled and disabled":            {false, []change{enable, disable}, []webhook.DeliveryStatus{"held"}},
		"deleted, was enabled":            {true, []change{remove}, []webhook.DeliveryStatus{"cancelled"}},
		"deleted, was disabled":           {false, []change{remove}, nil},
		"deleted and swept, was enabled":  {true, []change{remove, sweep}, []webhook.DeliveryStatus{"pending"}},
		"deleted and swept, was disabled": {false, []change{remove, sweep}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			endpoint := c.endpoint(t)
			if !v.enabled {
				c.enable(t, endpoint.ID, false)
			}
			e, write := c.testEvent(t, endpoint.ID), "TransactWriteItems"
			if v.enabled {
				write = "UpdateItem" // a single delivery needs no transaction
			}
			changed := false
			c.Faults.Before(write, func() {
				changed = true
				for _, change := range v.changes {
					change(c, t, endpoint.ID)
				}
			})
			noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, e)))
			if !changed {
				t.Fatal("the test proves nothing: the endpoint was not changed")
			}
			c.sweepHeld(t, endpoint.ID)
			got, err := c.Deliveries().Of(ctx, c.app, e)
			noError(t, err)
			var statuses []webhook.DeliveryStatus
			for _, d := range got {
				statuses = append(statuses, d.Status)
			}
			if !slices.Equal(statuses, v.want) {
				t.Errorf("%v, want %v", statuses, v.want)
			}
			// The deliver function does not send the pending delivery of an endpoint whose row the sweep has deleted.
			if name == "deleted and swept, was enabled" && !c.readWork(t, endpoint.ID, e).To.Deleted {
				t.Error("the delivery would be sent")
			}
		})
	}
}

// TestADeletionDuringAHoldStrandsNoDelivery: an attempt finds the endpoint disabled, and is about to hold the
// delivery. If the endpoint is deleted or enabled meanwhile, the delivery must not be held: it would never be
// released.
func TestADeletionDuringAHoldStrandsNoDelivery(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	c.enable(t, endpoint.ID, false)
	w := c.readWork(t, endpoint.ID, e)
	noError(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey)))
	noError(t, errorOf(c.Deliveries().Hold(ctx, w.DeliveryID)))
	if got := c.status(t, endpoint.ID, e); got != webhook.DeliveryPending {
		t.Errorf("deleted: %s", got)
	}
	// Another endpoint is enabled again meanwhile.
	endpoint = c.endpoint(t)
	e = c.fanOutTest(t, endpoint.ID)
	c.enable(t, endpoint.ID, false)
	w = c.readWork(t, endpoint.ID, e)
	c.enable(t, endpoint.ID, true)
	noError(t, errorOf(c.Deliveries().Hold(ctx, w.DeliveryID)))
	if got := c.status(t, endpoint.ID, e); got != webhook.DeliveryPending {
		t.Errorf("enabled: %s", got)
	}
	c.enable(t, endpoint.ID, false)
	noError(t, errorOf(c.Deliveries().Hold(ctx, c.readWork(t, endpoint.ID, e).DeliveryID)))
	if got := c.status(t, endpoint.ID, e); got != webhook.DeliveryHeld {
		t.Errorf("disabled: %s", got)
	}
}

func TestAnEventGoesOnlyToEndpointsOfItsType(t *testing.T) {
	c := connect(t)
	all, claims, revocations := c.endpoint(t), c.endpoint(t, "link.claimed", "key.created"), c.endpoint(t, "link.revoked")
	disabled := c.endpoint(t)
	c.enable(t, disabled.ID, false)
	c.fanOutAll(t) // the events of these calls
	// fanOut returns the status of each delivery of an event. The pending ones are to be sent.
	fanOut := func(e id.Event) map[id.Endpoint]webhook.DeliveryStatus {
		send, err := c.Deliveries().FanOut(ctx, c.app, e)
		noError(t, err)
		got, err := c.Deliveries().Of(ctx, c.app, e)
		noError(t, err)
		statuses, pending := map[id.Endpoint]webhook.DeliveryStatus{}, 0
		for _, d := range got {
			statuses[d.Endpoint] = d.Status
			if d.Status == webhook.DeliveryPending {
				pending++
			}
		}
		if len(send) != pending {
			t.Errorf("%d deliveries are to be sent, and %d are pending", len(send), pending)
		}
		return statuses
	}
	if got := fanOut(c.claimLink(t)); len(got) != 3 || got[all.ID] != "pending" || got[claims.ID] != "pending" || got[disabled.ID] != "held" {
		t.Errorf("link.claimed: %v", got)
	}
	// A test event goes to its endpoint, whatever types the endpoint gets.
	if got := fanOut(c.testEvent(t, revocations.ID)); len(got) != 1 || got[revocations.ID] != "pending" {
		t.Errorf("test: %v", got)
	}
	if got := fanOut(c.testEvent(t, disabled.ID)); len(got) != 1 || got[disabled.ID] != "held" {
		t.Errorf("test of a disabled endpoint: %v", got)
	}
	// The event endpoint.disabled goes to the other endpoints that get all types.
	noError(t, c.Deliveries().DisableEndpoint(ctx, c.readEndpoint(t, all.ID), webhook.DisabledByGone))
	due, err := c.DueBefore(ctx, store.DueEvent, c.Now().Add(time.Hour), 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v, %v", due, err)
	}
	if got := fanOut(due[0].Event); len(got) != 1 || got[disabled.ID] != "held" {
		t.Errorf("endpoint.disabled: %v", got)
	}
	// Another app has no such event.
	noError(t, errorOf(c.Deliveries().FanOut(ctx, id.NoApp, c.testEvent(t, revocations.ID))))
	expectCode(t, errorOf(c.Deliveries().Of(ctx, id.NoApp, due[0].Event)), problem.EventNotFound)
}

// TestAFanOutWithoutItsMarkIsMarkedLater: the deliveries are written, but the mark of the event is not. The event stays due.
// The next fan-out only marks the event, even if the app has a new endpoint: it writes no delivery, and returns none to send.
func TestAFanOutWithoutItsMarkIsMarkedLater(t *testing.T) {
	for _, endpoints := range []int{1, 3} {
		c := connect(t)
		var endpoint store.Endpoint
		for range endpoints {
			endpoint = c.endpoint(t)
		}
		c.fanOutAll(t)
		var e id.Event
		if endpoints == 1 {
			e = c.testEvent(t, endpoint.ID)
			c.letPass("UpdateItem") // the delivery
			c.Faults.Before("UpdateItem", func() { c.Faults.Plan("UpdateItem", storetest.LostBefore, -1) })
		} else {
			e = c.claimLink(t)
			c.beforeTransaction(func() { c.Faults.Plan("UpdateItem", storetest.LostBefore, -1) })
		}
		send, err := c.Deliveries().FanOut(ctx, c.app, e)
		if err != nil || len(send) != endpoints {
			t.Fatalf("%d endpoints: %d to be sent, %v", endpoints, len(send), err)
		}
		c.Faults.Heal()
		c.endpoint(t)
		before := len(c.rowsOf(t, "DLV#"))
		c.advanceClock(2 * time.Minute)
		if !c.isDue(t, e) {
			t.Fatalf("%d endpoints: the event is not due", endpoints)
		}
		send, err = c.Deliveries().FanOut(ctx, c.app, e)
		noError(t, err)
		listed, err := c.Deliveries().Of(ctx, c.app, e)
		noError(t, err)
		if len(send) != 0 || len(listed) != endpoints || len(c.rowsOf(t, "DLV#")) != before || c.isDue(t, e) {
			t.Errorf("%d endpoints: %d to be sent, %d listed, %d more rows, due: %v", endpoints, len(send), len(listed), len(c.rowsOf(t, "DLV#"))-before, c.isDue(t, e))
		}
	}
}

// TestAFanOutThatFoundNoEndpointHidesNoDelivery: there are two fan-outs of an event at once. One finds no endpoint, and the other
// finds one endpoint. Whichever marks the event first, the delivery is listed.
func TestAFanOutThatFoundNoEndpointHidesNoDelivery(t *testing.T) {
	c := connect(t)
	e := c.claimLink(t)
	var endpoint store.Endpoint
	c.Faults.Before("UpdateItem", func() { // the fan-out without an endpoint is about to mark
		endpoint = c.endpoint(t)
		noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, e)))
	})
	noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, e)))
	if listed, err := c.Deliveries().Of(ctx, c.app, e); err != nil || len(listed) != 1 {
		t.Errorf("marked last: %v, %v", listed, err)
	}
	e = c.testEvent(t, endpoint.ID)
	c.letPass("UpdateItem")                // the delivery
	c.Faults.Before("UpdateItem", func() { // the fan-out with an endpoint is about to mark
		noError(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey)))
		c.sweepHeld(t, endpoint.ID)
		noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, e)))
	})
	noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, e)))
	if listed, err := c.Deliveries().Of(ctx, c.app, e); err != nil || len(listed) != 1 || c.Faults.Pending() {
		t.Errorf("marked first: %v, %v", listed, err)
	}
}

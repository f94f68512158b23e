package store_test

import (
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// TestARequeueWithALostAnswerIsDoneOnce: the answer to a Requeue is lost, and the SDK sends the update again. The first
// call still reports that it moved the due time. A second call does not.
func TestARequeueWithALostAnswerIsDoneOnce(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostAfter, storetest.LostBefore, storetest.Hang} {
		c := connect(t)
		endpoint := c.endpoint(t)
		c.fanOutTest(t, endpoint.ID)
		c.advanceClock(time.Minute)
		due, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10)
		if err != nil || len(due) != 1 {
			t.Fatalf("%v, %v", due, err)
		}
		c.Faults.Plan("UpdateItem", fault, 1)
		if ok, err := c.Deliveries().Requeue(ctx, due[0]); !ok || err != nil || c.Faults.Pending() {
			t.Errorf("%s: %v, %v", fault, ok, err)
		}
		if ok, err := c.Deliveries().Requeue(ctx, due[0]); ok || err != nil {
			t.Errorf("%s: another sweep moved it too: %v, %v", fault, ok, err)
		}
	}
}

// TestAnUnparkWithALostAnswerIsDoneOnce: the same for a parked delivery.
func TestAnUnparkWithALostAnswerIsDoneOnce(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostAfter, storetest.LostBefore, storetest.Hang} {
		c := connect(t)
		endpoint := c.endpoint(t)
		parked := c.parkOne(t, endpoint.ID)
		c.Faults.Plan("UpdateItem", fault, 1)
		if ok, err := c.Deliveries().Unpark(ctx, parked); !ok || err != nil || c.Faults.Pending() {
			t.Errorf("%s: %v, %v", fault, ok, err)
		}
		if ok, err := c.Deliveries().Unpark(ctx, parked); ok || err != nil {
			t.Errorf("%s: another sweep unparked it too: %v, %v", fault, ok, err)
		}
	}
}

// parkOne makes a delivery of an endpoint and parks it for a minute. It must be the only parked delivery.
func (c *connected) parkOne(t *testing.T, endpoint id.Endpoint) store.Due {
	t.Helper()
	noError(t, c.Deliveries().Park(ctx, c.readWork(t, endpoint, c.fanOutTest(t, endpoint)), c.Now().Add(time.Minute).UnixMilli()))
	parked, err := c.Deliveries().Parked(ctx, endpoint, 0, 10)
	if err != nil || len(parked) != 1 {
		t.Fatalf("%v, %v", parked, err)
	}
	return parked[0]
}

// TestAnAttemptUnparksItsDelivery: a message that was queued before the parking may cause an attempt of a parked
// delivery. Then the delivery is no longer parked. It is due when the lease of the attempt ends.
func TestAnAttemptUnparksItsDelivery(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	parked := c.parkOne(t, endpoint.ID)
	if ok, err := c.Deliveries().LeaseAttempt(ctx, c.readWork(t, endpoint.ID, parked.Event), "early"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if left, err := c.Deliveries().Parked(ctx, endpoint.ID, 0, 10); err != nil || len(left) != 0 {
		t.Errorf("the delivery is still parked: %v, %v", left, err)
	}
	c.advanceClock(time.Minute)
	if due, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10); err != nil || len(due) != 1 {
		t.Errorf("the end of its lease is not due: %v, %v", due, err)
	}
}

// TestAMessageWithoutEffectNeverBringsAnAttemptForward: before its time, the sweep's message would change nothing and only delay it.
func TestAMessageWithoutEffectNeverBringsAnAttemptForward(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	w := c.readWork(t, endpoint.ID, c.parkOne(t, endpoint.ID).Event)
	if w.NextAttempt <= c.Now().UnixMilli() {
		t.Fatalf("the attempt is due at %d", w.NextAttempt)
	}
	noError(t, c.Deliveries().DueSoon(ctx, w))
	due, err := c.DueBefore(ctx, store.DueDelivery, c.Now().Add(24*time.Hour), 10)
	if err != nil || len(due) != 1 || due[0].At != w.NextAttempt+time.Minute.Milliseconds() {
		t.Errorf("%v, %v, want a minute after %d", due, err, w.NextAttempt)
	}
}

// TestAMessageWithoutEffectMakesItsDeliveryDueInAMinute: also a parked one, which is no longer parked then. A message of an earlier attempt
// changes nothing.
func TestAMessageWithoutEffectMakesItsDeliveryDueInAMinute(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	parked := c.parkOne(t, endpoint.ID)
	c.advanceClock(time.Hour)
	w := c.readWork(t, endpoint.ID, parked.Event)
	stale := w
	stale.NextAttempt--
	noError(t, c.Deliveries().DueSoon(ctx, stale))
	if left, err := c.Deliveries().Parked(ctx, endpoint.ID, 0, 10); err != nil || len(left) != 1 {
		t.Errorf("an earlier attempt: %v, %v", left, err)
	}
	noError(t, c.Deliveries().DueSoon(ctx, w))
	if left, err := c.Deliveries().Parked(ctx, endpoint.ID, 0, 10); err != nil || len(left) != 0 {
		t.Errorf("the delivery is still parked: %v, %v", left, err)
	}
	due, err := c.DueBefore(ctx, store.DueDelivery, c.Now().Add(time.Hour), 10)
	if err != nil || len(due) != 1 || due[0].At != c.Now().Add(time.Minute).UnixMilli() {
		t.Errorf("%v, %v", due, err)
	}
}

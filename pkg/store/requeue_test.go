package store_test

import (
	"testing"
	"time"

	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// TestASweepKnowsWhatItMovedWhenTheAnswerIsLost: who moved a delivery queues it,
// and the other sweep, which found it moved, does not.
func TestASweepKnowsWhatItMovedWhenTheAnswerIsLost(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostAfter, storetest.LostBefore, storetest.Hang} {
		c := connect(t)
		h := c.endpoint(t)
		c.fanned(t, h.ID)
		c.pass(time.Minute)
		due, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10)
		if err != nil || len(due) != 1 {
			t.Fatalf("%v, %v", due, err)
		}
		c.Faults.Plan("UpdateItem", fault, 1)
		if _, ok, err := c.Requeue(ctx, due[0]); !ok || err != nil || c.Faults.Pending() {
			t.Errorf("%s: %v, %v", fault, ok, err)
		}
		if _, ok, err := c.Requeue(ctx, due[0]); ok || err != nil {
			t.Errorf("%s: another sweep moved it too: %v, %v", fault, ok, err)
		}
	}
}

// TestAPostponedDeliveryIsWokenWhenTheAnswerIsLost: who postponed it is told, and
// sends the message that wakes it.
func TestAPostponedDeliveryIsWokenWhenTheAnswerIsLost(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostAfter, storetest.LostBefore} {
		c := connect(t)
		h := c.endpoint(t)
		w := c.work(t, h.ID, c.fanned(t, h.ID))
		at := c.Now().Add(time.Minute).UnixMilli()
		c.Faults.Plan("UpdateItem", fault, 1)
		if ok, err := c.Postpone(ctx, w, at); !ok || err != nil || c.Faults.Pending() {
			t.Errorf("%s: %v, %v", fault, ok, err)
		}
		if ok, err := c.Postpone(ctx, w, at+1); ok || err != nil {
			t.Errorf("%s: another postponed it too: %v, %v", fault, ok, err)
		}
	}
}

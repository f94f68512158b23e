package pipeline_test

import (
	"testing"
	"time"

	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// TestFaultsDoNotChangeTheLimitOfARun: the deliveries that a run has queued and may still queue always add up to its limit.
func TestFaultsDoNotChangeTheLimitOfARun(t *testing.T) {
	t.Parallel()
	for _, fault := range []storetest.Fault{"", storetest.LostBefore, storetest.LostAfter} {
		s := newStack(t)
		pending, held := s.receiver(t, nil), s.receiver(t, nil)
		held.setEnabled(false)
		held.newEvent()
		pending.newEvent()
		s.fanOutAll(t)
		s.queue.dropAll()
		held.enable()
		s.pass(2 * time.Minute)
		s.Limits.Queued = 100
		for _, kind := range []store.DueKind{store.DueDelivery, store.DueEndpoint} {
			if before := s.queue.count(); fault != "" {
				s.Faults.Plan("UpdateItem", fault, 3)
				s.Faults.Plan("TransactWriteItems", fault, 3)
				handled, left, err := s.sweep.Handle(ctx, kind)
				if queued := s.queue.count() - before; handled == 0 || err == nil || queued+left != 100 {
					t.Errorf("%s, %s: %d queued and %d left, %v", kind, fault, queued, left, err)
				}
				s.Faults.Heal()
			} else if handled, left, err := s.sweep.Handle(ctx, kind); handled == 0 || err != nil || left != 99 || s.queue.count() != before+1 {
				t.Errorf("%s: %d queued and %d left of 100, %v", kind, s.queue.count()-before, left, err)
			}
		}
	}
}

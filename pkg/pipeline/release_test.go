package pipeline_test

import (
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// setEnabled enables or disables the receiver's endpoint.
func (r *receiver) setEnabled(enabled bool) {
	r.t.Helper()
	if _, err := r.stack.UpdateEndpoint(ctx, r.AppID, r.ID, store.EndpointChange{Enabled: &enabled}); err != nil {
		r.t.Fatal(err)
	}
}

// addHeld writes an event for the receiver, whose endpoint is disabled, so the delivery is held.
func (r *receiver) addHeld() {
	r.t.Helper()
	r.newEvent()
	r.stack.fanOutAll(r.t)
}

// TestAnEndpointChangedDuringItsReleaseLosesNothing changes the endpoint while the sweep releases three held deliveries:
// before the first release, or before the sweep writes that none is left. In some cases another event ("one more") comes
// at the same moment.
func TestAnEndpointChangedDuringItsReleaseLosesNothing(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		change func(r *receiver)
		held   int // held deliveries after the sweep and the queue
		sent   int // requests after the sweep and the queue
		all    int // requests in the end, after the endpoint is enabled
	}{
		"disabled":                        {func(r *receiver) { r.setEnabled(false) }, 3, 0, 3},
		"disabled and enabled":            {func(r *receiver) { r.setEnabled(false); r.setEnabled(true) }, 0, 3, 3},
		"disabled, one more, and enabled": {func(r *receiver) { r.setEnabled(false); r.addHeld(); r.setEnabled(true) }, 0, 4, 4},
		"disabled, one more, enabled and disabled": {
			func(r *receiver) { r.setEnabled(false); r.addHeld(); r.setEnabled(true); r.setEnabled(false) }, 4, 0, 4,
		},
	} {
		// A delivery is released in a transaction. The update of the endpoint's row is the end of the release.
		for moment, operation := range map[string]string{"before the first": "TransactWriteItems", "at the end": "UpdateItem"} {
			t.Run(name+" "+moment, func(t *testing.T) {
				t.Parallel()
				s := newStack(t)
				r := s.receiver(t, nil)
				r.setEnabled(false)
				for range 3 {
					r.addHeld()
				}
				r.setEnabled(true)
				s.Faults.Before(operation, func() { v.change(r) })
				s.sweepOnce(t)
				if s.Faults.Pending() {
					t.Fatal("the endpoint was not changed")
				}
				s.sweepOnce(t)
				s.attemptAll(t)
				if got := r.statuses()["held"]; got != v.held {
					t.Errorf("%d are held, want %d", got, v.held)
				}
				r.wantRequests("after the sweep", v.sent)
				r.setEnabled(true)
				s.sweepOnce(t)
				s.attemptAll(t)
				r.wantRequests("in the end", v.all)
				if got := r.statuses(); got["delivered"] != v.all || len(got) != 1 {
					t.Errorf("in the end: %v", got)
				}
				if endpoint := r.endpoint(); endpoint.Releasing || !endpoint.Enabled {
					t.Errorf("the endpoint is %+v", endpoint)
				}
			})
		}
	}
}

func TestAnEndpointDeletedDuringItsReleaseGetsNothing(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"TransactWriteItems", "UpdateItem"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			r := s.receiver(t, nil)
			r.setEnabled(false)
			for range 3 {
				r.addHeld()
			}
			r.setEnabled(true)
			s.Faults.Before(operation, func() {
				if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
					t.Error(err)
				}
			})
			s.sweepOnce(t)
			s.sweepOnce(t)
			s.attemptAll(t)
			if got := r.statuses(); s.Faults.Pending() || got["cancelled"] != 3 || len(got) != 1 {
				t.Errorf("%v", got)
			}
			r.wantRequests("deleted", 0)
		})
	}
}

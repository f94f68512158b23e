package pipeline_test

import (
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// enables enables or disables the receiver's endpoint.
func (r *receiver) enables(enabled bool) {
	r.t.Helper()
	if _, err := r.stack.UpdateEndpoint(ctx, r.AppID, r.ID, store.EndpointChange{Enabled: &enabled}); err != nil {
		r.t.Fatal(err)
	}
}

// held writes an event whose delivery is held, because the endpoint is disabled.
func (r *receiver) held() {
	r.t.Helper()
	r.event()
	r.stack.stream(r.t)
}

// TestAnEndpointChangedDuringItsReleaseLosesNothing changes the endpoint while the sweep
// releases three held deliveries: before the release of the first one, and before the sweep writes
// that none is left. In some cases another event ("one more") comes meanwhile.
func TestAnEndpointChangedDuringItsReleaseLosesNothing(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		change func(r *receiver)
		held   int // deliveries after the sweep and the queue
		sent   int // requests then
		all    int // requests in the end, once it is enabled
	}{
		"disabled":                        {func(r *receiver) { r.enables(false) }, 3, 0, 3},
		"disabled and enabled":            {func(r *receiver) { r.enables(false); r.enables(true) }, 0, 3, 3},
		"disabled, one more, and enabled": {func(r *receiver) { r.enables(false); r.held(); r.enables(true) }, 0, 4, 4},
		"disabled, one more, enabled and disabled": {
			func(r *receiver) { r.enables(false); r.held(); r.enables(true); r.enables(false) }, 4, 0, 4,
		},
	} {
		// A delivery is released in a transaction. The update of the endpoint's row is the end of the release.
		for moment, operation := range map[string]string{"before the first": "TransactWriteItems", "at the end": "UpdateItem"} {
			t.Run(name+" "+moment, func(t *testing.T) {
				t.Parallel()
				s := newStack(t)
				r := s.receiver(t, nil)
				r.enables(false)
				for range 3 {
					r.held()
				}
				r.enables(true)
				s.Faults.Before(operation, func() { v.change(r) })
				s.sweeps(t)
				if s.Faults.Pending() {
					t.Fatal("nothing came between")
				}
				s.sweeps(t)
				s.pump(t)
				if got := r.statuses()["held"]; got != v.held {
					t.Errorf("%d are held, want %d", got, v.held)
				}
				r.wants("after the sweep", v.sent)
				r.enables(true)
				s.sweeps(t)
				s.pump(t)
				r.wants("in the end", v.all)
				if got := r.statuses(); got["delivered"] != v.all || len(got) != 1 {
					t.Errorf("in the end: %v", got)
				}
				if endpoint := r.now(); endpoint.Releasing || !endpoint.Enabled {
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
			r.enables(false)
			for range 3 {
				r.held()
			}
			r.enables(true)
			s.Faults.Before(operation, func() {
				if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
					t.Error(err)
				}
			})
			s.sweeps(t)
			s.sweeps(t)
			s.pump(t)
			if got := r.statuses(); s.Faults.Pending() || got["cancelled"] != 3 || len(got) != 1 {
				t.Errorf("%v", got)
			}
			r.wants("deleted", 0)
		})
	}
}

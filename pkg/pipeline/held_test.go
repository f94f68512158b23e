package pipeline_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// message returns a message that wakes a delivery.
func message(d store.Delivery) webhook.Message {
	return webhook.Message{DeliveryID: webhook.DeliveryID{App: d.App, Endpoint: d.Endpoint, Event: d.Event}}
}

// lastDisabled returns the data of the receiver's last request, which must be an event endpoint.disabled.
func (r *receiver) lastDisabled() (data struct {
	EndpointID  id.Endpoint
	URL, Reason string
	DisabledAt  int64
}) {
	r.t.Helper()
	all := r.requests()
	if len(all) == 0 || all[len(all)-1].kind != "endpoint.disabled" {
		r.t.Fatalf("it got %+v", all)
	}
	if err := json.Unmarshal(all[len(all)-1].data, &data); err != nil {
		r.t.Fatal(err)
	}
	return data
}

// TestA410HoldsAllAndEnablingReleasesAll: no delivery is lost on the way.
func TestA410HoldsAllAndEnablingReleasesAll(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, status(http.StatusGone)), s.receiver(t, nil, "endpoint.disabled")
	for range 4 {
		r.newEvent()
	}
	s.fanOutAll(t)
	s.attemptAll(t)
	r.wantRequests("gone", 1)
	endpoint := r.endpoint()
	if endpoint.Enabled || endpoint.DisabledReason != webhook.DisabledByGone || endpoint.DisabledAt != s.Now().UnixMilli() {
		t.Errorf("%+v", endpoint)
	}
	s.fanOutAll(t) // the event endpoint.disabled
	s.attemptAll(t)
	other.wantRequests("endpoint.disabled", 1)
	if got := other.lastDisabled(); got.EndpointID != r.ID || got.URL != webhook.Origin(r.URL) || got.Reason != "gone" || got.DisabledAt != endpoint.DisabledAt {
		t.Errorf("%+v", got)
	}
	for range 3 {
		r.newEvent()
	}
	s.fanOutAll(t)
	s.runMinutes(t, 20)
	r.wantRequests("disabled", 1)
	if got := r.statuses(); got["held"] != 7 || len(got) != 1 {
		t.Errorf("disabled: %v", got)
	}
	r.setAnswer(nil)
	for when, endpoint := range map[string]store.Endpoint{"answer of enabling": r.enable(), "read afterwards": r.endpoint()} {
		if n, err := s.Deliveries().HeldCount(ctx, endpoint); err != nil || n != 7 {
			t.Errorf("%s: %d are held, %v", when, n, err)
		}
	}
	s.attemptAll(t)
	r.wantRequests("before the sweep", 1)
	s.sweepOnce(t)
	s.attemptAll(t)
	r.wantRequests("released", 8)
	if got := r.statuses(); got["delivered"] != 7 || len(got) != 1 {
		t.Errorf("released: %v", got)
	}
	if n, err := s.Deliveries().HeldCount(ctx, r.endpoint()); err != nil || n != 0 {
		t.Errorf("%d are still held, %v", n, err)
	}
	other.wantRequests("endpoint.disabled once", 1)
}

// TestASweepReleasesNoMoreThanItsLimit: seven deliveries are held, and a run of the sweep may queue four.
func TestASweepReleasesNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.Limits.Queued = 4
	r := s.receiver(t, nil)
	r.setEnabled(false)
	const all = 7
	for range all {
		r.newEvent()
	}
	s.fanOutAll(t)
	if n, err := s.Deliveries().HeldCount(ctx, r.enable()); err != nil || n != all {
		t.Fatalf("%d are held, %v", n, err)
	}
	for run, want := range []struct{ released, held int }{{4, 3}, {all, 0}, {all, 0}} { // after each run
		s.sweepOnce(t)
		if n := s.queue.count(); n != want.released {
			t.Errorf("run %d: %d were queued, want %d", run, n, want.released)
		}
		if n, err := s.Deliveries().HeldCount(ctx, r.endpoint()); err != nil || n != want.held {
			t.Errorf("run %d: %d are held, %v; want %d", run, n, err, want.held)
		}
	}
	if got := r.statuses(); got["pending"] != all {
		t.Errorf("%v", got)
	}
	seen := map[id.Event]bool{}
	for _, m := range s.queue.ready() {
		seen[m.Event] = true
	}
	if len(seen) != all {
		t.Errorf("%d different deliveries were queued", len(seen))
	}
}

func TestAnEndpointDisabledDuringItsReleaseHoldsTheRest(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusGone))
	for range 5 {
		r.newEvent()
	}
	s.fanOutAll(t)
	s.attemptAll(t)
	r.enable()
	s.sweepOnce(t) // five are queued; the first is answered 410 again
	s.attemptAll(t)
	r.wantRequests("gone again", 2)
	if got := r.statuses(); got["held"] != 5 {
		t.Errorf("%v", got)
	}
	r.setAnswer(nil)
	r.enable()
	s.sweepOnce(t)
	s.attemptAll(t)
	r.wantRequests("after the second release", 7)
}

// TestFiveDaysOfOnlyFailuresDisableTheEndpoint: a success among the failures restarts the five days.
func TestFiveDaysOfOnlyFailuresDisableTheEndpoint(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, status(http.StatusBadGateway)), s.receiver(t, nil, "endpoint.disabled")
	// fail makes one attempt, which fails, and checks whether the endpoint is still enabled.
	fail := func(wantEnabled bool) {
		t.Helper()
		e := r.newEvent()
		s.fanOutAll(t)
		s.attemptAll(t)
		if endpoint := r.endpoint(); endpoint.Enabled != wantEnabled {
			t.Errorf("enabled: %v, failing since %d", endpoint.Enabled, endpoint.FailingSince)
		}
		if wantEnabled { // the delivery must not be tried again during the test
			if err := s.Deliveries().Cancel(ctx, r.readDelivery(e).DeliveryID); err != nil {
				t.Fatal(err)
			}
		}
		s.queue.dropAll()
	}
	fail(true)
	s.pass(4 * day)
	r.setAnswer(nil)
	r.newEvent()
	s.fanOutAll(t)
	s.attemptAll(t) // a success: the five days begin again
	r.setAnswer(status(http.StatusBadGateway))
	s.pass(time.Second)
	fail(true) // the first failure of the five days
	s.pass(day)
	fail(true)
	s.pass(4*day - time.Millisecond)
	fail(true)
	s.pass(time.Millisecond)
	fail(false)
	if endpoint := r.endpoint(); endpoint.DisabledReason != webhook.DisabledByFailing {
		t.Errorf("%+v", endpoint)
	}
	if got := r.statuses(); got["held"] != 1 {
		t.Errorf("%v", got)
	}
	s.fanOutAll(t)
	s.attemptAll(t)
	other.wantRequests("endpoint.disabled", 1)
	if got := other.lastDisabled(); got.EndpointID != r.ID || got.Reason != "failing" {
		t.Errorf("%+v", got)
	}
	r.setAnswer(nil)
	before := len(r.requests())
	r.enable()
	s.sweepOnce(t)
	s.attemptAll(t)
	r.wantRequests("enabled again", before+1)
}

func TestDeletingCancelsPendingAndHeldDeliveries(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	for range 3 {
		r.newEvent()
	}
	s.fanOutAll(t)
	s.attemptAll(t) // three are pending, to be tried again
	r.setEnabled(false)
	for range 2 {
		r.newEvent()
	}
	last := r.newEvent()
	s.fanOutAll(t) // three are held
	if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
		t.Fatal(err)
	}
	r.wantRequests("before", 3)
	s.runMinutes(t, 10)
	r.wantRequests("deleted", 3)
	if got := r.statuses(); got["cancelled"] != 6 || len(got) != 1 {
		t.Errorf("%v", got)
	}
	// The list of an event's deliveries still has the delivery, although the endpoint is deleted.
	got, err := s.Deliveries().Of(ctx, s.app, last)
	if err != nil || len(got) != 1 || got[0].Status != webhook.DeliveryCancelled {
		t.Errorf("%+v, %v", got, err)
	}
	for _, row := range s.Rows(t) {
		if attr(row, "PK") == "HOOKS#"+string(s.app) && attr(row, "SK") == "HOOK#"+string(r.ID) {
			t.Error("the endpoint's row still exists")
		}
	}
}

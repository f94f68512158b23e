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

// lastDisabled returns the data of the last event of a receiver, which must be endpoint.disabled.
func (r *receiver) lastDisabled() (data struct {
	EndpointID  id.Endpoint
	URL, Reason string
	DisabledAt  int64
}) {
	r.t.Helper()
	all := r.all()
	if len(all) == 0 || all[len(all)-1].kind != "endpoint.disabled" {
		r.t.Fatalf("it got %+v", all)
	}
	if err := json.Unmarshal(all[len(all)-1].data, &data); err != nil {
		r.t.Fatal(err)
	}
	return data
}

// TestA410DisablesHoldsAndEnablingReleasesAll: nothing is lost on the way.
func TestA410DisablesHoldsAndEnablingReleasesAll(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, status(http.StatusGone)), s.receiver(t, nil, "endpoint.disabled")
	for range 4 {
		r.event()
	}
	s.stream(t)
	s.pump(t)
	r.wants("gone", 1)
	endpoint := r.now()
	if endpoint.Enabled || endpoint.DisabledReason != webhook.DisabledByGone || endpoint.DisabledAt != s.Now().UnixMilli() {
		t.Errorf("%+v", endpoint)
	}
	s.stream(t) // the event of its disabling
	s.pump(t)
	other.wants("endpoint.disabled", 1)
	if got := other.lastDisabled(); got.EndpointID != r.ID || got.URL != webhook.Origin(r.URL) || got.Reason != "gone" || got.DisabledAt != endpoint.DisabledAt {
		t.Errorf("%+v", got)
	}
	for range 3 {
		r.event()
	}
	s.stream(t)
	s.minutes(t, 20)
	r.wants("disabled", 1)
	if got := r.statuses(); got["held"] != 7 || len(got) != 1 {
		t.Errorf("disabled: %v", got)
	}
	r.answers(nil)
	for when, endpoint := range map[string]store.Endpoint{"answer of enabling": r.enable(), "read afterwards": r.now()} {
		if n, err := s.Deliveries().HeldCount(ctx, endpoint); err != nil || n != 7 {
			t.Errorf("%s: %d are held, %v", when, n, err)
		}
	}
	s.pump(t)
	r.wants("before the sweep", 1)
	s.sweeps(t)
	s.pump(t)
	r.wants("released", 8)
	if got := r.statuses(); got["delivered"] != 7 || len(got) != 1 {
		t.Errorf("released: %v", got)
	}
	if n, err := s.Deliveries().HeldCount(ctx, r.now()); err != nil || n != 0 {
		t.Errorf("%d are held still, %v", n, err)
	}
	other.wants("endpoint.disabled once", 1)
}

func TestASweepReleasesNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.Limits.Queued = 4
	r := s.receiver(t, nil)
	r.enables(false)
	const all = 7
	for range all {
		r.event()
	}
	s.stream(t)
	if n, err := s.Deliveries().HeldCount(ctx, r.enable()); err != nil || n != all {
		t.Fatalf("%d are held, %v", n, err)
	}
	for run, want := range []struct{ released, held int }{{4, 3}, {all, 0}, {all, 0}} { // after each run
		s.sweeps(t)
		if n := s.queue.count(); n != want.released {
			t.Errorf("run %d: %d were queued, want %d", run, n, want.released)
		}
		if n, err := s.Deliveries().HeldCount(ctx, r.now()); err != nil || n != want.held {
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
		r.event()
	}
	s.stream(t)
	s.pump(t)
	r.enable()
	s.sweeps(t) // five are queued; the first is answered 410 again
	s.pump(t)
	r.wants("gone again", 2)
	if got := r.statuses(); got["held"] != 5 {
		t.Errorf("%v", got)
	}
	r.answers(nil)
	r.enable()
	s.sweeps(t)
	s.pump(t)
	r.wants("well", 7)
}

// TestFiveDaysOfNothingButFailuresDisable: with a success among them, the endpoint is not disabled.
func TestFiveDaysOfNothingButFailuresDisable(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, status(http.StatusBadGateway)), s.receiver(t, nil, "endpoint.disabled")
	// fail makes one attempt, which fails, and checks whether the endpoint is enabled afterwards.
	fail := func(wantEnabled bool) {
		t.Helper()
		e := r.event()
		s.stream(t)
		s.pump(t)
		if endpoint := r.now(); endpoint.Enabled != wantEnabled {
			t.Errorf("enabled: %v, failing since %d", endpoint.Enabled, endpoint.FailingSince)
		}
		if wantEnabled { // the delivery must not be tried again during the test
			if err := s.Deliveries().Cancel(ctx, r.work(e).DeliveryID); err != nil {
				t.Fatal(err)
			}
		}
		s.queue.lose()
	}
	fail(true)
	s.pass(4 * day)
	r.answers(nil)
	r.event()
	s.stream(t)
	s.pump(t) // a success: the five days begin anew
	r.answers(status(http.StatusBadGateway))
	s.pass(time.Second)
	fail(true) // the first failure of the five days
	s.pass(day)
	fail(true)
	s.pass(4*day - time.Millisecond)
	fail(true)
	s.pass(time.Millisecond)
	fail(false)
	if endpoint := r.now(); endpoint.DisabledReason != webhook.DisabledByFailing {
		t.Errorf("%+v", endpoint)
	}
	if got := r.statuses(); got["held"] != 1 {
		t.Errorf("%v", got)
	}
	s.stream(t)
	s.pump(t)
	other.wants("endpoint.disabled", 1)
	if got := other.lastDisabled(); got.EndpointID != r.ID || got.Reason != "failing" {
		t.Errorf("%+v", got)
	}
	r.answers(nil)
	before := len(r.all())
	r.enable()
	s.sweeps(t)
	s.pump(t)
	r.wants("enabled again", before+1)
}

func TestDeletingCancelsWhatIsPendingAndWhatIsHeld(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	for range 3 {
		r.event()
	}
	s.stream(t)
	s.pump(t) // three are pending, to be tried again
	r.enables(false)
	for range 2 {
		r.event()
	}
	last := r.event()
	s.stream(t) // three are held
	if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
		t.Fatal(err)
	}
	r.wants("before", 3)
	s.minutes(t, 10)
	r.wants("deleted", 3)
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
			t.Error("the endpoint's row is there still")
		}
	}
}

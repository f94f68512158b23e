package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// tripped returns a stack with a receiver whose breaker is open.
func tripped(t *testing.T, n int) (*stack, *receiver) {
	t.Helper()
	s := newStack(t)
	return s, s.trippedReceiver(t, n)
}

// trippedReceiver makes a receiver that has n deliveries (at least 5) and has answered 500 five times in a row, so its breaker is
// open for 30 s. It drops the messages of the queue.
func (s *stack) trippedReceiver(t *testing.T, n int) *receiver {
	t.Helper()
	r := s.receiver(t, status(http.StatusInternalServerError))
	for range n {
		r.newEvent()
	}
	s.fanOutAll(t)
	for i, m := range s.queue.ready()[:5] {
		if i == 4 { // the breaker opens only if the five failures span BreakSpan
			s.pass(webhook.BreakSpan)
		}
		if err := s.deliver.Message(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	if endpoint := r.endpoint(); endpoint.Failures != 5 || endpoint.OpenUntil != s.Now().Add(30*time.Second).UnixMilli() {
		t.Fatalf("%+v", endpoint)
	}
	s.queue.dropAll()
	return r
}

// wakeAll queues every delivery of the receiver, whether it is due or not.
func (r *receiver) wakeAll() {
	r.t.Helper()
	found, _, err := r.stack.Deliveries().List(ctx, r.AppID, store.DeliverySpan{Endpoint: r.ID, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range found {
		_ = r.stack.queue.Send(ctx, 0, message(d))
	}
}

// TestAnOpenBreakerSendsNothingAndThenOneProbe wakes the same 20 deliveries at several times.
func TestAnOpenBreakerSendsNothingAndThenOneProbe(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 20)
	signed := s.signer.n.Load()
	for _, wait := range []time.Duration{0, 10 * time.Second, 19 * time.Second} {
		s.pass(wait)
		r.wakeAll()
		s.attemptAll(t)
		r.wantRequests("open", 5)
	}
	if n := s.signer.n.Load(); n != signed {
		t.Errorf("%d signatures while the breaker was open", n-signed)
	}
	// 29 s have passed. After 30 s the breaker is half-open: one probe, which fails, and the breaker opens for longer.
	s.pass(11 * time.Second)
	r.wakeAll()
	s.attemptAll(t)
	r.wantRequests("half open", 6)
	if n := s.signer.n.Load() - signed; n != 1 {
		t.Errorf("%d signatures for one probe, want 1", n)
	}
	if endpoint := r.endpoint(); endpoint.Failures != 6 || endpoint.OpenUntil != s.Now().Add(time.Minute).UnixMilli() {
		t.Errorf("after the probe: %+v", endpoint)
	}
	s.pass(59 * time.Second)
	r.wakeAll()
	s.attemptAll(t)
	r.wantRequests("open again", 6)
	// The receiver answers again: the probe succeeds, and the rest follows.
	r.setAnswer(nil)
	s.runMinutes(t, 8)
	if got := r.statuses(); got["delivered"] != 20 {
		t.Errorf("%v", got)
	}
	if endpoint := r.endpoint(); endpoint.Failures != 0 || endpoint.OpenUntil != 0 || endpoint.FailingSince != 0 {
		t.Errorf("the breaker is not closed: %+v", endpoint)
	}
}

// TestAFailureWeeksAfterAnOutageDisablesNothing: the receiver may have worked in the quiet time. Failures with shorter pauses than 29 hours do
// disable it after five days.
func TestAFailureWeeksAfterAnOutageDisablesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusBadGateway))
	e := r.newEvent()
	s.fanOutAll(t)
	for range webhook.MaxAttempts() - 1 {
		s.attemptAll(t)
		s.sweepAt(t, r.readDelivery(e).NextAttempt)
	}
	s.attemptAll(t)
	if got := r.statuses(); got["failed"] != 1 {
		t.Fatalf("%v", got)
	}
	s.pass(20 * day)
	again := s.Now()
	for _, enabled := range []bool{true, true, true, true, true, false} { // after 0, 28, 56, 84, 112 and 140 hours
		r.newEvent()
		s.fanOutAll(t)
		s.attemptAll(t)
		if endpoint := r.endpoint(); endpoint.Enabled != enabled || endpoint.FailingSince != again.UnixMilli() {
			t.Errorf("after %s: enabled: %v, failing since %s", s.Now().Sub(again), endpoint.Enabled, time.UnixMilli(endpoint.FailingSince).Sub(again))
		}
		s.pass(28 * time.Hour)
	}
}

// TestTwentyWakesAtOnceMakeOneProbe: each delivery is woken in a process of its own.
func TestTwentyWakesAtOnceMakeOneProbe(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 20)
	s.pass(41 * time.Second) // the breaker's 30 s are over
	r.setAnswer(func(w http.ResponseWriter, _ int) {
		time.Sleep(50 * time.Millisecond) // meanwhile, the other processes read the endpoint
		w.WriteHeader(http.StatusInternalServerError)
	})
	r.wakeAll()
	batch := s.queue.ready()
	done := make(chan error)
	for _, m := range batch {
		d := s.deliverer()
		go func() { done <- d.Message(ctx, m) }()
	}
	for range batch {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	r.wantRequests("half open", 6)
}

// TestALostRaceForTheEndpointDelaysNoOldDelivery: the sweep has moved the due time of a delivery ahead by a quarter of its age, which is
// more than its lifetime has left. The message then changes nothing, because the endpoint's row has changed since it was read.
func TestALostRaceForTheEndpointDelaysNoOldDelivery(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		ready     func(r *receiver)                                // changes the endpoint before the deliveries are old
		operation string                                           // the call that loses the race
		race      func(s *stack, r *receiver, one webhook.Message) // comes before the call; one is another delivery's message
	}{
		"for the probe": {func(*receiver) {}, "UpdateItem", func(s *stack, _ *receiver, one webhook.Message) {
			if err := s.deliverer().Message(ctx, one); err != nil {
				t.Error(err)
			}
		}},
		"with its enabling": {func(r *receiver) { r.setEnabled(false) }, "TransactWriteItems", func(_ *stack, r *receiver, _ webhook.Message) {
			r.setEnabled(true)
		}},
	} {
		s, r := tripped(t, 6)
		r.setAnswer(nil)
		v.ready(r)
		s.pass(webhook.Lifetime - 10*time.Minute)
		s.sweepOnce(t)
		batch := s.queue.ready()
		if len(batch) != 6 {
			t.Fatalf("%s: the sweep woke %d deliveries", name, len(batch))
		}
		late := batch[0]
		s.Faults.Before(v.operation, func() { v.race(s, r, batch[1]) })
		if err := s.deliver.Message(ctx, late); err != nil || s.Faults.Pending() {
			t.Errorf("%s: %v", name, err)
		}
		if w := r.readDelivery(late.Event); w.Status != webhook.DeliveryPending {
			t.Fatalf("%s: it has not lost the race: %+v", name, w.Delivery)
		}
		s.runMinutes(t, 2)
		if w := r.readDelivery(late.Event); w.Status != webhook.DeliveryDelivered {
			t.Errorf("%s: after two minutes: %+v", name, w.Delivery)
		}
	}
}

func TestASkippedAttemptIsNotCounted(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	r.wakeAll()
	s.attemptAll(t)
	for _, row := range s.Rows(t) {
		if attr(row, "PK") != "DLV#"+string(r.ID) {
			continue
		}
		// Five of the six were tried once, before the breaker opened.
		if n := attr(row, "attempts"); n != "0" && n != "1" || attr(row, "status") != "pending" {
			t.Errorf("%s: %s attempts, %s", attr(row, "SK"), n, attr(row, "status"))
		}
	}
}

// TestABrokenReceiverDelaysNoOtherReceiver: both are endpoints of the same app.
func TestABrokenReceiverDelaysNoOtherReceiver(t *testing.T) {
	t.Parallel()
	s, _ := tripped(t, 5)
	healthy := s.receiver(t, nil)
	for range 3 {
		healthy.newEvent()
	}
	s.fanOutAll(t)
	s.attemptAll(t)
	healthy.wantRequests("the other receiver", 3)
}

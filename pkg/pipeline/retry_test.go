package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// until lets time pass up to a moment (milliseconds), then sweeps: only the sweep wakes deliveries
// that wait longer than the queue can hold a message.
func (s *stack) until(t *testing.T, at int64) {
	t.Helper()
	s.pass(time.UnixMilli(at).Sub(s.Now()))
	s.sweeps(t)
	s.pass(time.Second) // a message's delay is in whole seconds
}

// TestRetriesFollowTheScheduleAndTheTwelfthNeverComes makes a delivery fail for its 72 hours.
func TestRetriesFollowTheScheduleAndTheTwelfthNeverComes(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusInternalServerError))
	e := r.event()
	s.stream(t)
	steps := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
		3 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 20 * time.Hour,
	}
	for i, step := range steps {
		s.pump(t)
		r.wants(step.String(), i+1)
		w := r.work(e)
		wait := time.UnixMilli(w.NextAttempt).Sub(s.Now())
		if w.Status != webhook.DeliveryPending || w.Attempts != i+1 || wait < step*8/10-time.Millisecond || wait > step*12/10 {
			t.Fatalf("after %d: %s, the next in %s, want about %s", w.Attempts, w.Status, wait, step)
		}
		if w.Last == nil || *w.Last.Status != http.StatusInternalServerError || w.Last.At != s.Now().UnixMilli() {
			t.Errorf("after %d: %+v", i+1, w.Last)
		}
		s.pass(wait - 2*time.Second) // an attempt may be made a second early, not two
		s.sweeps(t)
		s.pump(t)
		r.wants("too early", i+1)
		s.until(t, w.NextAttempt)
	}
	s.pump(t)
	r.wants("the last", 11)
	if w := r.work(e); w.Status != webhook.DeliveryFailed || w.Attempts != 11 || w.NextAttempt != 0 {
		t.Errorf("in the end: %+v", w.Delivery)
	}
	for range 5 {
		s.pass(24 * time.Hour)
		s.sweeps(t)
		s.pump(t)
	}
	if err := s.deliver.Message(ctx, webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}}); err != nil {
		t.Error(err)
	}
	r.wants("long after", 11)
	jtis, iats := map[string]bool{}, map[int64]bool{}
	for _, got := range r.all() {
		jtis[got.jti], iats[got.iat] = true, true
		if got.event != string(e) {
			t.Errorf("another event: %+v", got)
		}
	}
	if len(jtis) != 11 || len(iats) != 11 {
		t.Errorf("%d jtis and %d times of 11 attempts", len(jtis), len(iats))
	}
	// The delivery can be redelivered, from the first attempt on.
	r.answers(nil)
	if wakes, err := s.Deliveries().Again(ctx, webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}, store.Changer{}, false); err != nil || !wakes {
		t.Fatalf("%v, %v", wakes, err)
	}
	s.minutes(t, 7) // a breaker may be open, and the sweep wakes the delivery
	if w := r.work(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 1 {
		t.Errorf("redelivered: %+v", w.Delivery)
	}
}

func TestAReceiversRetryAfterIsHonouredUpToTwiceTheStep(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, func(w http.ResponseWriter, n int) {
		w.Header().Set("Retry-After", []string{"8", "3600"}[min(n, 2)-1])
		w.WriteHeader(http.StatusTooManyRequests)
	})
	e := r.event()
	s.stream(t)
	// The first step is 5 s, so the 8 s count. The second is 30 s: of the hour, a minute counts.
	for _, want := range []time.Duration{8 * time.Second, time.Minute} {
		s.pump(t)
		if got := time.UnixMilli(r.work(e).NextAttempt).Sub(s.Now()); got != want {
			t.Errorf("the next in %s, want %s", got, want)
		}
		s.pass(want)
	}
}

// TestAMessageThatIsDoubledEarlyOrLateMakesOneAttempt: a message only wakes a delivery. The row decides.
func TestAMessageThatIsDoubledEarlyOrLateMakesOneAttempt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	e := r.event()
	s.stream(t)
	m := webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}}
	s.queue.lose()
	// burst brings the message twenty times at once. It wants n requests since the beginning.
	burst := func(when string, n int) {
		t.Helper()
		done := make(chan error)
		for range 20 {
			go func() { done <- s.deliver.Message(ctx, m) }()
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		r.wants(when, n)
	}
	burst("twenty at once", 1)
	burst("again", 1)
	next := r.work(e).NextAttempt
	s.pass(time.UnixMilli(next).Sub(s.Now()) - 1500*time.Millisecond)
	burst("early", 1)
	s.pass(30 * time.Minute)
	r.answers(nil)
	burst("late", 2)
	burst("after its delivery", 2)
	if w := r.work(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 2 {
		t.Errorf("%+v", w.Delivery)
	}
}

// TestWhatIsNotDoneIn90HoursIsGivenUp: the delivery was never tried in that time.
func TestWhatIsNotDoneIn90HoursIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	s.queue.lose()
	s.pass(90*time.Hour + time.Second)
	s.sweeps(t)
	s.pump(t)
	if w := r.work(e); w.Status != webhook.DeliveryFailed {
		t.Errorf("%+v", w.Delivery)
	}
	r.wants("given up", 0)
}

// TestADeliveryThatDiedInTheMiddleIsTriedAgain takes a lease and makes no attempt, as a process that died. The lost
// attempt counts.
func TestADeliveryThatDiedInTheMiddleIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	if ok, err := s.Deliveries().LeaseAttempt(ctx, r.work(e), "died"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.pump(t)
	r.wants("while another has it", 0)
	s.minutes(t, 2)
	r.wants("its lease is over", 1)
	if w := r.work(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 2 {
		t.Errorf("%+v", w.Delivery)
	}
}

func TestATestOfAnotherAppsEndpointIsNotSent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	s.queue.lose()
	otherOrg := s.NewOrg(t, s.ada)
	if err := s.deliver.Message(ctx, webhook.Message{DeliveryID: webhook.DeliveryID{App: id.DefaultApp(otherOrg), Endpoint: r.ID, Event: e}}); err != nil {
		t.Error(err)
	}
	r.wants("a message with another app", 0)
}

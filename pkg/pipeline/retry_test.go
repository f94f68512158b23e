package pipeline_test

import (
	"net/http"
	"strings"
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

// TestAReceiverThatAsksForTimeGetsIt: 429 and 503 ask for it, and no other answer.
func TestAReceiverThatAsksForTimeGetsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		after       []string
		least, most time.Duration // until the second attempt, whose step is 5 s
	}{
		"429":              {429, []string{"120"}, 2 * time.Minute, 2 * time.Minute},
		"503":              {503, []string{"31"}, 31 * time.Second, 31 * time.Second},
		"a date":           {503, []string{"in 1m"}, 50 * time.Second, time.Minute},
		"a date gone by":   {503, []string{"in -1m"}, 4 * time.Second, 6 * time.Second},
		"too long":         {429, []string{"99999999999999999999"}, 2 * time.Minute, 2 * time.Minute},
		"several":          {429, []string{"20", "40"}, 40 * time.Second, 40 * time.Second},
		"0":                {429, []string{"0"}, 4 * time.Second, 6 * time.Second},
		"negative":         {503, []string{"-120"}, 4 * time.Second, 6 * time.Second},
		"500":              {500, []string{"120"}, 4 * time.Second, 6 * time.Second},
		"302":              {302, []string{"120"}, 4 * time.Second, 6 * time.Second},
		"404":              {404, []string{"120"}, 4 * time.Second, 6 * time.Second},
		"200, which is it": {200, []string{"120"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			r := s.receiver(t, func(w http.ResponseWriter, _ int) {
				for _, value := range c.after {
					if in, isDate := strings.CutPrefix(value, "in "); isDate {
						wait, _ := time.ParseDuration(in) // a fault shows as a wait of 0
						value = time.Now().Add(wait).UTC().Format(http.TimeFormat)
					}
					w.Header().Add("Retry-After", value)
				}
				w.WriteHeader(c.status)
			})
			e := r.event()
			s.stream(t)
			s.pump(t)
			next := r.work(e).NextAttempt
			if next == 0 && c.status == http.StatusOK {
				return
			}
			if wait := time.UnixMilli(next).Sub(s.Now()); wait < c.least-time.Millisecond || wait > c.most {
				t.Errorf("the next in %s, want %s to %s", wait, c.least, c.most)
			}
		})
	}
}

// TestABreakersPauseDoesNotShortenARetryAfter: the breaker opens for half a minute at the fifth failure.
func TestABreakersPauseDoesNotShortenARetryAfter(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	e := r.event()
	s.stream(t)
	// The steps are 5 s, 30 s, 2 and 10 minutes, 1, 3 and 8 hours: the hour is longer than the third step from the first and the second.
	for i, want := range []time.Duration{2 * time.Minute, 10 * time.Minute, time.Hour, time.Hour, time.Hour} {
		s.pump(t)
		r.wants(want.String(), i+1)
		if got := time.UnixMilli(r.work(e).NextAttempt).Sub(s.Now()); got < want || got > want*12/10 {
			t.Errorf("after %d the next in %s, want %s", i+1, got, want)
		}
		s.pass(want - 2*time.Second)
		s.sweeps(t)
		s.pump(t)
		r.wants("before the hour is over", i+1)
		s.until(t, r.work(e).NextAttempt)
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

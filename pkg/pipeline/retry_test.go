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

// sweepAt moves the clock to a time (milliseconds), then runs the sweep: only the sweep wakes deliveries
// that wait longer than the queue can hold a message.
func (s *stack) sweepAt(t *testing.T, at int64) {
	t.Helper()
	s.pass(time.UnixMilli(at).Sub(s.Now()))
	s.sweepOnce(t)
	s.pass(time.Second) // a message's delay is in whole seconds
}

// TestRetriesFollowTheScheduleOfElevenAttempts makes a delivery fail for its 72 hours.
func TestRetriesFollowTheScheduleOfElevenAttempts(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusInternalServerError))
	e := r.newEvent()
	s.fanOutAll(t)
	steps := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
		3 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 20 * time.Hour,
	}
	for i, step := range steps {
		s.attemptAll(t)
		r.wantRequests(step.String(), i+1)
		w := r.readDelivery(e)
		wait := time.UnixMilli(w.NextAttempt).Sub(s.Now())
		if w.Status != webhook.DeliveryPending || w.Attempts != i+1 || wait < step*8/10-time.Millisecond || wait > step*12/10 {
			t.Fatalf("after %d: %s, the next in %s, want about %s", w.Attempts, w.Status, wait, step)
		}
		if w.Last == nil || *w.Last.Status != http.StatusInternalServerError || w.Last.At != s.Now().UnixMilli() {
			t.Errorf("after %d: %+v", i+1, w.Last)
		}
		s.pass(wait - 2*time.Second) // an attempt may be made a second early, not two
		s.sweepOnce(t)
		s.attemptAll(t)
		r.wantRequests("too early", i+1)
		s.sweepAt(t, w.NextAttempt)
	}
	s.attemptAll(t)
	r.wantRequests("the last", 11)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryFailed || w.Attempts != 11 || w.NextAttempt != 0 {
		t.Errorf("in the end: %+v", w.Delivery)
	}
	for range 5 {
		s.pass(24 * time.Hour)
		s.sweepOnce(t)
		s.attemptAll(t)
	}
	if err := s.deliver.Message(ctx, webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}}); err != nil {
		t.Error(err)
	}
	r.wantRequests("long after", 11)
	jtis, iats := map[string]bool{}, map[int64]bool{}
	for _, got := range r.requests() {
		jtis[got.jti], iats[got.iat] = true, true
		if got.event != string(e) {
			t.Errorf("another event: %+v", got)
		}
	}
	if len(jtis) != 11 || len(iats) != 11 {
		t.Errorf("%d jtis and %d times of 11 attempts", len(jtis), len(iats))
	}
	// The delivery can be redelivered, from the first attempt on.
	r.setAnswer(nil)
	if wakes, err := s.Deliveries().Again(ctx, webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}, store.Changer{}, false); err != nil || !wakes {
		t.Fatalf("%v, %v", wakes, err)
	}
	s.runMinutes(t, 7) // a breaker may be open, and the sweep wakes the delivery
	if w := r.readDelivery(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 1 {
		t.Errorf("redelivered: %+v", w.Delivery)
	}
}

// TestOnly429And503CanDelayTheNextAttempt: the Retry-After of any other answer is ignored.
func TestOnly429And503CanDelayTheNextAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		after       []string      // values of Retry-After; "in 1m": a date in a minute
		least, most time.Duration // the expected wait for the second attempt; 5 s without Retry-After
	}{
		"429":            {429, []string{"120"}, 2 * time.Minute, 2 * time.Minute},
		"503":            {503, []string{"31"}, 31 * time.Second, 31 * time.Second},
		"a date":         {503, []string{"in 1m"}, 50 * time.Second, time.Minute},
		"a date gone by": {503, []string{"in -1m"}, 4 * time.Second, 6 * time.Second},
		"too long":       {429, []string{"99999999999999999999"}, 2 * time.Minute, 2 * time.Minute},
		"several":        {429, []string{"20", "40"}, 40 * time.Second, 40 * time.Second},
		"0":              {429, []string{"0"}, 4 * time.Second, 6 * time.Second},
		"negative":       {503, []string{"-120"}, 4 * time.Second, 6 * time.Second},
		"500":            {500, []string{"120"}, 4 * time.Second, 6 * time.Second},
		"302":            {302, []string{"120"}, 4 * time.Second, 6 * time.Second},
		"404":            {404, []string{"120"}, 4 * time.Second, 6 * time.Second},
		"200":            {200, []string{"120"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			r := s.receiver(t, func(w http.ResponseWriter, _ int) {
				for _, value := range c.after {
					if in, isDate := strings.CutPrefix(value, "in "); isDate {
						wait, _ := time.ParseDuration(in) // an invalid text of the test gives 0
						value = time.Now().Add(wait).UTC().Format(http.TimeFormat)
					}
					w.Header().Add("Retry-After", value)
				}
				w.WriteHeader(c.status)
			})
			e := r.newEvent()
			s.fanOutAll(t)
			s.attemptAll(t)
			next := r.readDelivery(e).NextAttempt
			if next == 0 && c.status == http.StatusOK {
				return
			}
			if wait := time.UnixMilli(next).Sub(s.Now()); wait < c.least-time.Millisecond || wait > c.most {
				t.Errorf("the next in %s, want %s to %s", wait, c.least, c.most)
			}
		})
	}
}

// TestABreakerDoesNotShortenARetryAfter: the breaker opens for half a minute at the fifth failure.
func TestABreakerDoesNotShortenARetryAfter(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	e := r.newEvent()
	s.fanOutAll(t)
	// The steps are 5 s, 30 s, 2 and 10 minutes, 1, 3 and 8 hours. A Retry-After is cut to the longest of the next three steps, which
	// is shorter than an hour after the first two failures.
	for i, want := range []time.Duration{2 * time.Minute, 10 * time.Minute, time.Hour, time.Hour, time.Hour} {
		s.attemptAll(t)
		r.wantRequests(want.String(), i+1)
		if got := time.UnixMilli(r.readDelivery(e).NextAttempt).Sub(s.Now()); got < want || got > want*12/10 {
			t.Errorf("after %d the next in %s, want %s", i+1, got, want)
		}
		s.pass(want - 2*time.Second)
		s.sweepOnce(t)
		s.attemptAll(t)
		r.wantRequests("before the hour is over", i+1)
		s.sweepAt(t, r.readDelivery(e).NextAttempt)
	}
}

// TestRepeatedMessagesMakeOneAttempt: a message only wakes a delivery. The row decides whether an attempt is due.
func TestRepeatedMessagesMakeOneAttempt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	e := r.newEvent()
	s.fanOutAll(t)
	m := webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}}
	s.queue.dropAll()
	// burst brings the message twenty times at once, and checks the number of requests since the beginning.
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
		r.wantRequests(when, n)
	}
	burst("twenty at once", 1)
	burst("again", 1)
	next := r.readDelivery(e).NextAttempt
	s.pass(time.UnixMilli(next).Sub(s.Now()) - 1500*time.Millisecond)
	burst("early", 1)
	s.pass(30 * time.Minute)
	r.setAnswer(nil)
	burst("late", 2)
	burst("after its delivery", 2)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 2 {
		t.Errorf("%+v", w.Delivery)
	}
}

// TestADeliveryIsGivenUpAfter90Hours: the delivery was never tried in that time.
func TestADeliveryIsGivenUpAfter90Hours(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.queue.dropAll()
	s.pass(90*time.Hour + time.Second)
	s.sweepOnce(t)
	s.attemptAll(t)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryFailed {
		t.Errorf("%+v", w.Delivery)
	}
	r.wantRequests("given up", 0)
}

// TestNoEventIsSentAfterThirtyDays, because receivers keep the ids of events for 30 days. DynamoDB deletes the event later than that.
// A delivery that begins again shortly before then fails without another attempt.
func TestNoEventIsSentAfterThirtyDays(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.attemptAll(t)
	s.pass(30*day - time.Hour)
	for _, c := range []struct {
		answer   int
		requests int
		status   webhook.DeliveryStatus
		later    time.Duration
	}{
		{http.StatusOK, 2, webhook.DeliveryDelivered, 50 * time.Minute},
		{http.StatusInternalServerError, 3, webhook.DeliveryPending, 30 * time.Minute},
	} {
		r.setAnswer(status(c.answer))
		if wakes, err := s.Deliveries().Again(ctx, webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}, store.Changer{}, false); err != nil || !wakes {
			t.Fatalf("%v, %v", wakes, err)
		}
		s.runAfter(t, time.Minute)
		r.wantRequests(string(c.status), c.requests)
		if got := r.readDelivery(e).Status; got != c.status {
			t.Errorf("%s, want %s", got, c.status)
		}
		s.pass(c.later)
	}
	s.runMinutes(t, 7)
	r.wantRequests("after 30 days", 3)
	if got := r.readDelivery(e).Status; got != webhook.DeliveryFailed {
		t.Errorf("after 30 days: %s", got)
	}
}

// TestAnAttemptOfADeadProcessIsTriedAgain leases an attempt and does not make it, like a process that dies. The lost
// attempt counts.
func TestAnAttemptOfADeadProcessIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	if ok, err := s.Deliveries().LeaseAttempt(ctx, r.readDelivery(e), "died"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.attemptAll(t)
	r.wantRequests("while the dead process holds the lease", 0)
	s.runMinutes(t, 2)
	r.wantRequests("its lease is over", 1)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 2 {
		t.Errorf("%+v", w.Delivery)
	}
}

func TestAMessageWithAnotherAppSendsNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.queue.dropAll()
	otherOrg := s.NewOrg(t, s.ada)
	if err := s.deliver.Message(ctx, webhook.Message{DeliveryID: webhook.DeliveryID{App: id.DefaultApp(otherOrg), Endpoint: r.ID, Event: e}}); err != nil {
		t.Error(err)
	}
	r.wantRequests("a message with another app", 0)
}

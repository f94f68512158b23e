package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

func TestTheSweepFansOutEventsThatTheStreamLost(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for range 30 {
		r.event()
	}
	s.pass(59 * time.Second)
	s.sweeps(t)
	s.pump(t)
	r.wants("the stream may still bring them", 0)
	s.pass(time.Second)
	s.sweeps(t)
	s.pump(t)
	r.wants("a minute later", 30)
	s.stream(t) // events that were fanned out already
	s.pump(t)
	r.wants("the stream brings them late", 30)
}

func TestAQueueThatIsDownLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	e := r.event()
	s.queue.down.Store(true)
	s.stream(t)
	s.minutes(t, 3)
	r.wants("the queue is down", 0)
	s.queue.down.Store(false)
	s.minutes(t, 6) // each sweep that tried to queue the delivery has moved its due time by some minutes
	if len(r.all()) == 0 {
		t.Fatal("the sweep did not wake it")
	}
	// The queue is down after an attempt: the next one is due, and no message wakes it.
	before := len(r.all())
	s.queue.lose()
	s.queue.down.Store(true)
	s.pass(time.Hour)
	s.sweeps(t)
	s.queue.down.Store(false)
	s.minutes(t, 20) // the sweep has moved the due time by a quarter of the delivery's age, about 17 minutes
	if len(r.all()) <= before {
		t.Fatal("the retry was not woken")
	}
	r.answers(nil)
	s.queue.lose()
	for range 12 {
		s.later(t, 10*time.Minute)
	}
	if w := r.work(e); w.Status != webhook.DeliveryDelivered {
		t.Errorf("%+v", w.Delivery)
	}
}

// TestABacklogIsNotQueuedAgainEachMinute: forty deliveries that no process receives are queued less
// and less often. Two sweeps at once queue each delivery once.
func TestABacklogIsNotQueuedAgainEachMinute(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for range 40 {
		r.event()
	}
	s.stream(t)
	want := 40
	// A sweep queues a delivery again 90 s after the last time, or after a quarter of its age: that is two minutes up
	// to minute 7, and three from minute 9 on.
	queuedIn := []int{1, 3, 5, 7, 9, 12}
	for minute := 1; minute <= 14; minute++ {
		s.pass(time.Minute)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { s.sweeps(t) })
		}
		wg.Wait()
		if slices.Contains(queuedIn, minute) {
			want += 40
		}
		if s.queue.count() != want {
			t.Fatalf("minute %d: %d messages so far, want %d", minute, s.queue.count(), want)
		}
	}
	s.pump(t)
	r.wants("each delivery has seven messages and is sent once", 40)
}

// breaking makes one call of the SDK fail: three tries in a row, which are all that the SDK makes.
type breaking struct {
	next  http.RoundTripper
	after bool // true: the call is done, and its answer is lost; false: the call is not done

	mu     sync.Mutex
	calls  int
	from   int // the number of the call that fails; 0: none
	broken int // tries that have failed
}

var errBroken = errors.New("the connection broke")

func (b *breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.calls++
	hit := b.from > 0 && b.calls >= b.from && b.broken < 3
	if hit {
		b.broken++
	}
	b.mu.Unlock()
	if !hit {
		return b.next.RoundTrip(r)
	}
	if b.after {
		out, err := b.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, out.Body)
		_ = out.Body.Close()
	}
	return nil, errBroken
}

// TestATableThatBreaksLosesNoDelivery breaks each call of the table in turn,
// before and after the call is done. The delivery arrives. A fault causes at most one more request,
// never one without a lease (the receiver checks it).
func TestATableThatBreaksLosesNoDelivery(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, int){
		"delivered": nil,
		"retried": func(w http.ResponseWriter, n int) {
			if n <= 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
		"gone": func(w http.ResponseWriter, n int) {
			if n <= 2 {
				w.WriteHeader(http.StatusGone)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			under := &breaking{next: s.Faults.Next}
			s.Faults.Next = under
			// At most this many requests: as many as for a delivery without a fault, and one more.
			most := map[string]int{"delivered": 2, "retried": 3, "gone": 4}[name]
			calls := 0
			for _, after := range []bool{false, true} {
				for n := 1; ; n++ { // until a delivery makes fewer than n calls
					r := s.receiver(t, answer)
					e := r.event()
					s.stream(t)
					under.mu.Lock()
					under.calls, under.broken, under.from, under.after = 0, 0, n, after
					under.mu.Unlock()
					s.deliver = s.deliverer() // a new process has to read the active key
					failed := 0
					for _, m := range s.queue.ready() {
						if s.deliver.Message(ctx, m) != nil {
							failed++
							_ = s.queue.Send(ctx, 3*time.Minute, m) // as SQS does after the visibility time-out
						}
					}
					under.mu.Lock()
					broke := under.broken > 0
					under.from = 0
					under.mu.Unlock()
					if !broke {
						calls = max(calls, n-1)
						break
					}
					w := r.work(e)
					for try := 0; try < 4 && w.Status != webhook.DeliveryDelivered; try++ {
						s.later(t, 5*time.Minute)
						if endpoint := r.now(); !endpoint.Enabled {
							r.enable()
						}
						w = r.work(e)
					}
					if got := len(r.all()); w.Status != webhook.DeliveryDelivered || got < 1 || got > most {
						t.Errorf("call %d, after: %v: %s, %d requests, %d messages failed", n, after, w.Status, got, failed)
					}
					if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if calls < 4 { // work, lease, key, record
				t.Errorf("only %d calls were broken", calls)
			}
		})
	}
}

// poison fails every call that names one of the rows. Reads by Query and GetItem go through.
type poison struct {
	next http.RoundTripper
	rows []string
}

func (p *poison) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	for _, row := range p.rows {
		if operation != "Query" && operation != "GetItem" && bytes.Contains(body, []byte(row)) {
			return nil, fmt.Errorf("%s: %w", operation, errBroken)
		}
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return p.next.RoundTrip(r)
}

// TestTheSweepGoesOnPastRowsThatFail has due rows of four kinds. One of each kind fails, the others are done.
func TestTheSweepGoesOnPastRowsThatFail(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	pending, held, bad := s.receiver(t, nil), s.receiver(t, nil), s.receiver(t, nil)
	// Endpoints whose held delivery is to be released. The row of bad fails.
	for _, r := range []*receiver{held, bad} {
		r.enables(false)
		r.event()
	}
	// Deliveries that no message wakes.
	badDelivery, goodDelivery := pending.event(), pending.event()
	s.stream(t)
	s.queue.lose()
	held.enable()
	bad.enable()
	// Events whose stream records were lost, and links that expire.
	badEvent, goodEvent := pending.event(), pending.event()
	var links []string
	for range 3 {
		links = append(links, string(s.linkOf(t, s.org, s.app)))
	}
	under := s.Faults.Next
	s.Faults.Next = &poison{under, []string{string(badEvent), string(badDelivery), links[0], "HOOK#" + string(bad.ID)}}
	s.pass(2 * time.Minute)
	if err := s.sweep.Run(ctx); !errors.Is(err, errBroken) {
		t.Errorf("the error of the sweep is %v", err)
	}
	s.pump(t)
	got := map[string]bool{}
	for _, r := range pending.all() {
		got[r.event] = true
	}
	if !got[string(goodDelivery)] || !got[string(goodEvent)] || len(got) != 2 {
		t.Errorf("%v came, want %s and %s", got, goodDelivery, goodEvent)
	}
	held.wants("released", 1)
	bad.wants("its row fails", 0)
	expired := 0
	for _, row := range s.Rows(t) {
		if attr(row, "type") == "link.expired" {
			expired++
		}
	}
	if expired != 2 {
		t.Errorf("%d links expired, want 2", expired)
	}
	// The fault is over: the next runs do the rest.
	s.Faults.Next = under
	s.minutes(t, 7)
	bad.wants("its row is well", 4) // the held delivery, and three links that expired
	if w := pending.work(badDelivery); w.Status != webhook.DeliveryDelivered {
		t.Errorf("%+v", w.Delivery)
	}
	if w := pending.work(badEvent); w.Status != webhook.DeliveryDelivered {
		t.Errorf("%+v", w.Delivery)
	}
}

// TestARowThatLosesEachRaceIsLeftToTheSweep: a race for an endpoint's row is not a fault that ends
// in the dead-letter queue.
func TestARowThatLosesEachRaceIsLeftToTheSweep(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	s.receiver(t, nil) // two deliveries are one transaction
	s.stream(t)        // the events of the endpoints' creation
	s.claim(t, r.OrgID, r.AppID)
	loseEachRace := func() { s.Faults.Plan("TransactWriteItems", storetest.Conflict, 5) } // all tries of one use case
	loseEachRace()
	s.stream(t)
	if raced := !s.Faults.Pending(); !raced || len(r.statuses()) > 0 {
		t.Fatalf("fan-out lost each race: %v; %v", raced, r.statuses())
	}
	s.minutes(t, 2)
	r.wants("fanned out by the sweep", 1)
	r.event()
	s.stream(t)
	r.enables(false)
	loseEachRace()
	s.pump(t)
	if raced := !s.Faults.Pending(); !raced || r.statuses()[webhook.DeliveryPending] != 1 {
		t.Fatalf("hold lost each race: %v; %v", raced, r.statuses())
	}
	s.minutes(t, 3)
	if r.statuses()[webhook.DeliveryHeld] != 1 {
		t.Errorf("after the sweep: %v", r.statuses())
	}
	r.wants("held", 1)
}

// TestAFaultOfTheTableIsAnErrorOfTheFanOut: the stream brings the record again, which does not wait for the sweep.
func TestAFaultOfTheTableIsAnErrorOfTheFanOut(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	s.stream(t)
	for _, operation := range []string{"GetItem", "Query", "UpdateItem"} { // the event, the endpoints, the deliveries and the mark
		e := r.event()
		s.Faults.Plan(operation, storetest.LostBefore, -1)
		err := s.fan.Event(ctx, s.app, e)
		s.Faults.Heal()
		if err == nil {
			t.Errorf("%s fails, and the fan-out does not", operation)
		}
	}
	s.stream(t)
	s.pump(t)
	r.wants("brought again", 3)
}

// TestAWriteOfAnAttemptThatFailsCountsNothingTwice fails each write of an attempt for good: it takes the lease, records the attempt on
// the delivery, and then the endpoint's row. The message comes again a minute later.
func TestAWriteOfAnAttemptThatFailsCountsNothingTwice(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, v := range map[string]struct {
		status, before int // answer, and failures of the endpoint before
		write          int
		first, then    string // failures, whether the endpoint is enabled, and requests so far
	}{
		"failed, no lease":             {500, 1, 1, "1 true 1", "2 true 2"},
		"failed, not recorded":         {500, 1, 2, "1 true 2", "2 true 3"},
		"failed, not on the endpoint":  {500, 1, 3, "1 true 2", "2 true 3"}, // the next attempt
		"gone, not recorded":           {410, 0, 2, "0 true 1", "0 false 2"},
		"delivered, no lease":          {204, 1, 1, "1 true 1", "0 true 2"},
		"delivered, not recorded":      {204, 1, 2, "0 true 2", "0 true 3"},
		"delivered, endpoint not told": {204, 1, 3, "1 true 2", "1 true 2"},
	} {
		r := s.receiver(t, status(http.StatusInternalServerError))
		if v.before > 0 {
			r.event()
			s.stream(t)
			s.pump(t)
			s.queue.lose()
		}
		r.answers(status(v.status))
		e := r.event()
		s.stream(t)
		s.queue.lose()
		for range v.write - 1 {
			s.Faults.Before("UpdateItem", func() {})
		}
		s.Faults.Before("UpdateItem", func() { s.Faults.Plan("UpdateItem", storetest.ServerError, 3) })
		m := message(r.work(e).Delivery)
		is := func() string {
			endpoint := r.now()
			return fmt.Sprint(endpoint.Failures, endpoint.Enabled, len(r.all()))
		}
		if err := s.deliver.Message(ctx, m); err == nil || s.Faults.Pending() || is() != v.first {
			t.Errorf("%s: %v; %s, want %s", name, err, is(), v.first)
		}
		s.pass(61 * time.Second)
		if err := s.deliver.Message(ctx, m); err != nil || is() != v.then {
			t.Errorf("%s, again: %v; %s, want %s", name, err, is(), v.then)
		}
		s.Faults.Heal()
		if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
			t.Fatal(err)
		}
		s.stream(t) // what has become of this endpoint is not for the next one
	}
}

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
		r.newEvent()
	}
	s.pass(59 * time.Second)
	s.sweepOnce(t)
	s.attemptAll(t)
	r.wantRequests("the stream may still bring them", 0)
	s.pass(time.Second)
	s.sweepOnce(t)
	s.attemptAll(t)
	r.wantRequests("a minute later", 30)
	s.fanOutAll(t) // events that were fanned out already
	s.attemptAll(t)
	r.wantRequests("the stream brings them late", 30)
}

// TestAQueueThatIsDownLosesNothing: the queue is down at the fan-out, and later after an attempt.
func TestAQueueThatIsDownLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	e := r.newEvent()
	s.queue.down.Store(true)
	s.fanOutAll(t)
	s.runMinutes(t, 3)
	r.wantRequests("the queue is down", 0)
	s.queue.down.Store(false)
	s.runMinutes(t, 6) // each sweep that failed to queue the delivery has also moved its due time by some minutes
	if len(r.requests()) == 0 {
		t.Fatal("the sweep did not wake it")
	}
	// The queue is down after an attempt: the next one is due, and no message wakes it.
	before := len(r.requests())
	s.queue.dropAll()
	s.queue.down.Store(true)
	s.pass(time.Hour)
	s.sweepOnce(t)
	s.queue.down.Store(false)
	s.runMinutes(t, 20) // the sweep has moved the due time by about 17 minutes, a quarter of the delivery's age
	if len(r.requests()) <= before {
		t.Fatal("the retry was not woken")
	}
	r.setAnswer(nil)
	s.queue.dropAll()
	for range 12 {
		s.runAfter(t, 10*time.Minute)
	}
	if w := r.readDelivery(e); w.Status != webhook.DeliveryDelivered {
		t.Errorf("%+v", w.Delivery)
	}
}

// TestABacklogIsNotQueuedAgainEachMinute: no process receives forty deliveries, so the sweep queues them again at growing
// intervals. Two sweeps at the same time queue each delivery once.
func TestABacklogIsNotQueuedAgainEachMinute(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for range 40 {
		r.newEvent()
	}
	s.fanOutAll(t)
	want := 40
	// A sweep queues a delivery again after the longer of 90 s and a quarter of its age. With a sweep each minute, this is every two
	// minutes up to minute 7, and every three from minute 9 on.
	queuedIn := []int{1, 3, 5, 7, 9, 12}
	for minute := 1; minute <= 14; minute++ {
		s.pass(time.Minute)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { s.sweepOnce(t) })
		}
		wg.Wait()
		if slices.Contains(queuedIn, minute) {
			want += 40
		}
		if s.queue.count() != want {
			t.Fatalf("minute %d: %d messages so far, want %d", minute, s.queue.count(), want)
		}
	}
	s.attemptAll(t)
	r.wantRequests("each delivery has seven messages and is sent once", 40)
}

// breaking makes one call of the SDK fail: it fails three tries in a row, which is the SDK's maximum.
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

// TestATableThatBreaksLosesNoDelivery breaks each call of the table in turn, before and after the call is done. The
// delivery arrives. A fault causes at most one more request, and the receiver checks that each request has a lease.
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
			// The most requests at the receiver: one more than without a fault.
			most := map[string]int{"delivered": 2, "retried": 3, "gone": 4}[name]
			calls := 0
			for _, after := range []bool{false, true} {
				for n := 1; ; n++ { // until a delivery makes fewer than n calls
					r := s.receiver(t, answer)
					e := r.newEvent()
					s.fanOutAll(t)
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
					w := r.readDelivery(e)
					for try := 0; try < 4 && w.Status != webhook.DeliveryDelivered; try++ {
						s.runAfter(t, 5*time.Minute)
						if endpoint := r.endpoint(); !endpoint.Enabled {
							r.enable()
						}
						w = r.readDelivery(e)
					}
					if got := len(r.requests()); w.Status != webhook.DeliveryDelivered || got < 1 || got > most {
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

// poison fails every call that names one of the rows, except reads by Query and GetItem.
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

// TestTheSweepContinuesPastRowsThatFail has due rows of four kinds. One row of each kind fails. The sweep processes the others.
func TestTheSweepContinuesPastRowsThatFail(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	pending, held, bad := s.receiver(t, nil), s.receiver(t, nil), s.receiver(t, nil)
	// Endpoints whose held delivery is to be released. The row of bad fails.
	for _, r := range []*receiver{held, bad} {
		r.setEnabled(false)
		r.newEvent()
	}
	// Deliveries that no message wakes.
	badDelivery, goodDelivery := pending.newEvent(), pending.newEvent()
	s.fanOutAll(t)
	s.queue.dropAll()
	held.enable()
	bad.enable()
	// Events whose stream records were lost, and links that expire.
	badEvent, goodEvent := pending.newEvent(), pending.newEvent()
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
	s.attemptAll(t)
	got := map[string]bool{}
	for _, r := range pending.requests() {
		got[r.event] = true
	}
	if !got[string(goodDelivery)] || !got[string(goodEvent)] || len(got) != 2 {
		t.Errorf("%v arrived, want %s and %s", got, goodDelivery, goodEvent)
	}
	held.wantRequests("released", 1)
	bad.wantRequests("its row fails", 0)
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
	s.runMinutes(t, 7)
	bad.wantRequests("its row no longer fails", 4) // the held delivery, and three links that expired
	if w := pending.readDelivery(badDelivery); w.Status != webhook.DeliveryDelivered {
		t.Errorf("%+v", w.Delivery)
	}
	if w := pending.readDelivery(badEvent); w.Status != webhook.DeliveryDelivered {
		t.Errorf("%+v", w.Delivery)
	}
}

// TestARowThatLosesEachRaceIsLeftToTheSweep: losing each race for an endpoint's row is not a fault, so the message does
// not end in the dead-letter queue.
func TestARowThatLosesEachRaceIsLeftToTheSweep(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	s.receiver(t, nil) // two deliveries are one transaction
	s.fanOutAll(t)     // the events of the endpoints' creation
	s.claim(t, r.OrgID, r.AppID)
	loseEachRace := func() { s.Faults.Plan("TransactWriteItems", storetest.Conflict, 5) } // all tries of one use case
	loseEachRace()
	s.fanOutAll(t)
	if raced := !s.Faults.Pending(); !raced || len(r.statuses()) > 0 {
		t.Fatalf("fan-out lost each race: %v; %v", raced, r.statuses())
	}
	s.runMinutes(t, 2)
	r.wantRequests("fanned out by the sweep", 1)
	r.newEvent()
	s.fanOutAll(t)
	r.setEnabled(false)
	loseEachRace()
	s.attemptAll(t)
	if raced := !s.Faults.Pending(); !raced || r.statuses()[webhook.DeliveryPending] != 1 {
		t.Fatalf("hold lost each race: %v; %v", raced, r.statuses())
	}
	s.runMinutes(t, 3)
	if r.statuses()[webhook.DeliveryHeld] != 1 {
		t.Errorf("after the sweep: %v", r.statuses())
	}
	r.wantRequests("held", 1)
}

// TestAFaultOfTheTableIsAnErrorOfTheFanOut: the error makes the stream bring the record again, before the sweep would find it.
func TestAFaultOfTheTableIsAnErrorOfTheFanOut(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	s.fanOutAll(t)
	for _, operation := range []string{"GetItem", "Query", "UpdateItem"} { // the event, the endpoints, the deliveries and the mark
		e := r.newEvent()
		s.Faults.Plan(operation, storetest.LostBefore, -1)
		err := s.fan.Event(ctx, s.app, e)
		s.Faults.Heal()
		if err == nil {
			t.Errorf("%s fails, and the fan-out does not", operation)
		}
	}
	s.fanOutAll(t)
	s.attemptAll(t)
	r.wantRequests("brought again", 3)
}

// TestAFailedWriteOfAnAttemptCountsNothingTwice fails each write of an attempt, with all tries: write 1 takes the lease, 2 records
// the attempt on the delivery, and 3 changes the endpoint's row. The message comes again a minute later.
func TestAFailedWriteOfAnAttemptCountsNothingTwice(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, v := range map[string]struct {
		status, before int    // the answer, and the endpoint's failures before
		write          int    // the number of the write that fails
		first, then    string // after the first and the second message: failures, whether the endpoint is enabled, requests so far
	}{
		"failed, no lease":            {500, 1, 1, "1 true 1", "2 true 2"},
		"failed, not recorded":        {500, 1, 2, "1 true 2", "2 true 3"},
		"failed, not on the endpoint": {500, 1, 3, "1 true 2", "2 true 3"}, // the second message makes the next attempt
		"gone, not recorded":          {410, 0, 2, "0 true 1", "0 false 2"},
		"delivered, no lease":         {204, 1, 1, "1 true 1", "0 true 2"},
		"delivered, not recorded":     {204, 1, 2, "0 true 2", "0 true 3"},
		"delivered, not on endpoint":  {204, 1, 3, "1 true 2", "1 true 2"},
	} {
		r := s.receiver(t, status(http.StatusInternalServerError))
		if v.before > 0 {
			r.newEvent()
			s.fanOutAll(t)
			s.attemptAll(t)
			s.queue.dropAll()
		}
		r.setAnswer(status(v.status))
		e := r.newEvent()
		s.fanOutAll(t)
		s.queue.dropAll()
		for range v.write - 1 {
			s.Faults.Before("UpdateItem", func() {})
		}
		s.Faults.Before("UpdateItem", func() { s.Faults.Plan("UpdateItem", storetest.ServerError, 3) })
		m := message(r.readDelivery(e).Delivery)
		state := func() string {
			endpoint := r.endpoint()
			return fmt.Sprint(endpoint.Failures, endpoint.Enabled, len(r.requests()))
		}
		if err := s.deliver.Message(ctx, m); err == nil || s.Faults.Pending() || state() != v.first {
			t.Errorf("%s: %v; %s, want %s", name, err, state(), v.first)
		}
		s.pass(61 * time.Second)
		if err := s.deliver.Message(ctx, m); err != nil || state() != v.then {
			t.Errorf("%s, again: %v; %s, want %s", name, err, state(), v.then)
		}
		s.Faults.Heal()
		if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
			t.Fatal(err)
		}
		s.fanOutAll(t) // so that the events of this endpoint do not reach the next one
	}
}

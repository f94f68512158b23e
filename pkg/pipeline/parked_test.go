package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// parkedCount counts the receiver's parked deliveries.
func (r *receiver) parkedCount() (n int) {
	r.t.Helper()
	for _, row := range r.stack.Rows(r.t) {
		if attr(row, "PK") == "DLV#"+string(r.ID) && attr(row, "due") == "DUE#parked#"+string(r.ID) {
			n++
		}
	}
	return n
}

// dueRowCount counts the rows of the receiver in the index of due rows: its deliveries and its endpoint.
func (r *receiver) dueRowCount() (n int) {
	r.t.Helper()
	for _, row := range r.stack.Rows(r.t) {
		if attr(row, "due") != "" && (attr(row, "PK") == "DLV#"+string(r.ID) || attr(row, "SK") == "HOOK#"+string(r.ID)) {
			n++
		}
	}
	return n
}

// parkAll parks every waiting delivery of a tripped receiver, and checks that n deliveries are parked.
func (r *receiver) parkAll(n int) {
	r.t.Helper()
	r.stack.pass(10 * time.Second) // the deliveries that failed before are due again
	r.wakeAll()
	r.stack.attemptAll(r.t)
	if got := r.parkedCount(); got != n {
		r.t.Fatalf("%d are parked, want %d", got, n)
	}
}

func TestParkedDeliveriesCostOnlyProbes(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 20)
	r.parkAll(20)
	sent, attempts := s.queue.count(), len(r.requests())
	s.runMinutes(t, 30)
	probes := len(r.requests()) - attempts
	if messages := s.queue.count() - sent; probes < 10 || probes > 30 || messages > 2*probes {
		t.Errorf("in half an hour: %d probes, %d messages", probes, messages)
	}
	r.setAnswer(nil)
	s.runMinutes(t, 3)
	if n := r.parkedCount(); n != 0 {
		t.Errorf("three minutes after the receiver works again: %d are parked", n)
	}
	for range 8 { // the deliveries that were probes wait for their next attempt
		s.runAfter(t, 10*time.Minute)
	}
	if got, n := r.statuses(), r.dueRowCount(); got["delivered"] != 20 || n != 0 {
		t.Errorf("%v, and %d rows are still in the index", got, n)
	}
}

func TestDeliveriesParkedFor90HoursFail(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 60) // more than the sweep's batch of 50
	r.parkAll(60)
	s.pass(webhook.Lifetime)
	fresh := r.newEvent()
	s.fanOutAll(t)
	s.runMinutes(t, 2)
	if got := r.statuses(); got["failed"] != 60 {
		t.Errorf("%v", got)
	}
	if w := r.readDelivery(fresh); w.Status != webhook.DeliveryPending {
		t.Errorf("a new delivery: %+v", w.Delivery)
	}
}

// TestHeldDeliveriesAreReleasedAfterParkedOnes: the parked deliveries use up the limit of a run (Limits.Queued),
// so a later run releases the held ones.
func TestHeldDeliveriesAreReleasedAfterParkedOnes(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	r.parkAll(6)
	r.setEnabled(false)
	for range 4 {
		r.newEvent()
	}
	s.fanOutAll(t)
	if got := r.statuses(); got["held"] != 4 || r.parkedCount() != 6 {
		t.Fatalf("%v, and %d are parked", got, r.parkedCount())
	}
	r.setAnswer(nil)
	r.setEnabled(true)
	s.Limits.Queued = 6
	s.runMinutes(t, 5)
	for range 8 { // the deliveries that failed before wait for their next attempt
		s.runAfter(t, 10*time.Minute)
	}
	if got := r.statuses(); got["delivered"] != 10 {
		t.Errorf("%v", got)
	}
}

// TestParkedDeliveriesFollowTheirEndpoint: the endpoint's state decides whether parked deliveries are held, delivered or
// cancelled.
func TestParkedDeliveriesFollowTheirEndpoint(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, v := range map[string]struct {
		change func(r *receiver)
		want   webhook.DeliveryStatus
	}{
		"disabled by its app": {func(r *receiver) { r.setEnabled(false) }, webhook.DeliveryHeld},
		"disabled by its answer": {func(r *receiver) {
			if err := s.Deliveries().DisableEndpoint(ctx, r.endpoint(), webhook.DisabledByGone); err != nil {
				t.Error(err)
			}
		}, webhook.DeliveryHeld},
		"disabled and enabled": {func(r *receiver) { r.setEnabled(false); r.setAnswer(nil); r.setEnabled(true) }, webhook.DeliveryDelivered},
		"deleted": {func(r *receiver) {
			if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
				t.Error(err)
			}
		}, webhook.DeliveryCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.trippedReceiver(t, 6)
			r.parkAll(6)
			v.change(r)
			s.runMinutes(t, 2)
			if got := r.statuses(); got[v.want] != 6 {
				t.Errorf("%v, want %s", got, v.want)
			}
			s.runMinutes(t, 7)
			if n := r.dueRowCount(); n != 0 {
				t.Errorf("%d rows are still in the index", n)
			}
		})
	}
}

// TestADeliveryParkedLateIsNotMissed parks a delivery with an old copy of its endpoint, after the
// breaker has closed and the sweep has found no more parked deliveries.
func TestADeliveryParkedLateIsNotMissed(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	late := r.newEvent()
	s.fanOutAll(t)
	w := r.readDelivery(late)
	s.queue.dropAll()
	r.parkAll(7)
	r.setAnswer(nil)
	s.runMinutes(t, 4)
	if got := r.statuses(); got["delivered"] != 7 {
		t.Fatalf("%v", got)
	}
	again, err := s.Deliveries().Again(ctx, webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: late}, store.Changer{}, false) // pending, as it was read
	if err != nil || !again {
		t.Fatal(again, err)
	}
	w.NextAttempt = r.readDelivery(late).NextAttempt // Park compares it with the row; w still has the old endpoint
	if err := s.Deliveries().Park(ctx, w, w.To.OpenUntil); err != nil || r.parkedCount() != 1 {
		t.Fatalf("%d are parked, %v", r.parkedCount(), err)
	}
	s.runMinutes(t, 2)
	if got := r.readDelivery(late); got.Status != webhook.DeliveryDelivered || got.Attempts != 1 {
		t.Errorf("%+v", got.Delivery)
	}
}

// killed is a transport that behaves as if the process is killed at a write: that write is done but its answer is lost,
// and no later call reaches the table.
type killed struct {
	next   http.RoundTripper
	onKill func() // called at each call after the kill

	mu     sync.Mutex
	writes int
	from   int // the number of the write; 0: never
}

func (k *killed) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation == "UpdateItem" || operation == "TransactWriteItems" {
		k.writes++
	}
	dead, last := k.from > 0 && k.writes >= k.from, k.writes == k.from
	k.mu.Unlock()
	if !dead {
		return k.next.RoundTrip(r)
	}
	k.onKill()
	if last {
		if out, err := k.next.RoundTrip(r); err == nil {
			_ = out.Body.Close()
		}
	}
	return nil, errBroken
}

// killAt sets the number of the write, counted from now on, at which the process is killed; 0: never.
func (k *killed) killAt(write int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes, k.from = 0, write
}

// TestAKillBetweenAnyTwoStepsMissesNoParkedDelivery kills the process after each write of a step, and drops the messages
// of the process. The steps open the breaker, park, probe, close the breaker, and release the parked deliveries.
func TestAKillBetweenAnyTwoStepsMissesNoParkedDelivery(t *testing.T) {
	t.Parallel()
	const n = 5
	probing := func(s *stack, r *receiver) {
		r.parkAll(n)
		s.pass(30 * time.Second)
		_ = s.sweep.Run(ctx)
	}
	for name, v := range map[string]struct {
		before func(s *stack, r *receiver) // prepares a tripped receiver for the step
		do     func(s *stack, r *receiver) // the step that is killed
		writes int                         // the fewest writes of the step
	}{
		// The breaker has closed, and the fifth failure in a row opens it again.
		"opening": {func(s *stack, r *receiver) {
			r.setAnswer(nil)
			r.parkAll(n)
			s.runMinutes(r.t, 3)
			r.setAnswer(status(http.StatusInternalServerError))
			for range 5 {
				s.pass(3 * time.Second)
				r.newEvent()
				s.fanOutAll(r.t)
				if r.endpoint().Failures < 4 { // the step itself makes the fifth failure
					s.attemptAll(r.t)
				}
			}
		}, func(s *stack, r *receiver) { s.attemptAny() }, 3},
		"parking": {func(_ *stack, r *receiver) { r.wakeAll() }, func(s *stack, _ *receiver) { s.attemptAny() }, 2},
		"probing": {func(s *stack, r *receiver) { r.parkAll(n); s.pass(30 * time.Second) }, func(s *stack, _ *receiver) { _ = s.sweep.Run(ctx) }, 2},
		"failing": {probing, func(s *stack, _ *receiver) { s.attemptAny() }, 4},
		"closing": {func(s *stack, r *receiver) { probing(s, r); r.setAnswer(nil) }, func(s *stack, _ *receiver) { s.attemptAny() }, 4},
		// The breaker has closed, and the sweep releases the parked deliveries.
		"emptying": {func(s *stack, r *receiver) {
			probing(s, r)
			r.setAnswer(nil)
			s.attemptAny()
		}, func(s *stack, _ *receiver) { _ = s.sweep.Run(ctx) }, n},
		// No delivery is parked any more, and the endpoint's row leaves the index.
		"leaving": {func(s *stack, r *receiver) { r.parkAll(n); r.setAnswer(nil); s.runMinutes(r.t, 5) }, func(s *stack, _ *receiver) {
			for range 4 {
				s.pass(time.Minute)
				_ = s.sweep.Run(ctx)
			}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			table := &killed{next: s.Faults.Next, onKill: func() { s.queue.down.Store(true) }}
			s.Faults.Next = table
			write := 1
			for died := true; died; write++ {
				r := s.trippedReceiver(t, n)
				v.before(s, r)
				table.killAt(write)
				v.do(s, r)
				died = s.queue.down.Swap(false)
				table.killAt(0)
				s.queue.dropAll()
				r.setAnswer(nil)
				for minute := 0; minute < 12 && r.checkDelivered() != nil; minute++ {
					s.runAfter(t, time.Minute)
				}
				if err := r.checkDelivered(); err != nil {
					t.Errorf("killed after write %d: %v", write, err)
				}
				if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
					t.Fatal(err)
				}
			}
			writes := write - 2 // the last round made fewer than write-1 writes, so it was not killed
			if writes < v.writes {
				t.Errorf("killed after %d writes, want at least %d", writes, v.writes)
			}
		})
	}
}

// attemptAny makes every attempt that the queue wakes now, and ignores its error, which the test expects.
func (s *stack) attemptAny() {
	for _, m := range s.queue.ready() {
		_ = s.deliver.Message(ctx, m)
	}
}

// checkDelivered returns an error until all of the receiver's deliveries are delivered.
func (r *receiver) checkDelivered() error {
	all := r.statuses()
	delete(all, webhook.DeliveryDelivered)
	if len(all) > 0 {
		return fmt.Errorf("also %v", all)
	}
	return nil
}

// TestAParkedDeliveryThatFailsIsReportedAndDoneLater: the endpoint's row stays due for this delivery.
func TestAParkedDeliveryThatFailsIsReportedAndDoneLater(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	r.parkAll(6)
	r.setEnabled(false) // so that the sweep must hold the parked deliveries
	var one string
	for _, row := range s.Rows(t) {
		if attr(row, "PK") == "DLV#"+string(r.ID) {
			one = attr(row, "SK")
		}
	}
	under := s.Faults.Next
	s.Faults.Next = &poison{next: under, rows: []string{one}}
	s.pass(time.Minute)
	err := s.sweep.Run(ctx)
	if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "endpoint ") || r.statuses()["held"] != 5 {
		t.Errorf("%v; %v", err, r.statuses())
	}
	s.Faults.Next = under
	s.runMinutes(t, 7) // another process may park a delivery for five more minutes
	if got := r.statuses(); got["held"] != 6 || r.dueRowCount() != 0 {
		t.Errorf("later: %v, and %d rows are still in the index", got, r.dueRowCount())
	}
}

// TestOneRunEndsAllWaitingDeliveries: the deliveries need several batches: of 50 parked deliveries, or of 100 of a deleted endpoint.
func TestOneRunEndsAllWaitingDeliveries(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, v := range map[string]struct {
		change func(r *receiver)
		n      int
		parks  bool // whether the deliveries are parked before the change
		want   webhook.DeliveryStatus
	}{
		"parked, of a disabled endpoint": {func(r *receiver) { r.setEnabled(false) }, 60, true, webhook.DeliveryHeld},
		"pending, of a deleted endpoint": {(*receiver).delete, 110, false, webhook.DeliveryCancelled},
		"parked, of a deleted endpoint":  {(*receiver).delete, 60, true, webhook.DeliveryCancelled},
		"held, of a deleted endpoint":    {func(r *receiver) { r.setEnabled(false); r.wakeAll(); r.delete() }, 60, false, webhook.DeliveryCancelled},
	} {
		r := s.trippedReceiver(t, v.n)
		if v.parks {
			r.parkAll(v.n)
		}
		v.change(r)
		s.sweepOnce(t)
		if got := r.statuses(); got[v.want] != v.n {
			t.Errorf("%s: %v after one run", name, got)
		}
		s.runMinutes(t, 7)
		if n := r.dueRowCount(); n != 0 {
			t.Errorf("%s: %d rows are still in the index", name, n)
		}
	}
}

// lateRow is a transport that calls bring before the second query of a partition, to write a row that the first query did not see.
type lateRow struct {
	next      http.RoundTripper
	partition string
	bring     func()
	queries   int
}

func (l *lateRow) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && bytes.Contains(body, []byte(l.partition)) {
		if l.queries++; l.queries == 2 {
			l.bring()
		}
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return l.next.RoundTrip(r)
}

// TestAParkedDeliveryThatTheIndexShowsLateIsNotMissed: the first batch of a run does not see the oldest delivery. The second batch
// begins after the last delivery of the first batch, and is empty.
func TestAParkedDeliveryThatTheIndexShowsLateIsNotMissed(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		change func(r *receiver)
		want   webhook.DeliveryStatus
	}{
		"disabled": {func(r *receiver) { r.setEnabled(false) }, webhook.DeliveryHeld},
		"deleted":  {(*receiver).delete, webhook.DeliveryCancelled},
		"enabled":  {func(r *receiver) { r.setEnabled(false); r.setAnswer(nil); r.setEnabled(true) }, webhook.DeliveryDelivered},
	} {
		s, r := tripped(t, 5) // the oldest deliveries
		s.pass(10 * time.Second)
		for range 46 {
			r.newEvent()
		}
		s.fanOutAll(t)
		r.parkAll(51) // one more than a batch
		v.change(r)
		s.pass(10 * time.Minute) // no delivery can be parked any more
		partition := "DUE#parked#" + string(r.ID)
		// hidden is the oldest delivery, without its entry in the index.
		hidden, oldest := row{}, row{"startedAt": num(math.MaxInt64)}
		for _, d := range s.Rows(t) {
			if attr(d, "due") == partition && attr(d, "startedAt") < attr(oldest, "startedAt") {
				hidden, oldest = maps.Clone(d), d
			}
		}
		delete(hidden, "due")
		s.putRows(t, 1, func(int) row { return hidden })
		under := s.Faults.Next
		lag := &lateRow{next: under, partition: partition, bring: func() { s.putRows(t, 1, func(int) row { return oldest }) }}
		s.Faults.Next = lag
		s.sweepOnce(t)
		s.Faults.Next = under
		s.runMinutes(t, 2)
		if got := r.statuses(); lag.queries < 2 || got[v.want] != 51 {
			t.Errorf("%s: %v after %d queries of the parked deliveries", name, got, lag.queries)
		}
		if s.runMinutes(t, 7); r.dueRowCount() != 0 {
			t.Errorf("%s: %d rows are still in the index", name, r.dueRowCount())
		}
	}
}

// delete deletes the receiver's endpoint.
func (r *receiver) delete() {
	r.t.Helper()
	if err := r.stack.DeleteEndpoint(ctx, r.AppID, r.ID, store.ByKey(id.NoKey)); err != nil {
		r.t.Fatal(err)
	}
}

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

// parked counts the receiver's parked deliveries.
func (r *receiver) parked() (n int) {
	r.t.Helper()
	for _, row := range r.stack.Rows(r.t) {
		if attr(row, "PK") == "DLV#"+string(r.ID) && attr(row, "due") == "DUE#parked#"+string(r.ID) {
			n++
		}
	}
	return n
}

// waits counts the rows of the receiver that are in the index: its deliveries and its endpoint.
func (r *receiver) waits() (n int) {
	r.t.Helper()
	for _, row := range r.stack.Rows(r.t) {
		if attr(row, "due") != "" && (attr(row, "PK") == "DLV#"+string(r.ID) || attr(row, "SK") == "HOOK#"+string(r.ID)) {
			n++
		}
	}
	return n
}

// parks parks every waiting delivery of a tripped receiver, and wants n parked ones.
func (r *receiver) parks(n int) {
	r.t.Helper()
	r.stack.pass(10 * time.Second) // those that failed before are due again
	r.wake()
	r.stack.pump(r.t)
	if got := r.parked(); got != n {
		r.t.Fatalf("%d are parked, want %d", got, n)
	}
}

func TestParkedDeliveriesCostNothingUntilTheReceiverIsWell(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 20)
	r.parks(20)
	sent, attempts := s.queue.count(), len(r.all())
	s.minutes(t, 30)
	probes := len(r.all()) - attempts
	if messages := s.queue.count() - sent; probes < 10 || probes > 30 || messages > 2*probes {
		t.Errorf("in half an hour: %d probes, %d messages", probes, messages)
	}
	r.answers(nil)
	s.minutes(t, 3)
	if n := r.parked(); n != 0 {
		t.Errorf("well for three minutes: %d are parked", n)
	}
	for range 8 { // those that were probes wait for their next attempt
		s.later(t, 10*time.Minute)
	}
	if got, n := r.statuses(), r.waits(); got["delivered"] != 20 || n != 0 {
		t.Errorf("%v, and %d rows are in the index still", got, n)
	}
}

func TestWhatIsParkedFor90HoursFails(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 60) // more than a run of the sweep takes of them at once
	r.parks(60)
	s.pass(webhook.Lifetime)
	fresh := r.event()
	s.stream(t)
	s.minutes(t, 2)
	if got := r.statuses(); got["failed"] != 60 {
		t.Errorf("%v", got)
	}
	if w := r.work(fresh); w.Status != webhook.DeliveryPending {
		t.Errorf("a fresh one: %+v", w.Delivery)
	}
}

// TestHeldDeliveriesAreReleasedAfterParkedOnes: the parked deliveries use up what a run may queue
// (Limits.Queued), so that a later run releases the held ones.
func TestHeldDeliveriesAreReleasedAfterParkedOnes(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	r.parks(6)
	r.enables(false)
	for range 4 {
		r.event()
	}
	s.stream(t)
	if got := r.statuses(); got["held"] != 4 || r.parked() != 6 {
		t.Fatalf("%v, and %d are parked", got, r.parked())
	}
	r.answers(nil)
	r.enables(true)
	s.Limits.Queued = 6
	s.minutes(t, 5)
	for range 8 { // what failed before waits for its next attempt
		s.later(t, 10*time.Minute)
	}
	if got := r.statuses(); got["delivered"] != 10 {
		t.Errorf("%v", got)
	}
}

func TestWhatIsParkedFollowsItsEndpoint(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, v := range map[string]struct {
		change func(r *receiver)
		want   webhook.DeliveryStatus
	}{
		"disabled by its app": {func(r *receiver) { r.enables(false) }, webhook.DeliveryHeld},
		"disabled by its answer": {func(r *receiver) {
			if err := s.Deliveries().DisableEndpoint(ctx, r.now(), webhook.DisabledByGone); err != nil {
				t.Error(err)
			}
		}, webhook.DeliveryHeld},
		"disabled and enabled": {func(r *receiver) { r.enables(false); r.answers(nil); r.enables(true) }, webhook.DeliveryDelivered},
		"deleted": {func(r *receiver) {
			if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
				t.Error(err)
			}
		}, webhook.DeliveryCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.trip(t, 6)
			r.parks(6)
			v.change(r)
			s.minutes(t, 2)
			if got := r.statuses(); got[v.want] != 6 {
				t.Errorf("%v, want %s", got, v.want)
			}
			s.minutes(t, 7)
			if n := r.waits(); n != 0 {
				t.Errorf("%d rows are in the index still", n)
			}
		})
	}
}

// TestADeliveryParkedLateIsNotMissed parks a delivery by an old read of the endpoint, after the
// breaker has closed and the sweep has found no other.
func TestADeliveryParkedLateIsNotMissed(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	late := r.event()
	s.stream(t)
	w := r.work(late)
	s.queue.lose()
	r.parks(7)
	r.answers(nil)
	s.minutes(t, 4)
	if got := r.statuses(); got["delivered"] != 7 {
		t.Fatalf("%v", got)
	}
	again, err := s.Deliveries().Again(ctx, webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: late}, store.Changer{}, false) // pending, as it was read
	if err != nil || !again {
		t.Fatal(again, err)
	}
	w.NextAttempt = r.work(late).NextAttempt // by it Park knows the delivery; what w has of the endpoint stays old
	if err := s.Deliveries().Park(ctx, w, w.To.OpenUntil); err != nil || r.parked() != 1 {
		t.Fatalf("%d are parked, %v", r.parked(), err)
	}
	s.minutes(t, 2)
	if got := r.work(late); got.Status != webhook.DeliveryDelivered || got.Attempts != 1 {
		t.Errorf("%+v", got.Delivery)
	}
}

// killed is a transport that loses the table right after the nth write, as a process that is
// killed does.
type killed struct {
	next  http.RoundTripper
	kills func() // what else ends with the process

	mu     sync.Mutex
	writes int
	from   int // 0: never
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
	k.kills()
	if last {
		if out, err := k.next.RoundTrip(r); err == nil {
			_ = out.Body.Close()
		}
	}
	return nil, errBroken
}

func (k *killed) at(write int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes, k.from = 0, write
}

// TestAKillBetweenAnyTwoStepsMissesNoParkedDelivery kills the process after each write that
// opens the breaker, parks, probes, closes the breaker or releases the parked deliveries. The
// messages of the process are lost.
func TestAKillBetweenAnyTwoStepsMissesNoParkedDelivery(t *testing.T) {
	t.Parallel()
	const n = 5
	probing := func(s *stack, r *receiver) {
		r.parks(n)
		s.pass(30 * time.Second)
		_ = s.sweep.Run(ctx)
	}
	for name, v := range map[string]struct {
		before func(s *stack, r *receiver) // of a tripped receiver
		do     func(s *stack, r *receiver)
		writes int // that it makes at least
	}{
		// The breaker has closed, and the fifth failure in a row opens it again.
		"opening": {func(s *stack, r *receiver) {
			r.answers(nil)
			r.parks(n)
			s.minutes(r.t, 3)
			r.answers(status(http.StatusInternalServerError))
			for range 5 {
				s.pass(3 * time.Second)
				r.event()
				s.stream(r.t)
				if r.now().Failures < 4 {
					s.pump(r.t)
				}
			}
		}, func(s *stack, r *receiver) { s.pumpAny() }, 3},
		"parking": {func(_ *stack, r *receiver) { r.wake() }, func(s *stack, _ *receiver) { s.pumpAny() }, 2},
		"probing": {func(s *stack, r *receiver) { r.parks(n); s.pass(30 * time.Second) }, func(s *stack, _ *receiver) { _ = s.sweep.Run(ctx) }, 2},
		"failing": {probing, func(s *stack, _ *receiver) { s.pumpAny() }, 4},
		"closing": {func(s *stack, r *receiver) { probing(s, r); r.answers(nil) }, func(s *stack, _ *receiver) { s.pumpAny() }, 4},
		// The breaker has closed, and the sweep releases what is parked.
		"emptying": {func(s *stack, r *receiver) {
			probing(s, r)
			r.answers(nil)
			s.pumpAny()
		}, func(s *stack, _ *receiver) { _ = s.sweep.Run(ctx) }, n},
		// Nothing is parked any more, and the endpoint's row leaves the index.
		"leaving": {func(s *stack, r *receiver) { r.parks(n); r.answers(nil); s.minutes(r.t, 5) }, func(s *stack, _ *receiver) {
			for range 4 {
				s.pass(time.Minute)
				_ = s.sweep.Run(ctx)
			}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			table := &killed{next: s.Faults.Next, kills: func() { s.queue.down.Store(true) }}
			s.Faults.Next = table
			write := 1
			for died := true; died; write++ {
				r := s.trip(t, n)
				v.before(s, r)
				table.at(write)
				v.do(s, r)
				died = s.queue.down.Swap(false)
				table.at(0)
				s.queue.lose()
				r.answers(nil)
				for minute := 0; minute < 12 && r.delivered() != nil; minute++ {
					s.later(t, time.Minute)
				}
				if err := r.delivered(); err != nil {
					t.Errorf("killed after write %d: %v", write, err)
				}
				if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
					t.Fatal(err)
				}
			}
			if write-2 < v.writes {
				t.Errorf("killed after %d writes, want %d", write-2, v.writes)
			}
		})
	}
}

// pumpAny makes every attempt that the queue wakes now; their errors are expected.
func (s *stack) pumpAny() {
	for _, m := range s.queue.ready() {
		_ = s.deliver.Message(ctx, m)
	}
}

// delivered returns an error as long as one of the receiver's deliveries is not delivered.
func (r *receiver) delivered() error {
	all := r.statuses()
	delete(all, webhook.DeliveryDelivered)
	if len(all) > 0 {
		return fmt.Errorf("also %v", all)
	}
	return nil
}

// TestAParkedDeliveryThatFailsIsReportedAndDoneLater: the endpoint's row stays due for it.
func TestAParkedDeliveryThatFailsIsReportedAndDoneLater(t *testing.T) {
	t.Parallel()
	s, r := tripped(t, 6)
	r.parks(6)
	r.enables(false) // what is parked is to be held
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
	s.minutes(t, 7) // a delivery may be parked late for five
	if got := r.statuses(); got["held"] != 6 || r.waits() != 0 {
		t.Errorf("later: %v, and %d rows are in the index still", got, r.waits())
	}
}

// TestOneRunEndsAllThatWaits of an endpoint whose breaker is open, in several pages: of 50 parked ones, or of 100 of a deleted endpoint.
func TestOneRunEndsAllThatWaits(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, v := range map[string]struct {
		change func(r *receiver)
		n      int
		parks  bool
		want   webhook.DeliveryStatus
	}{
		"parked, of a disabled endpoint": {func(r *receiver) { r.enables(false) }, 60, true, webhook.DeliveryHeld},
		"pending, of a deleted endpoint": {(*receiver).deletes, 110, false, webhook.DeliveryCancelled},
		"parked, of a deleted endpoint":  {(*receiver).deletes, 60, true, webhook.DeliveryCancelled},
		"held, of a deleted endpoint":    {func(r *receiver) { r.enables(false); r.wake(); r.deletes() }, 60, false, webhook.DeliveryCancelled},
	} {
		r := s.trip(t, v.n)
		if v.parks {
			r.parks(v.n)
		}
		v.change(r)
		s.sweeps(t)
		if got := r.statuses(); got[v.want] != v.n {
			t.Errorf("%s: %v after one run", name, got)
		}
		s.minutes(t, 7)
		if n := r.waits(); n != 0 {
			t.Errorf("%s: %d rows are in the index still", name, n)
		}
	}
}

// late is a transport that brings a row into the index before the second query of a partition.
type late struct {
	next      http.RoundTripper
	partition string
	brings    func()
	queries   int
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && bytes.Contains(body, []byte(l.partition)) {
		if l.queries++; l.queries == 2 {
			l.brings()
		}
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return l.next.RoundTrip(r)
}

// TestAParkedDeliveryThatTheIndexHasLateIsNotMissed: the first batch of a run does not see the oldest one, and the second batch, which
// begins behind it, is empty.
func TestAParkedDeliveryThatTheIndexHasLateIsNotMissed(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		change func(r *receiver)
		want   webhook.DeliveryStatus
	}{
		"disabled": {func(r *receiver) { r.enables(false) }, webhook.DeliveryHeld},
		"deleted":  {(*receiver).deletes, webhook.DeliveryCancelled},
		"enabled":  {func(r *receiver) { r.enables(false); r.answers(nil); r.enables(true) }, webhook.DeliveryDelivered},
	} {
		s, r := tripped(t, 5) // the oldest ones
		s.pass(10 * time.Second)
		for range 46 {
			r.event()
		}
		s.stream(t)
		r.parks(51) // one more than a batch has
		v.change(r)
		s.pass(10 * time.Minute) // no delivery can be parked any more
		partition := "DUE#parked#" + string(r.ID)
		hidden, oldest := row{}, row{"startedAt": num(math.MaxInt64)}
		for _, d := range s.Rows(t) {
			if attr(d, "due") == partition && attr(d, "startedAt") < attr(oldest, "startedAt") {
				hidden, oldest = maps.Clone(d), d
			}
		}
		delete(hidden, "due")
		s.puts(t, 1, func(int) row { return hidden })
		under := s.Faults.Next
		lag := &late{next: under, partition: partition, brings: func() { s.puts(t, 1, func(int) row { return oldest }) }}
		s.Faults.Next = lag
		s.sweeps(t)
		s.Faults.Next = under
		s.minutes(t, 2)
		if got := r.statuses(); lag.queries < 2 || got[v.want] != 51 {
			t.Errorf("%s: %v after %d queries of what is parked", name, got, lag.queries)
		}
		if s.minutes(t, 7); r.waits() != 0 {
			t.Errorf("%s: %d rows are in the index still", name, r.waits())
		}
	}
}

// deletes deletes the receiver's endpoint.
func (r *receiver) deletes() {
	r.t.Helper()
	if err := r.stack.DeleteEndpoint(ctx, r.AppID, r.ID, store.ByKey(id.NoKey)); err != nil {
		r.t.Fatal(err)
	}
}

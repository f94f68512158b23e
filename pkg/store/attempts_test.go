package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// TestOneOfFortyProcessesLeasesTheAttempt: forty processes try at once to lease an attempt of a
// delivery. Each uses another jti, the id of the token that it would send.
func TestOneOfFortyProcessesLeasesTheAttempt(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	for n := range 5 { // attempts, one after the other
		w := c.readWork(t, endpoint.ID, e)
		var won atomic.Int64
		for _, err := range atOnce(40, func(i int) error {
			ok, err := c.Deliveries().LeaseAttempt(ctx, w, fmt.Sprint("jti-", n, "-", i))
			if ok {
				won.Add(1)
			}
			return err
		}) {
			noError(t, err)
		}
		leaseEnds := c.Now().Add(time.Minute)
		if now := c.readWork(t, endpoint.ID, e); won.Load() != 1 || now.Attempts != n+1 || now.NextAttempt != leaseEnds.UnixMilli() {
			t.Fatalf("%d won; %+v", won.Load(), now.Delivery)
		}
		c.advanceClock(time.Minute) // now the next attempt may be leased
	}
}

// TestALeaseSurvivesALostAnswerByItsJTI: when an answer is lost, the SDK sends the update again. If the
// first update was carried out, the second is refused. But then the row has the caller's jti, so the caller has
// the attempt.
func TestALeaseSurvivesALostAnswerByItsJTI(t *testing.T) {
	for _, f := range []storetest.Fault{storetest.LostBefore, storetest.LostAfter, storetest.Throttle, storetest.ServerError} {
		for _, times := range []int{1, 2} {
			c := connect(t)
			endpoint := c.endpoint(t)
			w := c.readWork(t, endpoint.ID, c.fanOutTest(t, endpoint.ID))
			c.Faults.Plan("UpdateItem", f, times)
			ok, err := c.Deliveries().LeaseAttempt(ctx, w, "first")
			if !ok || err != nil || c.Faults.Pending() {
				t.Errorf("%s × %d: %v, %v", f, times, ok, err)
			}
			if ok, err := c.Deliveries().LeaseAttempt(ctx, w, "another"); ok || err != nil {
				t.Errorf("%s × %d: another has it too: %v, %v", f, times, ok, err)
			}
			if got := c.readWork(t, endpoint.ID, w.Event).Attempts; got != 1 {
				t.Errorf("%s × %d: %d attempts", f, times, got)
			}
		}
	}
}

// TestAnOutdatedReadLeasesNoAttempt: a delivery is parked after it was read as w, and cancelled after it was
// read as parked. A read from before a change can neither lease an attempt nor park the delivery.
func TestAnOutdatedReadLeasesNoAttempt(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	w := c.readWork(t, endpoint.ID, e)
	until := c.Now().Add(time.Second).UnixMilli()
	noError(t, c.Deliveries().Park(ctx, w, until))
	if ok, err := c.Deliveries().LeaseAttempt(ctx, w, "late"); ok || err != nil {
		t.Errorf("after it was parked: %v, %v", ok, err)
	}
	noError(t, c.Deliveries().Park(ctx, w, until+1))
	parked := c.readWork(t, endpoint.ID, e)
	if parked.NextAttempt != until {
		t.Errorf("the second parking, by the first read, changed the time: %d", parked.NextAttempt)
	}
	noError(t, c.Deliveries().Cancel(ctx, w.DeliveryID))
	if ok, err := c.Deliveries().LeaseAttempt(ctx, parked, "late"); ok || err != nil {
		t.Errorf("after it was cancelled: %v, %v", ok, err)
	}
}

// TestAReturnedAttemptIsNotCounted: the process that has leased an attempt returns it without making it. The
// attempt is made later.
func TestAReturnedAttemptIsNotCounted(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	w := c.readWork(t, endpoint.ID, e)
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, "a")))
	at := c.Now().Add(15 * time.Second).UnixMilli()
	noError(t, c.Deliveries().ReturnAttempt(ctx, w, "other", at)) // this process does not have the lease
	if got := c.readWork(t, endpoint.ID, e); got.Attempts != 1 {
		t.Errorf("another process returned it: %+v", got.Delivery)
	}
	noError(t, c.Deliveries().ReturnAttempt(ctx, w, "a", at))
	noError(t, c.Deliveries().ReturnAttempt(ctx, w, "a", at)) // the second time changes nothing
	if got := c.readWork(t, endpoint.ID, e); got.Attempts != 0 || got.NextAttempt != at || got.Status != webhook.DeliveryPending {
		t.Errorf("%+v", got.Delivery)
	}
}

// TestAnAttemptThatLostItsLeaseChangesNothing: the attempt "slow" takes longer than its lease, and "next" takes over.
func TestAnAttemptThatLostItsLeaseChangesNothing(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	w := c.readWork(t, endpoint.ID, e)
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, "slow")))
	c.advanceClock(time.Minute)
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, c.readWork(t, endpoint.ID, e), "next")))
	noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: "slow"}, Status: webhook.DeliveryFailed}))
	if got := c.readWork(t, endpoint.ID, e); got.Status != webhook.DeliveryPending || got.Last != nil {
		t.Errorf("%+v", got.Delivery)
	}
	status, body := 200, "ok"
	last := store.LastAttempt{ID: "next", At: 7, Status: &status, DurationMs: 3, Body: &body}
	noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: last, Status: webhook.DeliveryDelivered}))
	got := c.readWork(t, endpoint.ID, e)
	if got.Status != webhook.DeliveryDelivered || got.DeliveredAt != c.Now().UnixMilli() || got.NextAttempt != 0 {
		t.Errorf("%+v", got.Delivery)
	}
	if got.Last == nil || got.Last.ID != "next" || *got.Last.Status != 200 || *got.Last.Body != "ok" {
		t.Errorf("%+v", got.Last)
	}
	if due, err := c.DueBefore(ctx, store.DueDelivery, c.Now().Add(time.Hour), 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

// TestADeliveryDeliveredWhileItIsHeldStaysDelivered: another process records its attempt right before the transaction
// of Hold.
func TestADeliveryDeliveredWhileItIsHeldStaysDelivered(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	w := c.readWork(t, endpoint.ID, c.fanOutTest(t, endpoint.ID))
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, "a")))
	c.enable(t, endpoint.ID, false)
	c.Faults.Before("TransactWriteItems", func() {
		noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: "a"}, Status: webhook.DeliveryDelivered}))
	})
	noError(t, errorOf(c.Deliveries().Hold(ctx, w.DeliveryID)))
	if got := c.readWork(t, endpoint.ID, w.Event); got.Status != webhook.DeliveryDelivered || got.DeliveredAt == 0 || c.Faults.Pending() {
		t.Errorf("%+v", got.Delivery)
	}
}

// TestOneOfManySweepsMovesAnOverdueDelivery: twenty runs of the sweep find an overdue delivery at once. One
// of them moves the due time, by at least 90 seconds, and queues the delivery.
func TestOneOfManySweepsMovesAnOverdueDelivery(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	c.advanceClock(time.Minute)
	due, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10)
	if err != nil || len(due) != 1 || due[0].App != c.app {
		t.Fatalf("%v, %v", due, err)
	}
	var moved atomic.Int64
	for _, err := range atOnce(20, func(int) error {
		ok, err := c.Deliveries().Requeue(ctx, due[0])
		if ok {
			moved.Add(1)
		}
		return err
	}) {
		noError(t, err)
	}
	if moved.Load() != 1 {
		t.Errorf("%d moved it", moved.Load())
	}
	if left, err := c.DueBefore(ctx, store.DueDelivery, c.Now().Add(90*time.Second-time.Millisecond), 10); err != nil || len(left) != 0 {
		t.Errorf("the delivery is due again before 90 seconds are over: %v, %v", left, err)
	}
	// An old delivery is queued again after a quarter of its age. Its age is an hour and a minute now, so this is a
	// little over 15 minutes.
	c.advanceClock(time.Hour)
	again, err := c.DueBefore(ctx, store.DueDelivery, c.Now(), 10)
	if err != nil || len(again) != 1 {
		t.Fatalf("%v, %v", again, err)
	}
	if ok, err := c.Deliveries().Requeue(ctx, again[0]); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if left, err := c.DueBefore(ctx, store.DueDelivery, c.Now().Add(15*time.Minute), 10); err != nil || len(left) != 0 {
		t.Errorf("the delivery is an hour old, and is due again too soon: %v, %v", left, err)
	}
	due, err = c.DueBefore(ctx, store.DueDelivery, c.Now().Add(16*time.Minute), 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v, %v", due, err)
	}
	noError(t, c.Deliveries().Cancel(ctx, c.readWork(t, endpoint.ID, e).DeliveryID))
	if ok, err := c.Deliveries().Requeue(ctx, due[0]); ok || err != nil {
		t.Errorf("a cancelled delivery is moved: %v, %v", ok, err)
	}
	if ok, err := c.Deliveries().Requeue(ctx, store.Due{Endpoint: endpoint.ID, Event: id.NoEvent}); ok || err != nil {
		t.Errorf("a delivery that does not exist is moved: %v, %v", ok, err)
	}
}

// TestConcurrentFailuresCountOnceUntilASuccess: ten attempts at once that fail count as one
// failure. The fifth failure opens the breaker for 30 seconds, and each further failure for twice the time. A
// success ends this.
func TestConcurrentFailuresCountOnceUntilASuccess(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	const failures = 6
	for n := range failures {
		seen := c.readEndpoint(t, endpoint.ID)
		for _, err := range atOnce(10, func(int) error { return c.Deliveries().Failed(ctx, seen) }) {
			noError(t, err)
		}
		got := c.readEndpoint(t, endpoint.ID)
		openUntil := int64(0)
		if n >= 4 { // the fifth failure
			openUntil = c.Now().Add(30 * time.Second << (n - 4)).UnixMilli()
		}
		if got.Failures != int64(n+1) || got.OpenUntil != openUntil || got.FailingSince == 0 {
			t.Fatalf("after %d: %+v", n+1, got)
		}
		c.advanceClock(3 * time.Second) // five failures open the breaker only over at least 10 seconds
	}
	slow := c.readEndpoint(t, endpoint.ID) // the read of a slow attempt, which fails after the success below
	if slow.FailingSince != c.Now().Add(-failures*3*time.Second).UnixMilli() {
		t.Errorf("failing since %d", slow.FailingSince)
	}
	noError(t, c.Deliveries().Succeeded(ctx, slow))
	noError(t, c.Deliveries().Failed(ctx, slow))
	if got := c.readEndpoint(t, endpoint.ID); got.Failures != 0 || got.OpenUntil != 0 || got.FailingSince != 0 {
		t.Errorf("a slow failure undoes the success: %+v", got)
	}
	c.forgetCalls()
	noError(t, c.Deliveries().Succeeded(ctx, c.readEndpoint(t, endpoint.ID)))
	if calls := c.Faults.Calls(); slices.Contains(calls, "UpdateItem") {
		t.Errorf("a success of a healthy endpoint is written: %v", calls)
	}
	// An endpoint that has accepted a webhook meanwhile is not disabled for earlier failures.
	noError(t, c.Deliveries().DisableEndpoint(ctx, slow, webhook.DisabledByFailing))
	if !c.readEndpoint(t, endpoint.ID).Enabled {
		t.Error("disabled as failing, after a success")
	}
}

// TestOneOfManyAttemptsMayProbe: once the breaker's time is over, one of forty attempts may probe. It opens the
// breaker again.
func TestOneOfManyAttemptsMayProbe(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	for range 5 { // opens the breaker for 30 seconds
		noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
		c.advanceClock(3 * time.Second)
	}
	c.advanceClock(30 * time.Second)
	seen := c.readEndpoint(t, endpoint.ID)
	var won atomic.Int64
	for _, err := range atOnce(40, func(int) error {
		ok, err := c.Deliveries().Probe(ctx, seen)
		if ok {
			won.Add(1)
		}
		return err
	}) {
		noError(t, err)
	}
	if got := c.readEndpoint(t, endpoint.ID); won.Load() != 1 || got.OpenUntil != c.Now().Add(30*time.Second).UnixMilli() {
		t.Errorf("%d probe; %+v", won.Load(), got)
	}
}

// TestRedeliveryStartsANewRoundAfterAnyEnd redelivers a failed, a delivered, a cancelled and an abandoned delivery.
func TestRedeliveryStartsANewRoundAfterAnyEnd(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	for _, status := range []webhook.DeliveryStatus{webhook.DeliveryFailed, webhook.DeliveryDelivered, webhook.DeliveryCancelled} {
		w := c.readWork(t, endpoint.ID, e)
		noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, string(status))))
		if status == webhook.DeliveryCancelled {
			noError(t, c.Deliveries().Cancel(ctx, w.DeliveryID))
		} else {
			noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: string(status)}, Status: status}))
		}
		c.advanceClock(time.Hour)
		queue, err := c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: e}, store.Changer{}, false)
		now := c.Now().UnixMilli()
		newRound := webhook.Round{Status: webhook.DeliveryPending, Attempts: 0, StartedAt: now, NextAttempt: now}
		if got := c.readWork(t, endpoint.ID, e); !queue || err != nil || got.Round != newRound {
			t.Errorf("%s: %v, %v, %+v", status, queue, err, got.Delivery)
		}
	}
	noError(t, c.Deliveries().GiveUp(ctx, c.readWork(t, endpoint.ID, e).DeliveryID))
	c.advanceClock(time.Minute)
	c.enable(t, endpoint.ID, false)
	if queue, err := c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: e}, store.Changer{}, false); queue || err != nil || c.status(t, endpoint.ID, e) != webhook.DeliveryHeld {
		t.Errorf("the endpoint is disabled: %v, %v", queue, err)
	}
	expectCode(t, errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: id.NoEvent}, store.Changer{}, false)), problem.DeliveryNotFound)
	expectCode(t, errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: id.NoApp, Endpoint: endpoint.ID, Event: e}, store.Changer{}, false)), problem.EndpointNotFound)
}

// TestNoDeliveryBeginsAgainAfterThirtyDays: nothing is sent then, so a delivered delivery must not become a failed one.
func TestNoDeliveryBeginsAgainAfterThirtyDays(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	c.attempt(t, endpoint.ID, e, "", webhook.DeliveryDelivered)
	latest := c.Now().Add(30*24*time.Hour - time.Minute) // an attempt needs up to a minute
	for _, in := range []struct {
		at   time.Time
		want problem.Code
		then webhook.DeliveryStatus
	}{
		{latest.Add(time.Millisecond), problem.DeliveryNotFound, webhook.DeliveryDelivered},
		{latest, "", webhook.DeliveryPending},
	} {
		c.advanceClock(in.at.Sub(c.Now()))
		d := c.readWork(t, endpoint.ID, e).Delivery
		if got := c.Deliveries().MayBeginAgain(d); got != (in.want == "") {
			t.Errorf("%s: may begin again: %v", in.at, got)
		}
		expectCode(t, errorOf(c.Deliveries().Again(ctx, d.DeliveryID, store.Changer{}, false)), in.want)
		if got := c.status(t, endpoint.ID, e); got != in.then {
			t.Errorf("%s: %s, want %s", in.at, got, in.then)
		}
	}
}

// attempt makes an attempt of a delivery. The receiver gives this answer, and the delivery then has the status then.
func (c *connected) attempt(t *testing.T, endpoint id.Endpoint, e id.Event, answer string, then webhook.DeliveryStatus) {
	t.Helper()
	w, status, failed := c.readWork(t, endpoint, e), 500, "protocol_error"
	jti := fmt.Sprintf("%032d", w.Attempts)
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, jti)))
	last := store.LastAttempt{ID: jti, At: c.Now().UnixMilli(), Status: &status, DurationMs: 10_000 + int64(w.Attempts), Error: &failed, Body: &answer}
	noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: last, Status: then, Next: c.Now().UnixMilli()}))
}

// TestADeliveryKeepsItsLastFiveAttempts: a delivery has seven attempts in two rounds. The four attempts before the last keep the time,
// the status, the duration, the error and at most 128 bytes of the answer. No character is cut in half.
func TestADeliveryKeepsItsLastFiveAttempts(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	var want []string
	for n := range 7 {
		if got := c.readWork(t, endpoint.ID, e).Earlier; len(got) != min(max(n-1, 0), 4) {
			t.Fatalf("after %d attempts: %+v", n, got)
		}
		then := webhook.DeliveryPending
		if n == 3 || n == 6 {
			then = webhook.DeliveryFailed
		}
		c.attempt(t, endpoint.ID, e, fmt.Sprint(n)+strings.Repeat("é", 500), then)
		want = append([]string{fmt.Sprint(c.Now().UnixMilli(), 500, 10_000+n%4, " protocol_error ", n, strings.Repeat("é", 63))}, want...)
		c.advanceClock(2 * time.Minute)
		if n == 3 {
			noError(t, errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: e}, store.Changer{}, false)))
		}
	}
	found, err := c.Deliveries().Of(ctx, c.app, e)
	noError(t, err)
	var got []string
	for _, a := range found[0].Earlier {
		got = append(got, fmt.Sprint(a.At, *a.Status, a.DurationMs, " ", *a.Error, " ", *a.Body))
	}
	if !slices.Equal(got, want[1:5]) || len(*found[0].Last.Body) != 1001 || found[0].Origin != webhook.Origin(endpoint.URL) {
		t.Errorf("%q, want %q; %d bytes of the last, at %s", got, want[1:5], len(*found[0].Last.Body), found[0].Origin)
	}
}

// TestADeliverysRowIsBounded: each attempt writes the row twice, and a write costs one unit for each KB (infra/docs/costs.md). An
// answer of quotes makes the largest row, because JSON writes each quote as two bytes.
func TestADeliverysRowIsBounded(t *testing.T) {
	for answer, most := range map[string]int{"": 1 << 10, strings.Repeat("x", 1024): 3 << 10, strings.Repeat(`"`, 1024): 4 << 10} {
		c := connect(t)
		endpoint := c.endpoint(t)
		e := c.fanOutTest(t, endpoint.ID)
		for range 6 {
			c.attempt(t, endpoint.ID, e, answer, webhook.DeliveryPending)
			c.advanceClock(2 * time.Minute)
		}
		if n := sizeOf(t, c.rowsOf(t, "DLV#")[0]); n > most {
			t.Errorf("%.1q: %d bytes", answer, n)
		}
	}
}

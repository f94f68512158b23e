package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const dayLong = 24 * time.Hour

// TestKeysOver14DaysAreWarnedOfOnce: the event key.expiring is written once, seven days
// before the end of a key, if its life is longer than 14 days and it is still active.
func TestKeysOver14DaysAreWarnedOfOnce(t *testing.T) {
	c := connect(t)
	key := func(life time.Duration) id.Key { return makeKey(t, c.Table, c.org, c.ada, life).ID }
	long, edge := key(30*dayLong), key(14*dayLong+time.Millisecond)
	short, never, revoked, rotated := key(14*dayLong), key(0), key(30*dayLong), key(30*dayLong)
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, revoked))
	successor := rotate(t, c.Table, c.org, c.ada, rotated, 7*dayLong, "").ID // lives 30 days too
	before := row(t, c.Table, c.org, long)
	// The row of a key's last use is also the row that is due for the warning. A use must not change when it is due.
	c.NoteUse(ctx, before, c.Now().UnixMilli())

	// warned runs eight sweeps at once, and returns the keys of all warnings so far.
	warned := func() (keys []string) {
		t.Helper()
		for _, err := range atOnce(8, func(int) error {
			due, err := c.DueBefore(ctx, store.DueKey, c.Now(), 100)
			for _, d := range due {
				if err == nil {
					err = persistent(func() error { return c.WarnOfKey(ctx, d.Org, d.Key) })
				}
			}
			return err
		}) {
			noError(t, err)
		}
		for _, e := range c.events(t, webhook.KeyExpiring) {
			keys = append(keys, e["keyId"].(string))
		}
		slices.Sort(keys)
		return keys
	}
	begun := c.Now()
	expect := func(after time.Duration, want ...id.Key) { // after: since begun
		t.Helper()
		c.advanceClock(begun.Add(after).Sub(c.Now()))
		var texts []string
		for _, k := range want {
			texts = append(texts, string(k))
		}
		slices.Sort(texts)
		if got := warned(); !slices.Equal(got, texts) {
			t.Errorf("after %s: %v, want %v", after, got, texts)
		}
	}
	expect(7 * dayLong)
	expect(7*dayLong+time.Millisecond, edge)
	expect(23*dayLong-time.Millisecond, edge)
	expect(23*dayLong, edge, long, successor)
	expect(31*dayLong, edge, long, successor)
	// The index is a little late, so the sweep may find keys that are no longer due: these calls change nothing.
	for _, k := range []id.Key{long, short, never, revoked, rotated} {
		noError(t, c.WarnOfKey(ctx, c.org, k))
	}
	expect(31*dayLong, edge, long, successor)
	if got := row(t, c.Table, c.org, long); !reflect.DeepEqual(got, before) {
		t.Errorf("the warning wrote the key's row: %+v", got)
	}
}

// TestAKeyRevokedJustNowIsNotWarnedOf revokes a key after the sweep has read it and before the sweep's transaction.
func TestAKeyRevokedJustNowIsNotWarnedOf(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 30*dayLong).ID
	c.advanceClock(23 * dayLong)
	c.beforeTransaction(func() { noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k)) })
	noError(t, c.WarnOfKey(ctx, c.org, k))
	if n := len(c.events(t, webhook.KeyExpiring)); n != 0 || row(t, c.Table, c.org, k).RevokedAt == 0 {
		t.Errorf("%d warnings", n)
	}
}

// TestTheFeedHidesEventsYoungerThan10Seconds writes five events, one each second, and
// reads them two at a time.
func TestTheFeedHidesEventsYoungerThan10Seconds(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.advanceClock(time.Minute)
	made, cursor, err := c.Events(ctx, c.app, "", 10)
	if err != nil || len(made) != 1 {
		t.Fatalf("%d events, %v; want endpoint.created", len(made), err)
	}
	var want, got []id.Event
	for range 5 {
		c.advanceClock(time.Second)
		want = append(want, c.testEvent(t, endpoint.ID))
	}
	read := func() int {
		t.Helper()
		found, next, err := c.Events(ctx, c.app, cursor, 2)
		noError(t, err)
		for _, e := range found {
			got = append(got, e.ID)
		}
		cursor = next
		return len(found)
	}
	for _, step := range []struct {
		pause time.Duration // before the read
		shown int
	}{
		{5999 * time.Millisecond, 0}, // the first event is 9.999 seconds old
		{2 * time.Millisecond, 1},
		{0, 0},
		{2 * time.Second, 2},
		{10 * time.Second, 2},
		{time.Hour, 0}, // all were shown
	} {
		c.advanceClock(step.pause)
		if n := read(); n != step.shown {
			t.Errorf("after %s more: %d, want %d", step.pause, n, step.shown)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A cursor in the future reveals nothing and is no error. Another app's feed is empty.
	const latest = "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz"
	if found, next, err := c.Events(ctx, c.app, latest, 5); err != nil || len(found) != 0 || next == "" {
		t.Errorf("%v, %q, %v", found, next, err)
	}
	if found, _, err := c.Events(ctx, id.NoApp, "", 5); err != nil || len(found) != 0 {
		t.Errorf("another app: %v, %v", found, err)
	}
	expectCode(t, errorOf(c.Event(ctx, id.NoApp, want[0])), problem.EventNotFound)
	if e, err := c.Event(ctx, c.app, want[0]); err != nil || e.Type != webhook.Test || string(e.Data) != `{"message":"This is a test of your webhook endpoint."}` {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestDeliveriesAreListedInPagesAndByStatus goes through 250 deliveries. Every third
// failed.
func TestDeliveriesAreListedInPagesAndByStatus(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	var rows []map[string]string
	var all, failed []id.Event
	for i := range 250 {
		e := id.Source{}.NewEvent(c.Now().Add(time.Duration(i) * time.Second))
		all = append(all, e)
		status := "delivered"
		if i%3 == 0 {
			status = "failed"
			failed = append(failed, e)
		}
		rows = append(rows, c.deliveryRow(endpoint.ID, string(e), status))
	}
	write(t, c.Table, rows)
	list := func(span store.DeliverySpan) (got []id.Event) { // all pages of the list
		t.Helper()
		span.Endpoint = endpoint.ID
		for range 300 { // more pages than the list has
			found, next, err := c.Deliveries().List(ctx, c.app, span)
			noError(t, err)
			if len(found) > span.Limit {
				t.Fatalf("%d of at most %d", len(found), span.Limit)
			}
			for _, d := range found {
				got = append(got, d.Event)
			}
			if next == "" {
				return got
			}
			span.After = next
		}
		t.Fatal("there is no end")
		return nil
	}
	since := c.Now().Add(200 * time.Second)
	for name, v := range map[string]struct {
		span store.DeliverySpan
		want []id.Event
	}{
		"pages of seven":           {store.DeliverySpan{Limit: 7}, all},
		"one page, exactly full":   {store.DeliverySpan{Limit: 250}, all},
		"one page, not full":       {store.DeliverySpan{Limit: 500}, all},
		"failed":                   {store.DeliverySpan{Limit: 7, Status: "failed"}, failed},
		"failed, one on each page": {store.DeliverySpan{Limit: 1, Status: "failed"}, failed},
		"held, and none is held":   {store.DeliverySpan{Limit: 7, Status: "held"}, nil},
		"since a time":             {store.DeliverySpan{Limit: 7, Since: since}, all[200:]},
		"after a cursor":           {store.DeliverySpan{Limit: 7, After: all[199]}, all[200:]},
		// A cursor with another since: the later of the two counts.
		"since before the cursor": {store.DeliverySpan{Limit: 7, Since: c.Now(), After: all[199]}, all[200:]},
		"since after the cursor":  {store.DeliverySpan{Limit: 7, Since: since, After: all[9]}, all[200:]},
		"since at the cursor":     {store.DeliverySpan{Limit: 7, Since: since, After: id.FirstEvent(since)}, all[200:]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := list(v.span); fmt.Sprint(got) != fmt.Sprint(v.want) {
				t.Errorf("%d deliveries, or others; want %d", len(got), len(v.want))
			}
		})
	}
	expectCode(t, errorOfThree(c.Deliveries().List(ctx, id.NoApp, store.DeliverySpan{Endpoint: endpoint.ID, Limit: 5})), problem.EndpointNotFound)
}

// errorOfThree returns the error of a call with three results.
func errorOfThree[A, B any](_ A, _ B, err error) error { return err }

// TestOnePageIsOneQuery: with OnePage, a search for a status that no delivery has is one query of 100
// deliveries, or of Limit deliveries if that is more. Without OnePage, it would read all 400.
func TestOnePageIsOneQuery(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.enable(t, endpoint.ID, false)
	c.Limits.Held = 50 // HeldCount reads this number of deliveries
	var rows []map[string]string
	for i := range 400 {
		rows = append(rows, c.deliveryRow(endpoint.ID, fmt.Sprintf("evt_%026d", i), "delivered"))
	}
	for i := range 3 {
		rows = append(rows, c.deliveryRow(endpoint.ID, fmt.Sprintf("evt_%026d", 400+i), "held"))
	}
	write(t, c.Table, rows)
	disabled := c.readEndpoint(t, endpoint.ID)
	c.forgetCalls()
	if n, err := c.Deliveries().HeldCount(ctx, disabled); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if calls := c.Faults.Calls(); len(calls) != 1 {
		t.Errorf("a count has the calls %v", calls)
	}
	found, next, err := c.Deliveries().List(ctx, c.app, store.DeliverySpan{Endpoint: endpoint.ID, Status: webhook.DeliveryFailed, Limit: 100, OnePage: true})
	calls := c.Faults.Calls() // one reads the endpoint, and one is the query
	if len(found) != 0 || err != nil || next != id.Event(fmt.Sprintf("evt_%026d", 99)) || len(calls) != 2 {
		t.Errorf("%d found, the next page is after %s, %v, with %v", len(found), next, err, calls)
	}
}

// TestAnEndedKeyIsNotWarnedOf: the sweep runs only around the end of a key, for example because the table
// could not be reached for days. A millisecond before the end the sweep warns of the key. From the end on it does
// not, and the key is no longer due.
func TestAnEndedKeyIsNotWarnedOf(t *testing.T) {
	// The number of warnings, by the time of the sweep after the key's end.
	warnings := map[time.Duration]int{-time.Millisecond: 1, 0: 0, time.Millisecond: 0, 30 * dayLong: 0}
	for late, want := range warnings {
		c := connect(t)
		const life = 30 * dayLong
		k := makeKey(t, c.Table, c.org, c.ada, life).ID
		// This key ended long before, with its grace.
		rotated := makeKey(t, c.Table, c.org, c.ada, life).ID
		rotate(t, c.Table, c.org, c.ada, rotated, 7*dayLong, "")
		c.advanceClock(life + late)
		for range 2 { // sweeps
			due, err := c.DueBefore(ctx, store.DueKey, c.Now(), 100)
			noError(t, err)
			for _, d := range due {
				noError(t, c.WarnOfKey(ctx, d.Org, d.Key))
			}
		}
		warned := 0
		for _, e := range c.events(t, webhook.KeyExpiring) {
			switch id.Key(e["keyId"].(string)) {
			case k:
				warned++
			case rotated:
				t.Errorf("%s after its end: a rotated key is warned of", late)
			}
		}
		if warned != want {
			t.Errorf("%s after its end: %d warnings, want %d", late, warned, want)
		}
		if due, err := c.DueBefore(ctx, store.DueKey, c.Now(), 100); err != nil || len(due) != 0 {
			t.Errorf("%s after its end: %d keys are still due, %v", late, len(due), err)
		}
	}
}

// TestTheSweepStartsAttemptsWithoutAMessage: if a message of the queue will start an attempt, the attempt is due for the
// sweep a minute after its time. Any other attempt is due at its time.
func TestTheSweepStartsAttemptsWithoutAMessage(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	due := func(when string, want time.Time) {
		t.Helper()
		rows, err := c.DueBefore(ctx, store.DueDelivery, c.Now().Add(time.Hour), 10)
		if err != nil || len(rows) != 1 || rows[0].At != want.UnixMilli() {
			t.Errorf("%s: %v, %v, want one row at %d", when, rows, err, want.UnixMilli())
		}
	}
	e := c.fanOutTest(t, endpoint.ID)
	due("fanned out", c.Now().Add(time.Minute))
	next := c.Now().Add(20 * time.Minute)
	for _, queued := range []bool{true, false} {
		w := c.readWork(t, endpoint.ID, e)
		noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, fmt.Sprint(queued))))
		noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{
			Last: store.LastAttempt{ID: fmt.Sprint(queued)}, Status: webhook.DeliveryPending, Next: next.UnixMilli(), Queued: queued,
		}))
		if queued {
			due("queued", next.Add(time.Minute))
		} else {
			due("not queued", next)
		}
	}
}

// TestASuccessMakesTheEndpointDueAfterAnOpenBreaker: a success makes an endpoint due if its breaker was open, because deliveries may
// be parked. A single failure does not open the breaker, and a success after it does not make the endpoint due.
func TestASuccessMakesTheEndpointDueAfterAnOpenBreaker(t *testing.T) {
	c := connect(t)
	for _, open := range []bool{false, true} {
		endpoint := c.endpoint(t)
		for range 5 {
			noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
			if !open {
				break
			}
			c.advanceClock(3 * time.Second)
		}
		noError(t, c.Deliveries().Succeeded(ctx, c.readEndpoint(t, endpoint.ID)))
		rows, err := c.DueBefore(ctx, store.DueEndpoint, c.Now(), 10)
		isDue := len(rows) == 1 && rows[0].Endpoint == endpoint.ID && rows[0].At == c.Now().UnixMilli()
		if err != nil || isDue != open {
			t.Errorf("open %t: due are %v, %v", open, rows, err)
		}
	}
}

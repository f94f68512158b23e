package store_test

import (
	"fmt"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// leak reads a key's row and reports the key as leaked.
func (c *connected) leak(t *testing.T, k id.Key, source string, revoke bool) error {
	t.Helper()
	return c.ReportLeak(ctx, row(t, c.Table, c.org, k), source, revoke)
}

// TestALeakIsReportedOnceADay: a thousand reports, eight at a time, write one entry and one event. A day later a
// report writes another of each.
func TestALeakIsReportedOnceADay(t *testing.T) {
	c := connect(t)
	k, sibling := makeKey(t, c.Table, c.org, c.ada, 0), makeKey(t, c.Table, c.org, c.ada, 0)
	count := func(want int) {
		t.Helper()
		if entries, events := len(c.audited(t, "key.leaked")), len(c.events(t, webhook.KeyLeaked)); entries != want || events != want {
			t.Errorf("%d entries and %d events, want %d", entries, events, want)
		}
	}
	for range 125 {
		for _, err := range atOnce(8, func(n int) error { return c.leak(t, k.ID, fmt.Sprint("https://example.com/", n), false) }) {
			noError(t, err)
		}
	}
	count(1)
	noError(t, c.leak(t, sibling.ID, "", false))
	count(2)
	c.advanceClock(24*time.Hour - time.Millisecond)
	noError(t, c.leak(t, k.ID, "", false))
	count(2)
	c.advanceClock(time.Millisecond)
	noError(t, c.leak(t, k.ID, "", false))
	count(3)
	noError(t, c.leak(t, k.ID, "", true)) // writes no second report this day, and revokes the key
	count(3)
	if got := c.refusalOf(t, k.Minted.Key.Reveal()); got != problem.KeyRevoked {
		t.Errorf("the key: %s", got)
	}
	c.advanceClock(48 * time.Hour)
	noError(t, c.leak(t, k.ID, "", true)) // the key ended more than a day ago
	count(3)
}

// TestALeakReportNamesThePlaceAndTheEndpoints: the event has the place and the endpoints, with and without a revocation of the key.
func TestALeakReportNamesThePlaceAndTheEndpoints(t *testing.T) {
	const source = "https://example.com/a"
	for _, revoke := range []bool{false, true} {
		c := connect(t)
		k, last := makeKey(t, c.Table, c.org, c.ada, 0), id.Endpoint("")
		c.endpoint(t)
		c.Limits.Endpoints = 30
		for range 21 {
			wanted := c.wanted("")
			wanted.By = store.ByKey(k.ID)
			made, err := c.CreateEndpoint(ctx, wanted, store.Once[store.Endpoint]{})
			noError(t, err)
			last = made.Made.ID
			c.advanceClock(time.Second)
		}
		c.Faults.Plan("TransactWriteItems", storetest.LostBefore, -1)
		expectCode(t, c.leak(t, k.ID, source, revoke), problem.Unavailable)
		c.Faults.Heal()
		for range 2 {
			noError(t, c.leak(t, k.ID, source, revoke))
		}
		data := c.events(t, webhook.KeyLeaked)
		if len(data) != 1 || len(data[0]) != 8 || data[0]["url"] != source || (data[0]["revokedAt"] != nil) != revoke {
			t.Fatalf("%v", data)
		}
		if ids, _ := data[0]["endpointIds"].([]any); len(ids) != 20 || ids[0] != string(last) {
			t.Errorf("%v, want the newest 20, and first %s", ids, last)
		}
		entry := c.audited(t, "key.leaked")[0]
		if entry.Actor.Type != store.Holder || entry.Source != source || string(entry.Changes) != "{}" || entry.Target.ID != string(k.ID) {
			t.Errorf("%+v", entry)
		}
		if n := len(c.audited(t, "key.revoked")); (n == 1) != revoke {
			t.Errorf("%d revocations", n)
		}
	}
}

// TestAnExpiredKeyIsReportedForADay reports a key at four times after its expiry. For a day a report writes an entry, and the row of
// the mark is deleted with the key's row. Two minutes after the expiry the key is no longer revoked.
func TestAnExpiredKeyIsReportedForADay(t *testing.T) {
	for after, want := range map[time.Duration]struct{ reported, revoked int }{
		30 * time.Second: {1, 1}, 2 * time.Minute: {1, 0}, 23 * time.Hour: {1, 0}, 25 * time.Hour: {0, 0},
	} {
		c := connect(t)
		k := makeKey(t, c.Table, c.org, c.ada, time.Hour)
		c.advanceClock(time.Hour + after)
		noError(t, c.leak(t, k.ID, "", true))
		if reported, revoked := len(c.audited(t, "key.leaked")), len(c.audited(t, "key.revoked")); reported != want.reported || revoked != want.revoked {
			t.Errorf("after %s: reported %d times, and revoked %d times; want %+v", after, reported, revoked, want)
		}
		for _, r := range c.Rows(t) {
			if text(r, "leakedAt") != "" && text(r, "purgeAt") == "" {
				t.Errorf("after %s: the mark is never deleted: %v", after, r)
			}
		}
	}
	c := connect(t)
	gone := row(t, c.Table, c.org, makeKey(t, c.Table, c.org, c.ada, 0).ID)
	gone.ID = id.Source{}.NewKey(time.Now())
	noError(t, c.RevokeByHolder(ctx, gone, "")) // its row was deleted after it was read
}

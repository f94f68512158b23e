package store_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// patient is an HTTP transport that does not end a call when its caller does. The write of a last use may take only
// 200 ms, which is too little on a busy machine.
type patient struct{ next http.RoundTripper }

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	return p.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
}

// checkKey checks a key n times at once in a process. It returns the calls of the table: the number of reads, and the
// names of all other calls.
func (c *connected) checkKey(t *testing.T, process *authn.Authorizer, k store.MintedKey, n int) (reads int, others []string) {
	t.Helper()
	c.forgetCalls()
	header := []string{"Bearer " + k.Minted.Key.Reveal()}
	for _, err := range atOnce(n, func(int) error { return errorOf(process.Authorize(ctx, route.Route{Takes: principal.APIKey}, header)) }) {
		noError(t, err)
	}
	for _, call := range c.Faults.Calls() {
		if call == "GetItem" {
			reads++
		} else {
			others = append(others, call)
		}
	}
	return reads, others
}

// usedAt returns a key's last use as the list of keys shows it.
func (c *connected) usedAt(t *testing.T, k store.MintedKey) int64 {
	t.Helper()
	keys, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{})
	noError(t, err)
	at := slices.IndexFunc(keys, func(found store.APIKey) bool { return found.ID == k.ID })
	return keys[at].LastUsedAt
}

// TestAProcessWritesAKeysLastUseOnceAnHour counts the calls of the table. Each check of a key is one read. A process
// tries one write for a key in a clock hour, at the first check.
func TestAProcessWritesAKeysLastUseOnceAnHour(t *testing.T) {
	c := connect(t)
	c.Faults.Next = patient{c.Faults.Next}
	process := func() *authn.Authorizer {
		a := authn.New(c.Store, nil)
		a.Now = c.Now
		return a
	}
	one, two := process(), process()
	k, sibling := makeKey(t, c.Table, c.org, c.ada, 0), makeKey(t, c.Table, c.org, c.ada, 0)
	if at := c.usedAt(t, k); at != 0 {
		t.Errorf("used at %d before its first use", at)
	}
	c.advanceClock(7 * time.Second)
	begun := c.Now() // 7 s after the begin of a clock hour
	for _, step := range []struct {
		name   string
		after  time.Duration // since begun
		by     *authn.Authorizer
		key    store.MintedKey
		writes int           // tries of a write, for all checks of this step
		used   time.Duration // the key's last use after this step, since begun
	}{
		{"process one checks the key first", 0, one, k, 1, 0},
		{"process one again", time.Second, one, k, 0, 0},
		{"process one, another key", time.Second, one, sibling, 1, time.Second},
		{"process two", 2 * time.Second, two, k, 1, 0}, // the table refuses this write: the clock hour is not over
		{"process two again", 3 * time.Second, two, k, 0, 0},
		{"process one, in the next clock hour", time.Hour - 4*time.Second, one, k, 1, time.Hour - 4*time.Second},
		{"process two, in the next clock hour", time.Hour, two, k, 1, time.Hour - 4*time.Second},
		{"process two again, in the next clock hour", time.Hour, two, k, 0, time.Hour - 4*time.Second},
	} {
		c.advanceClock(begun.Add(step.after).Sub(c.Now()))
		const n = 5
		reads, others := c.checkKey(t, step.by, step.key, n)
		if want := slices.Repeat([]string{"UpdateItem"}, step.writes); reads != n || !slices.Equal(others, want) {
			t.Errorf("%s: %d reads and %v, want %d and %v", step.name, reads, others, n, want)
		}
		if got, want := c.usedAt(t, step.key), begun.Add(step.used).UnixMilli(); got != want {
			t.Errorf("%s: used at %d, want %d", step.name, got, want)
		}
	}
}

// TestALastUseThatCannotBeWrittenIsTriedOnce: two checks at once, while every write fails, try one write.
// Neither check is refused.
func TestALastUseThatCannotBeWrittenIsTriedOnce(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.ServerError, storetest.Throttle, storetest.Hang} {
		c := connect(t)
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		c.Faults.Plan("UpdateItem", fault, -1)
		if reads, others := c.checkKey(t, authn.New(c.Store, nil), k, 2); reads != 2 || len(others) != 1 {
			t.Errorf("%s: %d reads and %v, want 2 and one write", fault, reads, others)
		}
		if at := c.usedAt(t, k); at != 0 {
			t.Errorf("%s: used at %d", fault, at)
		}
	}
}

package store_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/principal"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// patient returns a call of the table unlimited time: a last use has 200 ms, which is little on
// a busy machine.
type patient struct{ next http.RoundTripper }

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	return p.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
}

// checks makes one process check a key n times, and returns its calls of the table: all reads,
// then all others.
func (c *connected) checks(t *testing.T, process *authn.Authorizer, k store.MintedKey, n int) (reads int, others []string) {
	t.Helper()
	c.forgetCalls()
	header := []string{"Bearer " + k.Minted.Key.Reveal()}
	for _, err := range atOnce(n, func(int) error { return second(process.Authorize(ctx, principal.APIKey, header)) }) {
		wants(t, err, "")
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
	wants(t, err, "")
	at := slices.IndexFunc(keys, func(found store.APIKey) bool { return found.ID == k.ID })
	return keys[at].LastUsedAt
}

// TestAProcessWritesAKeysLastUseOnceAnHour counts every call of the table. A check is one read;
// the hour's first check of a key is one write more.
func TestAProcessWritesAKeysLastUseOnceAnHour(t *testing.T) {
	c := connect(t)
	c.Faults.Next = patient{c.Faults.Next}
	process := func() *authn.Authorizer {
		a := authn.New(c.Store, nil)
		a.Now = c.Now
		return a
	}
	one, other := process(), process()
	k, sibling := makeKey(t, c.Table, c.org, c.ada, 0), makeKey(t, c.Table, c.org, c.ada, 0)
	if at := c.usedAt(t, k); at != 0 {
		t.Errorf("used at %d before its first use", at)
	}
	begun := c.Now()
	for _, step := range []struct {
		name   string
		after  time.Duration // from the beginning
		by     *authn.Authorizer
		key    store.MintedKey
		writes int
		used   time.Duration // the key's last use, from the beginning
	}{
		{"the first check", 0, one, k, 1, 0},
		{"again", time.Second, one, k, 0, 0},
		{"another key", time.Second, one, sibling, 1, time.Second},
		{"another process", 2 * time.Second, other, k, 1, 0}, // it cannot know, and changes nothing
		{"the other again", 3 * time.Second, other, k, 0, 0},
		{"an hour later", time.Hour, one, k, 1, time.Hour},
		{"the other, an hour later", time.Hour, other, k, 1, time.Hour},
		{"and again", time.Hour, other, k, 0, time.Hour},
	} {
		c.pass(begun.Add(step.after).Sub(c.Now()))
		const n = 5
		reads, others := c.checks(t, step.by, step.key, n)
		if want := slices.Repeat([]string{"UpdateItem"}, step.writes); reads != n || !slices.Equal(others, want) {
			t.Errorf("%s: %d reads and %v, want %d and %v", step.name, reads, others, n, want)
		}
		if got, want := c.usedAt(t, step.key), begun.Add(step.used).UnixMilli(); got != want {
			t.Errorf("%s: used at %d, want %d", step.name, got, want)
		}
	}
}

// TestALastUseThatCannotBeWrittenIsTriedOnce and refuses no request.
func TestALastUseThatCannotBeWrittenIsTriedOnce(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.ServerError, storetest.Throttle, storetest.Hang} {
		c := connect(t)
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		c.Faults.Plan("UpdateItem", fault, -1)
		if reads, others := c.checks(t, authn.New(c.Store, nil), k, 2); reads != 2 || len(others) != 1 {
			t.Errorf("%s: %d reads and %v, want 2 and one write", fault, reads, others)
		}
		if at := c.usedAt(t, k); at != 0 {
			t.Errorf("%s: used at %d", fault, at)
		}
	}
}

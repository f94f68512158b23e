package store_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// cause is a use case that writes an event.
type cause struct {
	name  string
	kind  webhook.Type // of the event
	again bool         // a second call succeeds too, and changes nothing
	// prepare makes the rows that the use case needs. do calls the use case, and done reports whether its change
	// is in the table.
	prepare func(t *testing.T, c *connected) (do func() error, done func() bool)
}

// causes returns the use cases that write an event, at least one for each type but test.
func causes() []cause {
	return []cause{
		{"claim", webhook.LinkClaimed, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			l := c.link(t, time.Hour)
			return func() error { return errorOf(c.ClaimLink(ctx, l.claim("k"))) },
				func() bool { got, _ := c.Link(ctx, c.app, l.ID); return got.ClaimedAt != 0 }
		}},
		{"revoke link", webhook.LinkRevoked, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			l := c.link(t, time.Hour)
			return func() error { return errorOf(c.RevokeLink(ctx, c.app, l.ID, store.Changer{})) },
				func() bool { got, _ := c.Link(ctx, c.app, l.ID); return got.RevokedAt != 0 }
		}},
		{"expire link", webhook.LinkExpired, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			l := c.link(t, time.Minute)
			c.advanceClock(time.Minute)
			return func() error { return c.ExpireLink(ctx, c.app, l.ID) },
				func() bool { return text(c.rowsOf(t, "LINKS#")[0], "lapsedAt") != "" }
		}},
		{"create key", webhook.KeyCreated, false, func(t *testing.T, c *connected) (func() error, func() bool) {
			var k store.MintedKey
			return func() error { return errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), recording(&k))) },
				func() bool { _, ok, _ := c.APIKey(ctx, c.org, k.ID); return ok }
		}},
		{"update key", webhook.KeyUpdated, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			k := c.wideKey(t)
			return func() error { return c.update(k, store.KeyChange{Scopes: ptr("a")}) },
				func() bool { return row(t, c.Table, c.org, k).Scopes == "a" }
		}},
		{"revoke key", webhook.KeyRevoked, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			k := makeKey(t, c.Table, c.org, c.ada, 0)
			return func() error { return c.RevokeKey(ctx, admin(c.ada), c.org, k.ID) },
				func() bool { return row(t, c.Table, c.org, k.ID).RevokedAt != 0 }
		}},
		{"warn of key", webhook.KeyExpiring, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			k := makeKey(t, c.Table, c.org, c.ada, 30*dayLong)
			c.advanceClock(23 * dayLong)
			return func() error { return c.WarnOfKey(ctx, c.org, k.ID) },
				func() bool { return text(c.rowsOf(t, "USED#")[0], "due") == "" }
		}},
		{"report leak", webhook.KeyLeaked, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			k := makeKey(t, c.Table, c.org, c.ada, 0)
			return func() error { return c.leak(t, k.ID, "", false) },
				func() bool { used := c.rowsOf(t, "USED#"); return len(used) == 1 && text(used[0], "leakedAt") != "" }
		}},
		{"create endpoint", webhook.EndpointCreated, false, func(_ *testing.T, c *connected) (func() error, func() bool) {
			var endpoint store.Endpoint
			return func() error { return errorOf(c.CreateEndpoint(ctx, c.wanted(""), recording(&endpoint))) },
				func() bool { _, err := c.Endpoint(ctx, c.app, endpoint.ID); return err == nil }
		}},
		{"update endpoint", webhook.EndpointUpdated, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			endpoint, text := c.endpoint(t), "new"
			return func() error {
					return errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Description: &text}))
				},
				func() bool { return c.readEndpoint(t, endpoint.ID).Description == text }
		}},
		{"delete endpoint", webhook.EndpointDeleted, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			endpoint := c.endpoint(t)
			gone := func() bool {
				_, err := c.Endpoint(ctx, c.app, endpoint.ID)
				return problem.Is(err, problem.EndpointNotFound)
			}
			return func() error {
				err := c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey))
				if problem.Is(err, problem.EndpointNotFound) && gone() {
					return nil // an earlier call has deleted it
				}
				return err
			}, gone
		}},
		{"disable endpoint by an admin", webhook.EndpointUpdated, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			endpoint := c.endpoint(t)
			return func() error { return errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, false)) },
				func() bool { return c.readEndpoint(t, endpoint.ID).DisabledReason == webhook.DisabledByAdmin }
		}},
		{"publish", paid, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			return func() error {
					return errorOf(c.Publish(ctx, billing, c.org, c.app, publications("a"), store.Once[[]id.Event]{}))
				},
				func() bool { return len(c.rowsOf(t, "PUB#")) == 1 }
		}},
		{"disable endpoint", webhook.EndpointDisabled, true, func(t *testing.T, c *connected) (func() error, func() bool) {
			endpoint := c.endpoint(t)
			return func() error { return c.Deliveries().DisableEndpoint(ctx, endpoint, webhook.DisabledByGone) },
				func() bool { return !c.readEndpoint(t, endpoint.ID).Enabled }
		}},
	}
}

// TestAnEventIsWrittenExactlyWithItsCause plans every fault for the transaction of each use case, a few times or
// always (times is -1). With any answer to the caller, the change and its event are both written, or neither is. A
// second call writes no second event.
func TestAnEventIsWrittenExactlyWithItsCause(t *testing.T) {
	faults := []struct {
		fault storetest.Fault
		times int
		done  bool // the change is in the table in the end
	}{
		{storetest.LostBefore, 1, true}, {storetest.LostAfter, 1, true}, {storetest.Conflict, 1, true},
		{storetest.ServerError, 1, true}, {storetest.Conflict, 4, true}, {storetest.Forgotten, 1, true},
		{storetest.LostBefore, -1, false}, {storetest.Conflict, -1, false},
		{storetest.LostAfter, -1, true}, // although the caller gets an error
	}
	for _, cause := range causes() {
		t.Run(cause.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range faults {
				c := connect(t)
				do, done := cause.prepare(t, c)
				before := len(c.events(t, cause.kind))
				c.Faults.Plan("TransactWriteItems", f.fault, f.times)
				err := do()
				if c.Faults.Pending() {
					t.Fatalf("%s × %d did not occur", f.fault, f.times)
				}
				c.Faults.Heal()
				endless := f.times < 0
				if !endless && err != nil || endless && !problem.Is(err, problem.Unavailable) {
					t.Errorf("%s × %d: %v", f.fault, f.times, err)
				}
				wantEvents := 0
				if f.done {
					wantEvents = 1
				}
				if n := len(c.events(t, cause.kind)) - before; done() != f.done || n != wantEvents {
					t.Errorf("%s × %d: done: %v, %d events", f.fault, f.times, done(), n)
				}
				if cause.again || !f.done {
					noError(t, do())
					if n := len(c.events(t, cause.kind)) - before; n != 1 || !done() {
						t.Errorf("%s × %d, again: %d events", f.fault, f.times, n)
					}
				}
			}
		})
	}
}

// TestARefusalWritesNoEvent: a refused use case writes no event, and a use case of the sweep that has nothing to do
// writes none either.
func TestARefusalWritesNoEvent(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	wrongSecret := l.claim("k")
	wrongSecret.Token.Hash = hashOf("other")
	expectCode(t, errorOf(c.ClaimLink(ctx, wrongSecret)), problem.LinkNotFound)
	expectCode(t, errorOf(c.RevokeLink(ctx, id.NoApp, l.ID, store.Changer{})), problem.LinkNotFound)
	noError(t, c.ExpireLink(ctx, c.app, l.ID)) // the link has not expired
	noError(t, c.ExpireLink(ctx, c.app, id.NoLink))
	expectCode(t, c.RevokeKey(ctx, admin(c.ada), c.org, id.NoKey), problem.KeyNotFound)
	expectCode(t, c.update(id.NoKey, store.KeyChange{Scopes: ptr("a")}), problem.KeyNotFound)
	noError(t, c.WarnOfKey(ctx, c.org, id.NoKey))
	expectCode(t, errorOf(c.Deliveries().Test(ctx, c.org, c.app, id.NoEndpoint, "", nil, store.Changer{}, store.Once[id.Event]{})), problem.EndpointNotFound)
	c.Limits.ActiveKeys = 0
	expectCode(t, errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{})), problem.LimitReached)
	if rows := c.rowsOf(t, "EVTS#"); len(rows) != 0 {
		t.Errorf("%d events", len(rows))
	}
	// A barred key cannot change endpoints.
	c.Limits.ActiveKeys = 1
	endpoint, barred, text := c.endpoint(t), makeKey(t, c.Table, c.org, c.ada, 0).ID, "new"
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, barred))
	before := len(c.rowsOf(t, "EVTS#"))
	expectCode(t, errorOf(c.CreateEndpoint(ctx, c.wanted(barred), store.Once[store.Endpoint]{})), problem.KeyNotActive)
	expectCode(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{By: barred, Description: &text})), problem.KeyNotActive)
	expectCode(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(barred)), problem.KeyNotActive)
	if n := len(c.rowsOf(t, "EVTS#")) - before; n != 0 {
		t.Errorf("%d events of a barred key", n)
	}
}

// TestConcurrentCallsWriteOneEvent calls each use case that may be repeated ten times at once. It calls the use cases of
// links 40 times, because many devices may call them.
func TestConcurrentCallsWriteOneEvent(t *testing.T) {
	for _, cause := range causes() {
		if !cause.again {
			continue
		}
		t.Run(cause.name, func(t *testing.T) {
			c := connect(t)
			do, done := cause.prepare(t, c)
			before := len(c.events(t, cause.kind))
			times := 10
			if strings.HasPrefix(string(cause.kind), "link.") {
				times = 40
			}
			for _, err := range atOnce(times, func(int) error { return persistent(do) }) {
				noError(t, err)
			}
			if n := len(c.events(t, cause.kind)) - before; n != 1 || !done() {
				t.Errorf("%d events", n)
			}
		})
	}
}

// TestKeyEventsDescribeTheKeyAndHoldNoSecret: key.revoked has only six fields. A rotation writes key.created too.
func TestKeyEventsDescribeTheKeyAndHoldNoSecret(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, time.Hour)
	fresh := rotate(t, c.Table, c.org, c.ada, k.ID, time.Minute, "")
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, fresh.ID))
	created, revoked := c.events(t, webhook.KeyCreated), c.events(t, webhook.KeyRevoked)
	if len(created) != 2 || len(revoked) != 1 {
		t.Fatalf("%d created, %d revoked", len(created), len(revoked))
	}
	ids := map[any]bool{created[0]["keyId"]: true, created[1]["keyId"]: true}
	if !ids[string(k.ID)] || !ids[string(fresh.ID)] {
		t.Errorf("created: %v", created)
	}
	want := map[string]any{
		"keyId": string(fresh.ID), "keyPrefix": fresh.Minted.Prefix, "name": "", "appId": string(c.app),
		"expiresAt": float64(fresh.ExpiresAt), "revokedAt": float64(c.Now().UnixMilli()),
	}
	if got := revoked[0]; !maps.Equal(got, want) {
		t.Errorf("revoked: %v", got)
	}
}

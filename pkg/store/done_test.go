package store_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// TestACarriedOutTransactionSucceedsForItsCaller: the answer of one transaction of each use case is lost, and the
// database does not recognise the transaction when the SDK sends it again (Forgotten). Its conditions are then
// refused, although it was carried out. The use case must recognise its own write, and succeed. Tests of the
// API do the same with the use cases that create something.
func TestACarriedOutTransactionSucceedsForItsCaller(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Viewer)
	endpoint, another := c.endpoint(t), c.endpoint(t)
	c.enable(t, endpoint.ID, false)
	held := c.fanOutTest(t, endpoint.ID)
	endpoint = c.enable(t, endpoint.ID, true)
	toRevoke, toClaim, text := c.link(t, time.Hour), c.link(t, time.Hour), "changed"
	otherOrg, key := c.NewOrg(t, c.ada), c.wideKey(t)
	for _, use := range []struct {
		name string
		do   func() error
	}{
		{"an admin who steps down", func() error { return errorOf(c.ChangeRole(ctx, admin(eve), c.org, eve, org.Viewer)) }},
		{"an admin again", func() error { return errorOf(c.ChangeRole(ctx, admin(c.ada), c.org, eve, org.Admin)) }},
		{"an admin who leaves", func() error { return c.RemoveMember(ctx, admin(eve), c.org, eve) }},
		{"a member who is removed", func() error { return c.RemoveMember(ctx, admin(c.ada), c.org, bob) }},
		{"another name", func() error { return errorOf(c.ChangeOrg(ctx, admin(c.ada), c.org, named("Other"))) }},
		{"a key that is changed", func() error { return c.update(key, store.KeyChange{Scopes: ptr("a")}) }},
		{"an endpoint that is changed", func() error {
			return errorOf(c.UpdateEndpoint(ctx, c.app, another.ID, store.EndpointChange{Description: &text}))
		}},
		{"an endpoint that an admin disables", func() error { return errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, another.ID, false)) }},
		{"an endpoint that is deleted", func() error { return c.DeleteEndpoint(ctx, c.app, another.ID, store.ByKey(id.NoKey)) }},
		{"a delivery that is released", func() error {
			ok, err := c.Deliveries().Release(ctx, endpoint, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: held})
			if !ok {
				return errors.Join(unexpected("not released"), err)
			}
			return err
		}},
		{"a test event", func() error {
			return errorOf(c.Deliveries().Test(ctx, c.org, c.app, endpoint.ID, "", nil, store.Changer{}, store.Once[id.Event]{}))
		}},
		{"a first claim, not a replay", func() error {
			claimed, err := c.ClaimLink(ctx, toClaim.claim("k"))
			if claimed.Replayed {
				return unexpected("a replay")
			}
			return err
		}},
		{"a link that is revoked", func() error { return errorOf(c.RevokeLink(ctx, c.app, toRevoke.ID, store.Changer{})) }},
		{"a new user", func() error { c.NewUser(t, "new@example.com"); return nil }},
		{"an org that is deleted", func() error { return c.DeleteOrg(ctx, admin(c.ada), otherOrg) }},
		{"the lease of the signing keys", func() error { return errorOf(c.LeaseSigningKeys(ctx, time.Minute)) }},
	} {
		c.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1)
		if err := use.do(); err != nil || c.Faults.Pending() {
			t.Errorf("%s: %v, pending: %v", use.name, err, c.Faults.Pending())
		}
	}
	// Each use case has written its counters and its audit entry once.
	c.checkCounters(t, "in the end")
	entries, _, err := c.AuditLog(ctx, admin(c.ada), c.org, store.AuditFilter{}, store.Page{Limit: 100})
	noError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	want := []string{
		"endpoint.created", "endpoint.created", "endpoint.deleted",
		"endpoint.updated", "endpoint.updated", "endpoint.updated", "endpoint.updated", // two by enable, above
		"key.created", "key.updated",
		"org.updated", "member.removed", "member.removed", "member.role_changed", "member.role_changed", "member.added", "member.added", "org.created",
	}
	slices.Sort(actions) // entries of the same millisecond are in no order
	slices.Sort(want)
	if !slices.Equal(actions, want) {
		t.Errorf("the audit log has %v, want %v", actions, want)
	}
}

// TestAMadeLinkIsReturnedThoughRevokedMeanwhile: the answer of the write of a link is lost, and the links of its key are revoked before
// the second try. The link was made, so the caller gets it, and not an internal error.
func TestAMadeLinkIsReturnedThoughRevokedMeanwhile(t *testing.T) {
	c := connect(t)
	c.Faults.Plan("UpdateItem", storetest.LostAfter, 1)
	c.letPass("UpdateItem") // the first try
	c.Faults.Before("UpdateItem", func() {
		links, _, err := c.Links(ctx, c.app, store.Page{Limit: 2})
		noError(t, err)
		for _, l := range links {
			noError(t, errorOf(c.RevokeLink(ctx, c.app, l.ID, store.Changer{})))
		}
	})
	made := c.link(t, time.Hour)
	if l, err := c.Link(ctx, c.app, made.ID); err != nil || l.RevokedAt == 0 || c.Faults.Pending() {
		t.Errorf("the link: %+v %v", l, err)
	}
}

// TestAnEventFannedOutMeanwhileIsWrittenOnce: the answer of the transaction that writes an event is lost. The stream
// fans the event out before the second try, so the event's row has changed. The second try must still find that it is
// the row of its own event, and write no other.
func TestAnEventFannedOutMeanwhileIsWrittenOnce(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	before := len(c.rowsOf(t, "EVTS#"))
	c.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1)
	c.letPass("TransactWriteItems") // the first try
	c.Faults.Before("TransactWriteItems", func() {
		for _, r := range c.rowsOf(t, "EVTS#") {
			noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, id.Event(text(r, "SK")))))
		}
	})
	e := c.testEvent(t, endpoint.ID)
	if got := c.status(t, endpoint.ID, e); got != webhook.DeliveryPending || c.Faults.Pending() || len(c.rowsOf(t, "EVTS#")) != before+1 {
		t.Errorf("the delivery is %s", got)
	}
}

// TestAnotherCallersRowIsNotACarriedOutTransaction: a refused transaction must not believe that it wrote a row that another
// transaction wrote. So a create with an id that another app has is an internal error and changes nothing. This happens only
// in a test.
func TestAnotherCallersRowIsNotACarriedOutTransaction(t *testing.T) {
	c := connect(t)
	var app store.App
	create := func(name string) error {
		c.Rand = bytes.NewReader(make([]byte, 100)) // the same ids each time
		return errorOf(c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: name}, recording(&app)))
	}
	noError(t, create("First"))
	if err := create("Second"); err == nil || problem.From(err).Code != problem.Internal {
		t.Errorf("a create with the id of another app: %v", err)
	}
	apps, _, err := c.Apps(ctx, admin(c.ada), c.org, store.Page{})
	if i := slices.IndexFunc(apps, func(a store.App) bool { return a.ID == app.ID }); err != nil || i < 0 || apps[i].Name != "First" {
		t.Errorf("%+v, %v", apps, err)
	}
	// The call must not believe that it took the lease of another run, or that it deleted an endpoint or a member that
	// never existed.
	l := lease(t, c.Table)
	if _, err := c.LeaseSigningKeys(ctx, time.Minute); !errors.Is(err, store.ErrLeaseHeld) {
		t.Errorf("a lease while another run has it: %v", err)
	}
	noError(t, c.ReleaseSigningKeys(ctx, l))
	expectCode(t, c.DeleteEndpoint(ctx, c.app, id.NoEndpoint, store.ByKey(id.NoKey)), problem.EndpointNotFound)
	expectCode(t, c.RemoveMember(ctx, admin(c.ada), c.org, id.NoUser), problem.MemberNotFound)
}

// TestALinkIsMadeByOneWrite: without an Idempotency-Key, a create of a link only updates the link's row. With every
// fault it makes one link.
func TestALinkIsMadeByOneWrite(t *testing.T) {
	c := connect(t)
	for before, fault := range []storetest.Fault{ // before: links that are there already
		"", storetest.LostBefore, storetest.LostAfter, storetest.Throttle, storetest.ServerError, storetest.Hang, storetest.Late,
	} {
		c.forgetCalls()
		c.Faults.Plan("UpdateItem", fault, 1)
		made := c.link(t, time.Hour)
		if calls := c.Faults.Calls(); c.Faults.Pending() || slices.ContainsFunc(calls, func(call string) bool { return call != "UpdateItem" }) {
			t.Errorf("%s: the calls %v, want only UpdateItem", fault, calls)
		}
		if found, err := c.Link(ctx, c.app, made.ID); err != nil || found.ClientUserID != "user-1" || len(c.rowsOf(t, "LINKS#")) != before+1 {
			t.Errorf("%s: %+v, %v, %d links", fault, found, err, len(c.rowsOf(t, "LINKS#")))
		}
	}
}

// TestAnotherCallersLinkIsNotReturned creates a link with the id and the token of another link. This happens only in a
// test. It is an internal error, and the first link stays.
func TestAnotherCallersLinkIsNotReturned(t *testing.T) {
	c := connect(t)
	var first store.MintedLink
	create := func(user string) error {
		c.Rand = bytes.NewReader(make([]byte, 100)) // the same id and token each time
		return errorOf(c.CreateLink(ctx, store.NewLink{OrgID: c.org, AppID: c.app, ClientUserID: user, ExpiresIn: time.Hour}, recording(&first)))
	}
	noError(t, create("first"))
	if err := create("second"); err == nil || problem.From(err).Code != problem.Internal {
		t.Errorf("a create with the id of another link: %v", err)
	}
	if found, err := c.Link(ctx, c.app, first.ID); err != nil || found.ClientUserID != "first" {
		t.Errorf("%+v, %v", found, err)
	}
}

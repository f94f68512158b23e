package store_test

import (
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

const paid webhook.Type = "invoice.paid"

// publications returns one publication for each of these ids; "" is a publication without an id.
func publications(ids ...string) []store.Publication {
	out := make([]store.Publication, len(ids))
	for i, own := range ids {
		out[i] = store.Publication{ID: own, Type: paid, Data: []byte(`{"a":1,"b":[{"c":2,"d":3}]}`)}
	}
	return out
}

// publish publishes events as a service, and returns their ids.
func (c *connected) publish(t *testing.T, events ...store.Publication) []id.Event {
	t.Helper()
	made, err := c.Publish(ctx, billing, c.org, c.app, events, store.Once[[]id.Event]{})
	noError(t, err)
	return made.Made
}

// TestAPublishedIDIsOneEventForADay: for a day, an id that was published before gets the id of its first event, and the other
// events of the request are written. After a day it is a new event, although the row of the id still exists.
func TestAPublishedIDIsOneEventForADay(t *testing.T) {
	c := connect(t)
	first := c.publish(t, publications("a", "", "b")...)
	c.advanceClock(24*time.Hour - time.Millisecond)
	again := c.publish(t, publications("c", "b", "", "a")...)
	if again[1] != first[2] || again[3] != first[0] || slices.Contains(first, again[0]) || slices.Contains(first, again[2]) {
		t.Errorf("%v, then %v", first, again)
	}
	if alone := c.publish(t, publications("b", "a")...); alone[0] != first[2] || alone[1] != first[0] {
		t.Errorf("no new event in the request: %v", alone)
	}
	c.advanceClock(time.Millisecond)
	if later := c.publish(t, publications("a")...); slices.Contains(first, later[0]) {
		t.Errorf("a day later: %v", later)
	}
	other, err := c.CreateApp(ctx, billing, c.org, store.NewApp{Name: "Other"}, store.Once[store.App]{})
	noError(t, err)
	noError(t, errorOf(c.Publish(ctx, billing, c.org, other.Made.ID, publications("a"), store.Once[[]id.Event]{})))
	if n := len(c.events(t, paid)); n != 6 {
		t.Errorf("%d events of the app, want 3, 2 more, and one a day later", n)
	}
}

// TestAPublishedIDFromManyClientsIsOneEvent: eight clients publish one id at once, some with another event. Each gets the same
// event id.
func TestAPublishedIDFromManyClientsIsOneEvent(t *testing.T) {
	c := connect(t)
	got := make([]id.Event, 8)
	errs := atOnce(len(got), func(i int) error {
		ids := []string{"a"}
		if i%2 == 0 {
			ids = append(ids, "")
		}
		made, err := c.Publish(ctx, billing, c.org, c.app, publications(ids...), store.Once[[]id.Event]{})
		if err == nil {
			got[i] = made.Made[0]
		}
		return err
	})
	if n := tally(errs)[""]; n != len(got) || len(slices.Compact(got)) != 1 {
		t.Errorf("%v: %v", tally(errs), got)
	}
	if n := len(c.events(t, paid)); n != 5 {
		t.Errorf("%d events, want one, and four without an id", n)
	}
}

// TestAPublicationWithoutAnAnswerIsPublishedOnce: the first try is done, but its answer is lost, and the second try meets a conflict.
// The event has neither an id of the owner nor an Idempotency-Key.
func TestAPublicationWithoutAnAnswerIsPublishedOnce(t *testing.T) {
	c := connect(t)
	c.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1)
	c.Faults.Plan("TransactWriteItems", storetest.Conflict, 1)
	c.publish(t, publications("")...)
	if n := len(c.events(t, paid)); n != 1 || c.Faults.Pending() {
		t.Errorf("%d events", n)
	}
}

// TestAnotherEventWithAPublishedIDIsAConflict: an event with a published id, but with another type or other data, refuses its whole
// request. The same data in another spelling is the same event.
func TestAnotherEventWithAPublishedIDIsAConflict(t *testing.T) {
	c := connect(t)
	c.publish(t, publications("a")...)
	for _, other := range []store.Publication{
		{ID: "a", Type: "invoice.void", Data: publications("")[0].Data}, {ID: "a", Type: paid, Data: []byte(`{"a":1,"b":[{"c":2,"d":4}]}`)},
		{ID: "a", Type: paid, Data: []byte(`{"a":1.5,"b":[{"c":2,"d":3}]}`)}, {ID: "a", Type: paid, Data: []byte(`{"a":"1","b":[{"c":2,"d":3}]}`)},
	} {
		expectCode(t, errorOf(c.Publish(ctx, billing, c.org, c.app, []store.Publication{publications("")[0], other}, store.Once[[]id.Event]{})), problem.Conflict)
	}
	for _, same := range []string{`{"b":[{"d":3,"c":2}],"a":1}`, `{"a":1.0,"b":[{"\u0063":2e0,"d":0.3e1}]}`} {
		c.publish(t, store.Publication{ID: "a", Type: paid, Data: []byte(same)})
	}
	if n := len(c.events(t, paid)); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestARepeatedPublicationAnswersTheSame: the request is recognised by its Idempotency-Key. Its events have no id of the owner.
func TestARepeatedPublicationAnswersTheSame(t *testing.T) {
	c := connect(t)
	request := once[[]id.Event](c, idempotencyKey, "body", "answer")
	c.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1)
	for _, isReplayed := range []bool{false, true} {
		made, err := c.Publish(ctx, billing, c.org, c.app, publications("", ""), request)
		if err != nil || made.Replayed != isReplayed || made.Answer.Reveal() != "answer" {
			t.Errorf("%+v, %v", made, err)
		}
	}
	if n := len(c.events(t, paid)); n != 2 {
		t.Errorf("%d events", n)
	}
	expectCode(t, errorOf(c.Publish(ctx, billing, c.org, c.app, publications(""), once[[]id.Event](c, idempotencyKey, "other", ""))), problem.IdempotencyKeyReused)
}

// TestASuspendedOrgAnswersARepeatedPublicationWithItsIDs: its first request was carried out, but the answer was lost. Nothing new is
// published, also not by a request that has published events too.
func TestASuspendedOrgAnswersARepeatedPublicationWithItsIDs(t *testing.T) {
	c := connect(t)
	publish := func(events ...store.Publication) error {
		return errorOf(c.Publish(ctx, billing, c.org, c.app, events, store.Once[[]id.Event]{}))
	}
	first := c.publish(t, publications("a", "b")...)
	noError(t, c.suspend(true))
	if again := c.publish(t, publications("b", "a")...); again[0] != first[1] || again[1] != first[0] {
		t.Errorf("%v, then %v", first, again)
	}
	for _, fresh := range [][]string{{"c"}, {""}, {"a", "c"}, {"a", ""}} {
		expectCode(t, publish(publications(fresh...)...), problem.OrgSuspended)
	}
	expectCode(t, publish(store.Publication{ID: "a", Type: "invoice.void", Data: publications("")[0].Data}), problem.Conflict)
	c.advanceClock(24 * time.Hour)
	expectCode(t, publish(publications("a")...), problem.OrgSuspended)
	noError(t, c.suspend(false))
	if n := len(c.events(t, paid)); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestOnlyAServicePublishesToAnAppOfTheOrg(t *testing.T) {
	c := connect(t)
	other := c.orgOfService(t, store.NewOrg{})
	publish := func(a store.Actor, o id.Org, app id.App) error {
		return errorOf(c.Publish(ctx, a, o, app, publications("a"), store.Once[[]id.Event]{}))
	}
	expectCode(t, publish(billing, c.org, id.NoApp), problem.AppNotFound)
	expectCode(t, publish(billing, other, c.app), problem.AppNotFound)
	expectCode(t, publish(store.Actor{User: c.ada}, c.org, c.app), problem.InsufficientRole) // a user on a route for services
	expectCode(t, publish(store.Actor{User: c.NewUser(t, "kim@example.com")}, c.org, c.app), problem.OrgNotFound)
	noError(t, c.DeleteOrg(ctx, billing, c.org))
	expectCode(t, publish(billing, c.org, c.app), problem.OrgNotFound)
	if n := len(c.events(t, paid)); n != 0 {
		t.Errorf("%d events", n)
	}
}

// TestAPublishedEventIsFannedOutAndCharged: it goes to the endpoints that get its type. Its three deliveries together are charged to the
// app and the org, which may start one in a second. So they are late, and until the debt is refilled the app's keys and the org's people
// start none.
func TestAPublishedEventIsFannedOutAndCharged(t *testing.T) {
	c := connect(t)
	c.Limits.Budget, c.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 1}, store.Budget{PerSecond: 1, Burst: 1}
	for _, events := range [][]string{{"*"}, {"invoice.*"}, {string(paid)}, {"invoice.paid.*"}, {"link.*"}} {
		c.endpoint(t, events...)
	}
	e := c.publish(t, publications("")...)[0]
	send, err := c.Deliveries().FanOut(ctx, c.app, e)
	noError(t, err)
	if len(send) != 3 {
		t.Fatalf("%d deliveries, want one each for *, invoice.* and invoice.paid", len(send))
	}
	if late := send[0].NextAttempt - send[0].StartedAt; late < 1000 {
		t.Errorf("three deliveries of an org that may start one: %d ms late", late)
	}
	expectCode(t, c.Deliveries().SpendOfOrg(ctx, c.org, 1), problem.RateLimited)
	c.Limits.OrgBudget = store.Budget{PerSecond: 1000, Burst: 1000}
	c.advanceClock(time.Second)
	noError(t, c.Deliveries().SpendOfOrg(ctx, c.org, 1))
	expectCode(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited) // of the app
	if w := c.readWork(t, send[0].Endpoint, e); string(w.Payload.Data) != string(publications("")[0].Data) || w.Payload.Type != paid {
		t.Errorf("%+v", w.Payload)
	}
}

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

// TestTheLimitOnEndpointsIsExact: of 40 creates at once, five succeed. A deleted
// endpoint counts until the sweep has cancelled its deliveries.
func TestTheLimitOnEndpointsIsExact(t *testing.T) {
	c := connect(t)
	c.Limits.Endpoints = 5
	create := func(int) error {
		return persistent(func() error {
			return errorOf(c.CreateEndpoint(ctx, c.wanted(""), store.Once[store.Endpoint]{}))
		})
	}
	if got := tally(atOnce(40, create)); got[""] != 5 || got[problem.LimitReached] != 35 {
		t.Fatalf("%v", got)
	}
	all, _, err := c.Endpoints(ctx, c.app, store.Page{})
	if err != nil || len(all) != 5 {
		t.Fatalf("%d endpoints, %v", len(all), err)
	}
	got := tally(atOnce(20, func(int) error {
		return persistent(func() error { return c.DeleteEndpoint(ctx, c.app, all[0].ID, store.ByKey(id.NoKey)) })
	}))
	if got[""] != 1 || got[problem.EndpointNotFound] != 19 {
		t.Errorf("deletions at once: %v", got)
	}
	if got := tally(atOnce(10, create)); got[problem.LimitReached] != 10 {
		t.Errorf("before its deliveries are cancelled: %v", got)
	}
	c.sweepIdle(t, all[0].ID)
	if got := tally(atOnce(10, create)); got[""] != 1 || got[problem.LimitReached] != 9 {
		t.Errorf("after a deletion: %v", got)
	}
}

// sweepIdle does the work of the sweep for a due endpoint without waiting deliveries. If the endpoint is deleted, this
// deletes its row.
func (c *connected) sweepIdle(t *testing.T, endpoint id.Endpoint) {
	t.Helper()
	c.advanceClock(time.Millisecond) // so that the run begins after the last possible parking
	found, ok, err := c.Deliveries().Waiting(ctx, c.app, endpoint)
	if err != nil || !ok {
		t.Fatalf("Waiting = %v, %v", ok, err)
	}
	noError(t, c.Deliveries().LookedAt(ctx, found, store.Looked{Began: c.Now()}))
}

// TestNoDeletedEndpointHidesAnother: a list of endpoints reads up to 1,000 rows, also of deleted endpoints. If a thief
// could fill these rows with deleted endpoints, an endpoint would be hidden from the list, from fan-out and from the
// clean-up of a revoked key. The limit on endpoints prevents it, because deleted endpoints count until the sweep has run.
func TestNoDeletedEndpointHidesAnother(t *testing.T) {
	c := connect(t)
	thief := makeKey(t, c.Table, c.org, c.ada, 0).ID
	made, err := c.CreateEndpoint(ctx, c.wanted(thief), store.Once[store.Endpoint]{})
	noError(t, err)
	deleted := 0
	for range 1001 { // more than a list reads
		other, err := c.CreateEndpoint(ctx, c.wanted(thief), store.Once[store.Endpoint]{})
		if problem.Is(err, problem.LimitReached) {
			break
		}
		noError(t, err)
		noError(t, c.DeleteEndpoint(ctx, c.app, other.Made.ID, store.ByKey(thief)))
		deleted++
	}
	if deleted >= c.Limits.Endpoints {
		t.Errorf("%d endpoints were made and deleted, more than the limit", deleted)
	}
	shown, _, err := c.Endpoints(ctx, c.app, store.Page{})
	if err != nil || len(shown) != 1 || shown[0].ID != made.Made.ID {
		t.Errorf("the list has %v, %v", shown, err)
	}
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, thief))
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, thief))
	if c.readEndpoint(t, made.Made.ID).Enabled {
		t.Error("the thief's endpoint is enabled")
	}
}

// TestADeletedEndpointsRowIsGoneAfterFiveMinutes: the row of a deleted endpoint is deleted after five minutes, although its
// breaker was open, and deliveries could have been parked for longer.
func TestADeletedEndpointsRowIsGoneAfterFiveMinutes(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	for range 6 {
		c.advanceClock(3 * time.Second)
		noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
	}
	noError(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey)))
	c.advanceClock(5 * time.Minute)
	c.sweepIdle(t, endpoint.ID)
	if _, ok, err := c.Deliveries().Waiting(ctx, c.app, endpoint.ID); ok || err != nil {
		t.Errorf("its row is there after five minutes: %v", err)
	}
}

func TestARetriedCreateMakesOneEndpoint(t *testing.T) {
	c := connect(t)
	c.Limits.Endpoints = 1
	create := func(request, answer string) (string, error) {
		made, err := c.CreateEndpoint(ctx, c.wanted(""), once[store.Endpoint](c, idempotencyKey, request, answer))
		return replayedAnswer(made), err
	}
	if kept, err := create("{}", "first"); err != nil || kept != "" {
		t.Fatalf("%q, %v", kept, err)
	}
	// The limit is reached, and does not refuse the replay.
	if kept, err := create("{}", "second"); err != nil || kept != "first" {
		t.Errorf("%q, %v", kept, err)
	}
	expectCode(t, errorOf(create("[]", "")), problem.IdempotencyKeyReused)
}

func TestADeletedEndpointIsNotFound(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	noError(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey)))
	yes := true
	for name, err := range map[string]error{
		"get":                     errorOf(c.Endpoint(ctx, c.app, endpoint.ID)),
		"update":                  errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Enabled: &yes})),
		"delete":                  c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey)),
		"test":                    errorOf(c.Deliveries().Test(ctx, c.org, c.app, endpoint.ID, "", nil, store.Changer{}, store.Once[id.Event]{})),
		"redeliver":               errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: id.NoEvent}, store.Changer{}, false)),
		"get one, by another app": errorOf(c.Endpoint(ctx, id.NoApp, c.endpoint(t).ID)),
	} {
		if !problem.Is(err, problem.EndpointNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The list has only the endpoint that was made for the other app's call.
	if all, _, err := c.Endpoints(ctx, c.app, store.Page{}); err != nil || len(all) != 1 {
		t.Errorf("%d endpoints, %v", len(all), err)
	}
}

func TestConcurrentEndpointChangesAreAllKept(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	url, text := "https://new.example/", "new"
	changes := []store.EndpointChange{{URL: &url}, {Description: &text}, {Events: []string{"link.claimed"}}}
	for _, err := range atOnce(3, func(i int) error {
		return persistent(func() error { return errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, changes[i])) })
	}) {
		noError(t, err)
	}
	if got := c.readEndpoint(t, endpoint.ID); got.URL != url || got.Description != text || !slices.Equal(got.Events, []string{"link.claimed"}) || !got.Enabled {
		t.Errorf("%+v", got)
	}
}

func TestAnEndpointDisabledByItsAppShowsTheReason(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	for range 6 {
		noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
	}
	got := c.enable(t, endpoint.ID, false)
	if got.Enabled || got.DisabledReason != webhook.DisabledByUser || got.DisabledAt != c.Now().UnixMilli() {
		t.Errorf("%+v", got)
	}
	c.advanceClock(time.Second)
	if again := c.enable(t, endpoint.ID, false); again.DisabledAt != got.DisabledAt {
		t.Errorf("disabled twice: %+v", again)
	}
	c.enable(t, endpoint.ID, true)
	if got := c.readEndpoint(t, endpoint.ID); !got.Enabled || got.DisabledReason != "" || got.DisabledAt != 0 || got.Breaker != (webhook.Breaker{}) {
		t.Errorf("%+v", got)
	}
	if disabled := c.events(t, webhook.EndpointDisabled); len(disabled) != 0 {
		t.Errorf("the app disabled the endpoint itself, and gets endpoint.disabled: %v", disabled)
	}
}

// TestHeldDeliveriesCountUntilTheyAreReleased: an endpoint that is enabled again still
// has held deliveries, until the sweep has released them all. Here a run of the sweep releases two of three.
func TestHeldDeliveriesCountUntilTheyAreReleased(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.fanOutTest(t, endpoint.ID) // this delivery is pending, and never counts
	c.enable(t, endpoint.ID, false)
	for range 3 {
		c.fanOutTest(t, endpoint.ID)
	}
	count := func(endpoint store.Endpoint, want int, when string) {
		t.Helper()
		if n, err := c.Deliveries().HeldCount(ctx, endpoint); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", when, n, err, want)
		}
	}
	count(c.readEndpoint(t, endpoint.ID), 3, "disabled")
	changed := c.enable(t, endpoint.ID, true)
	count(changed, 3, "the endpoint that enable returned")
	count(c.readEndpoint(t, endpoint.ID), 3, "enabled")
	due, ok, err := c.Deliveries().Waiting(ctx, c.app, endpoint.ID) // the sweep calls this, WaitingFor, Release and LookedAt
	if err != nil || !ok {
		t.Fatalf("Waiting = %v, %v", ok, err)
	}
	waiting, next, err := c.Deliveries().WaitingFor(ctx, due, 2)
	if err != nil || len(waiting) != 2 || next == "" {
		t.Fatalf("%d wait, %q, %v", len(waiting), next, err)
	}
	gone := waiting[0].DeliveryID
	gone.Event = id.Source{}.NewEvent(c.Now())
	if ok, err := c.Deliveries().Release(ctx, due, gone); ok || err != nil {
		t.Errorf("Release of a delivery that DynamoDB has deleted = %v, %v", ok, err)
	}
	for _, d := range waiting {
		if ok, err := c.Deliveries().Release(ctx, due, d.DeliveryID); !ok || err != nil {
			t.Errorf("Release = %v, %v", ok, err)
		}
	}
	noError(t, c.Deliveries().LookedAt(ctx, due, store.Looked{Began: c.Now(), Held: next != "", Next: next, Again: c.Now()}))
	count(c.readEndpoint(t, endpoint.ID), 1, "two released")
	count(c.enable(t, endpoint.ID, false), 1, "disabled again")
	count(c.enable(t, endpoint.ID, true), 1, "and enabled again")
}

func TestHeldCountStopsAtTheLimit(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.enable(t, endpoint.ID, false)
	var rows []map[string]string
	c.Limits.Held = 5
	for i := range 8 {
		rows = append(rows, c.deliveryRow(endpoint.ID, fmt.Sprintf("evt_%026d", i), "held"))
	}
	write(t, c.Table, rows)
	if n, err := c.Deliveries().HeldCount(ctx, c.readEndpoint(t, endpoint.ID)); err != nil || n != 5 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestA410OfAnEarlierURLDoesNotDisable: an attempt reads the endpoint, and then the app changes the URL. When
// the old URL answers 410 (gone), this proves nothing about the new URL.
func TestA410OfAnEarlierURLDoesNotDisable(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	url := "https://new.example/"
	noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{URL: &url})))
	noError(t, c.Deliveries().DisableEndpoint(ctx, endpoint, webhook.DisabledByGone))
	if !c.readEndpoint(t, endpoint.ID).Enabled || len(c.events(t, webhook.EndpointDisabled)) != 0 {
		t.Error("the answer of the old URL disabled the endpoint")
	}
	// A 410 of the new URL does disable the endpoint, with an event.
	noError(t, c.Deliveries().DisableEndpoint(ctx, c.readEndpoint(t, endpoint.ID), webhook.DisabledByGone))
	got, disabled := c.readEndpoint(t, endpoint.ID), c.events(t, webhook.EndpointDisabled)
	want := []map[string]any{{
		"endpointId": string(endpoint.ID), "url": "https://new.example", "reason": "gone", "disabledAt": float64(got.DisabledAt),
	}}
	if got.Enabled || got.DisabledReason != webhook.DisabledByGone || !reflect.DeepEqual(disabled, want) {
		t.Errorf("%+v, %v, want %v", got, disabled, want)
	}
}

// TestAnotherHostResetsTheBreaker: a URL of another host removes the failures and closes the breaker. A new
// description does not.
func TestAnotherHostResetsTheBreaker(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	for range 6 {
		noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
		c.advanceClock(3 * time.Second)
	}
	description, url := "the same receiver", "https://mended.example.com/in"
	noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Description: &description})))
	if got := c.readEndpoint(t, endpoint.ID); got.Failures != 6 || got.OpenUntil == 0 || got.FailingSince == 0 {
		t.Fatalf("with the same URL: %+v", got)
	}
	noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{URL: &url})))
	if got := c.readEndpoint(t, endpoint.ID); got.Breaker != (webhook.Breaker{}) || got.URL != url {
		t.Errorf("with another URL: %+v", got)
	}
}

// TestAnotherPathKeepsTheBreaker: a new URL with the same scheme, host and port is the same receiver. It does not
// close the breaker, and the five days of failures go on.
func TestAnotherPathKeepsTheBreaker(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	for range 6 {
		noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
		c.advanceClock(3 * time.Second)
	}
	was := c.readEndpoint(t, endpoint.ID)
	if was.Failures != 6 || was.OpenUntil == 0 {
		t.Fatalf("the breaker is not open: %+v", was)
	}
	for _, url := range []string{"https://receiver.example/other", "https://receiver.example:443/", "HTTPS://Receiver.Example/?x=1"} {
		noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{URL: &url})))
		if got := c.readEndpoint(t, endpoint.ID); got.URL != url || got.Breaker != was.Breaker {
			t.Errorf("%s: %+v, was %+v", url, got, was)
		}
	}
	// The deliver function calls this after five days of failures, which began at the old path.
	noError(t, c.Deliveries().DisableEndpoint(ctx, c.readEndpoint(t, endpoint.ID), webhook.DisabledByFailing))
	if got := c.readEndpoint(t, endpoint.ID); got.DisabledReason != webhook.DisabledByFailing {
		t.Errorf("%+v", got)
	}
}

// TestADisablingByAnAdminKeepsItsReason: when an admin has disabled an endpoint, neither a 410, nor the app, nor an admin who
// disables it again changes the reason or the time. The app cannot enable it.
func TestADisablingByAnAdminKeepsItsReason(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	noError(t, errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, false)))
	was := c.readEndpoint(t, endpoint.ID)
	c.advanceClock(time.Minute)
	noError(t, c.Deliveries().DisableEndpoint(ctx, was, webhook.DisabledByGone))
	c.enable(t, endpoint.ID, false)
	noError(t, errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, false)))
	yes := true
	expectCode(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Enabled: &yes})), problem.DisabledByAdmin)
	if got := c.readEndpoint(t, endpoint.ID); got.Enabled || got.DisabledReason != webhook.DisabledByAdmin || got.DisabledAt != was.DisabledAt {
		t.Errorf("%+v, was %+v", got, was)
	}
}

// TestAnAppCannotEnableAnEndpointAnAdminDisabledMeanwhile disables the endpoint between the reads of
// the app's change and its transaction.
func TestAnAppCannotEnableAnEndpointAnAdminDisabledMeanwhile(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.enable(t, endpoint.ID, false)
	c.beforeTransaction(func() { noError(t, errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, false))) })
	yes := true
	expectCode(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Enabled: &yes})), problem.DisabledByAdmin)
	if got := c.readEndpoint(t, endpoint.ID); got.Enabled || got.DisabledReason != webhook.DisabledByAdmin {
		t.Errorf("%+v", got)
	}
}

// TestABreakerThatOpensDuringALookStaysDue: the sweep has read the endpoint before its breaker opens, and writes that nothing waits.
func TestABreakerThatOpensDuringALookStaysDue(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	open := func() {
		for range 6 {
			noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
			c.advanceClock(3 * time.Second)
		}
	}
	open()
	noError(t, c.Deliveries().Succeeded(ctx, c.readEndpoint(t, endpoint.ID)))
	c.advanceClock(10 * time.Minute) // no delivery may still be parked
	began := c.Now()
	found, ok, err := c.Deliveries().Waiting(ctx, c.app, endpoint.ID)
	if err != nil || !ok {
		t.Fatalf("Waiting = %v, %v", ok, err)
	}
	open()
	noError(t, c.Deliveries().Park(ctx, c.readWork(t, endpoint.ID, e), c.readEndpoint(t, endpoint.ID).OpenUntil))
	noError(t, c.Deliveries().LookedAt(ctx, found, store.Looked{Began: began}))
	c.advanceClock(time.Hour)
	if _, ok, err := c.Deliveries().Waiting(ctx, c.app, endpoint.ID); err != nil || !ok {
		t.Errorf("a parked delivery waits without end: %v, %v", ok, err)
	}
}

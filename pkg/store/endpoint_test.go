package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

func TestTheLimitOnEndpointsIsExactAndADeletedOneMakesRoom(t *testing.T) {
	c := connect(t)
	c.Limits.Endpoints = 5
	create := func(int) error {
		return persistent(func() error {
			return second(c.CreateEndpoint(ctx, c.wanted(""), store.Once[store.Endpoint]{}))
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
		return persistent(func() error { return c.DeleteEndpoint(ctx, c.app, all[0].ID, id.NoKey) })
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

// look does what the sweep does for an endpoint at which nothing waits.
func (c *connected) sweepIdle(t *testing.T, h id.Endpoint) {
	t.Helper()
	c.pass(time.Millisecond)
	found, ok, err := c.Deliveries().Waiting(ctx, c.app, h)
	if err != nil || !ok {
		t.Fatalf("Waiting = %v, %v", ok, err)
	}
	wants(t, c.Deliveries().LookedAt(ctx, found, store.Looked{Began: c.Now()}), "")
}

// TestNoDeletedEndpointHidesAnother: the list, and with it fan-out and the clean-up of a revoked key, reads every row
// that an app may have, also those of endpoints that are deleted.
func TestNoDeletedEndpointHidesAnother(t *testing.T) {
	c := connect(t)
	thief := makeKey(t, c.Table, c.org, c.ada, 0).ID
	made, err := c.CreateEndpoint(ctx, c.wanted(thief), store.Once[store.Endpoint]{})
	wants(t, err, "")
	deleted := 0
	for range 1001 {
		other, err := c.CreateEndpoint(ctx, c.wanted(thief), store.Once[store.Endpoint]{})
		if problem.Is(err, problem.LimitReached) {
			break
		}
		wants(t, err, "")
		wants(t, c.DeleteEndpoint(ctx, c.app, other.Made.ID, thief), "")
		deleted++
	}
	if deleted >= c.Limits.Endpoints {
		t.Errorf("%d endpoints were made and deleted before any row was gone", deleted)
	}
	shown, _, err := c.AppEndpoints(ctx, admin(c.ada), c.org, c.app, store.Page{})
	if err != nil || len(shown) != 1 || shown[0].ID != made.Made.ID {
		t.Errorf("an admin sees %v, %v", shown, err)
	}
	wants(t, c.RevokeKey(ctx, admin(c.ada), c.org, thief), "")
	wants(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, thief), "")
	if c.seen(t, made.Made.ID).Enabled {
		t.Error("the thief's endpoint is enabled")
	}
}

// TestADeletedEndpointIsGoneSoon: although its breaker was to be open for longer.
func TestADeletedEndpointIsGoneSoon(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	for range 6 {
		c.pass(3 * time.Second)
		wants(t, c.Deliveries().Failed(ctx, c.seen(t, h.ID)), "")
	}
	wants(t, c.DeleteEndpoint(ctx, c.app, h.ID, id.NoKey), "")
	c.pass(5 * time.Minute)
	c.sweepIdle(t, h.ID)
	if _, ok, err := c.Deliveries().Waiting(ctx, c.app, h.ID); ok || err != nil {
		t.Errorf("it is there after five minutes: %v", err)
	}
}

func TestARetriedCreateMakesOneEndpoint(t *testing.T) {
	c := connect(t)
	c.Limits.Endpoints = 1
	const header = "6f2d9b0c-1111-4222-8333-444455556666"
	create := func(request, answer string) (string, error) {
		made, err := c.CreateEndpoint(ctx, c.wanted(""), once[store.Endpoint](c, header, request, answer))
		return keptOf(made), err
	}
	if kept, err := create("{}", "first"); err != nil || kept != "" {
		t.Fatalf("%q, %v", kept, err)
	}
	if kept, err := create("{}", "second"); err != nil || kept != "first" { // although the limit is reached
		t.Errorf("%q, %v", kept, err)
	}
	wants(t, second(create("[]", "")), problem.IdempotencyKeyReused)
}

func TestADeletedEndpointIsNotThere(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	wants(t, c.DeleteEndpoint(ctx, c.app, h.ID, id.NoKey), "")
	yes := true
	for name, err := range map[string]error{
		"get": second(c.Endpoint(ctx, c.app, h.ID)), "update": second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{Enabled: &yes})),
		"delete": c.DeleteEndpoint(ctx, c.app, h.ID, id.NoKey), "test": second(c.Deliveries().Test(ctx, c.org, c.app, h.ID, "")),
		"redeliver": second(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: h.ID, Event: id.NoEvent})),
		"other app": second(c.Endpoint(ctx, id.NoApp, c.endpoint(t).ID)),
	} {
		if !problem.Is(err, problem.EndpointNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, _, err := c.Endpoints(ctx, c.app, store.Page{}); err != nil || len(all) != 1 {
		t.Errorf("%d endpoints, %v", len(all), err)
	}
}

func TestChangesAtOnceAreAllKept(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	url, text := "https://new.example/", "new"
	changes := []store.EndpointChange{{URL: &url}, {Description: &text}, {Events: []string{"link.claimed"}}}
	for _, err := range atOnce(3, func(i int) error {
		return persistent(func() error { return second(c.UpdateEndpoint(ctx, c.app, h.ID, changes[i])) })
	}) {
		wants(t, err, "")
	}
	if got := c.seen(t, h.ID); got.URL != url || got.Description != text || !slices.Equal(got.Events, []string{"link.claimed"}) || !got.Enabled {
		t.Errorf("%+v", got)
	}
}

func TestAnEndpointDisabledByItsAppShowsWhyAndStartsAfresh(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	for range 6 {
		wants(t, c.Deliveries().Failed(ctx, c.seen(t, h.ID)), "")
	}
	got := c.enable(t, h.ID, false)
	if got.Enabled || got.DisabledReason != webhook.DisabledByUser || got.DisabledAt != c.Now().UnixMilli() {
		t.Errorf("%+v", got)
	}
	c.pass(time.Second)
	if again := c.enable(t, h.ID, false); again.DisabledAt != got.DisabledAt {
		t.Errorf("disabled twice: %+v", again)
	}
	c.enable(t, h.ID, true)
	if got := c.seen(t, h.ID); !got.Enabled || got.DisabledReason != "" || got.DisabledAt != 0 || got.Failures != 0 || got.OpenUntil != 0 || got.FailingSince != 0 {
		t.Errorf("%+v", got)
	}
	if disabled := c.events(t, webhook.EndpointDisabled); len(disabled) != 0 {
		t.Errorf("endpoint.disabled for what the app did itself: %v", disabled)
	}
}

func TestHeldDeliveriesAreCountedWhileDisabledAndWhenEnabledUntilReleased(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	c.fanned(t, h.ID) // pending: not held
	c.enable(t, h.ID, false)
	for range 3 {
		c.fanned(t, h.ID)
	}
	count := func(h store.Endpoint, want int, when string) {
		t.Helper()
		if n, err := c.Deliveries().HeldCount(ctx, h); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", when, n, err, want)
		}
	}
	count(c.seen(t, h.ID), 3, "disabled")
	changed := c.enable(t, h.ID, true)
	count(changed, 3, "what enabling answers")
	count(c.seen(t, h.ID), 3, "enabled")
	now, ok, err := c.Deliveries().Waiting(ctx, c.app, h.ID)
	if err != nil || !ok {
		t.Fatalf("Waiting = %v, %v", ok, err)
	}
	waiting, next, err := c.Deliveries().WaitingFor(ctx, now, 2)
	if err != nil || len(waiting) != 2 || next == "" {
		t.Fatalf("%d wait, %q, %v", len(waiting), next, err)
	}
	for _, d := range waiting {
		if ok, err := c.Deliveries().Release(ctx, now, d.DeliveryID); !ok || err != nil {
			t.Errorf("Release = %v, %v", ok, err)
		}
	}
	wants(t, c.Deliveries().LookedAt(ctx, now, store.Looked{Began: c.Now(), Held: next != "", Next: next, Again: c.Now()}), "")
	count(c.seen(t, h.ID), 1, "half released")
	count(c.enable(t, h.ID, false), 1, "disabled again")
	count(c.enable(t, h.ID, true), 1, "and enabled again")
}

func TestHeldDeliveriesAreCountedToTheLimit(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	c.enable(t, h.ID, false)
	var rows []map[string]string
	c.Limits.Held = 5
	for i := range 8 {
		rows = append(rows, c.deliveryRow(h.ID, fmt.Sprintf("evt_%026d", i), "held"))
	}
	write(t, c.Table, rows)
	if n, err := c.Deliveries().HeldCount(ctx, c.seen(t, h.ID)); err != nil || n != 5 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestARetryOf410DoesNotDisableWhatTheAppHasChanged: a 410 of the old URL, or from before the
// endpoint was enabled again, proves nothing about the new one.
func TestA410OfBeforeTheAppsChangeDoesNotDisable(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	url := "https://new.example/"
	wants(t, second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{URL: &url})), "")
	wants(t, c.Deliveries().DisableEndpoint(ctx, h, webhook.DisabledByGone), "")
	if !c.seen(t, h.ID).Enabled || len(c.events(t, webhook.EndpointDisabled)) != 0 {
		t.Error("the new URL is disabled for the old one's answer")
	}
	wants(t, c.Deliveries().DisableEndpoint(ctx, c.seen(t, h.ID), webhook.DisabledByGone), "")
	got, disabled := c.seen(t, h.ID), c.events(t, webhook.EndpointDisabled)
	if got.Enabled || got.DisabledReason != webhook.DisabledByGone || len(disabled) != 1 ||
		disabled[0]["url"] != "https://new.example" || disabled[0]["reason"] != "gone" || disabled[0]["endpointId"] != string(h.ID) || disabled[0]["disabledAt"] != float64(got.DisabledAt) {
		t.Errorf("%+v, %v", got, disabled)
	}
}

func TestAnotherURLStartsAfresh(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	for range 6 {
		wants(t, c.Deliveries().Failed(ctx, c.seen(t, h.ID)), "")
		c.pass(3 * time.Second)
	}
	description, url := "the same receiver", "https://mended.example.com/in"
	wants(t, second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{Description: &description})), "")
	if got := c.seen(t, h.ID); got.Failures != 6 || got.OpenUntil == 0 || got.FailingSince == 0 {
		t.Fatalf("with the same URL: %+v", got)
	}
	wants(t, second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{URL: &url})), "")
	if got := c.seen(t, h.ID); got.Failures != 0 || got.OpenUntil != 0 || got.FailingSince != 0 || got.URL != url {
		t.Errorf("with another URL: %+v", got)
	}
}

// TestAnotherPathIsTheSameReceiver: a new URL with the same scheme, host and port ends neither
// the breaker nor the five days of failures.
func TestAnotherPathIsTheSameReceiver(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	for range 6 {
		wants(t, c.Deliveries().Failed(ctx, c.seen(t, h.ID)), "")
		c.pass(3 * time.Second)
	}
	was := c.seen(t, h.ID)
	for _, url := range []string{"https://receiver.example/other", "https://receiver.example:443/", "HTTPS://Receiver.Example/?x=1"} {
		wants(t, second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{URL: &url})), "")
		if got := c.seen(t, h.ID); got.URL != url || got.Failures != 6 || got.OpenUntil != was.OpenUntil || got.FailingSince != was.FailingSince || was.OpenUntil == 0 {
			t.Errorf("%s: %+v, was %+v", url, got, was)
		}
	}
	// A 410 of the new path disables the endpoint, and so do five days that began before it.
	wants(t, c.Deliveries().DisableEndpoint(ctx, c.seen(t, h.ID), webhook.DisabledByFailing), "")
	if got := c.seen(t, h.ID); got.DisabledReason != webhook.DisabledByFailing {
		t.Errorf("%+v", got)
	}
}

// TestAnAdminsReasonStays: no later act changes the reason of the disabling.
func TestAnAdminsReasonStays(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	wants(t, second(c.EnableEndpoint(ctx, admin(c.ada), c.org, c.app, h.ID, false)), "")
	by := c.seen(t, h.ID)
	c.pass(time.Minute)
	wants(t, c.Deliveries().DisableEndpoint(ctx, by, webhook.DisabledByGone), "")
	c.enable(t, h.ID, false)
	wants(t, second(c.EnableEndpoint(ctx, admin(c.ada), c.org, c.app, h.ID, false)), "")
	yes := true
	wants(t, second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{Enabled: &yes})), problem.DisabledByAdmin)
	if got := c.seen(t, h.ID); got.Enabled || got.DisabledReason != webhook.DisabledByAdmin || got.DisabledAt != by.DisabledAt {
		t.Errorf("%+v, was %+v", got, by)
	}
}

// TestAnAppDoesNotEnableWhatAnAdminDisablesMeanwhile disables the endpoint between the reads of
// the app's change and its transaction.
func TestAnAppDoesNotEnableWhatAnAdminDisablesMeanwhile(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	c.enable(t, h.ID, false)
	c.between(func() { wants(t, second(c.EnableEndpoint(ctx, admin(c.ada), c.org, c.app, h.ID, false)), "") })
	yes := true
	wants(t, second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{Enabled: &yes})), problem.DisabledByAdmin)
	if got := c.seen(t, h.ID); got.Enabled || got.DisabledReason != webhook.DisabledByAdmin {
		t.Errorf("%+v", got)
	}
}

package api_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// charged lists the routes that charge the budgets of an app and of its org. chargedToOrg lists the routes that charge only the org's.
var (
	charged = []string{
		"POST /link/create", "POST /webhook_delivery/redeliver",
		"POST /webhook_endpoint/create", "POST /webhook_endpoint/test", "POST /webhook_endpoint/update",
	}
	chargedToOrg = []string{
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver", "POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test",
	}
)

// spendAll spends the rest of the app's budget. The test's clock must not move, because time refills the budget.
func (s *server) spendAll(t *testing.T, o id.Org, app id.App) {
	t.Helper()
	for s.Deliveries().Spend(t.Context(), o, app, 1) == nil {
	}
}

// TestAnEmptyBudgetRefusesOnlyNewDeliveries calls every route while the budget of the app is empty, and again while the budget
// of the org is.
func TestAnEmptyBudgetRefusesOnlyNewDeliveries(t *testing.T) {
	small := store.Budget{PerSecond: 1, Burst: 3}
	t.Run("of the app", func(t *testing.T) {
		refusesOnly(t, func(l *store.Limits) { l.Budget = small }, charged)
	})
	t.Run("of the org", func(t *testing.T) {
		refusesOnly(t, func(l *store.Limits) { l.OrgBudget = small }, append(slices.Clone(chargedToOrg), charged...))
	})
}

// refusesOnly checks that an empty budget refuses the routes in want and no others. set makes the budget small.
func refusesOnly(t *testing.T, set func(*store.Limits), want []string) {
	t.Helper()
	s := newServer(t)
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com") // the body of POST …/members in good names this user
	var refused []string
	for _, r := range route.All() {
		if r.Takes == principal.Public {
			continue
		}
		suffix := strings.ToLower(rand.Text())
		w := newWorld(t, s, suffix)
		w.add(t, "deputy"+suffix+"@example.com", org.Admin) // so that the admin can leave: the last admin cannot
		w.connect(t)
		tested := good()[r.Name()]
		as := user(w.byRole[org.Admin])
		switch tested.may {
		case withAKey:
			as = w.caller("key")
		case services, ofNoOrg:
			as = service()
		}
		set(&s.Limits)
		now := s.Now()
		s.Now = func() time.Time { return now }
		s.spendAll(t, w.org, id.DefaultApp(w.org))
		out := s.do(t, w.request(r.Method, r.Pattern, as, tested.body))
		s.Now = time.Now
		s.Limits = store.DefaultLimits()
		s.Limits.OrgsCreated = 1000
		switch {
		case out.status == 429:
			refused = append(refused, r.Name())
			// Each of these requests costs one delivery, and the clock does not move: one second refills one delivery.
			if retry := out.header.Get("Retry-After"); retry != "1" {
				t.Errorf("%s: Retry-After %q", r.Name(), retry)
			}
		case out.status != tested.status:
			t.Errorf("%s: %d %s, want %d", r.Name(), out.status, out.code(), tested.status)
		}
	}
	slices.Sort(refused)
	slices.Sort(want)
	if !slices.Equal(refused, want) {
		t.Errorf("refused: %v, want %v", refused, want)
	}
}

func TestARefusedRedeliveryChangesNothing(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	var events []string
	for range 3 {
		e := d.testEvent(t, h)
		d.settle(t, e, h, webhook.DeliveryFailed)
		events = append(events, e)
	}
	d.Limits.Budget = store.Budget{PerSecond: 1, Burst: 3}
	now := d.Now()
	d.Now = func() time.Time { return now }
	// Afterwards the budget has at most one delivery left. The redelivery needs three.
	for d.Deliveries().Spend(t.Context(), d.key.OrgID, d.key.AppID, 2) == nil {
	}
	d.post(t, "/webhook_delivery/redeliver", `{"endpointId":"`+h+`","since":0}`, 429, "rate_limited")
	for _, e := range events {
		if got := d.status(t, e, h); got != "failed" {
			t.Errorf("%s is %s", e, got)
		}
	}
}

// TestAnEmptyBudgetAllowsDisablingAndDeleting a webhook endpoint, because both only end deliveries.
func TestAnEmptyBudgetAllowsDisablingAndDeleting(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	d.Limits.Budget = store.Budget{PerSecond: 1, Burst: 3}
	now := d.Now()
	d.Now = func() time.Time { return now }
	d.spendAll(t, d.key.OrgID, d.key.AppID)
	d.post(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","description":"x"}`, 429, "rate_limited")
	// To disable is free only when the request changes nothing else.
	for _, more := range []string{`"description":"x"`, `"url":"https://x.example.com"`, `"events":["test"]`} {
		d.post(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","enabled":false,`+more+`}`, 429, "rate_limited")
	}
	d.post(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","enabled":false}`, 200, "")
	d.post(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","enabled":true}`, 429, "rate_limited")
	d.post(t, "/webhook_endpoint/delete", `{"endpointId":"`+h+`"}`, 200, "")
}

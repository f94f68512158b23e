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

// charged are the routes that charge the budget of an app.
var charged = []string{
	"POST /link/create", "POST /webhook_delivery/redeliver",
	"POST /webhook_endpoint/create", "POST /webhook_endpoint/test", "POST /webhook_endpoint/update",
}

// empty takes all that is left of the app's budget. The clock must not move: else the budget fills again.
func (s *server) empty(t *testing.T, o id.Org, app id.App) {
	t.Helper()
	for s.Deliveries().Spend(t.Context(), o, app, 1) == nil {
	}
}

// TestAnEmptyBudgetHoldsBackOnlyWhatKeysStart calls every route of an app whose budget is empty.
func TestAnEmptyBudgetHoldsBackOnlyWhatKeysStart(t *testing.T) {
	s := newServer(t)
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com") // the row of POST …/members adds this user
	var refused []string
	for _, route := range route.All() {
		if route.Takes == principal.Public {
			continue
		}
		suffix := strings.ToLower(rand.Text())
		w := newWorld(t, s, suffix)
		w.add(t, "deputy"+suffix+"@example.com", org.Admin) // so that the admin may leave: the last one may not
		w.connect(t)
		r := good()[route.Name()]
		as := user(w.byRole[org.Admin])
		switch r.may {
		case withAKey:
			as = w.caller("key")
		case services:
			as = service()
		}
		s.Limits.Budget = store.Budget{PerSecond: 1, Burst: 3}
		now := s.Now()
		s.Now = func() time.Time { return now }
		s.empty(t, w.org, id.DefaultApp(w.org))
		out := s.do(t, w.request(route.Method, route.Pattern, as, r.body))
		s.Now = time.Now
		s.Limits = store.DefaultLimits()
		s.Limits.OrgsCreated = 1000
		switch {
		case out.status == 429:
			refused = append(refused, route.Name())
			if retry := out.header.Get("Retry-After"); retry != "1" && retry != "2" {
				t.Errorf("%s: Retry-After %q", route.Name(), retry)
			}
		case out.status != r.status:
			t.Errorf("%s: %d %s, want %d", route.Name(), out.status, out.code(), r.status)
		}
	}
	slices.Sort(refused)
	if !slices.Equal(refused, charged) {
		t.Errorf("refused: %v, want %v", refused, charged)
	}
}

func TestARefusedRedeliveryChangesNothing(t *testing.T) {
	d := newDesk(t)
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
	for d.Deliveries().Spend(t.Context(), d.key.OrgID, d.key.AppID, 2) == nil { // at most one is left, of three
	}
	d.ask(t, "/webhook_delivery/redeliver", `{"endpointId":"`+h+`","since":0}`, 429, "rate_limited")
	for _, e := range events {
		if got := d.status(t, e, h); got != "failed" {
			t.Errorf("%s is %s", e, got)
		}
	}
}

// TestNoBudgetHoldsBackAnEnd: a webhook endpoint is disabled and deleted with an empty budget.
func TestNoBudgetHoldsBackAnEnd(t *testing.T) {
	d := newDesk(t)
	h := d.newEndpoint(t)
	d.Limits.Budget = store.Budget{PerSecond: 1, Burst: 3}
	now := d.Now()
	d.Now = func() time.Time { return now }
	d.empty(t, d.key.OrgID, d.key.AppID)
	d.ask(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","description":"x"}`, 429, "rate_limited")
	// To disable is free only when the request changes nothing else.
	for _, more := range []string{`"description":"x"`, `"url":"https://x.example.com"`, `"events":["test"]`} {
		d.ask(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","enabled":false,`+more+`}`, 429, "rate_limited")
	}
	d.ask(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","enabled":false}`, 200, "")
	d.ask(t, "/webhook_endpoint/update", `{"endpointId":"`+h+`","enabled":true}`, 429, "rate_limited")
	d.ask(t, "/webhook_endpoint/delete", `{"endpointId":"`+h+`"}`, 200, "")
}

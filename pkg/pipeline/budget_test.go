package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// delays returns the delay of each message in the queue, sorted. A message is for a first attempt.
func (s *stack) delays() (late []time.Duration) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for _, w := range s.queue.waiting {
		late = append(late, w.at.Sub(s.Now()))
	}
	slices.Sort(late)
	return late
}

// setSmallBudgets sets small budgets for the app and the org.
func (s *stack) setSmallBudgets() {
	s.Limits.Budget, s.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 20}, store.Budget{PerSecond: 2, Burst: 60}
}

// chargedLinks creates links as the API does, until the budget refuses or most links exist.
func (s *stack) chargedLinks(t *testing.T, o id.Org, a id.App, most int) (made []id.Link) {
	t.Helper()
	once := store.Once[store.MintedLink]{Charge: func(ctx context.Context) (int, error) { return s.Deliveries().SpendEvent(ctx, o, a) }}
	for len(made) < most {
		l, err := s.CreateLink(ctx, store.NewLink{OrgID: o, AppID: a, ClientUserID: "u", ExpiresIn: time.Hour}, once)
		if problem.Is(err, problem.RateLimited) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, l.Made.ID)
	}
	return made
}

// endpoints creates webhook endpoints without a receiver.
func (s *stack) endpoints(t *testing.T, o id.Org, a id.App, n int) {
	t.Helper()
	for i := range n {
		_, err := s.CreateEndpoint(ctx, store.NewEndpoint{OrgID: o, AppID: a, URL: fmt.Sprint("http://127.0.0.1:9/", i), Events: []string{"link.revoked", "key.created"}}, store.Once[store.Endpoint]{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnpaidDeliveriesAreADebt makes links while there is no endpoint, then endpoints, then revokes the links. The debt
// of the org delays deliveries. The debt of the app only refuses new links.
func TestUnpaidDeliveriesAreADebt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.setSmallBudgets()
	links := s.chargedLinks(t, s.org, s.app, 100)
	if len(links) != 20 {
		t.Fatalf("%d links with a budget of 20: each costs one delivery at least", len(links))
	}
	s.endpoints(t, s.org, s.app, 10)
	s.pass(20 * time.Second) // the budgets are full again
	for _, l := range links {
		if _, err := s.RevokeLink(ctx, s.app, l, store.Changer{}); err != nil {
			t.Fatal(err)
		}
	}
	s.fanOutAll(t)
	delays := s.delays()
	// Of the 200 deliveries 20 were paid. The org's burst covers 60. The other 120 wait: the org's budget grows by two a second.
	if len(delays) != 200 || delays[0] != 0 || delays[len(delays)-1] != time.Minute {
		t.Errorf("%d deliveries, the first after %s, the last after %s", len(delays), delays[0], delays[len(delays)-1])
	}
	atOnce := slices.IndexFunc(delays, func(d time.Duration) bool { return d > 0 })
	if atOnce < 60 || atOnce > 80 { // the burst, and at most the 20 that were paid
		t.Errorf("%d deliveries are sent at once, want 60 to 80", atOnce)
	}
	// The rows have the same times as the queue, and the sweep wakes no delivery before its time. The times in the
	// rows have the same number of digits, so they can be compared as texts.
	later, now := 0, fmt.Sprint(s.Now().UnixMilli())
	for _, r := range s.Rows(t) {
		next, due := attr(r, "nextAttemptAt"), attr(r, "dueAt")
		if !strings.HasPrefix(attr(r, "PK"), "DLV#") || next <= now {
			continue
		}
		later++
		if due <= next {
			t.Errorf("the attempt of %v is due at %v", next, due)
		}
	}
	if later != len(delays)-atOnce {
		t.Errorf("%d first attempts are later by their rows, and %d by the queue", later, len(delays)-atOnce)
	}
	if made := s.chargedLinks(t, s.org, s.app, 1); len(made) != 0 {
		t.Error("an app in debt can create a link")
	}
	if _, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{}); err != nil {
		t.Error("the debt refuses a request of a person:", err)
	}
	s.queue.dropAll()
	s.fanOutAll(t) // the event of the key goes to the 10 endpoints
	if delays := s.delays(); len(delays) != 10 || delays[9] != 0 {
		t.Errorf("an event of a key is delayed: %v", delays)
	}
	s.queue.dropAll()
	s.pass(10*time.Minute + 90*time.Second) // a debt lasts for ten minutes at most, and then the budgets fill
	if made := s.chargedLinks(t, s.org, s.app, 1); len(made) != 1 {
		t.Error("the debt is not paid off")
	}
}

// TestADebtIsBounded: no first attempt is later than ten minutes, and after ten minutes a debt is paid off.
func TestADebtIsBounded(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.setSmallBudgets()
	// The app's budget is 20 links at once.
	links := s.chargedLinks(t, s.org, s.app, 20)
	s.pass(time.Minute)
	links = append(links, s.chargedLinks(t, s.org, s.app, 20)...)
	s.pass(time.Minute)
	links = append(links, s.chargedLinks(t, s.org, s.app, 20)...)
	s.endpoints(t, s.org, s.app, 20)
	for range 2 { // the second time changes nothing. 60 links for 20 endpoints make 1,200 deliveries
		for _, l := range links {
			if _, err := s.RevokeLink(ctx, s.app, l, store.Changer{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 60} // a debt of 1,080 s, over the bound of 600 s
	s.fanOutAll(t)
	delays := s.delays()
	if len(delays) != 1200 || delays[len(delays)-1] > 10*time.Minute || delays[len(delays)-1] < 9*time.Minute {
		t.Errorf("%d deliveries, the last after %s", len(delays), delays[len(delays)-1])
	}
	s.pass(10*time.Minute + 20*time.Second)
	if made := s.chargedLinks(t, s.org, s.app, 1); len(made) != 1 {
		t.Error("the debt is not paid off after ten minutes")
	}
}

// TestActsOfPersonsAreADebtToo: the budget is charged, but refuses no request of a person and delays no event of a key.
func TestActsOfPersonsAreADebtToo(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.setSmallBudgets()
	s.endpoints(t, s.org, s.app, 20)
	for range 5 { // at 20 endpoints: 100 deliveries
		if _, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{}); err != nil {
			t.Fatal(err)
		}
	}
	s.fanOutAll(t)
	if delays := s.delays(); len(delays) != 100 || delays[99] != 0 {
		t.Errorf("%d deliveries, the last after %s", len(delays), delays[len(delays)-1])
	}
	if made := s.chargedLinks(t, s.org, s.app, 1); len(made) != 0 {
		t.Error("the 100 deliveries were not charged to the budget of 20")
	}
}

// TestAFailedChargeLosesNoEvent: the row of a budget may be too busy to be charged. Then the first attempts are ten
// minutes late, as with the largest debt. The first attempts of a key's event are not late.
func TestAFailedChargeLosesNoEvent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	links := s.chargedLinks(t, s.org, s.app, 1)
	s.endpoints(t, s.org, s.app, 3)
	if _, err := s.RevokeLink(ctx, s.app, links[0], store.Changer{}); err != nil {
		t.Fatal(err)
	}
	s.Faults.Plan("UpdateItem", storetest.Throttle, -1)
	s.fanOutAll(t)
	if delays := s.delays(); len(delays) != 3 || delays[0] != 10*time.Minute {
		t.Errorf("the deliveries of an event that could not be charged are late by %v", delays)
	}
	s.queue.dropAll()
	if _, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{}); err != nil {
		t.Fatal(err)
	}
	s.fanOutAll(t)
	if delays := s.delays(); len(delays) != 3 || delays[2] != 0 {
		t.Errorf("the deliveries of a key's event are late by %v", delays)
	}
}

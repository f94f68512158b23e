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

// late returns how late the first attempt of each message in the queue is, sorted.
func (s *stack) late() (late []time.Duration) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for _, w := range s.queue.waiting {
		late = append(late, w.at.Sub(s.Now()))
	}
	slices.Sort(late)
	return late
}

// small gives the app and the org small budgets.
func (s *stack) small() {
	s.Limits.Budget, s.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 20}, store.Budget{PerSecond: 2, Burst: 60}
}

// priced creates links as the API does, until the budget refuses or there are as many as most.
func (s *stack) priced(t *testing.T, o id.Org, a id.App, most int) (made []id.Link) {
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

// TestWhatWasNotPaidIsADebt makes links while there is no endpoint, then endpoints, then revokes the links. The org's debt
// makes deliveries late. The app's debt only refuses new links.
func TestWhatWasNotPaidIsADebt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.small()
	links := s.priced(t, s.org, s.app, 100)
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
	s.stream(t)
	late := s.late()
	// Of 200 deliveries 20 were paid. The org's burst is 60: 120 in debt, refilled by two a second.
	if len(late) != 200 || late[0] != 0 || late[len(late)-1] != time.Minute {
		t.Errorf("%d deliveries, the first after %s, the last after %s", len(late), late[0], late[len(late)-1])
	}
	atOnce := slices.IndexFunc(late, func(d time.Duration) bool { return d > 0 })
	if atOnce < 60 || atOnce > 80 { // the burst, and at most the 20 that were paid
		t.Errorf("%d are sent at once", atOnce)
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
	if later != len(late)-atOnce {
		t.Errorf("%d first attempts are later by their rows, and %d by the queue", later, len(late)-atOnce)
	}
	if made := s.priced(t, s.org, s.app, 1); len(made) != 0 {
		t.Error("an app in debt starts more")
	}
	if _, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{}); err != nil {
		t.Error("a person is held back:", err)
	}
	s.queue.lose()
	s.stream(t) // the event of the key goes to the 10 endpoints
	if late := s.late(); len(late) != 10 || late[9] != 0 {
		t.Errorf("an event of a key is delayed: %v", late)
	}
	s.queue.lose()
	s.pass(10*time.Minute + 90*time.Second) // a debt lasts for ten minutes at most, and then the budgets fill
	if made := s.priced(t, s.org, s.app, 1); len(made) != 1 {
		t.Error("the debt is not paid off")
	}
}

// TestADebtIsBounded: no first attempt is later than ten minutes, and after ten minutes a debt is paid off.
func TestADebtIsBounded(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.small()
	// The app's budget is 20 links at once.
	links := s.priced(t, s.org, s.app, 20)
	s.pass(time.Minute)
	links = append(links, s.priced(t, s.org, s.app, 20)...)
	s.pass(time.Minute)
	links = append(links, s.priced(t, s.org, s.app, 20)...)
	s.endpoints(t, s.org, s.app, 20)
	for range 2 { // the second time changes nothing: 60 links at 20 endpoints are 1,200 deliveries
		for _, l := range links {
			if _, err := s.RevokeLink(ctx, s.app, l, store.Changer{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 60} // a debt of 1,080 s, over the bound of 600 s
	s.stream(t)
	late := s.late()
	if len(late) != 1200 || late[len(late)-1] > 10*time.Minute || late[len(late)-1] < 9*time.Minute {
		t.Errorf("%d deliveries, the last after %s", len(late), late[len(late)-1])
	}
	s.pass(10*time.Minute + 20*time.Second)
	if made := s.priced(t, s.org, s.app, 1); len(made) != 1 {
		t.Error("the debt is not paid off after ten minutes")
	}
}

// TestWhatPersonsDoIsADebtToo: the budget is charged, but refuses no act of a person and delays no event of a key.
func TestWhatPersonsDoIsADebtToo(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.small()
	s.endpoints(t, s.org, s.app, 20)
	for range 5 { // at 20 endpoints: 100 deliveries
		if _, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{}); err != nil {
			t.Fatal(err)
		}
	}
	s.stream(t)
	if late := s.late(); len(late) != 100 || late[99] != 0 {
		t.Errorf("%d deliveries, the last after %s", len(late), late[len(late)-1])
	}
	if made := s.priced(t, s.org, s.app, 1); len(made) != 0 {
		t.Error("the 100 deliveries were not charged to the budget of 20")
	}
}

// TestAChargeThatFailsLosesNoEvent: the row of a budget may be too busy to be charged. The first attempts are then ten
// minutes late, as with the largest debt. The first attempts of a key's event are not.
func TestAChargeThatFailsLosesNoEvent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	links := s.priced(t, s.org, s.app, 1)
	s.endpoints(t, s.org, s.app, 3)
	if _, err := s.RevokeLink(ctx, s.app, links[0], store.Changer{}); err != nil {
		t.Fatal(err)
	}
	s.Faults.Plan("UpdateItem", storetest.Throttle, -1)
	s.stream(t)
	if late := s.late(); len(late) != 3 || late[0] != 10*time.Minute {
		t.Errorf("the deliveries of an event that could not be charged are late by %v", late)
	}
	s.queue.lose()
	if _, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{}); err != nil {
		t.Fatal(err)
	}
	s.stream(t)
	if late := s.late(); len(late) != 3 || late[2] != 0 {
		t.Errorf("the deliveries of a key's event are late by %v", late)
	}
}

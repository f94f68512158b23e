package store_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// wait returns the RetryAfter of a refusal.
func wait(t *testing.T, err error) time.Duration {
	t.Helper()
	wants(t, err, problem.RateLimited)
	var p *problem.Error
	errors.As(err, &p)
	return p.RetryAfter
}

func TestABudgetIsExactAndRefillsSteadily(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 50}
	var granted atomic.Int64
	grant := func(n int) func(int) error {
		return func(int) error {
			err := c.Deliveries().Spend(ctx, c.org, c.app, n)
			if err == nil {
				granted.Add(1)
			} else if !problem.Is(err, problem.RateLimited) {
				return err
			}
			return nil
		}
	}
	for name, step := range map[string]time.Duration{"after a month": 30 * dayLong, "after a month more": 30 * dayLong} {
		c.pass(step)
		granted.Store(0)
		for _, err := range atOnce(40, grant(5)) {
			wants(t, err, "")
		}
		if n := granted.Load(); n != 10 {
			t.Errorf("%s: %d charges of 5 of a budget of 50", name, n)
		}
	}
	if got := wait(t, c.Deliveries().Spend(ctx, c.org, c.app, 20)); got != 2*time.Second {
		t.Errorf("20 of 10 a second: wait %s", got)
	}
	c.pass(2*time.Second - 100*time.Millisecond)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 20), problem.RateLimited)
	c.pass(100 * time.Millisecond)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 20), "")
	if got := wait(t, c.Deliveries().Spend(ctx, c.org, c.app, 1)); got != time.Second {
		t.Errorf("one more: wait %s", got)
	}
}

func TestABudgetRefillsByTheMillisecond(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 500, Burst: 10}
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 10), "")
	for range 3 {
		c.pass(time.Millisecond)
		wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
		c.pass(time.Millisecond)
		wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), "")
	}
}

// beside makes another process spend 5 deliveries an hour later, between the second call of a charge and its first.
func (c *connected) beside(t *testing.T) {
	t.Helper()
	c.Faults.Before("UpdateItem", func() {})
	c.Faults.Before("UpdateItem", func() {
		c.pass(time.Hour)
		wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 5), "")
	})
}

// TestAChargeThatLosesARaceIsTriedAgain: the number in the row is of a later time by then.
func TestAChargeThatLosesARaceIsTriedAgain(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 10}
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 5), "")
	c.beside(t)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 5), "")
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
	if c.Faults.Pending() {
		t.Error("the test proves nothing")
	}
}

// TestAFanOutIsChargedOnce: also when its charge, or the fan-out itself, loses a race.
func TestAFanOutIsChargedOnce(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 10}
	h := c.endpoint(t, string(webhook.KeyCreated))
	c.endpoint(t, string(webhook.KeyCreated))
	c.enable(t, h.ID, false)
	c.stream(t)
	makeKey(t, c.Table, c.org, c.ada, 0)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 5), "")
	c.beside(t)
	c.Faults.Before("TransactWriteItems", func() { c.enable(t, h.ID, true) })
	c.stream(t)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 4), problem.RateLimited)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 3), "")
	if c.Faults.Pending() {
		t.Error("the test proves nothing")
	}
}

func TestAnEventIsChargedForEachEndpoint(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 1, Burst: 7}
	spends := func(want int) {
		t.Helper()
		if paid, err := c.Deliveries().SpendEvent(ctx, c.org, c.app); err != nil || paid != want {
			t.Errorf("an event costs %d, %v, want %d", paid, err, want)
		}
	}
	for range 3 {
		spends(1) // no endpoint yet
	}
	for range 3 {
		c.endpoint(t)
	}
	spends(3)
	wants(t, second(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), "")
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
}

func TestAnEventIsChargedToItsOrgForEachEndpointToo(t *testing.T) {
	c := connect(t)
	c.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 7}
	for range 3 {
		c.endpoint(t)
	}
	for range 2 {
		wants(t, second(c.Deliveries().SpendEvent(ctx, c.org, c.app)), "")
	}
	wants(t, second(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
}

func TestAnEventCostsAtLeastOneDelivery(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	wants(t, c.DeleteEndpoint(ctx, c.app, h.ID, ""), "")
	c.look(t, h.ID) // the row counts no endpoint, in place of having no count
	c.Limits.Budget = store.Budget{PerSecond: 1, Burst: 2}
	for range 2 {
		if paid, err := c.Deliveries().SpendEvent(ctx, c.org, c.app); err != nil || paid != 1 {
			t.Errorf("%d, %v", paid, err)
		}
	}
	wants(t, second(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
}

func TestTheAppsOfAnOrgShareItsBudget(t *testing.T) {
	c := connect(t)
	c.Limits.Budget, c.Limits.OrgBudget = store.Budget{PerSecond: 10, Burst: 50}, store.Budget{PerSecond: 30, Burst: 150}
	granted := 0
	for range 20 {
		app, err := c.CreateApp(ctx, admin(c.ada), c.org, "x", store.Once[store.App]{})
		if problem.Is(err, problem.LimitReached) {
			break
		}
		wants(t, err, "")
		for c.Deliveries().Spend(ctx, c.org, app.Made.ID, 5) == nil {
			granted += 5
		}
	}
	if granted != 150 {
		t.Errorf("an org's apps started %d deliveries at once, want 150", granted)
	}
	if got := wait(t, c.Deliveries().Spend(ctx, c.org, c.app, 30)); got != time.Second {
		t.Errorf("30 of 30 a second: wait %s", got)
	}
	other := c.NewOrg(t, c.ada)
	wants(t, c.Deliveries().Spend(ctx, other, id.DefaultApp(other), 50), "")
}

// TestABudgetOutlivesAnotherRate: the number in the row was written at a higher rate.
func TestABudgetOutlivesAnotherRate(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 1000, Burst: 2000}
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 500), "")
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 20}
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 20), "")
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
}

func TestWhatWaitsOrWasSentAgainIsNotSentAgainWithinAMinute(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	e := c.fanned(t, h.ID)
	again := func(want problem.Code) {
		t.Helper()
		wants(t, second(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: h.ID, Event: e})), want)
	}
	again(problem.Conflict) // pending
	wants(t, c.Deliveries().GiveUp(ctx, c.work(t, h.ID, e).DeliveryID), "")
	again("")
	again(problem.Conflict)
	wants(t, c.Deliveries().GiveUp(ctx, c.work(t, h.ID, e).DeliveryID), "")
	c.pass(time.Minute - time.Millisecond)
	again(problem.Conflict)
	c.pass(time.Millisecond)
	again("")
	c.pass(time.Hour)
	again(problem.Conflict) // pending
}

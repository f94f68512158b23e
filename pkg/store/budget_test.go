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

// wait returns the time that a refused caller must wait. It ends the test if err is not a refusal by a budget.
func wait(t *testing.T, err error) time.Duration {
	t.Helper()
	expectCode(t, err, problem.RateLimited)
	var p *problem.Error
	errors.As(err, &p)
	return p.RetryAfter
}

// TestABudgetIsExactAndRefillsSteadily: of 40 charges at once, each of 5 deliveries, a budget of 50 grants
// exactly 10.
func TestABudgetIsExactAndRefillsSteadily(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 50}
	var granted atomic.Int64
	spendFive := func(int) error {
		err := c.Deliveries().Spend(ctx, c.org, c.app, 5)
		if problem.Is(err, problem.RateLimited) {
			return nil
		}
		if err == nil {
			granted.Add(1)
		}
		return err
	}
	for _, when := range []string{"after a month", "after a month more"} { // no pause gives more than the burst
		c.advanceClock(30 * dayLong)
		granted.Store(0)
		for _, err := range atOnce(40, spendFive) {
			noError(t, err)
		}
		if n := granted.Load(); n != 10 {
			t.Errorf("%s: %d charges of 5 of a budget of 50", when, n)
		}
	}
	if got := wait(t, c.Deliveries().Spend(ctx, c.org, c.app, 20)); got != 2*time.Second {
		t.Errorf("20 of 10 a second: wait %s", got)
	}
	c.advanceClock(2*time.Second - 100*time.Millisecond)
	expectCode(t, c.Deliveries().Spend(ctx, c.org, c.app, 20), problem.RateLimited)
	c.advanceClock(100 * time.Millisecond)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 20))
	// A caller waits at least a second, although one delivery is refilled in a tenth of it.
	if got := wait(t, c.Deliveries().Spend(ctx, c.org, c.app, 1)); got != time.Second {
		t.Errorf("a charge of one delivery: wait %s", got)
	}
}

// TestABudgetRefillsByTheMillisecond: 500 deliveries a second are one in two milliseconds.
func TestABudgetRefillsByTheMillisecond(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 500, Burst: 10}
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 10))
	for range 3 {
		c.advanceClock(time.Millisecond)
		expectCode(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
		c.advanceClock(time.Millisecond)
		noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 1))
	}
}

// spendInBetween makes another process spend 5 deliveries between the two calls of the next charge. An hour passes
// before that, so what the first call has read is outdated. A charge has two calls while its budget is not refilled.
func (c *connected) spendInBetween(t *testing.T) {
	t.Helper()
	c.letPass("UpdateItem")
	c.Faults.Before("UpdateItem", func() {
		c.advanceClock(time.Hour)
		noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 5))
	})
}

// TestAChargeThatLosesARaceIsTriedAgain: between the two calls of a charge, another process changes the row's number.
// The budget of 10 then has 5 left for the charge, and no more.
func TestAChargeThatLosesARaceIsTriedAgain(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 10}
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 5))
	c.spendInBetween(t)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 5))
	expectCode(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no other process has spent in between")
	}
}

// TestAChargeIsTriedFourTimes: a charge that loses each race is refused, as if nothing were left.
func TestAChargeIsTriedFourTimes(t *testing.T) {
	for lost, code := range []problem.Code{"", "", "", "", problem.RateLimited} {
		c := connect(t)
		c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 10}
		noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 5))
		for range lost {
			c.spendInBetween(t)
			c.letPass("UpdateItem") // the other process's own calls, for the app and for the org
			c.letPass("UpdateItem")
		}
		err := c.Deliveries().Spend(ctx, c.org, c.app, 5)
		if expectCode(t, err, code); code != "" && wait(t, err) != time.Second || c.Faults.Pending() {
			t.Errorf("%d races are lost: %v", lost, err)
		}
	}
}

// TestAFanOutIsChargedOnce: the charge of a fan-out loses a race, and so does the transaction of the fan-out.
// Both are tried again, and the event is charged once. It goes to two endpoints and no request has paid for it.
// So another process spends 5 of the budget of 10 and the event spends 2: 3 are left.
func TestAFanOutIsChargedOnce(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 10}
	endpoint := c.endpoint(t, string(webhook.KeyCreated))
	c.endpoint(t, string(webhook.KeyCreated))
	c.enable(t, endpoint.ID, false)
	c.fanOutAll(t) // the events of the endpoints' own changes
	makeKey(t, c.Table, c.org, c.ada, 0)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 5)) // so that the charge has two calls
	c.spendInBetween(t)
	c.Faults.Before("TransactWriteItems", func() { c.enable(t, endpoint.ID, true) }) // the fan-out has read it as disabled
	c.fanOutAll(t)
	expectCode(t, c.Deliveries().Spend(ctx, c.org, c.app, 4), problem.RateLimited)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 3))
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no race was lost")
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
	spends(3) // 1 of the 7 is left
	expectCode(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 1))
	expectCode(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
	start := c.Now()
	c.Now = func() time.Time { return start.Add(time.Minute) } // the first charge of a full budget is another update
	for range 2 {
		spends(3)
	}
	expectCode(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
}

func TestAnOrgIsChargedForEachEndpointOfAnEvent(t *testing.T) {
	c := connect(t)
	c.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 7}
	for range 3 {
		c.endpoint(t)
	}
	for range 2 {
		noError(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app))) // 3 deliveries
	}
	expectCode(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
}

func TestAnEventCostsAtLeastOneDelivery(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	noError(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey("")))
	c.sweepIdle(t, endpoint.ID) // now the budget's row counts 0 endpoints. A row that never counted one has no such number
	c.Limits.Budget = store.Budget{PerSecond: 1, Burst: 2}
	for range 2 {
		if paid, err := c.Deliveries().SpendEvent(ctx, c.org, c.app); err != nil || paid != 1 {
			t.Errorf("%d, %v", paid, err)
		}
	}
	expectCode(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app)), problem.RateLimited)
}

// TestTheAppsOfAnOrgShareItsBudget: each of an org's apps spends its own budget of 50, until the org's 150 are spent.
func TestTheAppsOfAnOrgShareItsBudget(t *testing.T) {
	c := connect(t)
	c.Limits.Budget, c.Limits.OrgBudget = store.Budget{PerSecond: 10, Burst: 50}, store.Budget{PerSecond: 30, Burst: 150}
	granted := 0
	for range 20 { // the limit on apps ends the loop before that, because the org has its default app
		app, err := c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "x"}, store.Once[store.App]{})
		if problem.Is(err, problem.LimitReached) {
			break
		}
		noError(t, err)
		for c.Deliveries().Spend(ctx, c.org, app.Made.ID, 5) == nil {
			granted += 5
		}
	}
	if granted != 150 {
		t.Errorf("an org's apps started %d deliveries at once, want 150", granted)
	}
	// The default app has spent nothing, and is refused for its org.
	if got := wait(t, c.Deliveries().Spend(ctx, c.org, c.app, 30)); got != time.Second {
		t.Errorf("30 of 30 a second: wait %s", got)
	}
	other := c.NewOrg(t, c.ada)
	noError(t, c.Deliveries().Spend(ctx, other, id.DefaultApp(other), 50))
}

// TestABudgetWorksAfterTheRateIsLowered: the number in the row counts deliveries since the epoch. A number that was written
// at a higher rate is far in the future by the new rate, and must not refuse every charge.
func TestABudgetWorksAfterTheRateIsLowered(t *testing.T) {
	c := connect(t)
	c.Limits.Budget = store.Budget{PerSecond: 1000, Burst: 2000}
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 500))
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 20}
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 20))
	expectCode(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), problem.RateLimited)
}

// TestABudgetWithoutEndpointsWorksAfterTheRateIsLowered: the row of an app counts 0 endpoints, and its number is far in the
// future by the new, lower rate.
func TestABudgetWithoutEndpointsWorksAfterTheRateIsLowered(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	noError(t, c.DeleteEndpoint(ctx, c.app, endpoint.ID, store.ByKey(id.NoKey)))
	deleted, _, err := c.Deliveries().Waiting(ctx, c.app, endpoint.ID)
	noError(t, err)
	noError(t, c.Deliveries().LookedAt(ctx, deleted, store.Looked{Began: c.Now()}))
	c.Limits.Budget = store.Budget{PerSecond: 1000, Burst: 2000}
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 500))
	c.Limits.Budget = store.Budget{PerSecond: 10, Burst: 20}
	noError(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app)))
}

func TestAPendingOrJustRedeliveredDeliveryIsNotRedelivered(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	e := c.fanOutTest(t, endpoint.ID)
	again := func(want problem.Code) {
		t.Helper()
		expectCode(t, errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: e}, store.Changer{}, false)), want)
	}
	again(problem.Conflict) // it is pending
	noError(t, c.Deliveries().GiveUp(ctx, c.readWork(t, endpoint.ID, e).DeliveryID))
	again("")
	again(problem.Conflict) // it is pending again
	noError(t, c.Deliveries().GiveUp(ctx, c.readWork(t, endpoint.ID, e).DeliveryID))
	c.advanceClock(time.Minute - time.Millisecond)
	again(problem.Conflict)
	c.advanceClock(time.Millisecond)
	again("")
	c.advanceClock(time.Hour)
	again(problem.Conflict) // it is still pending
}

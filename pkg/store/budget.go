package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// The deliveries that API keys start are charged to a budget of their app and to one of their org,
// so that one key cannot use up the signatures of all apps. A request charges both budgets before its
// transaction, for the deliveries that it would cause now. Only this charge can be refused. Fan-out
// charges the rest of an event's cost, and is never refused: a budget can be in debt, and the
// first attempts of an org in debt are made late. A person who tests, redelivers or makes an endpoint is charged to the org's budget.
// No charge is made for a request that ends or disables something, for the sweep, and for a person who enables an endpoint.
//
// A budget is a bucket that refills steadily. Its row has one number, attrSpent: the time at which
// everything that was spent will be refilled. This time is in deliveries since the epoch: each second
// has PerSecond of them. So a charge of n deliveries adds n to the number. The row of an app also counts
// the app's endpoints, so that an event is charged for each of them without another read.

// Budget bounds the deliveries that the API keys of an app, or of an org, may start.
type Budget struct {
	PerSecond int // deliveries
	Burst     int // deliveries at once, after a pause
}

// Settings are the variables of a function's environment (boot.Reader).
type Settings interface {
	Int(name string, fallback, least int) int
}

// ReadBudgets reads the variables that template.yaml gives to each function that charges a budget. An org's is three times an
// app's.
func (l *Limits) ReadBudgets(e Settings) {
	l.Budget = Budget{e.Int("DELIVERIES_PER_SECOND", l.Budget.PerSecond, 1), e.Int("DELIVERIES_BURST", l.Budget.Burst, 1)}
	l.OrgBudget = Budget{3 * l.Budget.PerSecond, 3 * l.Budget.Burst}
}

const (
	// spendTries bounds the tries of a charge that loses races.
	spendTries = 4

	// maxCost is more than any single charge. The burst does not limit a charge after everything was refilled.
	maxCost = 10_000

	// spreadOver bounds how late the first attempts of an org in debt are made. A debt that takes longer
	// to refill is not remembered.
	spreadOver = 10 * time.Minute
)

// now returns a time in the unit of attrSpent, deliveries since the epoch. at is in milliseconds.
func (b Budget) now(at int64) int64 { return at * int64(b.PerSecond) / 1000 }

// deepest returns the largest number that a row may reach by a charge: the whole burst is spent, and the debt
// refills in spreadOver. When everything is refilled, a charge can be larger: it is added to the present.
func (b Budget) deepest(now int64) int64 {
	return now + int64(b.Burst) + int64(b.PerSecond)*int64(spreadOver/time.Second)
}

// beyond returns a number that no charge at this PerSecond reaches. A row with a greater number was written when PerSecond
// was greater, and is ignored now.
func (b Budget) beyond(now int64) int64 { return b.deepest(now) + maxCost }

// refilled is the condition that everything was refilled, or that the number is ignored (beyond).
func (b Budget) refilled(now int64) table.Condition {
	return table.Any(attrSpent.Absent(), attrSpent.Under(now), attrSpent.Over(b.beyond(now)))
}

// refillTime returns how long it takes to refill the part of a number that is above another number.
func (b Budget) refillTime(spent, above int64) time.Duration {
	return time.Duration(max(spent-above, 0)) * time.Second / time.Duration(b.PerSecond)
}

// forEndpoints, in place of a number of deliveries, means one delivery for each endpoint of the app, and at least one.
const forEndpoints = 0

// SpendEvent charges an app and its org for an event to all endpoints of the app, and for one
// delivery when it has none. paid is the charge. Error: rate_limited, with the time to wait.
func (ds Deliveries) SpendEvent(ctx context.Context, o id.Org, a id.App) (paid int, err error) {
	return ds.s.spend(ctx, o, a, forEndpoints)
}

// Spend charges an app and its org for n deliveries. Error: rate_limited, with the time to wait.
func (ds Deliveries) Spend(ctx context.Context, o id.Org, a id.App, n int) error {
	if n == 0 { // for spend, 0 is forEndpoints
		return nil
	}
	_, err := ds.s.spend(ctx, o, a, n)
	return err
}

// SpendOfOrg charges an org for n deliveries that an actor of the org causes. Error: rate_limited, with the time to wait.
func (ds Deliveries) SpendOfOrg(ctx context.Context, o id.Org, n int) error {
	_, err := ds.s.pay(ctx, orgBudgetRow(o), ds.s.Limits.OrgBudget, n)
	return err
}

// spend charges the app first, because the app's row counts the endpoints. When the org's budget then
// refuses, the app's charge stays.
func (s *Store) spend(ctx context.Context, o id.Org, a id.App, n int) (paid int, err error) {
	if paid, err = s.pay(ctx, budgetRow(a), s.Limits.Budget, n); err != nil {
		return 0, err
	}
	_, err = s.pay(ctx, orgBudgetRow(o), s.Limits.OrgBudget, paid)
	return paid, err
}

// pay charges n deliveries, or forEndpoints, to a budget's row, or refuses. paid is the charge.
//
// When everything is refilled, one update sets the row's number to the present plus the charge. Otherwise
// a second update adds the charge to the row's number, if the result is within the burst. A count of 0 endpoints
// needs the second update too, because the first update would charge 0, not 1.
func (s *Store) pay(ctx context.Context, row table.Key, b Budget, n int) (paid int, err error) {
	wait := time.Second // at least, also when all tries lose races
	for range spendTries {
		now := b.now(s.now())
		cost, countIsCost := table.Literal(int64(n)), table.Condition(nil)
		if n == forEndpoints {
			cost, countIsCost = table.StoredOr(attrCount, 1), table.Any(attrCount.Absent(), attrCount.Over(0))
		}
		found, done, err := s.db.Edit(ctx, row, table.All(b.refilled(now), countIsCost), table.SetSum(attrSpent, table.Literal(now), cost))
		if err != nil {
			return 0, err
		}
		r := table.Read(found) // with the charge, or as it failed the condition
		spent := attrSpent.OrZero(&r)
		paid = n
		if n == forEndpoints {
			paid = max(int(attrCount.OrZero(&r)), 1)
		}
		if done || r.Err() != nil {
			return paid, r.Err()
		}
		most := now + int64(b.Burst) - int64(paid) // the largest number to which the charge can be added
		if over := b.refillTime(spent, most); over > 0 && spent <= b.beyond(now) {
			wait = max(wait, over)
			break
		}
		within, sum := attrSpent.Between(now, most), table.SetSum(attrSpent, table.Stored(attrSpent), table.Literal(int64(paid)))
		if spent < now || spent > b.beyond(now) { // everything is refilled, and the row's count of endpoints is 0
			within, sum = b.refilled(now), table.SetSum(attrSpent, table.Literal(now), table.Literal(int64(paid)))
		}
		if done, err = s.db.Mark(ctx, row, within, nil, sum); done || err != nil {
			return paid, err
		} // else another charge was faster: begin again
	}
	return 0, &problem.Error{
		Code: problem.RateLimited, Detail: "The app or its org has started too many deliveries. Try again later.", RetryAfter: wait,
	}
}

// charge charges an app and its org for n deliveries of an event, and never refuses. It returns how late
// the first attempts are to be made: by the time that the org's debt takes to refill, spreadOver at most.
func (s *Store) charge(ctx context.Context, o id.Org, a id.App, n int) (late time.Duration, err error) {
	if _, err := s.addDebt(ctx, budgetRow(a), s.Limits.Budget, n); err != nil {
		return 0, err
	}
	b := s.Limits.OrgBudget
	spent, err := s.addDebt(ctx, orgBudgetRow(o), b, n)
	debt := b.refillTime(spent, b.now(s.now())+int64(b.Burst))
	return min(debt, spreadOver), err
}

// addDebt adds n to the number of a row, and returns the sum. It drops a charge that would make the number
// greater than deepest, and a charge that loses every race. Then it returns the row's number as it is.
func (s *Store) addDebt(ctx context.Context, row table.Key, b Budget, n int) (spent int64, err error) {
	for range spendTries {
		now := b.now(s.now())
		found, done, err := s.db.Edit(ctx, row, b.refilled(now), table.SetSum(attrSpent, table.Literal(now), table.Literal(int64(n))))
		if err != nil {
			return 0, err
		}
		if spent, err = table.Decode(found, attrSpent.OrZero); done || err != nil {
			return spent, err
		}
		most := b.deepest(now) - int64(n) // the largest number to which n can be added
		if spent > most {
			break
		}
		found, done, err = s.db.Edit(ctx, row, attrSpent.Between(now, most), table.SetSum(attrSpent, table.Stored(attrSpent), table.Literal(int64(n))))
		if err != nil {
			return 0, err
		}
		if spent, err = table.Decode(found, attrSpent.OrZero); done || err != nil {
			return spent, err
		}
	}
	return spent, nil
}

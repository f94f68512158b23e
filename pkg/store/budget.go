package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// The deliveries that API keys start are charged to a budget of their app, so that one key
// cannot spend the signatures of all apps. A request that ends a key or a link costs nothing,
// and neither does an act of a person or of the sweep.
//
// The budget is a bucket that refills steadily. Its row has one number, attrSpent: the time at
// which everything that was spent will have been refilled, counted in deliveries since the
// epoch. The row also counts the app's endpoints, so that an event is charged for each of them
// without another read.

// Budget bounds the deliveries that an app's API keys may start.
type Budget struct {
	PerSecond int // deliveries
	Burst     int // deliveries at once, after a pause
}

// spendTries bounds the tries of a charge that loses races.
const spendTries = 4

// maxCost is more than any single charge.
const maxCost = 10_000

// cost is the cost of a charge: what an update adds, and the same number of a row.
type cost struct {
	added table.Operand
	of    func(*table.Reading) int64
}

// SpendEvent charges an app for an event to all its endpoints. Error: rate_limited, with the
// time to wait.
func (s *Store) SpendEvent(ctx context.Context, a id.App) error {
	return s.spend(ctx, a, cost{table.Stored(attrCount), attrCount.OrZero})
}

// SpendDeliveries charges an app for n deliveries. Error: rate_limited, with the time to wait.
func (s *Store) SpendDeliveries(ctx context.Context, a id.App, n int) error {
	return s.spend(ctx, a, cost{table.Literal(int64(n)), func(*table.Reading) int64 { return int64(n) }})
}

// spend adds a cost to the number of the row: to the present when everything was refilled, or
// else to the number itself. The first case takes one update, the second two.
func (s *Store) spend(ctx context.Context, a id.App, c cost) error {
	b := s.Limits.Budget
	wait := time.Second
	for range spendTries {
		now := s.now() * int64(b.PerSecond) / 1000
		// A number far in the future was written at another rate.
		far := now + 2*int64(b.Burst) + maxCost
		refilled := table.Any(attrSpent.Absent(), attrSpent.Under(now), attrSpent.Over(far))
		var spent, costs int64
		found := func(row table.Row) (err error) {
			r := table.Read(row)
			spent, costs = attrSpent.OrZero(&r), c.of(&r)
			return r.Err()
		}
		done, err := s.db.Mark(ctx, budgetRow(a), refilled, found, table.SetSum(attrSpent, table.Literal(now), c.added))
		if done || err != nil {
			return err
		}
		most := now + int64(b.Burst) - costs
		if over := spent - most; over > 0 {
			wait = max(wait, time.Duration(over)*time.Second/time.Duration(b.PerSecond))
			break
		}
		done, err = s.db.Mark(ctx, budgetRow(a), attrSpent.Between(now, most), nil, table.SetSum(attrSpent, table.Stored(attrSpent), c.added))
		if done || err != nil {
			return err
		}
	}
	return &problem.Error{
		Code: problem.RateLimited, Detail: "The app's API keys have started as many deliveries as they may for now.", RetryAfter: wait,
	}
}

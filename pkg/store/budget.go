package store

import (
	"context"
	"maps"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

// The deliveries that API keys start are charged to a budget of their app, so that one key
// cannot spend the signatures of all apps. A request that ends a key or a link costs nothing,
// and neither does an act of a person or of the sweep.
//
// The budget is a bucket that refills steadily. Its row has one number, attrSpent: the time at
// which everything that was spent will have been refilled, counted in deliveries since the
// epoch. The row also counts the app's endpoints, so that an event is charged for each of them
// without another read. for each of them without another read.
const attrSpent = "spent"

// Budget bounds the deliveries that an app's API keys may start.
type Budget struct {
	PerSecond int // deliveries
	Burst     int // deliveries at once, after a pause
}

// spendTries bounds the tries of a charge that loses races.
const spendTries = 4

// maxCost is more than any single charge.
const maxCost = 10_000

// charge is a cost: cost as a part of an update's expression, of from the row.
type charge struct {
	cost   string
	names  map[string]string
	values item
	of     func(row item) int64
}

// SpendEvent charges an app for an event to all its endpoints. Error: rate_limited, with the
// time to wait.
func (s *Store) SpendEvent(ctx context.Context, a id.App) error {
	return s.spend(ctx, a, charge{
		cost: "if_not_exists(#count, :none)", names: map[string]string{"#count": attrCount}, values: item{":none": num(0)},
		of: func(row item) int64 { return row.num(attrCount) },
	})
}

// SpendDeliveries charges an app for n deliveries. Error: rate_limited, with the time to wait.
func (s *Store) SpendDeliveries(ctx context.Context, a id.App, n int) error {
	cost := int64(n)
	return s.spend(ctx, a, charge{cost: ":n", values: item{":n": num(cost)}, of: func(item) int64 { return cost }})
}

// spend adds a cost to the number of the row: to the present when everything was refilled, or
// else to the number itself. The first case takes one update, the second two.
func (s *Store) spend(ctx context.Context, a id.App, c charge) error {
	b := s.Limits.Budget
	wait := time.Second
	for range spendTries {
		now := s.now() * int64(b.PerSecond) / 1000
		// A number far in the future was written at another rate.
		far := now + 2*int64(b.Burst) + maxCost
		done, row, err := s.charge(ctx, a, c.to(":now", "attribute_not_exists(spent) OR spent < :now OR spent > :far", item{":now": num(now), ":far": num(far)}))
		if done || err != nil {
			return err
		}
		most := now + int64(b.Burst) - c.of(row)
		if over := row.num(attrSpent) - most; over > 0 {
			wait = max(wait, time.Duration(over)*time.Second/time.Duration(b.PerSecond))
			break
		}
		done, _, err = s.charge(ctx, a, c.to("spent", "spent BETWEEN :now AND :most", item{":now": num(now), ":most": num(most)}))
		if done || err != nil {
			return err
		}
	}
	return &problem.Error{
		Code: problem.RateLimited, Detail: "The app's API keys have started as many deliveries as they may for now.", RetryAfter: wait,
	}
}

// to returns the update that adds the cost to a number.
func (c charge) to(number, when string, values item) expr {
	maps.Copy(values, c.values)
	return expr{update: "SET spent = " + number + " + " + c.cost, when: when, names: c.names, values: values}
}

// charge makes the update. row is the row for which the condition failed.
func (s *Store) charge(ctx context.Context, a id.App, e expr) (done bool, row item, err error) {
	done, err = s.mark(ctx, budgetKey(a), e, func(found item) bool {
		row = found
		return false
	})
	return done, row, err
}

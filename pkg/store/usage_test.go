package store_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/authn"
	"latchkey/pkg/limit"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// limitedKey makes a key with limits as Ada.
func (c *connected) limitedKey(t *testing.T, limits string) store.MintedKey {
	t.Helper()
	made, err := c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "lk", Carried: store.Carried{Limits: limits}}, store.Once[store.MintedKey]{})
	noError(t, err)
	return made.Made
}

// unhurried waits for each lease. On a busy machine an answer may take longer than a limiter waits. The leased requests are then lost,
// and fewer requests are let through.
type unhurried struct{ *store.Store }

func (u unhurried) Lease(ctx context.Context, l limit.Lease) (limit.Charges, bool, error) {
	return u.Store.Lease(context.WithoutCancel(ctx), l)
}

// processes returns authorizers that only share the table, and that wait for their leases.
func (c *connected) processes(n int) []*authn.Authorizer { return c.processesOn(unhurried{c.Store}, n) }

func (c *connected) processesOn(table authn.Table, n int) (all []*authn.Authorizer) {
	for range n {
		a := authn.New(table, nil)
		a.Now = c.Now
		all = append(all, a)
	}
	return all
}

// spend makes a number of requests (each) in each process, with the keys in turn. It returns the number of requests that were let
// through.
func (c *connected) spend(t *testing.T, each int, all []*authn.Authorizer, keys ...store.MintedKey) int {
	t.Helper()
	var passed atomic.Int64
	atOnce(len(all), func(process int) error {
		for i := range each {
			row, _, err := c.APIKey(ctx, c.org, keys[i%len(keys)].ID)
			if err == nil {
				_, err = all[process].Spend(ctx, row)
			}
			if err == nil {
				passed.Add(1)
			}
		}
		return nil
	})
	return int(passed.Load())
}

func TestProcessesTogetherLetThroughTheLimit(t *testing.T) {
	for _, limits := range []string{"300/m", "300/h 1000/d", "1000/m 300/M", "300/d"} {
		c := connect(t)
		k := c.limitedKey(t, limits)
		if got := c.spend(t, 60, c.processes(8), k); got > 300 || got < 285 {
			t.Errorf("%s: %d", limits, got)
		}
	}
}

// TestALeaseThatNoLongerFitsChargesNothing: another process leases 6 of the limit of 10 right before the write.
func TestALeaseThatNoLongerFitsChargesNothing(t *testing.T) {
	for per := limit.Minute; per <= limit.Month; per++ {
		c := connect(t)
		lease := func(requests int64, begins, want bool, charged int64) {
			l := limit.Lease{Owner: limit.Owner{Org: c.org, Key: "key_1"}, Row: max(per, limit.Day), Start: 1_798_761_600} // 2027 begins
			l.Wants[per] = limit.Want{Start: l.Start, Requests: requests, Limit: 10, Begins: begins && per < limit.Day}
			found, done, err := c.Lease(ctx, l)
			if noError(t, err); done != want || found[per].Requests != charged {
				t.Errorf("window %d, %d requests: %t, %d charged; want %t, %d", per, requests, done, found[per].Requests, want, charged)
			}
		}
		c.Faults.Before("UpdateItem", func() { lease(6, true, true, 6) })
		lease(5, true, false, 6)
		c.Faults.Before("UpdateItem", func() { lease(1, false, true, 7) })
		lease(4, false, false, 7)
		lease(3, false, true, 10)
	}
}

// TestFaultsNeverExceedALimit: with each fault, a window never has more requests than its limit, and the row counts at least the
// requests that were let through.
func TestFaultsNeverExceedALimit(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.LostAfter, storetest.Throttle, storetest.ServerError, storetest.Hang, storetest.Late} {
		c := connect(t)
		k := c.limitedKey(t, "60/m 200/d")
		all := c.processesOn(c.Store, 4)
		passed := 0
		for range 3 {
			c.Faults.Plan("UpdateItem", fault, 6)
			inMinute := c.spend(t, 30, all, k)
			if inMinute > 60 {
				t.Errorf("%s: %d in a minute", fault, inMinute)
			}
			c.Faults.Heal()
			passed += inMinute
			c.advanceClock(time.Minute)
		}
		row := c.usage(t)
		if passed == 0 || passed > row["leased"] || row["served"] > passed {
			t.Errorf("%s: %d let through, and the row has %v", fault, passed, row)
		}
	}
}

// usage returns the sums of the numbers of all rows of use.
func (c *connected) usage(t *testing.T) map[string]int {
	t.Helper()
	sums := map[string]int{}
	for _, row := range c.rowsOf(t, "USAGE#"+string(c.org)) {
		for name, value := range row {
			if n, ok := value.(*types.AttributeValueMemberN); ok {
				number, err := strconv.Atoi(n.Value)
				noError(t, err)
				sums[name] += number
			}
		}
	}
	return sums
}

// TestALeaseIsOneWrite counts the calls of the table.
func TestALeaseIsOneWrite(t *testing.T) {
	c := connect(t)
	plain, limited := makeKey(t, c.Table, c.org, c.ada, 0), c.limitedKey(t, "100/m 1000/d")
	a := c.processes(1)[0]
	for _, k := range []store.MintedKey{plain, limited} { // notes the last use
		c.checkKey(t, a, k, 1)
	}
	for _, step := range []struct {
		what   string
		key    store.MintedKey
		writes int
	}{
		{"no limit", plain, 0}, {"a lease", limited, 1}, {"the rest of this lease", limited, 0}, {"another lease", limited, 1},
	} {
		reads, others := c.checkKey(t, a, step.key, 1)
		if want := slices.Repeat([]string{"UpdateItem"}, step.writes); reads != 1 || !slices.Equal(others, want) {
			t.Errorf("%s: %d reads, %v", step.what, reads, others)
		}
	}
	row, _, err := c.APIKey(ctx, c.org, limited.ID)
	noError(t, err)
	for err == nil {
		_, err = a.Spend(ctx, row)
	}
	expectCode(t, err, problem.RateLimited)
	c.forgetCalls()
	expectCode(t, errorOf(a.Spend(ctx, row)), problem.RateLimited)
	if calls := c.Faults.Calls(); len(calls) != 0 {
		t.Errorf("a spent limit: %v", calls)
	}
}

func TestARotationNeitherResetsNorDoublesALimit(t *testing.T) {
	c := connect(t)
	k := c.limitedKey(t, "100/d")
	all := c.processes(4)
	passed := c.spend(t, 10, all, k)
	fresh := c.successorOf(t, k.ID, store.KeyChange{})
	passed += c.spend(t, 30, all, k, store.MintedKey{ID: fresh.ID}) // both keys in turn, during the grace
	again := c.successorOf(t, fresh.ID, store.KeyChange{})
	if again.LimitID() != k.ID {
		t.Errorf("the use of the third key is counted under %s", again.LimitID())
	}
	passed += c.spend(t, 10, all, store.MintedKey{ID: again.ID})
	if passed > 100 || passed < 90 {
		t.Errorf("%d let through", passed)
	}
}

func TestARefusedLeaseIsReportedAsNotCharged(t *testing.T) {
	c := connect(t)
	lease := limit.Lease{Owner: limit.Owner{Org: c.org, Key: "key_1"}, Row: limit.Day, Start: 1_800_000_000, Requests: 1}
	for fault, refused := range map[storetest.Fault]bool{
		storetest.Throttle: true, storetest.Malformed: true, storetest.LostAfter: false, storetest.ServerError: false,
	} {
		c.Faults.Plan("UpdateItem", fault, -1)
		if _, done, err := c.Lease(ctx, lease); done || err == nil || errors.Is(err, limit.ErrNotCharged) != refused {
			t.Errorf("%s: %t %v", fault, done, err)
		}
		c.Faults.Heal()
	}
}

// leases spends two requests of a key with limits for a minute, an hour and a month, and all requests of the month.
func (c *connected) leases(t *testing.T) {
	t.Helper()
	k := c.limitedKey(t, "3/m 4/h 2/M")
	if got := c.spend(t, 2, c.processes(1), k); got != 2 {
		t.Fatalf("%d let through", got)
	}
}

// TestLeasedRequestsEndWithARevocation: four processes have leased requests of a key. A lowered limit counts in all of them, and after
// a revocation none of them lets a request through.
func TestLeasedRequestsEndWithARevocation(t *testing.T) {
	c := connect(t)
	k := c.limitedKey(t, "100000/m")
	all := c.processes(4)
	if got := c.spend(t, 40, all, k); got != 4*40 {
		t.Fatalf("%d let through", got)
	}
	noError(t, c.update(k.ID, store.KeyChange{Limits: ptr("170/m")}))
	if got := c.spend(t, 20, all, k); got > 10 {
		t.Errorf("%d let through of 10 that were left", got)
	}
	noError(t, c.update(k.ID, store.KeyChange{Limits: ptr("100000/m")}))
	c.spend(t, 40, all, k)
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k.ID))
	if got := countNotRevoked(all, []secret.String{k.Minted.Key}, 8, 1000); got != 0 {
		t.Errorf("%d let through after the revocation", got)
	}
}

package store_test

import (
	"maps"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// checkRefused checks a text in a process, and expects a refusal with the code want. It returns the number of calls that are
// not reads.
func (c *connected) checkRefused(t *testing.T, process *authn.Authorizer, text string, want problem.Code) (writes int) {
	t.Helper()
	c.forgetCalls()
	_, err := process.Authorize(ctx, route.Route{Takes: principal.APIKey}, []string{"Bearer " + text})
	expectCode(t, err, want)
	for _, call := range c.Faults.Calls() {
		if call != "GetItem" {
			writes++
		}
	}
	return writes
}

// refusedOf returns the day's refusals of a key, and the day's use.
func (c *connected) refusedOf(t *testing.T, k id.Key) (map[problem.Code]int64, int64, int64) {
	t.Helper()
	found := c.keyUsage(t, k, 0)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	return found[0].Refused(), found[0].Requests, found[0].AtMost
}

// TestAKeysDayCountsRefusalsByReason: the uses of a key without limits are not counted, so its day has no upper bound (-1).
func TestAKeysDayCountsRefusalsByReason(t *testing.T) {
	c := connect(t)
	expiring := func(limits string) store.MintedKey {
		made, err := c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "lk", ExpiresIn: time.Second, Carried: store.Carried{Limits: limits}}, store.Once[store.MintedKey]{})
		noError(t, err)
		return made.Made
	}
	unlimited, limited, spent := expiring(""), expiring("9/d"), c.limitedKey(t, "1/d")
	c.advanceClock(time.Second)
	process := c.processes(1)[0]
	c.checkKey(t, process, spent, 1)
	for _, k := range []struct {
		store.MintedKey
		code             problem.Code
		requests, atMost int64
	}{
		{unlimited, problem.KeyExpired, 0, -1}, {limited, problem.KeyExpired, 0, 0}, {spent, problem.RateLimited, 0, 1},
	} {
		if writes := c.checkRefused(t, process, k.Minted.Key.Reveal(), k.code); writes != 1 {
			t.Errorf("%s: %d writes", k.code, writes)
		}
		n, requests, atMost := c.refusedOf(t, k.ID)
		if !maps.Equal(n, map[problem.Code]int64{k.code: 1}) || requests != k.requests || atMost != k.atMost {
			t.Errorf("%s: %v, %d of at most %d", k.code, n, requests, atMost)
		}
	}
	for _, row := range c.rowsOf(t, "USAGE#") {
		if row["purgeAt"] == nil {
			t.Errorf("a row is never deleted: %v", row)
		}
	}
}

// TestRefusalsOfAnOldKeyAreInItsSuccessorsUse: the day has an upper bound if the successor has limits. The limits of the old key do
// not matter.
func TestRefusalsOfAnOldKeyAreInItsSuccessorsUse(t *testing.T) {
	c := connect(t)
	none, some := "", "9/d"
	for _, k := range []struct {
		old      store.MintedKey
		limits   string // of the successor
		requests int    // of the successor
		atMost   int64
	}{
		{makeKey(t, c.Table, c.org, c.ada, 0), none, 0, -1}, {makeKey(t, c.Table, c.org, c.ada, 0), some, 1, 1},
		{c.limitedKey(t, "9/d"), none, 0, -1}, {c.limitedKey(t, "9/d"), some, 1, 1},
	} {
		fresh := c.successorOf(t, k.old.ID, store.KeyChange{})
		noError(t, c.update(fresh.ID, store.KeyChange{Limits: &k.limits}))
		c.advanceClock(48 * time.Hour) // the grace, and the days of both
		process := c.processes(1)[0]
		c.spend(t, k.requests, []*authn.Authorizer{process}, store.MintedKey{ID: fresh.ID})
		c.checkRefused(t, process, k.old.Minted.Key.Reveal(), problem.KeyExpired)
		n, _, atMost := c.refusedOf(t, fresh.ID)
		if n[problem.KeyExpired] != 1 || atMost != k.atMost {
			t.Errorf("%+v: %v, at most %d", k, n, atMost)
		}
	}
}

// TestRefusalsOfASuccessorAreOnItsFirstKeysRow: the row of the first key also has the successor's use.
func TestRefusalsOfASuccessorAreOnItsFirstKeysRow(t *testing.T) {
	c := connect(t)
	first := makeKey(t, c.Table, c.org, c.ada, 0)
	fresh, err := c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: first.ID, Grace: time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{})
	noError(t, err)
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, fresh.Made.ID))
	c.checkRefused(t, c.processes(1)[0], fresh.Made.Minted.Key.Reveal(), problem.KeyRevoked)
	if n, _, _ := c.refusedOf(t, first.ID); n[problem.KeyRevoked] != 1 {
		t.Error(n)
	}
}

// TestRefusalsAreNotUsage: a refusal adds no row to the list of an org's use, and nothing to its sums.
func TestRefusalsAreNotUsage(t *testing.T) {
	c := connect(t)
	noError(t, c.setAllowance("9/d"))
	c.advanceClock(24 * time.Hour)
	k, dead := c.limitedKey(t, "1/d"), makeKey(t, c.Table, c.org, c.ada, 0)
	all := c.processes(1)
	c.spend(t, 1, all, k)
	read := func() (rows []store.Usage, sum store.OrgUsageTotal) {
		rows, next, err := c.OrgUsage(ctx, billing, c.org, "2027-01", store.Page{})
		noError(t, err)
		sums, _, err := c.AllUsage(ctx, "2027-01", store.Page{})
		noError(t, err)
		if next != "" || len(sums) != 1 {
			t.Fatalf("%q, %+v", next, sums)
		}
		return rows, sums[0]
	}
	rows, sum := read()
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, dead.ID))
	c.checkRefused(t, all[0], dead.Minted.Key.Reveal(), problem.KeyRevoked)
	c.checkRefused(t, all[0], k.Minted.Key.Reveal(), problem.RateLimited) // the list still has the row of this key's use
	after, sumAfter := read()
	if len(rows) == 0 || len(after) != len(rows) || sumAfter.Requests != sum.Requests || sumAfter.AtMost != sum.AtMost {
		t.Errorf("%+v %+v, then %+v %+v", rows, sum, after, sumAfter)
	}
	if n, _, _ := c.refusedOf(t, dead.ID); n[problem.KeyRevoked] != 1 {
		t.Error(n)
	}
}

// TestAStrangersTextWritesNothing checks texts that are not keys of this org.
func TestAStrangersTextWritesNothing(t *testing.T) {
	c := connect(t)
	k, other := makeKey(t, c.Table, c.org, c.ada, 0), connect(t)
	process := c.processes(1)[0]
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k.ID))
	right := k.Minted.Key.Reveal()
	wrongSecret, err := apikey.Mint("lk", c.org, k.ID, nil)
	noError(t, err)
	for _, text := range []string{
		"x", right + "x", makeKey(t, other.Table, other.org, other.ada, 0).Minted.Key.Reveal(), wrongSecret.Key.Reveal(),
	} {
		if writes := c.checkRefused(t, process, text, problem.InvalidCredentials); writes != 0 {
			t.Errorf("%s: %d writes", text, writes)
		}
	}
	if rows := c.rowsOf(t, "USAGE#"); len(rows) != 0 {
		t.Error(rows)
	}
}

// TestAnUncountedRefusalIsStillARefusal: the write that counts a refusal fails, and the key is still refused.
func TestAnUncountedRefusalIsStillARefusal(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.LostAfter, storetest.Throttle, storetest.ServerError, storetest.Hang, storetest.Late} {
		c := connect(t)
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k.ID))
		c.Faults.Plan("UpdateItem", fault, -1)
		c.checkRefused(t, c.processes(1)[0], k.Minted.Key.Reveal(), problem.KeyRevoked)
		c.Faults.Heal()
	}
	if refusal, ok := store.Refusal(problem.InsufficientScope); !ok || refusal != limit.Scope {
		t.Error(refusal, ok)
	}
}

package authn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/limit"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// spent refuses each lease, because nothing is left.
func spent(_ context.Context, l limit.Lease) (found limit.Charges, done bool, err error) {
	for p, want := range l.Wants {
		found[p] = limit.Charged{Start: want.Start, Requests: want.Most}
	}
	return found, false, nil
}

func TestAKeyOverItsLimitsIsNamed(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Limits, table.Key.Ceilings = "10/d", "5/d"
	a := authn.New(table, nil)
	a.Now = func() time.Time { return time.Date(2026, 11, 24, 23, 59, 0, 0, time.UTC) }
	p, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	if want := (principal.Limit{Policy: `"day";q=5;w=86400`, State: `"day";r=4;t=60`}); err != nil || p.Limit != want {
		t.Errorf("%+v %v", p.Limit, err)
	}
	table.Leases = spent
	p, err = authn.New(table, nil).Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	if !problem.Is(err, problem.RateLimited) || p.KeyID != table.Key.ID || p.Limit.Violated != "day" || p.Limit.RetryAfter < 1 {
		t.Errorf("spent: %+v %v", p, err)
	}
	if p, err = authn.New(table, nil).Authorize(context.Background(), principal.UnlimitedAPIKey, []string{"Bearer " + key}); err != nil || p.Limit != (principal.Limit{}) {
		t.Errorf("a route that ends something: %+v %v", p, err)
	}
	p, err = authn.New(table, nil).Authorize(context.Background(), principal.DeferredAPIKey, []string{"Bearer " + key})
	if !problem.Is(err, problem.RateLimited) || p.KeyID != table.Key.ID || p.Limit.Violated != "day" {
		t.Errorf("a route that may end something: %+v %v", p, err)
	}
	table.Leases = func(context.Context, limit.Lease) (limit.Charges, bool, error) {
		return limit.Charges{}, false, errors.New("down")
	}
	p, err = authn.New(table, nil).Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	if _, refused := problem.Refusal(err); err == nil || refused || limit.LogCode(err) != "lease_failed" {
		t.Errorf("without a lease: %+v %v", p, err)
	}
}

// TestWhatIsRefusedSpendsNothing: a lease comes after everything else that can refuse a request.
func TestWhatIsRefusedSpendsNothing(t *testing.T) {
	key, table := authntest.Minted(t)
	good := table.Key
	good.Limits = "10/d"
	for name, change := range map[string]func(){
		"a wrong secret": func() { table.Key.Hash = apikey.HashOf("x") },
		"revoked":        func() { table.Key.RevokedAt = 1 },
		"expired":        func() { table.Key.ExpiresAt = 1 },
		"no limit":       func() { table.Key.Limits = "" },
	} {
		table.Key = good
		change()
		_, _ = authn.New(table, nil).Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
		if table.Leased != 0 {
			t.Fatalf("%s: a lease", name)
		}
	}
}

// TestLimitsThatChangeAreReadAgain: while a lease is made for the old limits, another request has read the new ones.
func TestLimitsThatChangeAreReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*authntest.Table)
		want   problem.Code
	}{
		"changed": {func(table *authntest.Table) { table.Key.Limits = "7/d" }, ""},
		"revoked": {func(table *authntest.Table) { table.Key.Limits, table.Key.RevokedAt = "7/d", 1 }, problem.KeyRevoked},
	} {
		_, table := authntest.Minted(t)
		table.Key.Limits = "10/d"
		was := table.Key
		a := authn.New(table, nil)
		granted := table.Lease
		table.Leases = func(ctx context.Context, l limit.Lease) (limit.Charges, bool, error) {
			table.Leases = nil
			found, done, err := granted(ctx, l)
			c.change(table)
			other := table.Key
			other.RevokedAt = 0
			go func() { _, _ = a.Spend(context.Background(), other) }()
			synctest.Wait() // until it waits for this lease, under the new limits
			return found, done, err
		}
		var l principal.Limit
		var err error
		synctest.Test(t, func(*testing.T) { l, err = a.Spend(context.Background(), was) })
		if c.want == "" && (err != nil || l.Policy != `"day";q=7;w=86400`) || c.want != "" && !problem.Is(err, c.want) {
			t.Errorf("%s: %+v %v", name, l, err)
		}
	}
}

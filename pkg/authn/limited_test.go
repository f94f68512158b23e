package authn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// refuseLease refuses each lease, as if no request is left.
func refuseLease(_ context.Context, l limit.Lease) (found limit.Charges, done bool, err error) {
	for p, want := range l.Wants {
		found[p] = limit.Charged{Start: want.Start, Requests: want.Limit}
	}
	return found, false, nil
}

// TestTheErrorOfAKeyOverItsLimitsNamesTheKey: Authorize returns the principal with rate_limited. A route that Ends something
// spends nothing, and a route that MayEnd something gets a deferred principal.
func TestTheErrorOfAKeyOverItsLimitsNamesTheKey(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Limits, table.Key.Ceilings = "10/d", "5/d"
	a := authn.New(table, nil)
	a.Now = func() time.Time { return time.Date(2026, 11, 24, 23, 59, 0, 0, time.UTC) }
	p, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
	if want := (principal.Limit{Policy: `"day";q=5;w=86400`, State: `"day";r=4;t=60`}); err != nil || p.Limit != want {
		t.Errorf("%+v %v", p.Limit, err)
	}
	table.Leases = refuseLease
	p, err = authn.New(table, nil).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
	if !problem.Is(err, problem.RateLimited) || p.KeyID != table.Key.ID || p.Limit.Violated != "day" || p.Limit.RetryAfter < 1 {
		t.Errorf("spent: %+v %v", p, err)
	}
	if p, err = authn.New(table, nil).Authorize(context.Background(), route.Route{Takes: principal.APIKey, Ends: true}, []string{"Bearer " + key}); err != nil || p.Limit != (principal.Limit{}) {
		t.Errorf("a route that ends something: %+v %v", p, err)
	}
	p, err = authn.New(table, nil).Authorize(context.Background(), route.Route{Takes: principal.APIKey, MayEnd: true}, []string{"Bearer " + key})
	if !problem.Is(err, problem.RateLimited) || p.KeyID != table.Key.ID || p.Limit.Violated != "day" || !p.Deferred {
		t.Errorf("a route that may end something: %+v %v", p, err)
	}
	table.Leases = func(context.Context, limit.Lease) (limit.Charges, bool, error) {
		return limit.Charges{}, false, errors.New("down")
	}
	p, err = authn.New(table, nil).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
	if _, refused := problem.Refusal(err); err == nil || refused || limit.LogCode(err) != "lease_failed" || p.Deferred {
		t.Errorf("without a lease: %+v %v", p, err)
	}
	p, err = authn.New(table, nil).Authorize(context.Background(), route.Route{Takes: principal.APIKey, MayEnd: true}, []string{"Bearer " + key})
	if limit.LogCode(err) != "lease_failed" || !p.Deferred {
		t.Errorf("without a lease, a route that may end something: %+v %v", p, err)
	}
	table.Key.RevokedAt = 1
	p, err = authn.New(table, nil).AuthorizeRoute(context.Background(), "POST", "/webhook_endpoint/update", []string{"Bearer " + key})
	if !problem.Is(err, problem.KeyRevoked) || p.Deferred {
		t.Errorf("revoked: %+v %v", p, err)
	}
	if p, err = a.AuthorizeRoute(context.Background(), "GET", "/v1/new", nil); err == nil || problem.Is(err, problem.MissingCredentials) {
		t.Errorf("a route that is not in the table: %+v %v", p, err)
	}
}

// TestARefusalIsCountedWhereItIsDecided: when the function of a route may still let the request through, the authorizer counts nothing.
func TestARefusalIsCountedWhereItIsDecided(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Limits, table.Leases = "1/d", refuseLease
	for name, c := range map[string]struct {
		route     route.Route
		revokedAt int64
		want      limit.Refusals
	}{
		"limited":                        {route.Route{Takes: principal.APIKey}, 0, limit.Refusals{limit.Limited: 1}},
		"a route that may end something": {route.Route{Takes: principal.APIKey, MayEnd: true}, 0, limit.Refusals{}},
		"a revoked key on such a route":  {route.Route{Takes: principal.APIKey, MayEnd: true}, 1, limit.Refusals{limit.Revoked: 1}},
		"a route that ends something":    {route.Route{Takes: principal.APIKey, Ends: true}, 0, limit.Refusals{}},
		"a route of users":               {route.Route{Takes: principal.UserToken}, 1, limit.Refusals{}},
	} {
		table.Key.RevokedAt, table.Refused = c.revokedAt, limit.Refusals{}
		_, _ = authn.New(table, &authntest.Tokens{}).Authorize(context.Background(), c.route, []string{"Bearer " + key})
		if table.Refused != c.want {
			t.Errorf("%s: %v, want %v", name, table.Refused, c.want)
		}
	}
}

// TestASpentAllowanceNamesTheNextOne: the detail has the time at which the next allowance begins.
func TestASpentAllowanceNamesTheNextOne(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.OrgState.Allowance, table.Leases = "100/d", refuseLease
	a := authn.New(table, nil)
	a.Now = func() time.Time { return time.Date(2026, 11, 24, 23, 59, 0, 0, time.UTC) }
	_, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
	if got := problem.From(err).Detail; got != "The org has used its allowance of 100 a day. The next one begins at 2026-11-25T00:00:00Z." {
		t.Error(got)
	}
}

// TestADisablingByAKeyIsCounted: the authorizer does not see the body, so each change of an endpoint spends a request. A deletion
// spends nothing.
func TestADisablingByAKeyIsCounted(t *testing.T) {
	for path, want := range map[string]bool{"/webhook_endpoint/update": true, "/webhook_endpoint/delete": false, "/link/revoke": false} {
		key, table := authntest.Minted(t)
		table.Key.Limits = "10/d"
		if _, err := authn.New(table, nil).AuthorizeRoute(context.Background(), "POST", path, []string{"Bearer " + key}); err != nil || table.Leased > 0 != want {
			t.Errorf("%s: %d leased, %v", path, table.Leased, err)
		}
	}
}

// TestARefusedRequestSpendsNothing: a lease comes after all other checks of a request.
func TestARefusedRequestSpendsNothing(t *testing.T) {
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
		_, _ = authn.New(table, nil).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
		if table.Leased != 0 {
			t.Fatalf("%s: a lease", name)
		}
	}
}

// TestChangedLimitsAreReadAgain: up to three times, when another request has read new limits during a lease for the old ones.
func TestChangedLimitsAreReadAgain(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		changes int                    // how often the limits change during a lease
		last    func(*authntest.Table) // called after the last change of the limits; nil: not used
		reads   int                    // how often the key is read again
		want    string                 // a part of the error; "": there is none
	}{
		"once":                {1, nil, 1, ""},
		"three times":         {3, nil, 3, ""},
		"four times":          {4, nil, 3, limit.ErrChanged.Error()},
		"without end":         {99, nil, 3, limit.ErrChanged.Error()},
		"revoked":             {1, func(table *authntest.Table) { table.Key.RevokedAt = 1 }, 1, string(problem.KeyRevoked)},
		"expired":             {2, func(table *authntest.Table) { table.Key.ExpiresAt = 1 }, 2, string(problem.KeyExpired)},
		"gone":                {1, func(table *authntest.Table) { table.Key.ID = id.NoKey }, 1, limit.ErrChanged.Error()},
		"the table goes away": {1, func(table *authntest.Table) { table.Down = down }, 1, down.Error()},
	} {
		_, table := authntest.Minted(t)
		table.Key.Limits = "10/d"
		oldRow := table.Key
		a := authn.New(table, nil)
		left, granted := c.changes, authntest.Table{} // granted grants every lease
		table.Leases = func(ctx context.Context, l limit.Lease) (limit.Charges, bool, error) {
			if left == 0 {
				return granted.Lease(ctx, l)
			}
			left--
			table.Key.Limits = fmt.Sprintf("%d/d", 100+left)
			otherRequest, cancel := context.WithCancel(ctx)
			row := table.Key
			go func() { _, _ = a.Spend(otherRequest, row) }()
			synctest.Wait() // until Spend, with the new limits, waits for this lease
			cancel()
			synctest.Wait()
			if left == 0 && c.last != nil {
				c.last(table)
			}
			return granted.Lease(ctx, l)
		}
		var l principal.Limit
		var err error
		synctest.Test(t, func(t *testing.T) { l, err = a.Spend(t.Context(), oldRow) })
		isExpected := c.want == "" && err == nil && l.Policy == `"day";q=100;w=86400` || c.want != "" && err != nil && strings.Contains(fmt.Sprint(problem.From(err).Code, " ", err), c.want)
		if _, refused := problem.Refusal(err); !isExpected || table.Reads != c.reads || refused != (name == "revoked" || name == "expired") {
			t.Errorf("%s: %+v after %d reads, %v", name, l, table.Reads, err)
		}
	}
}

// TestRequestsWithoutLimitsAreCounted: if the deployment counts them. Requests with limits of the key are charged to its windows instead.
func TestRequestsWithoutLimitsAreCounted(t *testing.T) {
	_, table := authntest.Minted(t)
	first := table.Key.ID
	for name, c := range map[string]struct {
		limits, allowance string
		counts            bool   // whether the deployment counts requests without limits
		charged, counted  id.Key // the key whose row is written; "": none
	}{
		"neither, not counted":      {"", "", false, "", ""},
		"neither":                   {"", "", true, "", first},
		"an allowance, not counted": {"", "9/d", false, "", ""},
		"an allowance":              {"", "9/d", true, "", first},
		"limits":                    {"9/d", "", true, first, ""},
		"limits and an allowance":   {"9/d", "9/d", true, first, ""},
		"limits, not counted":       {"9/d", "", false, first, ""},
	} {
		var charged, counted id.Key
		granted := authntest.Table{} // grants every lease
		table.Leases = func(ctx context.Context, l limit.Lease) (limit.Charges, bool, error) {
			if l.Counted > 0 {
				counted = l.Key
			} else if l.Key != "" {
				charged = l.Key
			}
			return granted.Lease(ctx, l)
		}
		row := table.Key
		row.Limits, row.OrgState = c.limits, store.OrgState{Allowance: c.allowance, Version: 1}
		a := authn.New(table, nil)
		if c.counts {
			a.CountRequests()
		}
		if _, err := a.Spend(t.Context(), row); err != nil || charged != c.charged || counted != c.counted {
			t.Errorf("%s: charged %q, counted %q, %v", name, charged, counted, err)
		}
	}
}

package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// keyUsage reads the use of a key today and on the days before, as Ada.
func (c *connected) keyUsage(t *testing.T, k id.Key, before int) []store.Usage {
	t.Helper()
	found, err := c.KeyUsage(ctx, admin(c.ada), c.org, k, c.Now().AddDate(0, 0, -before), c.Now())
	noError(t, err)
	return found
}

// TestTheUseOfADayIsBetweenItsTwoNumbers: the true number of requests is between Requests and AtMost. The test goes on over midnight,
// and rotates the key.
func TestTheUseOfADayIsBetweenItsTwoNumbers(t *testing.T) {
	c := connect(t)
	c.advanceClock(c.Now().Truncate(24 * time.Hour).Add(24*time.Hour - 2*time.Second).Sub(c.Now()))
	first, all := c.limitedKey(t, "100/m 10000/d"), c.processes(3)
	keys := []store.MintedKey{first}
	truth := map[string]int64{}
	for i := range 6 {
		if i == 3 {
			keys = append(keys, store.MintedKey{ID: c.successorOf(t, first.ID, store.KeyChange{}).ID})
		}
		truth[c.Now().UTC().Format(time.DateOnly)] += int64(c.spend(t, 9, all, keys...))
		c.advanceClock(time.Second)
	}
	for _, k := range keys {
		found := c.keyUsage(t, k.ID, 3)
		if len(found) != 2 {
			t.Fatalf("%s: %+v", k.ID, found)
		}
		for _, u := range found {
			if passed := truth[u.Date]; u.Key != first.ID || u.Requests > passed || u.AtMost < passed || u.Requests == 0 {
				t.Errorf("%s: %+v, and %d were let through", k.ID, u, passed)
			}
		}
	}
	whole, next, err := c.OrgUsage(ctx, billing, c.org, c.Now().UTC().Format("2006-01"), store.Page{})
	if err != nil || next != "" || !reflect.DeepEqual(whole, c.keyUsage(t, first.ID, 3)) {
		t.Errorf("%+v %q %v", whole, next, err)
	}
}

func TestTheUseOfAMonthIsListedInPages(t *testing.T) {
	c := connect(t)
	noError(t, c.setAllowance("1000000/d"))
	a := c.processes(1)
	var keys []store.MintedKey
	for range 3 {
		keys = append(keys, c.limitedKey(t, "100/d 1000/M"))
	}
	slices.SortFunc(keys, func(a, b store.MintedKey) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for range 2 {
		c.spend(t, 3, a, keys...)
		c.advanceClock(24 * time.Hour)
	}
	c.advanceClock(62 * 24 * time.Hour) // the use of another month is not listed
	c.spend(t, 3, a, keys...)
	var got []string
	for p := (store.Page{Limit: 3}); ; {
		found, next, err := c.OrgUsage(ctx, admin(c.ada), c.org, "2027-01", p)
		noError(t, err)
		for _, u := range found {
			got = append(got, fmt.Sprintf("%s %s %d", u.Date, u.Key, u.AtMost))
		}
		if p.After = next; next == "" {
			break
		}
	}
	var want []string
	for _, day := range []string{"2027-01-15", "2027-01-16"} {
		want = append(want, day+map[string]string{"2027-01-15": "  -1", "2027-01-16": "  3"}[day]) // all keys together; the allowance came on the first day
		for _, k := range keys {
			want = append(want, fmt.Sprintf("%s %s 1", day, k.ID))
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestKeysWithoutLimitsAreCountedOnRequest: CountRequests makes a process count the uses of keys without limits. A process writes once
// a minute.
func TestKeysWithoutLimitsAreCountedOnRequest(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0)
	a := c.processes(1)[0]
	a.CountRequests()
	c.checkKey(t, a, k, 1)
	for minute := range 3 {
		c.advanceClock(time.Minute)
		_, others := c.checkKey(t, a, k, 10)
		if len(others) != 1 {
			t.Errorf("minute %d: %v", minute, others)
		}
	}
	want := []store.Usage{{Date: "2027-01-15", Key: k.ID, Requests: 22, AtMost: -1}} // the last 9 requests are not written yet
	if got := c.keyUsage(t, k.ID, 0); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.advanceClock(24 * time.Hour)
	c.checkKey(t, a, k, 1) // writes the rest of the day before
	c.advanceClock(time.Minute)
	c.checkKey(t, a, k, 1)
	got := c.keyUsage(t, k.ID, 1)
	if len(got) != 2 || got[0].Requests != 31 || got[1].Requests != 2 {
		t.Errorf("after midnight: %+v", got)
	}
	fresh := c.successorOf(t, k.ID, store.KeyChange{})
	noError(t, errorOf(a.Spend(ctx, fresh))) // the minute is not over
	c.advanceClock(time.Minute)
	noError(t, errorOf(a.Spend(ctx, fresh)))
	if got := c.keyUsage(t, fresh.ID, 0); len(got) != 1 || got[0].Key != k.ID || got[0].Requests != 4 {
		t.Errorf("with its successor: %+v", got)
	}
	noError(t, c.setAllowance("1/M"))
	c.advanceClock(time.Minute)
	fresh = row(t, c.Table, c.org, fresh.ID)
	noError(t, errorOf(a.Spend(ctx, fresh)))
	c.advanceClock(time.Minute)
	expectCode(t, errorOf(a.Spend(ctx, fresh)), problem.RateLimited)
	if got := c.keyUsage(t, fresh.ID, 0); len(got) != 1 || got[0].Requests != 5 {
		t.Errorf("with a request that the org's allowance refuses: %+v", got)
	}
}

func TestOnlyTheRoutesRolesSeeUsage(t *testing.T) {
	c := connect(t)
	k := c.limitedKey(t, "9/d")
	eve := store.Actor{User: c.NewUser(t, "eve@example.com"), May: []org.Role{org.Admin, org.Member}}
	viewer := store.Actor{User: addMember(t, c.Table, c.org, c.ada, "vic@example.com", org.Viewer), May: eve.May}
	for who, look := range map[string]struct {
		as   store.Actor
		want problem.Code
	}{"a stranger": {eve, problem.OrgNotFound}, "a viewer": {viewer, problem.InsufficientRole}} {
		_, err := c.KeyUsage(ctx, look.as, c.org, k.ID, c.Now(), c.Now())
		if !problem.Is(err, look.want) {
			t.Errorf("%s, of a key: %v", who, err)
		}
		if _, _, err = c.OrgUsage(ctx, look.as, c.org, "2027-01", store.Page{}); !problem.Is(err, look.want) {
			t.Errorf("%s, of the org: %v", who, err)
		}
	}
	other := connect(t)
	expectCode(t, errorOf(c.KeyUsage(ctx, admin(c.ada), c.org, other.limitedKey(t, "").ID, c.Now(), c.Now())), problem.KeyNotFound)
}

// TestUsageIsDeletedAfterItsOrg: 90 days after the end of the org, the sweep deletes all pages of its use. The use of another org stays.
func TestUsageIsDeletedAfterItsOrg(t *testing.T) {
	c := connect(t)
	c.SetClosingPage(2)
	key := c.limitedKey(t, "9/d")
	for range 5 {
		c.spend(t, 1, c.processes(1), key)
		c.advanceClock(24 * time.Hour)
	}
	_, _, err := c.Lease(ctx, limit.Lease{Owner: limit.Owner{Org: "org_other", Key: key.ID}, Row: limit.Day, Start: 1_800_000_000, Requests: 1})
	noError(t, err)
	var more []map[string]string // more rows than one run of the sweep deletes
	for n := range 250 {
		more = append(more, map[string]string{"PK": "USAGE#" + string(c.org), "SK": fmt.Sprintf("2026-12-01#key_%03d", n)})
	}
	write(t, c.Table, more)
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
	c.sweepOrg(t)
	if rows := c.rowsOf(t, "USAGE#"); len(rows) != 6+len(more) {
		t.Errorf("%d rows while requests are in flight", len(rows))
	}
	c.advanceClock(90 * dayLong)
	c.sweepOrg(t)
	if rows := c.rowsOf(t, "USAGE#"); len(rows) != 1 || c.dueOrg(t) {
		t.Errorf("%d rows are left", len(rows))
	}
}

// TestAFullMonthIsOneList: an org with the most keys allowed uses each key on each day of a month.
func TestAFullMonthIsOneList(t *testing.T) {
	c := connect(t)
	var rows []map[string]string
	for day := range 31 {
		for k := range c.Limits.ActiveKeys {
			rows = append(rows, map[string]string{"PK": "USAGE#" + string(c.org), "SK": fmt.Sprintf("2027-01-%02d#key_%03d", day+1, k)})
		}
	}
	write(t, c.Table, rows)
	found, next, err := c.OrgUsage(ctx, admin(c.ada), c.org, "2027-01", store.Page{})
	if err != nil || next != "" || len(found) != len(rows) {
		t.Errorf("%d rows of %d, then %q; %v", len(found), len(rows), next, err)
	}
}

// TestADayPartlyWithoutALimitHasNoUpperBound: requests in the part of the day without a limit are not counted.
func TestADayPartlyWithoutALimitHasNoUpperBound(t *testing.T) {
	c := connect(t)
	all := c.processes(1)
	known := func(k id.Key) (days []bool) {
		for _, u := range c.keyUsage(t, k, 0) {
			days = append(days, u.AtMost >= 0)
		}
		return days
	}
	limits := func(k id.Key, to string) {
		t.Helper()
		noError(t, c.update(k, store.KeyChange{Limits: &to}))
	}
	late, always := makeKey(t, c.Table, c.org, c.ada, 0), c.limitedKey(t, "9/d")
	noError(t, errorOf(c.UpdateKey(ctx, billing, c.org, late.ID, store.KeyChange{Ceilings: ptr("9/d")})))
	limits(always.ID, "8/d")
	c.spend(t, 1, all, late)
	c.spend(t, 1, all, always)
	if got := append(known(late.ID), known(always.ID)...); !reflect.DeepEqual(got, []bool{false, true}) {
		t.Errorf("limited late, and always: %v", got)
	}
	c.advanceClock(24 * time.Hour)
	c.spend(t, 1, all, late)
	c.spend(t, 1, all, always)
	limits(always.ID, "")
	if got := append(known(late.ID), known(always.ID)...); !reflect.DeepEqual(got, []bool{true, false}) {
		t.Errorf("the day after, and no longer limited: %v", got)
	}
	fresh := c.successorOf(t, c.limitedKey(t, "9/d").ID, store.KeyChange{})
	limits(fresh.ID, "")
	before := known(fresh.ID)
	if len(before) != 1 || before[0] {
		t.Errorf("a successor that has no limits any more, while the other key has: %v", before)
	}
	noError(t, c.setAllowance("9/d"))
	c.spend(t, 1, all, store.MintedKey{ID: fresh.ID})
	whole, _, err := c.OrgUsage(ctx, billing, c.org, "2027-01", store.Page{})
	noError(t, err)
	ofAll := slices.DeleteFunc(whole, func(u store.Usage) bool { return u.Key != "" })
	if len(ofAll) != 1 || ofAll[0].AtMost >= 0 {
		t.Errorf("the use of all keys on the day of the allowance: %+v", ofAll)
	}
}

// TestARotationMarksEachDayOfItsGrace: the old key has limits, and its successor has none. Their use is counted together, so no
// day of the grace has an upper bound.
func TestARotationMarksEachDayOfItsGrace(t *testing.T) {
	c := connect(t)
	old := c.successorOf(t, c.limitedKey(t, "9/d").ID, store.KeyChange{}).ID // counted under the first key of the rotations
	_, err := c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: old, Grace: 7 * dayLong, Prefix: "lk", KeyChange: store.KeyChange{Limits: ptr("")}},
		store.Once[store.MintedKey]{})
	noError(t, err)
	found, err := c.KeyUsage(ctx, admin(c.ada), c.org, old, c.Now(), c.Now().Add(10*dayLong))
	noError(t, err)
	for _, u := range found {
		if u.AtMost >= 0 {
			t.Errorf("%+v", u)
		}
	}
	if len(found) != 8 {
		t.Errorf("%d days", len(found))
	}
}

package store_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// walk reads the usage of all orgs in a month, and returns the orgs in their order. page is the number of orgs in a page.
func (c *connected) walk(t *testing.T, month string, page int) (all []store.OrgUsageTotal) {
	t.Helper()
	for p := (store.Page{Limit: page}); ; {
		found, next, err := c.AllUsage(ctx, month, p)
		noError(t, err)
		if len(found) > page {
			t.Fatalf("%d orgs in a page of %d", len(found), page)
		}
		all = append(all, found...)
		if p.After = next; next == "" {
			return all
		}
	}
}

// TestAWalkListsEachOrgOnce walks through all orgs while some are created, renamed, suspended and deleted. Each org that exists from
// the first page to the last is listed once. The variable ORGS sets the number of orgs: 3000 take some minutes.
func TestAWalkListsEachOrgOnce(t *testing.T) {
	c := connect(t)
	orgs := 320
	if n, err := strconv.Atoi(os.Getenv("ORGS")); err == nil {
		orgs = n
	}
	c.Limits.OrgsCreated = 2 * orgs
	newOrg := func(n int) (id.Org, error) {
		made, err := c.CreateOrgAs(ctx, billing, store.NewOrg{Name: "Customer", ExternalID: fmt.Sprint("cus_", n), Plan: "pro"}, store.Once[store.Org]{})
		return made.Made.ID, err
	}
	there, rows := make([]id.Org, orgs), make([]map[string]string, orgs)
	noError(t, errors.Join(parallel.Each(8, there, func(i int, _ id.Org) (err error) {
		there[i], err = newOrg(i)
		rows[i] = map[string]string{"PK": "USAGE#" + string(there[i]), "SK": "2027-01-15#ORG", "served": strconv.Itoa(i), "leased": strconv.Itoa(i + 1)}
		return err
	})...))
	write(t, c.Table, rows)
	var changing sync.WaitGroup
	var errs []error
	var met []store.OrgUsageTotal
	changing.Go(func() {
		errs = parallel.Each(8, there, func(i int, o id.Org) error {
			return persistent(func() error {
				switch i % 4 {
				case 0:
					return errorOf(c.ChangeOrg(ctx, billing, o, named(fmt.Sprint("Name ", i))))
				case 1:
					return errorOf(c.ChangeOrg(ctx, billing, o, store.OrgChange{Suspended: ptr(true)}))
				case 2:
					return c.DeleteOrg(ctx, billing, o)
				}
				return errorOf(newOrg(orgs + i))
			})
		})
	})
	defer changing.Wait()
	walks := 0
	for done := false; !done; walks++ { // the first walk is during the changes, the second one after them
		done = walks > 0 && func() bool { changing.Wait(); return true }()
		met = c.walk(t, "2027-01", 7)
		times := map[id.Org]int{}
		for _, o := range met {
			times[o.ID]++
		}
		for i, o := range there {
			at := slices.IndexFunc(met, func(m store.OrgUsageTotal) bool { return m.ID == o })
			if times[o] != 1 || met[at].Requests != int64(i) || met[at].AtMost != int64(i+1) || met[at].ExternalID != fmt.Sprint("cus_", i) || met[at].State.Plan != "pro" {
				t.Fatalf("walk %d: %s is met %d times", walks, o, times[o])
			}
		}
		for o, n := range times {
			if n != 1 {
				t.Errorf("walk %d: %s is met %d times", walks, o, n)
			}
		}
	}
	noError(t, errors.Join(errs...))
	statuses := map[store.Status]int{}
	for _, o := range met {
		statuses[o.Status()]++
	}
	if want := (map[store.Status]int{"active": orgs/4*3 + 1, "suspended": orgs / 4, "deleted": orgs / 4}); !reflect.DeepEqual(statuses, want) {
		t.Errorf("%v, want %v", statuses, want)
	}
	listed := 0
	for _, r := range c.rowsOf(t, "DIR#") {
		listed++
		o := slices.IndexFunc(met, func(m store.OrgUsageTotal) bool { return string(m.ID) == text(r, "SK") })
		if o < 0 || has("purgeAt")(r) != (met[o].Status() == store.OrgDeleted) || len(r) > 3 {
			t.Errorf("the directory has a wrong row: %v", r)
		}
	}
	if listed != len(met) || listed != orgs+orgs/4+1 {
		t.Errorf("%d rows, %d orgs", listed, len(met))
	}
}

// TestEachPageOfOrgsLeadsToTheNext: the last page has no cursor, even if it is full. A cursor is still good after its org is gone.
func TestEachPageOfOrgsLeadsToTheNext(t *testing.T) {
	c := connect(t)
	want := []id.Org{c.org}
	for range 59 {
		want = append(want, c.orgOfService(t, store.NewOrg{}))
	}
	slices.Sort(want)
	for _, page := range []int{1, 7, 20, 59, 60, 61, 0} {
		var got []id.Org
		pages := 0
		for p := (store.Page{Limit: page}); ; pages++ {
			found, next, err := c.AllOrgs(ctx, p)
			noError(t, err)
			for _, o := range found {
				got = append(got, o.ID)
			}
			if len(found) == 0 || next != "" && (len(found) != page || next != string(found[len(found)-1].ID)) {
				t.Fatalf("by %d: %d orgs, then %q", page, len(found), next)
			}
			if p.After = next; next == "" {
				break
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("by %d: %v", page, got)
		}
	}
	first, next, err := c.AllOrgs(ctx, store.Page{Limit: 10})
	noError(t, err)
	noError(t, c.DeleteOrg(ctx, billing, first[9].ID))
	c.advanceClock(90 * dayLong)
	if rest, end, err := c.AllOrgs(ctx, store.Page{After: next}); err != nil || end != "" || len(rest) != 50 {
		t.Errorf("after an org that is gone: %d orgs, %q, %v", len(rest), end, err)
	}
	if all, _, err := c.AllOrgs(ctx, store.Page{}); err != nil || len(all) != 59 {
		t.Errorf("%d orgs, %v", len(all), err)
	}
}

// TestTheUseOfAMonthIsAddedUp: Requests is a lower bound of the use, and AtMost is an upper bound.
func TestTheUseOfAMonthIsAddedUp(t *testing.T) {
	const of, month = "2027-01-", "2027-01"
	many := make([]string, 10_001)
	for n := range many {
		many[n] = fmt.Sprintf("%s01#key_%05d 1 1", of, n)
	}
	daily := make([]string, 31) // the use of an org that has an allowance throughout the month
	for n := range daily {
		daily[n] = fmt.Sprintf("%s%02d#ORG 10001 10003", of, n+1)
	}
	since5 := append([]string{of + "05#ORG 2 3 0"}, daily[5:]...)
	for name, c := range map[string]struct {
		rows             []string // sort key, served, leased, and counted if it is there
		requests, atMost int64
		more             bool
	}{
		"nothing":                        {nil, 0, -1, false},
		"an allowance":                   {[]string{of + "01#ORG 5 7", of + "02#ORG 1 2"}, 6, 9, false},
		"keys with limits":               {[]string{of + "01#key_a 5 7", of + "01#key_b 1 2", of + "31#key_b 4 4"}, 10, -1, false},
		"both":                           {[]string{of + "01#ORG 5 9", of + "01#key_a 3 4", of + "01#key_b 4 6", of + "02#ORG 8 8", of + "02#key_a 1 1"}, 15, 17, false},
		"an allowance since the 10th":    {[]string{of + "01#key_a 6 6", of + "10#ORG 2 3 0", of + "11#ORG 1 1"}, 9, -1, false},
		"keys that are counted":          {[]string{of + "01#key_a 0 0 6", of + "02#key_a 0 0 1"}, 7, -1, false},
		"a counted key, an allowance":    {[]string{of + "01#ORG 5 9", of + "01#key_a 0 0 6"}, 6, 9, false},
		"other months, row of the month": {[]string{"2026-12-31#ORG 9 9", month + "#ORG 99 99", of + "05#ORG 1 1", "2027-02-01#ORG 9 9"}, 1, 1, false},
		"more than a page":               {many[:2_500], 2_500, -1, false},
		"more than a walk reads":         {slices.Concat(many, []string{of + "02#key_a 5 5"}), 10_000, -1, true},
		"the most that a walk reads":     {append([]string{of + "01#ORG 70 90"}, many[:9_999]...), 9_999, 90, false},
		"more keys, and an allowance":    {slices.Concat(many, daily), 31 * 10_001, 31 * 10_003, false},
		"more keys, then an allowance":   {slices.Concat(many, since5), 10_000 + 2 + 26*10_001, -1, true},
	} {
		tb := connect(t)
		var rows []map[string]string
		for _, text := range c.rows {
			f := strings.Fields(text)
			r := map[string]string{"PK": "USAGE#" + string(tb.org), "SK": f[0], "served": f[1], "leased": f[2]}
			if len(f) > 3 {
				r["counted"] = f[3]
			}
			rows = append(rows, r)
		}
		write(t, tb.Table, rows)
		if got := tb.walk(t, month, 100); len(got) != 1 || got[0].Requests != c.requests || got[0].AtMost != c.atMost || got[0].More != c.more {
			t.Errorf("%s: %+v, want %d and %d, %v", name, got, c.requests, c.atMost, c.more)
		}
		if len(rows) > 10_000 { // a failed read of the org's own rows must not make an invoice too small
			tb.letPass("BatchGetItem") // of the orgs
			tb.Faults.Before("BatchGetItem", func() { tb.Faults.Plan("BatchGetItem", storetest.Malformed, 1) })
			if all, _, err := tb.AllUsage(ctx, month, store.Page{}); err == nil || tb.Faults.Pending() {
				t.Errorf("%s: a read failed, but AllUsage did not: %v", name, all)
			}
		}
	}
}

// TestUsageOfADeletedOrgIsReadableFor90Days: the 90 days begin with the end of the deletion. The other rows of the org are deleted
// two minutes after it.
func TestUsageOfADeletedOrgIsReadableFor90Days(t *testing.T) {
	c := connect(t)
	o := c.orgOfService(t, store.NewOrg{ExternalID: "cus_1", Plan: "pro"})
	write(t, c.Table, []map[string]string{{"PK": "USAGE#" + string(o), "SK": "2027-01-15#ORG", "served": "5", "leased": "7"}})
	noError(t, errorOf(c.ChangeOrg(ctx, billing, o, store.OrgChange{Suspended: ptr(true)})))
	c.letPass("TransactWriteItems") // the transaction that begins the deletion, which is then cut short
	c.Faults.Before("TransactWriteItems", func() { c.Faults.Plan("TransactWriteItems", storetest.LostBefore, -1) })
	if c.DeleteOrg(ctx, billing, o) == nil {
		t.Error("the deletion is not cut short")
	}
	c.Faults.Heal()
	c.advanceClock(time.Hour + 345*time.Millisecond)
	noError(t, c.DeleteOrg(ctx, billing, o)) // the org's keys end here, and the 90 days begin
	gone := &connected{Table: c.Table, org: o}
	c.advanceClock(2 * time.Minute)
	gone.sweepOrg(t)
	if left := gone.apps(t); len(left) != 0 || !slices.ContainsFunc(c.rowsOf(t, "BUDGET#"+string(o)), has("purgeAt")) {
		t.Errorf("two minutes later: %v", left)
	}
	readable := func() (inWalk bool, err error) {
		for _, u := range c.walk(t, "2027-01", 10) {
			inWalk = inWalk || u.ID == o && u.Requests == 5 && u.AtMost == 7 && u.ExternalID == "cus_1" && u.State.Plan == "pro" && u.Status() == store.OrgDeleted
		}
		rows, _, err := c.OrgUsage(ctx, billing, o, "2027-01", store.Page{})
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("%d rows", len(rows))
		}
		return inWalk, err
	}
	c.advanceClock(90*dayLong - 2*time.Minute - time.Second)
	due, err := c.DueBefore(ctx, store.DueOrg, c.Now(), 10)
	if err != nil || len(due) != 0 {
		t.Errorf("the org is due before 90 days are over: %v %v", due, err)
	}
	c.forgetCalls()
	gone.sweepOrg(t) // a sweep may come too early, because the index is a little late
	if calls := c.Faults.Calls(); !slices.Equal(calls, []string{"GetItem"}) {
		t.Errorf("a sweep that comes too early: %v", calls)
	}
	if inWalk, err := readable(); !inWalk || err != nil {
		t.Errorf("before 90 days are over: %v %v", inWalk, err)
	}
	expectCode(t, errorOf(c.Org(ctx, billing, o)), problem.OrgNotFound)
	c.advanceClock(time.Second)
	if inWalk, err := readable(); inWalk || !problem.Is(err, problem.OrgNotFound) {
		t.Errorf("after 90 days, before the sweep: %v %v", inWalk, err)
	}
	gone.sweepOrg(t)
	if rows := c.rowsOf(t, "USAGE#"); len(rows) != 0 || slices.ContainsFunc(c.rowsOf(t, "ORG#"+string(o)), has("due")) {
		t.Errorf("after 90 days: %v", rows)
	}
	found, ok, err := c.OrgByExternalID(ctx, billing, "cus_1")
	if ok || err != nil {
		t.Errorf("found by its external id: %+v %v", found, err)
	}
}

// TestAFailedReadFailsAllUsage: AllUsage makes 17 queries, of the 16 partitions and of the use of an org. When one of them fails,
// AllUsage fails: otherwise an invoice would be too small.
func TestAFailedReadFailsAllUsage(t *testing.T) {
	c := connect(t)
	for query := range 17 {
		for range query {
			c.letPass("Query")
		}
		c.Faults.Before("Query", func() { c.Faults.Plan("Query", storetest.Malformed, 1) })
		if all, next, err := c.AllUsage(ctx, "2027-01", store.Page{}); err == nil || c.Faults.Pending() {
			t.Errorf("query %d failed, but AllUsage did not: %v %q", query, all, next)
		}
	}
	c.Faults.Plan("BatchGetItem", storetest.Malformed, 1)
	if all, next, err := c.AllUsage(ctx, "2027-01", store.Page{}); err == nil {
		t.Errorf("the orgs were not read: %v %q", all, next)
	}
}

// TestAPageOfUsageEndsWhenItsTimeIsOver, but is never empty.
func TestAPageOfUsageEndsWhenItsTimeIsOver(t *testing.T) {
	c := connect(t)
	want := map[id.Org]int64{c.org: 0}
	for range 11 {
		o := c.orgOfService(t, store.NewOrg{})
		want[o] = 2
		write(t, c.Table, []map[string]string{
			{"PK": "USAGE#" + string(o), "SK": "2027-01-15#ORG", "served": "1", "leased": "1"}, {"PK": "USAGE#" + string(o), "SK": "2027-01-16#ORG", "served": "1", "leased": "1"},
		})
	}
	c.SetUsageWithin(0)
	first, next, err := c.AllUsage(ctx, "2027-01", store.Page{})
	noError(t, err)
	if len(first) != 1 || next != string(first[0].ID) {
		t.Errorf("%d orgs, then %q", len(first), next)
	}
	got := map[id.Org]int64{}
	for _, o := range c.walk(t, "2027-01", 100) {
		got[o.ID] += o.Requests
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

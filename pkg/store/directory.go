package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/table"
)

// The directory has a row for each org. The transaction that creates the org writes the row. The row never moves, so that a walk
// through the directory meets each org once, also when orgs change meanwhile. The row has only its key. The end of a deletion adds the
// time when the row is deleted.
const (
	directoryShards = 16  // partitions, to spread the load
	directoryPage   = 100 // orgs that AllOrgs returns without a limit: one batch reads them

	usageAtOnce = 8    // orgs whose usage is read at once
	usagePage   = 1000 // rows of one org that are in memory at once

	// usageWithin bounds the time in which a page of AllUsage reads usage. A function has 6 s and 0.15 of a processor, which decodes
	// 10,000 rows in a second.
	usageWithin = time.Second

	// usageAfterEnd is the time for which the usage of a deleted org can be read, for the last invoice. It begins with the end
	// of the org's keys.
	usageAfterEnd = 90 * 24 * time.Hour
)

// directoryShard returns the number of an org's partition.
func directoryShard(o id.Org) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o)) // a hash never fails
	return int(h.Sum32() % directoryShards)
}

func directoryPartition(n int) string { return pkDirectory + strconv.Itoa(n) }

// Status is the state of an org, for the owner.
type Status string

// The statuses of orgs.
const (
	OrgActive    Status = "active"
	OrgSuspended Status = "suspended"
	OrgDeleted   Status = "deleted" // its deletion has begun
)

// Status returns the status of an org.
func (o Org) Status() Status {
	switch {
	case o.deleted:
		return OrgDeleted
	case o.SuspendedAt != 0:
		return OrgSuspended
	}
	return OrgActive
}

// AllOrgs lists the orgs of all customers, one partition of the directory after the other. A deleted org is listed until
// usageAfterEnd is over. Without a limit, a page has directoryPage orgs. next is After of the next page, "" at the end.
func (s *Store) AllOrgs(ctx context.Context, p Page) (orgs []Org, next string, err error) {
	first, most := 0, cmp.Or(p.Limit, directoryPage)
	if p.After != "" {
		first = directoryShard(id.Org(p.After))
	}
	shown := table.Any(attrPurgeAt.Absent(), attrPurgeAt.Over(s.Now().Unix())) // DynamoDB deletes a row up to some days late
	var rows []table.Key
	for n := first; n < directoryShards && len(rows) <= most; n++ { // one row more shows that there is a next page
		page := table.Span{PK: directoryPartition(n), Filter: shown, After: p.After, Limit: most + 1 - len(rows)}
		found, _, err := list(ctx, s, page, func(r *table.Reading) table.Key { return orgRow(id.Org(r.SK(""))) })
		if err != nil {
			return nil, "", err
		}
		rows, p.After = append(rows, found...), ""
	}
	if len(rows) > most {
		rows = rows[:most]
		next = strings.TrimPrefix(rows[most-1].PK, pkOrg)
	}
	found, err := batch(ctx, s, rows, orgFrom)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		if o, ok := found[row]; ok { // DynamoDB may have deleted the org's row, but not yet its row of the directory
			orgs = append(orgs, o)
		}
	}
	return orgs, next, nil
}

// OrgUsageTotal is the use of all keys of an org in a month, as two bounds.
type OrgUsageTotal struct {
	Org

	Requests int64 // at least this number of requests was let through: processes have reported them
	AtMost   int64 // at most this number; -1: not known, because the org had no allowance for a part of the month
	More     bool  // the org has more than maxWholeUsage rows, and Requests leaves out the use of some keys
}

// errLate ends the read of an org's usage when the time of the page is over.
var errLate = errors.New("store: no time is left for the usage of this org")

// AllUsage returns the use of the keys of each org in a month of UTC (2026-11), in pages like AllOrgs. A page ends early when
// its time is over.
func (s *Store) AllUsage(ctx context.Context, month string, p Page) (totals []OrgUsageTotal, next string, err error) {
	orgs, next, err := s.AllOrgs(ctx, p)
	if err != nil {
		return nil, "", err
	}
	stop := time.Now().Add(s.usageWithin)
	totals = make([]OrgUsageTotal, len(orgs))
	errs := parallel.Each(usageAtOnce, orgs, func(i int, o Org) (err error) {
		isLate := func() bool { return i > 0 && time.Now().After(stop) } // the first org is read to its end, so that a walk goes on
		totals[i], err = s.usageTotal(ctx, o, month, isLate)
		return err
	})
	for i, err := range errs {
		if errors.Is(err, errLate) {
			return totals[:i], string(orgs[i-1].ID), nil
		}
		if err != nil {
			return nil, "", err
		}
	}
	return totals, next, nil
}

// usageTotal adds up at most maxWholeUsage rows of an org, so that one customer cannot make a call too long. If there are more
// rows, it adds the org's own row of each day that is left: under an allowance that is the use of all keys. Error: errLate.
func (s *Store) usageTotal(ctx context.Context, o Org, month string, isLate func() bool) (OrgUsageTotal, error) {
	var sum usageSum
	page := Page{}.span(pkUsage+string(o.ID), month+"-", usagePage)
	for range maxWholeUsage / usagePage {
		if isLate() {
			return OrgUsageTotal{}, errLate
		}
		rows, next, err := list(ctx, s, page, usageFrom)
		if err != nil {
			return OrgUsageTotal{}, err
		}
		for _, u := range rows {
			sum.add(u)
		}
		if next == "" {
			return sum.total(o), nil
		}
		page.After = page.Prefix + next // next is the sort key without the prefix
	}
	var left []table.Key
	for day := 1; day <= 31; day++ {
		if date := fmt.Sprintf("%s-%02d", month, day); date > sum.date { // the row of the org comes before the rows of its keys
			left = append(left, usageRow(o.ID, date, allKeys))
		}
	}
	found, err := batch(ctx, s, left, usageFrom)
	if err != nil {
		return OrgUsageTotal{}, err
	}
	for _, row := range left {
		if u, ok := found[row]; ok {
			sum.add(u)
		}
	}
	t := sum.total(o)
	t.More = t.AtMost < 0 // otherwise its own rows have all requests (see usageSum)
	return t, nil
}

// usageSum adds up the rows of a month, day by day. A request under an allowance is counted on the row of the org. If its key has
// limits, the request is also counted on the row of the key. So the larger of the two sums of a day is a lower bound of the day's
// requests. Only the row of the org has all requests. On a day on which an allowance begins or ends, the row is marked as not complete.
// So if a month has rows of the org, and none of them is marked, the org had an allowance for the whole month. Otherwise AtMost is -1.
type usageSum struct {
	date             string
	ofOrg, ofKeys    int64 // the two sums of this date
	requests, atMost int64
	isOfOrg          bool // the org has a row
	isPartial        bool
}

func (s *usageSum) add(u Usage) {
	if u.Date != s.date {
		s.requests += max(s.ofOrg, s.ofKeys)
		s.date, s.ofOrg, s.ofKeys = u.Date, 0, 0
	}
	if u.Key != "" {
		s.ofKeys += u.Requests
		return
	}
	s.ofOrg, s.isOfOrg, s.isPartial = u.Requests, true, s.isPartial || u.AtMost < 0
	s.atMost += u.AtMost
}

func (s *usageSum) total(o Org) OrgUsageTotal {
	t := OrgUsageTotal{Org: o, Requests: s.requests + max(s.ofOrg, s.ofKeys), AtMost: s.atMost}
	if s.isPartial || !s.isOfOrg {
		t.AtMost = -1
	}
	return t
}

package store

import (
	"context"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// Usage is the use of a key on a day of UTC, together with the other keys of its rotations.
type Usage struct {
	Date     string // 2026-11-24
	Key      id.Key // the first key of the rotations; "": all keys of the org together, on a day with an allowance
	Requests int64  // at least this number of requests was let through: processes have reported them
	AtMost   int64  // at most this number; -1: not known, because there was no limit for a part of the day

	refused   limit.Refusals
	isRefused bool // the day has refusals only
}

// Refused returns the number of refused requests by code, nil for none. There may have been more, which were not reported.
func (u Usage) Refused() (n map[problem.Code]int64) {
	for why, times := range u.refused {
		if times != 0 && n == nil {
			n = map[problem.Code]int64{}
		}
		if times != 0 {
			n[refused[why].code] = times
		}
	}
	return n
}

// MaxUsageDays bounds the days that KeyUsage returns. It is the number of days for which rows are kept.
const MaxUsageDays = int(usageFor / (24 * time.Hour))

// KeyUsage returns the use of a key on the days from one day of UTC to another, both included, at most MaxUsageDays. A day without a
// row is left out. Errors: org_not_found, insufficient_role, key_not_found.
func (s *Store) KeyUsage(ctx context.Context, a Actor, o id.Org, k id.Key, from, to time.Time) ([]Usage, error) {
	found, err := s.keyFor(ctx, a, o, k)
	if err != nil {
		return nil, err
	}
	var days []table.Key
	for day := from.UTC(); !day.After(to) && len(days) < MaxUsageDays; day = day.AddDate(0, 0, 1) {
		days = append(days, usageRow(o, day.Format(time.DateOnly), found.LimitID()))
	}
	rows, err := batch(ctx, s, days, usageFrom)
	if err != nil {
		return nil, err
	}
	var out []Usage
	for _, day := range days {
		if u, ok := rows[day]; ok {
			out = append(out, u)
		}
	}
	return out, nil
}

// maxWholeUsage is the number of rows that OrgUsage returns without a page. A month of 200 keys has 6,200.
const maxWholeUsage = 10_000

// OrgUsage returns the use of the keys of an org in a month of UTC (2026-11), a row for each day and key, by day. next is
// After of the next page, "" at the end. A service can also read the usage of a deleted org, until usageAfterEnd is over.
// A day with refusals only is left out, because the rows are for invoices. Errors: org_not_found, insufficient_role.
func (s *Store) OrgUsage(ctx context.Context, a Actor, o id.Org, month string, p Page) (rows []Usage, next string, err error) {
	a.endedAfter = s.Now().Add(-usageAfterEnd).UnixMilli()
	all, next, err := listAs(ctx, s, a, o, p.span(pkUsage+string(o), month+"-", maxWholeUsage), usageFrom)
	for _, u := range all {
		if !u.isRefused {
			rows = append(rows, u)
		}
	}
	return rows, next, err
}

func usageFrom(r *table.Reading) Usage {
	date, key, _ := strings.Cut(r.SK(""), "#")
	u := Usage{Date: date, Requests: attrServed.OrZero(r) + attrCounted.OrZero(r), AtMost: attrLeased.OrZero(r)}
	if key != allKeys {
		u.Key = id.Key(key)
	}
	for why := range u.refused {
		u.refused[why] = refused[why].count.OrZero(r)
	}
	u.isRefused = u.Requests == 0 && u.AtMost == 0 && u.refused != limit.Refusals{}
	if attrCounted.IsIn(r.Row) || !attrLeased.IsIn(r.Row) { // without both: refusals of a key that was replaced (NoteRefusals)
		u.AtMost = -1
	}
	return u
}

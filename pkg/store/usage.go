package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// A key with limits has a row for each day (of UTC) on which it was used, and one for each month when a month has a limit. The
// row of a day has the number of requests leased in the day, in its present hour and in its present minute: so one write leases
// from all three. A lease is never given back. The date is before the key in the sort key, so that the
// use of all keys of an org in a month is one span.

const usageFor = 400 * 24 * time.Hour // the time for which the rows are kept

// allKeys replaces the key in the row of all keys of an org.
const allKeys = "ORG"

// Lease charges the requests that a process wants to let through to the windows of a key, in one write: see limit.Table. It makes one
// try, because a second try could charge twice. An error wraps limit.ErrNotCharged when nothing was charged.
func (s *Store) Lease(ctx context.Context, l limit.Lease) (found limit.Charges, done bool, err error) {
	start := time.Unix(l.Start, 0).UTC()
	var when []table.Condition
	changes := []table.Change{
		attrPurgeAt.SetIfAbsent(start.Add(usageFor).Unix()),
		table.If(l.Requests != 0, table.Add(attrServed, l.Requests)), table.If(l.Counted != 0, table.Add(attrCounted, l.Counted)),
	}
	want := l.Wants[l.Row]
	if want.Requests != 0 {
		changes = append(changes, table.Add(attrLeased, want.Requests))
		if want.Limit != 0 {
			when = append(when, table.Any(attrLeased.Absent(), attrLeased.AtMost(want.Limit-want.Requests)))
		}
	}
	for p, attrs := range running {
		want := l.Wants[p]
		switch {
		case want.Requests == 0:
		case want.Begins:
			when = append(when, table.Any(attrs.start.Absent(), attrs.start.Under(want.Start)))
			changes = append(changes, attrs.start.Set(want.Start), attrs.leased.Set(want.Requests))
		default:
			when = append(when, attrs.start.Is(want.Start), attrs.leased.AtMost(want.Limit-want.Requests))
			changes = append(changes, table.Add(attrs.leased, want.Requests))
		}
	}
	var all table.Condition
	if when != nil {
		all = table.All(when...)
	}
	row, done, err := s.db.Take(ctx, usageRow(l.Org, start.Format(layoutOf(l.Row)), ofUse(l.Key)), all, changes...)
	if err != nil {
		return found, false, notCharged(err)
	}
	r := table.Read(row)
	found[l.Row] = limit.Charged{Start: l.Start, Requests: attrLeased.OrZero(&r)}
	for mark, attr := range noted {
		found[l.Row].Noted[mark] = attr.OrZero(&r)
	}
	for p, attrs := range running {
		if l.Row == limit.Day {
			found[p] = limit.Charged{Start: attrs.start.OrZero(&r), Requests: attrs.leased.OrZero(&r)}
		}
	}
	return found, done, r.Err()
}

// notCharged returns the error of a write, with limit.ErrNotCharged when the row was not changed.
func notCharged(err error) error {
	if errors.Is(err, table.ErrRefused) {
		return errors.Join(limit.ErrNotCharged, err)
	}
	return err
}

// refused are the attributes that count refusals, with the code that the callers got.
var refused = [...]struct {
	count table.Int
	code  problem.Code
}{
	limit.Revoked:   {attrRefusedRevoked, problem.KeyRevoked},
	limit.Expired:   {attrRefusedExpired, problem.KeyExpired},
	limit.Suspended: {attrRefusedSuspended, problem.KeySuspended},
	limit.Limited:   {attrRefusedLimited, problem.RateLimited},
	limit.Scope:     {attrRefusedScope, problem.InsufficientScope},
}

// Refusal returns the kind of refusal that a code means. ok is false for a code that is not counted.
func Refusal(code problem.Code) (why limit.Refusal, ok bool) {
	for why, r := range refused {
		if r.code == code {
			return limit.Refusal(why), true
		}
	}
	return 0, false
}

// NoteRefusals adds refusals to the row of a day, in one try: see limit.Table. The day of a key without limits has no upper bound
// (markPartial). The day of a key with limits has one, 0 if nothing was leased. The row of a replaced key does not have its successor's
// limits, so its refusals set neither.
func (s *Store) NoteRefusals(ctx context.Context, k limit.Refused, day int64, n limit.Refusals) error {
	start, bound := time.Unix(day, 0).UTC(), attrCounted
	if k.Limited {
		bound = attrLeased
	}
	changes := []table.Change{attrPurgeAt.SetIfAbsent(start.Add(usageFor).Unix()), table.If(!k.Rotated, table.Add(bound, 0))}
	for why, times := range n {
		changes = append(changes, table.If(times != 0, table.Add(refused[why].count, times)))
	}
	_, _, err := s.db.Take(ctx, usageRow(k.Org, start.Format(time.DateOnly), k.LimitID), nil, changes...)
	return notCharged(err)
}

// layoutOf returns the layout of the date in the sort key of the row of a day or a month.
func layoutOf(row limit.Per) string {
	if row == limit.Month {
		return "2006-01"
	}
	return time.DateOnly
}

// ofUse returns the name of a key in the sort key of a row of use; "" means all keys of the org.
func ofUse(k id.Key) id.Key { return cmp.Or(k, allKeys) }

// markPartial marks the rows of the days between two times (milliseconds): on these days the key had limits for a part of the day
// only. The leased requests of such a day are not an upper bound of the use of the key.
func (t *txn) markPartial(o id.Org, k id.Key, from, until int64) {
	last := time.UnixMilli(until).UTC().Truncate(24 * time.Hour)
	for day := time.UnixMilli(from).UTC().Truncate(24 * time.Hour); !day.After(last); day = day.AddDate(0, 0, 1) {
		t.Update(usageRow(o, day.Format(time.DateOnly), k), nil, nil, table.Add(attrCounted, 0), attrPurgeAt.SetIfAbsent(day.Add(usageFor).Unix()))
	}
}

// running lists the windows kept in the row of the day.
var running = [limit.Day]struct{ start, leased table.Int }{
	limit.Minute: {attrMinute, attrMinuteLeased},
	limit.Hour:   {attrHour, attrHourLeased},
}

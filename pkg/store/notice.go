package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// A notice is a row that a door writes when a request passes a mark of a limit. The stream brings the row, and the fan-out function
// writes the event. A door has no right to write events, because it could then write any event. The row's key has everything except the
// API key that was used, so that the same notice is the same row.

// noticesFor is the time for which a notice is kept, from the start of its window. It is longer than any window and than the time for
// which the stream keeps a row.
const noticesFor = 62 * 24 * time.Hour

// noted lists, for each mark, an attribute of the row of the use: the limit for which the mark was announced.
var noted = [...]table.Int{limit.Near: attrNearNoted, limit.Reached: attrReachedNoted}

// marks are the names of the marks in a notice, with the types of the events of a key and of an org.
var marks = [...]struct {
	name     string
	key, org webhook.Type
}{
	limit.Near:    {"near", webhook.KeyLimitNear, webhook.OrgAllowanceNear},
	limit.Reached: {"reached", webhook.KeyLimitReached, webhook.OrgAllowanceReached},
}

// Announce writes the row of a notice, unless it exists. Then it notes the announced limit on the row of the use. A larger limit has
// other notices. See limit.Table.
func (s *Store) Announce(ctx context.Context, n limit.Notice) error {
	start := time.Unix(n.Start, 0).UTC()
	window := start.Format(layoutOf(n.Row))
	row, use := noticeRow(n, window), usageRow(n.Org, window, ofUse(n.Key))
	_, err := s.db.Mark(ctx, row, table.Absent, nil, attrKeyID.SetOrRemove(n.Used), attrPurgeAt.Set(start.Add(noticesFor).Unix()))
	if err != nil {
		return err
	}
	announced := noted[n.Mark]
	_, err = s.db.Mark(ctx, use, table.All(table.Exists, table.Any(announced.Absent(), announced.Under(n.Limit))), nil, announced.Set(n.Limit))
	return err
}

func noticeRow(n limit.Notice, window string) table.Key {
	return keyOf(pkNotice, n.Org, window+"#"+string(ofUse(n.Key))+"#"+marks[n.Mark].name+"#", strconv.FormatInt(n.Limit, 10))
}

// noticeOf is the reverse of noticeRow. ok is false for any other row.
func noticeOf(row table.Key) (n limit.Notice, window string, ok bool) {
	part := strings.Split(row.SK, "#")
	if len(part) != 4 {
		return n, "", false
	}
	n.Org, n.Row, window = id.Org(strings.TrimPrefix(row.PK, pkNotice)), limit.Month, part[0]
	if len(window) == len(time.DateOnly) {
		n.Row = limit.Day
	}
	start, err := time.Parse(layoutOf(n.Row), window)
	n.Start = start.Unix()
	if part[1] != allKeys {
		n.Key = id.Key(part[1])
	}
	if part[2] == marks[limit.Reached].name {
		n.Mark = limit.Reached
	}
	n.Limit, _ = strconv.ParseInt(part[3], 10, 64)
	return n, window, err == nil && n.Limit > 0 && noticeRow(n, window) == row
}

// IsNotice reports whether a row is a notice, by its partition, which the stream brings.
func IsNotice(pk string) bool { return strings.HasPrefix(pk, pkNotice) }

// Tell writes the event of a notice, at most once. It writes an event only if the table confirms the notice: the mark is passed, and
// for a notice of a key, the key that was used belongs to the org and has the counter of the notice. The event goes to the app of the
// key, or for a notice of an org to the default app.
func (s *Store) Tell(ctx context.Context, pk, sk string) error {
	row := table.Key{PK: pk, SK: sk}
	n, window, ok := noticeOf(row)
	if !ok {
		return nil
	}
	read, err := s.db.Get(ctx, row)
	if err != nil || read == nil || attrToldAt.IsIn(read) {
		return err
	}
	if n.Used, err = table.Decode(read, attrKeyID.OrZero); err != nil {
		return err
	}
	use, key := usageRow(n.Org, window, ofUse(n.Key)), apiKeyRow(n.Org, n.Used)
	rows, err := s.db.Batch(ctx, use, key)
	if err != nil {
		return err
	}
	event, ok, err := noticeEvent(n, rows[use], rows[key])
	if err != nil || !ok {
		return err
	}
	event.at = s.now()
	t := s.begin()
	t.Update(row, table.All(table.Exists, attrToldAt.Absent()), table.Raced, attrToldAt.Set(event.at))
	t.event(event)
	return ignoreRaced(t.Commit(ctx))
}

// noticeEvent returns the event of a notice. ok is false when the rows of the use and of the key do not confirm the notice.
func noticeEvent(n limit.Notice, use, key table.Row) (e newEvent, ok bool, err error) {
	leased, err := table.Decode(use, attrLeased.OrZero)
	if mark, passed := limit.Passed(leased, n.Limit); err != nil || !passed || mark < n.Mark {
		return e, false, err
	}
	about := webhook.LimitData{Limit: webhook.Limit{Requests: n.Limit, Per: n.Row.String()}, Leased: leased, EndsAt: n.Row.End(n.Start) * 1000}
	if n.Key == "" {
		return newEvent{
			org: n.Org, app: id.DefaultApp(n.Org), kind: marks[n.Mark].org, data: webhook.AllowanceData{OrgID: n.Org, LimitData: about},
		}, true, nil
	}
	if key == nil {
		return e, false, nil
	}
	k, err := table.Decode(key, apiKeyFrom)
	if err != nil || k.LimitID() != n.Key {
		return e, false, err
	}
	return newEvent{org: n.Org, app: k.AppID, kind: marks[n.Mark].key, data: webhook.KeyLimitData{KeyData: k.data(), LimitData: about}}, true, nil
}

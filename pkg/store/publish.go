package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/strictjson"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// publishedFor is the time for which the id of a Publication is remembered.
const publishedFor = 24 * time.Hour

// Publication is an event of the owner, to be published to the endpoints of an app.
type Publication struct {
	ID   string // the owner's id of the event in the app, at most 64 visible ASCII characters; "": none
	Type webhook.Type
	Data json.RawMessage // a compact JSON object
}

// hash returns the SHA-256 of the type and the data, with the data in canonical form. Two publications with one id must have
// the same hash.
func (p Publication) hash() ([]byte, error) {
	data, err := strictjson.Canonical(p.Data, nil)
	sum := sha256.Sum256([]byte(string(p.Type) + "\n" + string(data))) // a type has no line break
	return sum[:], err
}

// first returns the event that was published with the same id in the last 24 hours, by the row of this id; "": none. The
// times decide, because DynamoDB deletes the row only later. Error: conflict, when that event had another type or other data.
func (p Publication) first(found table.Row, hash []byte, now int64) (id.Event, error) {
	if found == nil {
		return "", nil
	}
	r := table.Read(found)
	e, until, was := attrEventID.From(&r), attrExpiresAt.From(&r), attrHash.From(&r)
	switch {
	case r.Err() != nil || until <= now:
		return "", r.Err()
	case !bytes.Equal(was, hash):
		return "", problem.New(problem.Conflict, fmt.Sprintf("An event with the id %q was published before with another type or with other data.", p.ID))
	}
	return e, nil
}

// Publish writes events for an app in one transaction, and returns their ids in the same order. An event whose id was
// published before is not written again: Publish returns the id of the first event, also in a suspended org. The caller has checked
// that no two of the events have one id. The org and the app are read before the transaction, which has no condition on them: events of many
// requests at once would conflict on these rows.
//
// Errors: org_not_found, insufficient_role, idempotency_key_reused, org_suspended, app_not_found, conflict.
func (s *Store) Publish(ctx context.Context, a Actor, o id.Org, app id.App, events []Publication, once Once[[]id.Event]) (made Created[[]id.Event], err error) {
	reads, hashes := once.Request.reads(appRow(o, app)), make([][]byte, len(events))
	for i, p := range events {
		if p.ID == "" {
			continue
		}
		reads = append(reads, publishedRow(app, p.ID))
		if hashes[i], err = p.hash(); err != nil {
			return made, err
		}
	}
	err = s.db.Retry(ctx, func() error {
		rows, err := s.readToChange(ctx, a, o, reads...)
		if err != nil {
			return err
		}
		if err := once.Request.kept(rows[once.Request.row()], s.now()); err != nil {
			return err
		}
		if rows[appRow(o, app)] == nil {
			return errAppNotFound
		}
		t := s.begin()
		t.GiveWay = true // if requests publish one id at once, the later ones read the event that the first one wrote
		ids, wrote, err := t.publishNew(o, app, events, hashes, rows)
		if err != nil {
			return err
		}
		if wrote && attrSuspendedAt.IsIn(rows[orgRow(o)]) && !a.WhileSuspended {
			return s.unlessKept(ctx, once.Request, errOrgSuspended)
		}
		if made, err = once.render(ids); err != nil {
			return err
		}
		t.once(once.Request, made.Answer)
		return t.Commit(ctx)
	})
	return made.committed(err)
}

// publishNew adds the events that were not published in the last 24 hours, and returns the ids of all events. wrote is false when there
// is no such event. The ids of the new events ascend, so that the feed shows them in the order of the request. Error: conflict.
func (t *txn) publishNew(
	o id.Org, app id.App, events []Publication, hashes [][]byte, rows map[table.Key]table.Row,
) (ids []id.Event, wrote bool, err error) {
	ids = make([]id.Event, len(events))
	fresh, now := make([]id.Event, len(events)), t.s.now()
	for i := range fresh {
		fresh[i] = t.s.ids().NewEvent(time.UnixMilli(now))
	}
	slices.Sort(fresh)
	for i, p := range events {
		if ids[i], err = p.first(rows[publishedRow(app, p.ID)], hashes[i], now); err != nil {
			return nil, false, err
		}
		if ids[i] == "" {
			ids[i], wrote = fresh[i], true
			t.publish(p, hashes[i], newEvent{id: ids[i], org: o, app: app, kind: p.Type, at: now, data: p.Data})
		}
	}
	return ids, wrote, nil
}

// publish adds the event of a publication, and the row of its id.
func (t *txn) publish(p Publication, hash []byte, n newEvent) {
	t.event(n)
	if p.ID != "" {
		until := n.at + publishedFor.Milliseconds()
		t.Put(publishedRow(n.app, p.ID), table.Any(table.Absent, attrExpiresAt.AtMost(n.at)), table.Raced,
			attrEventID.Set(n.id), attrHash.Set(hash), attrExpiresAt.Set(until), attrPurgeAt.Set(until/1000))
	}
}

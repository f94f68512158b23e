package store

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
)

// The index "due" is sparse: a row is in it while something is due for the row at a time. Only
// the sweep reads the index. It decides on the row itself, because an index is a little behind.
const dueShards = 8 // partitions a kind, so that none grows hot

// DueKind is the kind of a row in the index.
type DueKind string

// The kinds of rows, with what is due for them.
const (
	DueEvent    DueKind = "event"    // to be fanned out, if the stream has lost it
	DueDelivery DueKind = "delivery" // to be tried
	DueLink     DueKind = "link"     // to expire
	DueKey      DueKind = "key"      // to be announced as expiring
	DueEndpoint DueKind = "endpoint" // its held or parked deliveries to be sent or cancelled
	DueOrg      DueKind = "org"      // deleted: the rest of it to be deleted too
)

// DueKinds returns all kinds.
func DueKinds() []DueKind {
	return []DueKind{DueEvent, DueDelivery, DueLink, DueKey, DueEndpoint, DueOrg}
}

// dueAt makes something due for a row at a time, which puts the row into the index.
func dueAt(kind DueKind, row table.Key, at int64) table.Change {
	return table.Changes(attrDue.Set(kind.partition(row)), attrDueAt.Set(at))
}

// notDue takes a row off the index.
func notDue() table.Change { return table.Changes(attrDue.Remove(), attrDueAt.Remove()) }

func (kind DueKind) partition(row table.Key) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(row.PK + row.SK)) // a hash never fails
	return kind.shard(int(h.Sum32() % dueShards))
}

func (kind DueKind) shard(n int) string { return pkDue + string(kind) + "#" + strconv.Itoa(n) }

// Due is a row of the index, with the time since which it is due.
type Due struct {
	App      id.App      // of every kind but key and org
	Org      id.Org      // of a key and an org
	Event    id.Event    // of an event and a delivery
	Link     id.Link     //
	Key      id.Key      //
	Endpoint id.Endpoint // of an endpoint and a delivery
	At       int64       // milliseconds
}

// String returns the row's name in errors: app_…/evt_….
func (d Due) String() string {
	ids := []string{string(d.App), string(d.Org), string(d.Endpoint), string(d.Event), string(d.Link), string(d.Key)}
	return strings.Join(slices.DeleteFunc(ids, func(s string) bool { return s == "" }), "/")
}

// DueBefore lists rows of a kind that were due before a time: of each of the 8 shards at most
// limit, in the order of their times. A row may no longer be due.
func (s *Store) DueBefore(ctx context.Context, kind DueKind, at time.Time, limit int) (found []Due, err error) {
	for n := range dueShards {
		rows, err := s.dueIn(ctx, kind.shard(n), 0, at, limit)
		found = append(found, rows...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// dueIn lists up to limit rows of one partition of the index between two times. from is in
// milliseconds.
func (s *Store) dueIn(ctx context.Context, partition string, from int64, at time.Time, limit int) (found []Due, err error) {
	rows, failed := s.db.Index(ctx, partition, from, at.UnixMilli(), limit)
	found, err = table.DecodeAll(rows, dueFrom)
	return found, errors.Join(failed, err)
}

func dueFrom(r *table.Reading) Due {
	k := r.Row.Key()
	d := Due{At: attrDueAt.From(r)}
	switch {
	case strings.HasPrefix(k.PK, pkEvents):
		d.App, d.Event = id.App(r.PK(pkEvents)), id.Event(k.SK)
	case strings.HasPrefix(k.PK, pkDelivery):
		d.App, d.Endpoint, d.Event = attrAppID.OrZero(r), id.Endpoint(r.PK(pkDelivery)), id.Event(k.SK)
	case strings.HasPrefix(k.PK, pkLinks):
		d.App, d.Link = id.App(r.PK(pkLinks)), id.Link(r.SK(skLink))
	case strings.HasPrefix(k.PK, pkEndpoints):
		d.App, d.Endpoint = id.App(r.PK(pkEndpoints)), id.Endpoint(r.SK(skEndpoint))
	case strings.HasPrefix(k.PK, pkOrg):
		d.Org = id.Org(r.PK(pkOrg))
	case strings.HasPrefix(k.PK, pkUsed):
		d.Org, d.Key = id.Org(r.PK(pkUsed)), id.Key(r.SK(skKey))
	}
	return d
}

package store

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// The index "due" is sparse: a row is in it while something is due for the row at a time. Only
// the sweep reads the index. Then it reads the row itself to decide, because the index is a little late.
const dueShards = 8 // partitions of the index for each kind, to spread the load

// DueKind is the kind of a row in the index.
type DueKind string

// The kinds of rows, with the work that is due for them.
const (
	DueEvent    DueKind = "event"    // to be fanned out, if the stream has lost it
	DueDelivery DueKind = "delivery" // to be tried
	DueLink     DueKind = "link"     // to expire
	DueKey      DueKind = "key"      // to be announced as expiring
	DueEndpoint DueKind = "endpoint" // its held or parked deliveries to be sent or cancelled
	DueBar      DueKind = "bar"      // the links of the barred key to be revoked
	DueOrg      DueKind = "org"      // a deleted org: the rest of its rows to be deleted

	// DueStray is the kind of a row that is in a wrong partition of the index for its key. Latchkey
	// never writes such a row. It must leave the index.
	DueStray DueKind = "stray"
)

// DueKinds returns all kinds that have partitions of the index: all but DueStray.
func DueKinds() []DueKind {
	return []DueKind{DueEvent, DueDelivery, DueLink, DueKey, DueEndpoint, DueBar, DueOrg}
}

// dueAt makes something due for a row at a time, which puts the row into the index.
func dueAt(kind DueKind, row table.Key, at int64) table.Change {
	return table.Changes(attrDue.Set(kind.partition(row)), attrDueAt.Set(at))
}

// notDue removes a row from the index.
func notDue() table.Change { return table.Changes(attrDue.Remove(), attrDueAt.Remove()) }

// partition returns the partition of the index for a row: one of the shards of its kind.
func (kind DueKind) partition(row table.Key) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(row.PK + row.SK)) // a hash never fails
	return kind.shard(int(h.Sum32() % dueShards))
}

func (kind DueKind) shard(n int) string { return pkDue + string(kind) + "#" + strconv.Itoa(n) }

// Due is a row of the index, with the time since which it is due. Kind decides which ids it has.
type Due struct {
	Kind     DueKind
	Org      id.Org      // every kind
	App      id.App      // every kind but key and org
	Event    id.Event    // event, delivery
	Link     id.Link     // link
	Key      id.Key      // key, bar
	Endpoint id.Endpoint // endpoint, delivery
	At       int64       // milliseconds

	row       table.Key
	partition string // of the index
}

// Delivery returns the delivery that is due.
func (d Due) Delivery() webhook.DeliveryID {
	return webhook.DeliveryID{App: d.App, Endpoint: d.Endpoint, Event: d.Event}
}

// String returns the row's name in errors, such as app_…/evt_…. A row without an app is named by its org.
func (d Due) String() string {
	ids := []string{string(d.App), string(d.Endpoint), string(d.Event), string(d.Link), string(d.Key)}
	if d.App == "" {
		ids = append([]string{string(d.Org)}, ids...)
	}
	return strings.Join(slices.DeleteFunc(ids, func(s string) bool { return s == "" }), "/")
}

// DueBefore lists rows of a kind that were due before a time: at most limit from each of the 8 shards,
// in the order of their times, and the strays among them. A row may no longer be due. If a shard fails,
// DueBefore still returns the rows of the other shards, with the first error.
func (s *Store) DueBefore(ctx context.Context, kind DueKind, at time.Time, limit int) (found []Due, err error) {
	for n := range dueShards {
		rows, failed := s.dueIn(ctx, kind, kind.shard(n), 0, at, limit)
		found, err = append(found, rows...), cmp.Or(err, failed)
	}
	return found, err
}

// dueIn lists up to limit rows of one partition of the index that were due between two times, and about limit
// strays among them at most. from is in milliseconds. A row that does not decode is an error, and is left out.
func (s *Store) dueIn(ctx context.Context, kind DueKind, partition string, from int64, at time.Time, limit int) (found []Due, err error) {
	fits := func(row table.Row) bool { return kindOf(row.Key()) == kind }
	rows, err := s.db.Index(ctx, partition, from, at.UnixMilli(), limit, fits)
	for _, row := range rows {
		d, failed := table.Decode(row, dueFrom)
		if failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		if d.Kind != kind {
			d = Due{Kind: DueStray, At: d.At, row: d.row}
		}
		d.partition = partition
		found = append(found, d)
	}
	return found, err
}

// kindOf returns the only kind for which a row can be due, by the row's key; "": none.
func kindOf(k table.Key) DueKind {
	for _, kind := range [...]struct {
		pk, sk string
		due    DueKind
	}{
		{pkEvents, "", DueEvent}, {pkDelivery, "", DueDelivery}, {pkLinks, skLink, DueLink}, {pkUsed, skKey, DueKey},
		{pkEndpoints, skEndpoint, DueEndpoint}, {pkEndpoints, skBarred, DueBar}, {pkOrg, skMeta, DueOrg},
	} {
		if strings.HasPrefix(k.PK, kind.pk) && strings.HasPrefix(k.SK, kind.sk) {
			return kind.due
		}
	}
	return ""
}

func dueFrom(r *table.Reading) Due {
	k := r.Row.Key()
	d := Due{Kind: kindOf(k), At: attrDueAt.From(r), Org: attrOrgID.OrZero(r), row: k}
	switch d.Kind {
	case DueEvent:
		d.App, d.Event = id.App(r.PK(pkEvents)), id.Event(k.SK)
	case DueDelivery:
		d.App, d.Endpoint, d.Event = attrAppID.OrZero(r), id.Endpoint(r.PK(pkDelivery)), id.Event(k.SK)
	case DueLink:
		d.App, d.Link = id.App(r.PK(pkLinks)), id.Link(r.SK(skLink))
	case DueEndpoint:
		d.App, d.Endpoint = id.App(r.PK(pkEndpoints)), id.Endpoint(r.SK(skEndpoint))
	case DueBar:
		d.App, d.Key = id.App(r.PK(pkEndpoints)), id.Key(r.SK(skBarred))
	case DueOrg:
		d.Org = id.Org(r.PK(pkOrg))
	case DueKey:
		d.Org, d.Key = id.Org(r.PK(pkUsed)), id.Key(r.SK(skKey))
	case DueStray: // kindOf never returns it
	}
	return d
}

// DropStray removes a stray from the partition of the index where it was found.
func (s *Store) DropStray(ctx context.Context, d Due) error {
	t := s.begin()
	t.Update(d.row, attrDue.Is(d.partition), table.Raced, notDue())
	return ignoreRaced(t.Commit(ctx))
}

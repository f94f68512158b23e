package store

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/pkg/id"
)

// The index "due" is sparse: a row is in it while something is due for the row at a time. Only
// the sweep reads the index. It decides on the row itself, because an index is a little behind.
const (
	dueIndex  = "due"
	dueShards = 8 // partitions a kind, so that none grows hot
)

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

// dueAttrs returns the attributes that put a row into the index.
func dueAttrs(kind DueKind, k key, at int64) item {
	return item{attrDue: str(kind.partition(k)), attrDueAt: num(at)}
}

func (kind DueKind) partition(k key) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(k.pk + k.sk)) // a hash never fails
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

// duePage is how many rows one read of the index returns: so few that their decoding takes
// little memory.
const duePage = 1000

// DueBefore lists rows of a kind that were due before a time: of each of the 8 shards at most
// limit, in the order of their times. Rows may be settled already.
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
	in := &dynamodb.QueryInput{
		TableName: s.table, IndexName: aws.String(dueIndex),
		KeyConditionExpression:    aws.String("due = :due AND dueAt BETWEEN :from AND :at"),
		ExpressionAttributeValues: item{":due": str(partition), ":from": num(from), ":at": num(at.UnixMilli())},
	}
	for len(found) < limit {
		in.Limit = aws.Int32(int32(min(limit-len(found), duePage))) //nolint:gosec // at most a page
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return found, unavailable(err)
		}
		for _, row := range out.Items {
			found = append(found, dueFrom(row))
		}
		if out.LastEvaluatedKey == nil {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	return found, nil
}

func dueFrom(row item) Due {
	pk, sk := row.str(attrPK), row.str(attrSK)
	d := Due{At: row.num(attrDueAt)}
	switch {
	case strings.HasPrefix(pk, pkEvents):
		d.App, d.Event = id.App(trimmed(pk, pkEvents)), id.Event(sk)
	case strings.HasPrefix(pk, pkDelivery):
		d.App, d.Endpoint, d.Event = id.App(row.str(attrAppID)), id.Endpoint(trimmed(pk, pkDelivery)), id.Event(sk)
	case strings.HasPrefix(pk, pkLinks):
		d.App, d.Link = id.App(trimmed(pk, pkLinks)), id.Link(trimmed(sk, skLink))
	case strings.HasPrefix(pk, pkHooks):
		d.App, d.Endpoint = id.App(trimmed(pk, pkHooks)), id.Endpoint(trimmed(sk, skHook))
	case strings.HasPrefix(pk, pkOrg):
		d.Org = id.Org(trimmed(pk, pkOrg))
	case strings.HasPrefix(pk, pkUsed):
		d.Org, d.Key = id.Org(trimmed(pk, pkUsed)), id.Key(trimmed(sk, skKey))
	}
	return d
}

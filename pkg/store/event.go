package store

import (
	"cmp"
	"context"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

const (
	// eventsFor is the time for which events, deliveries and ended links are kept.
	eventsFor = 30 * 24 * time.Hour

	// fanOutWithin is the time that the stream has to bring an event. Then the sweep fans the event out.
	fanOutWithin = time.Minute

	// shownAfter is the age at which the feed shows an event. An event with a smaller id may be
	// committed after an event with a greater id. A cursor that has passed the greater id would
	// never find it.
	shownAfter = 10 * time.Second

	// eventWithin is the age of an event at which its transaction ends in any case, with an error. The rest of shownAfter is for
	// clocks that differ, and for a transaction that the database carries out after the caller has stopped waiting.
	eventWithin = 7 * time.Second
)

// newEvent is an event to be written in the transaction that causes it.
type newEvent struct {
	id     id.Event // "": a new one
	org    id.Org
	app    id.App
	kind   webhook.Type
	at     int64       // milliseconds
	data   any         // marshals to the event's data
	only   id.Endpoint // the only endpoint that gets the event; "": all
	except id.Endpoint // the only endpoint that does not get the event; "": none
	isTest bool        // its data are an example of its type
	paid   int         // deliveries for which the request that causes the event was charged
}

// event adds an event to the transaction that causes it, so that no event is lost. It returns the
// event's id.
func (t *txn) event(n newEvent) id.Event {
	data, err := plainjson.Marshal(n.data)
	t.Fail(err)
	at := time.UnixMilli(n.at)
	t.Within = max(1, eventWithin-time.Duration(t.s.now()-n.at)*time.Millisecond) // 0 would be no bound
	e := cmp.Or(n.id, t.s.ids().NewEvent(at))
	row := eventRow(n.app, e)
	t.Create(row, dueAt(DueEvent, row, at.Add(fanOutWithin).UnixMilli()), attrOrgID.Set(n.org), attrPaid.SetOrRemove(n.paid),
		attrType.Set(n.kind), attrData.Set(data), attrCreatedAt.Set(n.at), attrPurgeAt.Set(at.Add(eventsFor).Unix()),
		attrOnly.SetOrRemove(n.only), attrExcept.SetOrRemove(n.except), table.If(n.isTest, attrIsTest.Set(true)),
	)
	return e
}

func eventFrom(r *table.Reading) webhook.Event {
	return webhook.Event{EventFields: webhook.EventFields{ID: id.Event(r.SK("")), Type: attrType.From(r), Test: attrIsTest.OrZero(r), CreatedAt: attrCreatedAt.From(r), Data: attrData.From(r)}}
}

// EventOf returns the ids of an event by the key of its row, which the stream brings. ok is false for
// any other row.
func EventOf(pk, sk string) (a id.App, e id.Event, ok bool) {
	a, errApp := id.ParseApp(strings.TrimPrefix(pk, pkEvents))
	e, errEvent := id.ParseEvent(sk)
	return a, e, errApp == nil && errEvent == nil
}

// Event returns an event of an app. Error: event_not_found.
func (s *Store) Event(ctx context.Context, a id.App, e id.Event) (webhook.Event, error) {
	return find(ctx, s, eventRow(a, e), eventFrom, errEventNotFound)
}

// EventOfOrg returns an event, and the org of its app. ok is false when there is no such event.
func (s *Store) EventOfOrg(ctx context.Context, a id.App, e id.Event) (o id.Org, event webhook.Event, ok bool, err error) {
	event, ok, err = lookup(ctx, s, eventRow(a, e), func(r *table.Reading) webhook.Event {
		o = attrOrgID.From(r)
		return eventFrom(r)
	})
	return o, event, ok, err
}

// Events lists an app's events that are at least 10 s old, oldest first. next is after of the
// next page. When there are no more events yet, next is the same as after, so that a client can continue
// from there later.
func (s *Store) Events(ctx context.Context, a id.App, after id.Event, limit int) (events []webhook.Event, next id.Event, err error) {
	until := id.FirstEvent(s.Now().Add(-shownAfter))
	if after >= until { // DynamoDB refuses a start after the end
		return nil, after, nil
	}
	events, _, err = list(ctx, s, table.Span{PK: pkEvents + string(a), After: string(after), Until: string(until), Limit: limit}, eventFrom)
	if err != nil || len(events) == 0 {
		return nil, after, err
	}
	return events, events[len(events)-1].ID, nil
}

// NewestEvents lists an app's events since a time that are at least 10 s old, newest first. before is the last id of the previous
// page, "" at the beginning. next is "" at the end.
func (s *Store) NewestEvents(ctx context.Context, a id.App, since time.Time, before id.Event, limit int) (events []webhook.Event, next id.Event, err error) {
	from, until := id.FirstEvent(since), id.FirstEvent(s.Now().Add(-shownAfter))
	if before != "" {
		until = min(before, until)
	}
	if until <= from { // DynamoDB refuses such a start
		return nil, "", nil
	}
	// A query has one condition on the sort key, so the query's start is the other bound.
	page := table.Span{PK: pkEvents + string(a), From: string(from), After: string(until), Reverse: true, Limit: limit}
	events, last, err := list(ctx, s, page, eventFrom)
	return events, id.Event(last), err
}

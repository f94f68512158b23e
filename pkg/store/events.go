package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// The attributes of events.
const (
	attrType      = "type" // a reserved word: always #type
	attrData      = "data"
	attrOnly      = "only"      // the only endpoint that gets the event
	attrExcept    = "except"    // the only endpoint that does not get the event
	attrFannedAt  = "fannedAt"  // when its deliveries were written
	attrEndpoints = "endpoints" // the endpoints that have a delivery

	// eventsFor is how long events, deliveries and ended links are kept.
	eventsFor = 30 * 24 * time.Hour

	// fanOutWithin is how long the stream has to bring an event before the sweep fans it out.
	fanOutWithin = time.Minute

	// settled is the age at which the feed shows an event. Functions do not commit ids in the
	// order in which they mint them, and a cursor could pass a late one.
	settled = 10 * time.Second
)

// happening is an event to be written in the transaction that causes it.
type happening struct {
	app          id.App
	kind         webhook.Type
	at           int64 // milliseconds
	data         any   // marshals to the event's data
	only, except id.Endpoint
}

// event adds an event to the transaction that causes it, so that none is lost. It returns the
// event's id.
func (s *Store) event(t *txn, h happening) (id.Event, error) {
	data, err := json.Marshal(h.data)
	if err != nil {
		return "", fmt.Errorf("store: data of %s: %w", h.kind, err)
	}
	at := time.UnixMilli(h.at)
	e := s.ids().NewEvent(at)
	k := eventKey(h.app, e)
	row := dueAttrs(DueEvent, k, at.Add(fanOutWithin).UnixMilli())
	row[attrType], row[attrData], row[attrCreatedAt] = str(string(h.kind)), str(string(data)), num(h.at)
	row[attrPurgeAt] = num(at.Add(eventsFor).Unix())
	if h.only != "" {
		row[attrOnly] = str(string(h.only))
	}
	if h.except != "" {
		row[attrExcept] = str(string(h.except))
	}
	t.create(s.table, k, row)
	return e, nil
}

func eventFrom(row item) webhook.Event {
	return webhook.Event{
		ID: id.Event(row.str(attrSK)), Type: webhook.Type(row.str(attrType)),
		CreatedAt: row.num(attrCreatedAt), Data: json.RawMessage(row.str(attrData)),
	}
}

// EventOf returns the event of a row that the stream brings. ok is false for any other row.
func EventOf(pk, sk string) (a id.App, e id.Event, ok bool) {
	a, errApp := id.ParseApp(trimmed(pk, pkEvents))
	e, errEvent := id.ParseEvent(sk)
	return a, e, errApp == nil && errEvent == nil
}

func errEventNotFound() error {
	return problem.New(problem.EventNotFound, "The app has no such event.")
}

// Event returns an event of an app. Error: event_not_found.
func (s *Store) Event(ctx context.Context, a id.App, e id.Event) (webhook.Event, error) {
	row, err := s.get(ctx, eventKey(a, e))
	if err != nil {
		return webhook.Event{}, err
	}
	if row == nil {
		return webhook.Event{}, errEventNotFound()
	}
	return eventFrom(row), nil
}

// Events lists an app's events that are at least 10 s old, oldest first. next is the id behind
// which the next page begins, also when there are no more events yet. It is never "".
func (s *Store) Events(ctx context.Context, a id.App, after id.Event, limit int) (events []webhook.Event, next id.Event, err error) {
	until := id.FirstEvent(s.Now().Add(-settled))
	if after >= until {
		return nil, after, nil
	}
	rows, _, err := s.query(ctx, span{pk: pkEvents + string(a), after: string(after), until: string(until), limit: limit})
	if err != nil {
		return nil, "", err
	}
	next = after
	for _, row := range rows {
		e := eventFrom(row)
		events, next = append(events, e), e.ID
	}
	return events, next, nil
}

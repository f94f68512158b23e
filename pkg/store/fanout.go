package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// outboxEvent is an event that is to be fanned out.
type outboxEvent struct {
	id                 id.Event
	org                id.Org
	app                id.App
	kind               webhook.Type
	only, except       id.Endpoint // as in newEvent
	createdAt, purgeAt int64       // milliseconds, seconds
	paid               int         // as in newEvent
}

// FanOut writes the deliveries of an event, one for each endpoint that gets its type, and charges what
// the request that caused the event has not paid. It returns the deliveries that are to be sent, with only
// their ids, StartedAt and NextAttempt. NextAttempt is later than StartedAt when the org is in debt. FanOut
// returns no deliveries for an event that was fanned out before or no longer exists.
func (ds Deliveries) FanOut(ctx context.Context, a id.App, e id.Event) (send []Delivery, err error) {
	var late time.Duration
	charged := false
	err = ds.s.db.Retry(ctx, func() error {
		send = nil // forget the result of an earlier try
		event, ok, err := ds.toFanOut(ctx, a, e)
		if err != nil || !ok {
			return err
		}
		to, err := ds.s.receiversOf(ctx, event)
		if err != nil {
			return err
		}
		if !charged { // only the first try charges
			late, charged = ds.s.chargeRest(ctx, event, len(to)), true
		}
		send, err = ds.writeDeliveries(ctx, event, to, late)
		return err
	})
	return send, err
}

// toFanOut reads an event. ok is false when it was fanned out before or no longer exists.
func (ds Deliveries) toFanOut(ctx context.Context, a id.App, e id.Event) (event outboxEvent, ok bool, err error) {
	row, err := ds.s.db.Get(ctx, eventRow(a, e))
	if err != nil || row == nil || attrFannedAt.IsIn(row) {
		return outboxEvent{}, false, err
	}
	event, err = table.Decode(row, func(r *table.Reading) outboxEvent {
		return outboxEvent{
			id: e, org: attrOrgID.From(r), app: a, kind: attrType.From(r), only: attrOnly.OrZero(r), except: attrExcept.OrZero(r),
			createdAt: attrCreatedAt.From(r), purgeAt: attrPurgeAt.From(r), paid: attrPaid.OrZero(r),
		}
	})
	return event, err == nil, err
}

// receiversOf returns the endpoints of the event's app that get the event.
func (s *Store) receiversOf(ctx context.Context, e outboxEvent) (to []Endpoint, err error) {
	endpoints, _, err := s.Endpoints(ctx, e.app, Page{})
	for _, endpoint := range endpoints {
		isFor := webhook.Wants(endpoint.Events, e.kind)
		if e.only != "" {
			isFor = endpoint.ID == e.only
		}
		if isFor && endpoint.ID != e.except {
			to = append(to, endpoint)
		}
	}
	return to, err
}

// chargeRest charges the deliveries of an event that the request has not paid. It returns how late the first
// attempts are to be made: 0 when all are paid, or for a type of event that is always prompt. A charge that
// fails does not stop the event. But it may have failed because the org made its row too busy. So the attempts
// are as late as for an org in the greatest debt.
func (s *Store) chargeRest(ctx context.Context, e outboxEvent, deliveries int) (late time.Duration) {
	unpaid := deliveries - e.paid
	if unpaid <= 0 {
		return 0
	}
	late, err := s.charge(ctx, e.org, e.app, unpaid)
	if err != nil {
		slog.WarnContext(ctx, "an event is not charged", "error", err, "org", e.org)
		late = spreadOver
	}
	if e.kind.Prompt() {
		return 0
	}
	return late
}

// errDelivered is the refusal of a delivery that exists already.
var errDelivered = errors.New("store: the event has deliveries already")

// writeDeliveries writes the deliveries of an event, all or none, and marks the event. It returns the deliveries that are to be sent.
// When another call has written the deliveries before, it returns none, but it still marks the event: the other call may have ended
// before its mark.
func (ds Deliveries) writeDeliveries(ctx context.Context, e outboxEvent, to []Endpoint, late time.Duration) (send []Delivery, err error) {
	now := ds.s.now()
	var written, found []id.Endpoint
	t := ds.s.begin()
	for _, endpoint := range to {
		d := webhook.DeliveryID{App: e.app, Endpoint: endpoint.ID, Event: e.id}
		row := deliveryRow(d)
		begin := firstAttempt(row, now, late)
		if endpoint.Enabled {
			send = append(send, Delivery{DeliveryID: d, Org: e.org, Round: webhook.Round{StartedAt: now, NextAttempt: now + late.Milliseconds()}})
		} else {
			// If the endpoint was enabled again meanwhile, the delivery would never be
			// released. So the endpoint must still be disabled.
			begin = table.Changes(attrStatus.Set(webhook.DeliveryHeld), attrAttempts.Set(0))
			t.Check(endpointRow(e.app, endpoint.ID), isDisabled(), table.Raced)
		}
		written = append(written, endpoint.ID)
		isThere := func(table.Row) error {
			found = append(found, endpoint.ID)
			return errDelivered
		}
		delivery := marked(begin, attrOrgID.Set(e.org), attrAppID.Set(e.app), attrEventType.Set(e.kind),
			attrCreatedAt.Set(e.createdAt), attrPurgeAt.Set(e.purgeAt))
		if endpoint.Enabled && len(to) == 1 { // one write without a transaction costs half
			_, err = ds.s.db.Mark(ctx, row, table.Absent, isThere, delivery)
		} else {
			t.Put(row, table.Absent, isThere, delivery)
		}
	}
	err = cmp.Or(err, t.Commit(ctx))
	when := attrFannedAt.Absent()
	switch {
	case errors.Is(err, errDelivered):
		send, written = nil, found
	case err != nil:
		return nil, err
	case len(written) > 0: // a call at the same time may have found no endpoint yet
		when = table.Exists
	}
	_, err = ds.s.db.Mark(ctx, eventRow(e.app, e.id), table.All(table.Exists, when), nil, attrFannedAt.Set(now), attrEndpoints.Set(written), notDue())
	if err != nil { // the deliveries are written: the event stays due, and the sweep marks it
		slog.WarnContext(ctx, "the mark of an event that is fanned out is left to the sweep", "error", err, "event", e.id)
	}
	return send, nil
}

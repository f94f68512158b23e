package store

import (
	"context"
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

// FanOut writes the deliveries of an event, one for each endpoint that takes its type, and charges what
// the request that caused the event has not paid. It returns the deliveries that are to be sent, with only
// their ids, StartedAt and NextAttempt. NextAttempt is later than StartedAt when the org is in debt. FanOut
// returns no deliveries for an event that was fanned out before or no longer exists.
func (ds Deliveries) FanOut(ctx context.Context, a id.App, e id.Event) (send []Delivery, err error) {
	var late time.Duration
	charged := false
	err = ds.s.db.Retry(ctx, func() error {
		send = nil // of the try before
		event, ok, err := ds.toFanOut(ctx, a, e)
		if err != nil || !ok {
			return err
		}
		to, err := ds.s.receiversOf(ctx, event)
		if err != nil {
			return err
		}
		if !charged { // once, however many tries there are
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

// receiversOf returns the endpoints of the event's app that take the event.
func (s *Store) receiversOf(ctx context.Context, e outboxEvent) (to []Endpoint, err error) {
	endpoints, _, err := s.Endpoints(ctx, e.app, Page{})
	for _, h := range endpoints {
		wants := webhook.Wants(h.Events, e.kind)
		if e.only != "" {
			wants = h.ID == e.only
		}
		if wants && h.ID != e.except {
			to = append(to, h)
		}
	}
	return to, err
}

// chargeRest charges the deliveries of an event that the request has not paid. It returns how late the first
// attempts are to be made: 0 when all are paid, or for a type of event that is always prompt. A charge that
// fails does not stop the event. But the org may have made its own row too busy, so the attempts are as late
// as those of an org in the greatest debt.
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

// writeDeliveries writes the deliveries of an event, and returns those that are to be sent.
func (ds Deliveries) writeDeliveries(ctx context.Context, e outboxEvent, to []Endpoint, late time.Duration) (send []Delivery, err error) {
	now := ds.s.now()
	t := ds.s.begin()
	ids := make([]id.Endpoint, len(to))
	for i, h := range to {
		ids[i] = h.ID
		d := webhook.DeliveryID{App: e.app, Endpoint: h.ID, Event: e.id}
		row := deliveryRow(d)
		begin := firstAttempt(row, now, late)
		if h.Enabled {
			send = append(send, Delivery{DeliveryID: d, Org: e.org, Round: webhook.Round{StartedAt: now, NextAttempt: now + late.Milliseconds()}})
		} else {
			// If the endpoint was enabled again meanwhile, the delivery would never be
			// released. So the endpoint must still be disabled.
			begin = table.Changes(attrStatus.Set(webhook.DeliveryHeld), attrAttempts.Set(0))
			t.Check(endpointRow(e.app, h.ID), isDisabled(), table.Raced)
		}
		t.Put(row, table.Absent, table.Raced, begin,
			attrOrgID.Set(e.org), attrAppID.Set(e.app), attrEventType.Set(e.kind), attrCreatedAt.Set(e.createdAt), attrPurgeAt.Set(e.purgeAt))
	}
	t.Update(eventRow(e.app, e.id), table.All(table.Exists, attrFannedAt.Absent()), table.Raced,
		marked(attrFannedAt.Set(now), attrEndpoints.Set(ids), notDue()))
	return send, t.Commit(ctx)
}

package store

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// leaseFor is the time for one attempt, including its signature.
const leaseFor = time.Minute

// endAttempts is the change of a delivery for which no attempt is due any more.
func endAttempts() table.Change { return table.Changes(attrNextAttempt.Remove(), notDue()) }

// Work is a delivery with everything that an attempt needs.
type Work struct {
	Delivery
	To      Endpoint // if its row is deleted already: Deleted is true and there is no URL
	Payload webhook.Event
}

// Work reads a delivery, its endpoint and its event, in one strong read. ok is false when there is
// no such delivery, or no such event, any more.
func (ds Deliveries) Work(ctx context.Context, d webhook.DeliveryID) (w Work, ok bool, err error) {
	own, endpoint, payload := deliveryRow(d), endpointRow(d.App, d.Endpoint), eventRow(d.App, d.Event)
	rows, err := ds.s.db.Batch(ctx, own, endpoint, payload)
	if err != nil {
		return Work{}, false, err
	}
	delivery, to, event := table.Read(rows[own]), table.Read(rows[endpoint]), table.Read(rows[payload])
	if delivery.Row == nil || event.Row == nil {
		return Work{}, false, nil
	}
	w = Work{Delivery: deliveryFrom(&delivery), Payload: eventFrom(&event), To: Endpoint{ID: d.Endpoint, AppID: d.App, EndpointState: webhook.EndpointState{Deleted: true}}}
	if to.Row != nil {
		w.To = endpointFrom(&to)
	}
	if attrPurgeAt.From(&event) <= ds.s.Now().Unix() { // DynamoDB deletes the event up to some days late
		w.StartedAt = 0 // so that Step gives up: receivers keep the ids of events for eventsFor only
	}
	err = errors.Join(delivery.Err(), event.Err(), to.Err())
	return w, err == nil, err
}

// LeaseAttempt gets the right to make the next attempt of a delivery. jti names the attempt: it is the
// id of the attempt's token. ok is false when another process has the right, or the delivery has changed
// since it was read.
func (ds Deliveries) LeaseAttempt(ctx context.Context, w Work, jti string) (ok bool, err error) {
	row, until := deliveryRow(w.DeliveryID), ds.s.now()+leaseFor.Milliseconds()
	unchanged := table.All(attrStatus.Is(webhook.DeliveryPending), attrAttempts.Is(w.Attempts), attrNextAttempt.Is(w.NextAttempt))
	// dueAt also sets the index's partition: a parked delivery is in another one.
	return ds.s.db.Mark(ctx, row, unchanged, nil,
		attrAttempts.Set(w.Attempts+1), attrLease.Prove(jti), attrNextAttempt.Set(until), dueAt(DueDelivery, row, until))
}

// ReturnAttempt gives back a leased attempt that was not made. at is the new time of the attempt, in milliseconds.
func (ds Deliveries) ReturnAttempt(ctx context.Context, w Work, jti string, at int64) error {
	leased := table.All(attrStatus.Is(webhook.DeliveryPending), attrLease.Is(jti), attrAttempts.Is(w.Attempts+1))
	_, err := ds.s.db.Mark(ctx, deliveryRow(w.DeliveryID), leased, nil,
		attrAttempts.Set(w.Attempts), attrNextAttempt.Set(at), attrDueAt.Set(at+overdueAfter.Milliseconds()))
	return err
}

// Attempted is the result of an attempt, and the state of the delivery after it.
type Attempted struct {
	Last   LastAttempt
	Status webhook.DeliveryStatus // delivered, failed, or pending until Next
	Next   int64                  // milliseconds
	// Queued means that a message of the queue will wake the next attempt. Otherwise the
	// sweep does.
	Queued bool
}

// RecordAttempt writes the result of an attempt. It changes nothing if the delivery is no longer pending, or if
// another process has leased an attempt since.
func (ds Deliveries) RecordAttempt(ctx context.Context, w Work, a Attempted) error {
	var next table.Change
	switch a.Status {
	case webhook.DeliveryPending:
		at := a.Next
		if a.Queued {
			at += overdueAfter.Milliseconds()
		}
		next = table.Changes(attrNextAttempt.Set(a.Next), attrDueAt.Set(at))
	case webhook.DeliveryDelivered:
		next = table.Changes(attrDeliveredAt.Set(ds.s.now()), endAttempts())
	default:
		next = endAttempts()
	}
	_, err := ds.s.db.Mark(ctx, deliveryRow(w.DeliveryID), table.All(attrStatus.Is(webhook.DeliveryPending), attrLease.Is(a.Last.ID)), nil,
		attrStatus.Set(a.Status), attrLast.Set(&a.Last), table.If(w.Last != nil, attrEarlier.Set(w.earlier())), next)
	return err
}

// GiveUp ends a delivery as failed, without another attempt.
func (ds Deliveries) GiveUp(ctx context.Context, d webhook.DeliveryID) error {
	return ds.end(ctx, d, webhook.DeliveryFailed)
}

// Cancel cancels a delivery that waits for a deleted endpoint.
func (ds Deliveries) Cancel(ctx context.Context, d webhook.DeliveryID) error {
	return ds.end(ctx, d, webhook.DeliveryCancelled)
}

// end gives a pending or held delivery its last status.
func (ds Deliveries) end(ctx context.Context, d webhook.DeliveryID, as webhook.DeliveryStatus) error {
	_, err := ds.s.db.Mark(ctx, deliveryRow(d), attrStatus.In(webhook.DeliveryPending, webhook.DeliveryHeld), nil, attrStatus.Set(as), endAttempts())
	return err
}

// Hold holds a pending delivery of a disabled endpoint. held is false when the delivery is no longer pending, and
// when the endpoint was enabled again meanwhile: then the delivery stays pending.
func (ds Deliveries) Hold(ctx context.Context, d webhook.DeliveryID) (held bool, err error) {
	t := ds.s.begin()
	t.Check(endpointRow(d.App, d.Endpoint), isDisabled(), table.Raced)
	t.Update(deliveryRow(d), attrStatus.Is(webhook.DeliveryPending), table.Raced, attrStatus.Set(webhook.DeliveryHeld), endAttempts())
	err = t.Commit(ctx)
	return err == nil, ignoreRaced(err)
}

// DueSoon makes a delivery due in a minute, or a minute after its next attempt, because its message has changed nothing: Requeue may
// have moved its due time far ahead. A delivery that has changed since it was read does not change. A parked one is no longer parked.
func (ds Deliveries) DueSoon(ctx context.Context, w Work) error {
	row := deliveryRow(w.DeliveryID)
	_, err := ds.s.db.Mark(ctx, row, table.All(attrStatus.Is(webhook.DeliveryPending), attrNextAttempt.Is(w.NextAttempt)), nil,
		dueAt(DueDelivery, row, max(ds.s.now(), w.NextAttempt)+overdueAfter.Milliseconds()))
	return err
}

// requeueAfter is the time after which a delivery is queued again if it was queued, but not tried. An old
// delivery waits for a quarter of its age, if that is longer, so that a backlog does not fill the queue.
const requeueAfter = 90 * time.Second

// Requeue moves an overdue delivery's due time forward, and reports whether it did. Only the caller
// that moved the time queues the delivery, so that it is not queued again each minute. The caller's
// random text on the row proves its change when the answer was lost.
func (ds Deliveries) Requeue(ctx context.Context, d Due) (ok bool, err error) {
	delivery := deliveryRow(d.Delivery())
	startedAt, ok, err := lookup(ctx, ds.s, delivery, attrStartedAt.OrZero)
	if err != nil || !ok {
		return false, err
	}
	now := ds.s.Now()
	until := now.Add(max(requeueAfter, now.Sub(time.UnixMilli(startedAt))/4))
	return ds.s.db.Mark(ctx, delivery, table.All(attrStatus.Is(webhook.DeliveryPending), attrDueAt.Is(d.At)), nil,
		attrDueAt.Set(until.UnixMilli()), attrMovedBy.Prove(rand.Text()))
}

// againAfter is the shortest time between two redeliveries of a delivery.
const againAfter = time.Minute

// againFor is the age of an event until which its deliveries may begin again. Later no attempt may fit before Work gives up, and a
// delivered delivery would become a failed one.
const againFor = eventsFor - leaseFor

// Again begins a new round of attempts for a delivery that is not pending. When the endpoint is
// disabled, the delivery is held. queue is true when the caller must queue the delivery. audited means that
// ActToRedeliver has written the actor's audit entry: then Again only checks the actor's role. Errors:
// endpoint_not_found, delivery_not_found (also when the event is too old), conflict for a delivery that is pending or was sent
// again within a minute, and for an actor also org_not_found and insufficient_role.
func (ds Deliveries) Again(ctx context.Context, d webhook.DeliveryID, by Changer, audited bool) (queue bool, err error) {
	err = ds.s.db.Retry(ctx, func() error {
		endpoint, err := ds.s.Endpoint(ctx, d.App, d.Endpoint)
		if err != nil {
			return err
		}
		if d.Event < id.FirstEvent(ds.s.Now().Add(-againFor)) { // ids of events sort by time
			return errDeliveryNotFound
		}
		now := ds.s.now()
		queue = endpoint.Enabled
		notPending := table.All(table.Exists, attrStatus.Not(webhook.DeliveryPending))
		notJustNow := table.Any(attrAgainAt.Absent(), attrAgainAt.AtMost(now-againAfter.Milliseconds()))
		t := ds.s.begin()
		switch {
		case !audited:
			t.startChange(ctx, by, endpoint.OrgID, redelivered, string(endpoint.ID), nil)
		case !by.isKey():
			t.Check(by.Actor.right(endpoint.OrgID))
		}
		return t.again(ctx, endpoint, d, table.All(notPending, notJustNow), attrAgainAt.Set(now))
	})
	if errors.Is(err, errNotAgain) {
		err = problem.New(problem.Conflict, "The delivery is pending, or it was sent again less than a minute ago.")
	}
	return queue, err
}

// redelivered is the audit action of redeliveries.
const redelivered = "endpoint.redelivered"

// MayBeginAgain reports whether Again would accept a delivery, by the state that was read.
func (ds Deliveries) MayBeginAgain(d Delivery) bool {
	now := ds.s.now()
	return d.Status != webhook.DeliveryPending && d.againAt <= now-againAfter.Milliseconds() && d.CreatedAt >= now-againFor.Milliseconds()
}

// ActToRedeliver writes one audit entry for an actor who redelivers several deliveries of an endpoint. Call it before Again.
// For an API key it does nothing. Errors: endpoint_not_found, org_not_found, insufficient_role.
func (ds Deliveries) ActToRedeliver(ctx context.Context, by Changer, o id.Org, a id.App, endpoint id.Endpoint) error {
	if by.isKey() {
		return nil
	}
	t := ds.s.begin()
	t.startChange(ctx, by, o, redelivered, string(endpoint), nil)
	t.Check(endpointRow(a, endpoint), notDeleted(), refuse(errEndpointNotFound))
	return t.Commit(ctx)
}

// Release begins a new round of attempts for a held delivery of an endpoint. ok is false when the delivery is no
// longer held or was deleted, or its endpoint is disabled again.
func (ds Deliveries) Release(ctx context.Context, endpoint Endpoint, d webhook.DeliveryID) (ok bool, err error) {
	err = ds.s.begin().again(ctx, endpoint, d, attrStatus.Is(webhook.DeliveryHeld), nil)
	if errors.Is(err, table.ErrRaced) || errors.Is(err, errNotAgain) || errors.Is(err, errDeliveryNotFound) {
		return false, nil
	}
	return err == nil, err
}

// errNotAgain is the refusal of a delivery for which the condition of again does not hold.
var errNotAgain = errors.New("store: the delivery is in another state")

// again begins a new round of attempts of a delivery if the delivery meets the condition when. It adds the change more,
// and commits the transaction. When the endpoint is disabled, it holds the delivery instead. Errors: delivery_not_found,
// errNotAgain, and table.ErrRaced when the endpoint was enabled, disabled or deleted since it was read.
func (t *txn) again(ctx context.Context, endpoint Endpoint, d webhook.DeliveryID, when table.Condition, more table.Change) error {
	row := deliveryRow(d)
	begin := table.Changes(attrStatus.Set(webhook.DeliveryHeld), endAttempts())
	if endpoint.Enabled {
		begin = firstAttempt(row, t.s.now(), 0)
	}
	t.Check(endpointRow(endpoint.AppID, endpoint.ID), table.All(attrDeletedAt.Absent(), attrEnabled.Is(endpoint.Enabled)), table.Raced)
	t.Update(row, when, func(found table.Row) error {
		if found == nil {
			return errDeliveryNotFound
		}
		return errNotAgain
	}, marked(begin, more))
	return t.Commit(ctx)
}

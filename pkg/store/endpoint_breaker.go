package store

import (
	"context"
	"crypto/rand"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// Succeeded records that an endpoint accepted a webhook. It writes only if that changes the
// endpoint's row.
func (ds Deliveries) Succeeded(ctx context.Context, endpoint Endpoint) error {
	if endpoint.Breaker == (webhook.Breaker{}) {
		return nil
	}
	row := endpointRow(endpoint.AppID, endpoint.ID)
	_, err := ds.s.db.Mark(ctx, row, table.Exists, nil,
		attrFailures.Remove(), attrOpenUntil.Remove(), attrFailingSince.Remove(),
		table.If(endpoint.OpenUntil != 0, dueAt(DueEndpoint, row, ds.s.now()))) // the sweep sends the parked deliveries
	return err
}

// Failed records that an endpoint did not accept a webhook. It opens the breaker after several
// failures in a row over some time. Attempts at the same time count once.
func (ds Deliveries) Failed(ctx context.Context, endpoint Endpoint) error {
	now := ds.s.Now()
	failures, pause, ok := endpoint.Fail(now)
	if !ok { // enough failures for an open breaker, but over too short a time
		return nil
	}
	// The count has changed when an attempt at the same time has failed or succeeded.
	unchanged := table.All(table.Exists, attrFailures.Absent())
	if endpoint.Failures > 0 {
		unchanged = attrFailures.Is(endpoint.Failures)
	}
	_, err := ds.s.db.Mark(ctx, endpointRow(endpoint.AppID, endpoint.ID), unchanged, nil,
		attrFailures.Set(failures), attrFailingSince.SetIfAbsent(now.UnixMilli()), table.If(pause > 0, endpoint.open(now.Add(pause).UnixMilli())))
	return err
}

// Probe reports whether this caller may make the probe: the only attempt on an endpoint when the time of its
// breaker is over. The breaker stays open for all other attempts. If the answer of the database is lost, no
// one makes an attempt until the new time is over. After a quiet time the failures begin anew.
func (ds Deliveries) Probe(ctx context.Context, endpoint Endpoint) (bool, error) {
	now := ds.s.Now()
	return ds.s.db.Mark(ctx, endpointRow(endpoint.AppID, endpoint.ID), attrOpenUntil.Is(endpoint.OpenUntil), nil,
		endpoint.open(now.Add(endpoint.Probe()).UnixMilli()), table.If(endpoint.WasQuiet(now), attrFailingSince.Set(now.UnixMilli())))
}

// DisableEndpoint stops the sending to an endpoint, with an event for the app's other endpoints. It
// changes nothing when the endpoint is disabled or deleted already. It also changes nothing when the app
// has changed the endpoint since it was read: the attempts may have gone to another URL.
func (ds Deliveries) DisableEndpoint(ctx context.Context, endpoint Endpoint, why webhook.DisabledReason) error {
	row, now := endpointRow(endpoint.AppID, endpoint.ID), ds.s.now()
	when := table.All(attrEnabled.Is(true), attrVersion.Is(endpoint.version))
	if why == webhook.DisabledByFailing { // the endpoint must have accepted no webhook since it was read
		when = table.All(when, attrFailingSince.Is(endpoint.FailingSince))
	}
	t := ds.s.begin()
	t.Update(row, when, table.Raced,
		attrEnabled.Set(false), attrDisabledReason.Set(why), attrDisabledAt.Set(now), table.Add(attrVersion, 1), attrReleaseFrom.Remove(),
		dueAt(DueEndpoint, row, now)) // the sweep holds the parked deliveries
	t.event(newEvent{
		org: endpoint.OrgID, app: endpoint.AppID, kind: webhook.EndpointDisabled, at: now, except: endpoint.ID,
		data: webhook.DisabledData{EndpointID: endpoint.ID, URL: webhook.Origin(endpoint.URL), Reason: why, DisabledAt: now},
	})
	return ignoreRaced(t.Commit(ctx))
}

// WaitingFor lists the held deliveries of an enabled endpoint, or all deliveries of a deleted
// one, from where the last run ended. next is "" at the end.
func (ds Deliveries) WaitingFor(ctx context.Context, endpoint Endpoint, limit int) (found []Delivery, next id.Event, err error) {
	span := DeliverySpan{Endpoint: endpoint.ID, Status: webhook.DeliveryHeld, After: endpoint.ReleaseFrom, Limit: limit}
	if endpoint.Deleted {
		span.Status = ""
	}
	return ds.deliveries(ctx, span)
}

// A delivery that meets an open breaker is parked: it moves to a partition of the index that the sweep
// does not read each minute. The endpoint's row is due instead. It stays in the index until a run of the
// sweep begins after the last possible parking and finds no parked delivery.
// A delivery is parked without a condition on the endpoint's row, because all deliveries would compete
// for that row. So attrParksUntil bounds the time of parking: each change that keeps the breaker open
// sets attrParksUntil, in the same update as the row's place in the index.

// parksFor bounds the time after the breaker's end in which a delivery may still be parked. It is more than
// the time-out of the deliver function (30 seconds), the difference of two clocks, and the delay of the index.
const parksFor = 5 * time.Minute

// parkedIn returns the partition of the index that has the parked deliveries of an endpoint, in
// the order in which their rounds of attempts began.
func parkedIn(endpoint id.Endpoint) string { return pkDue + "parked#" + string(endpoint) }

// open returns the change of the endpoint's row that opens the breaker until a time.
func (endpoint Endpoint) open(until int64) table.Change {
	return table.Changes(attrOpenUntil.Set(until), attrParksUntil.Set(until+parksFor.Milliseconds()),
		dueAt(DueEndpoint, endpointRow(endpoint.AppID, endpoint.ID), until))
}

// Park parks a delivery to an endpoint whose breaker is open until a time. A delivery that has
// changed since it was read does not change.
func (ds Deliveries) Park(ctx context.Context, w Work, until int64) error {
	_, err := ds.s.db.Mark(ctx, deliveryRow(w.DeliveryID), table.All(attrStatus.Is(webhook.DeliveryPending), attrNextAttempt.Is(w.NextAttempt)), nil,
		attrNextAttempt.Set(until), attrDue.Set(parkedIn(w.Endpoint)), attrDueAt.Set(w.StartedAt))
	return err
}

// Parked lists parked deliveries of an endpoint whose round of attempts began at a time (from, in
// milliseconds) or later, in the order in which the rounds began. At of a Due is that beginning.
func (ds Deliveries) Parked(ctx context.Context, endpoint id.Endpoint, from int64, limit int) ([]Due, error) {
	return ds.s.dueIn(ctx, DueDelivery, parkedIn(endpoint), from, ds.s.Now(), limit)
}

// Unpark makes a parked delivery due now, and reports whether it did. Only the caller that changed the
// row queues the delivery. The caller's random text on the row proves its change when the answer was
// lost.
func (ds Deliveries) Unpark(ctx context.Context, d Due) (bool, error) {
	row, now := deliveryRow(d.Delivery()), ds.s.now()
	return ds.s.db.Mark(ctx, row, table.All(attrStatus.Is(webhook.DeliveryPending), attrDue.Is(parkedIn(d.Endpoint))), nil,
		attrNextAttempt.Set(now), dueAt(DueDelivery, row, now+overdueAfter.Milliseconds()), attrMovedBy.Prove(rand.Text()))
}

// Waiting returns an endpoint with waiting deliveries: parked ones, or held ones. Held deliveries are to be
// released, or cancelled if the endpoint is deleted. ok is false when the endpoint is not due.
func (ds Deliveries) Waiting(ctx context.Context, a id.App, endpoint id.Endpoint) (found Endpoint, ok bool, err error) {
	row, err := ds.s.db.Get(ctx, endpointRow(a, endpoint))
	if err != nil || row == nil {
		return Endpoint{}, false, err
	}
	r := table.Read(row)
	found, at := endpointFrom(&r), attrDueAt.OrZero(&r)
	isDue := attrDue.IsIn(row) && at <= ds.s.now()
	return found, r.Err() == nil && isDue, r.Err()
}

// Looked is the result of a look at the deliveries that wait for an endpoint.
type Looked struct {
	Began  time.Time // when the endpoint's row was read
	Parked bool      // parked deliveries were found
	Held   bool      // held deliveries are left, after the event Next
	Next   id.Event
	Again  time.Time // when to look again, unless nothing is left
}

// LookedAt writes the position up to which the waiting deliveries of an endpoint were processed. When none is
// left, the endpoint leaves the index. The row of a deleted endpoint is then deleted, and no longer counts in
// the limit on endpoints. An endpoint that has changed since it was read does not change.
func (ds Deliveries) LookedAt(ctx context.Context, endpoint Endpoint, l Looked) error {
	row := endpointRow(endpoint.AppID, endpoint.ID)
	noneCanBeParked := l.Began.UnixMilli() > endpoint.parksUntil
	done := !l.Parked && !l.Held && noneCanBeParked
	if done && endpoint.Deleted {
		t := ds.s.begin()
		t.Delete(row, attrDeletedAt.Present(), table.Raced)
		t.Update(budgetRow(endpoint.AppID), nil, nil, table.Add(attrCount, -1))
		return ignoreRaced(t.Commit(ctx))
	}
	unchanged := table.All(attrVersion.Is(endpoint.version), attrParksUntil.IsOrAbsent(endpoint.parksUntil))
	if endpoint.Releasing {
		unchanged = table.All(unchanged, attrReleaseFrom.Is(endpoint.ReleaseFrom))
	}
	releaseFrom := attrReleaseFrom.Remove()
	if l.Held {
		releaseFrom = attrReleaseFrom.Set(l.Next)
	}
	due := attrDueAt.Set(l.Again.UnixMilli())
	if done {
		due = table.Changes(attrParksUntil.Remove(), notDue())
	}
	_, err := ds.s.db.Mark(ctx, row, unchanged, nil, releaseFrom, due)
	return err
}

package store

import (
	"context"
	"crypto/rand"
	"time"

	"latchkey/pkg/id"
)

// A delivery that meets an open breaker is parked: it leaves the index of due rows, and the
// endpoint's row is there in its place. The endpoint's row stays in the index until a run of the
// sweep that began after the last possible parking finds no parked delivery. A delivery is
// parked without a read of the endpoint's row, because all deliveries would compete for that
// row. So attrParksUntil bounds the time of parking: each change that keeps the breaker open
// sets it, in the same update as the row's place in the index.

// attrParksUntil is the latest time at which a process that read the endpoint with an open
// breaker may park a delivery.
const attrParksUntil = "parksUntil"

// parksFor is how long after the breaker's time a delivery may still be parked: the time of the
// deliver function (30 seconds), the difference of two clocks, and the delay of the index.
const parksFor = 5 * time.Minute

// parkedIn returns the partition of the index that has the parked deliveries of an endpoint, in
// the order in which their rounds of attempts began.
func parkedIn(h id.Endpoint) string { return pkDue + "parked#" + string(h) }

// open adds to the update of an endpoint's row that the breaker is open until a time.
func (e *expr) open(k key, until int64) {
	due := dueAttrs(DueEndpoint, k, until)
	e.update += "openUntil = :until, parksUntil = :parks, due = :due, dueAt = :until"
	e.values[":until"], e.values[":parks"], e.values[":due"] = num(until), num(until+parksFor.Milliseconds()), due[attrDue]
}

// Park parks a delivery whose endpoint's breaker is open until a time. A delivery that has
// changed since it was read stays as it is.
func (s *Store) Park(ctx context.Context, w Work, until int64) error {
	_, err := s.mark(ctx, w.key(), expr{
		update: "SET nextAttemptAt = :until, due = :parked, dueAt = :started",
		when:   "#status = :pending AND nextAttemptAt = :seen", names: statusName(),
		values: item{
			":until": num(until), ":parked": str(parkedIn(w.Endpoint)), ":started": num(w.StartedAt),
			":pending": str(string(DeliveryPending)), ":seen": num(w.NextAttempt),
		},
	}, nil)
	return err
}

// Parked lists parked deliveries of an endpoint whose round of attempts began at a time
// (milliseconds; At) or later, in the order in which the rounds began.
func (s *Store) Parked(ctx context.Context, h id.Endpoint, from int64, limit int) ([]Due, error) {
	return s.dueIn(ctx, parkedIn(h), from, s.Now(), limit)
}

// Unpark makes a parked delivery due now, and reports whether it did. Only the caller that did
// it queues the delivery. The row holds a random text of that caller, which recognises its
// change by it when the answer was lost.
func (s *Store) Unpark(ctx context.Context, d Due) (bool, error) {
	k := deliveryKey(d.Endpoint, d.Event)
	now := s.now()
	row := dueAttrs(DueDelivery, k, now+overdueAfter.Milliseconds())
	me := rand.Text()
	return s.mark(ctx, k, expr{
		update: "SET nextAttemptAt = :now, due = :due, dueAt = :dueAt, movedBy = :me", when: "#status = :pending AND due = :parked",
		names: statusName(),
		values: item{
			":now": num(now), ":due": row[attrDue], ":dueAt": row[attrDueAt], ":me": str(me),
			":pending": str(string(DeliveryPending)), ":parked": str(parkedIn(d.Endpoint)),
		},
	}, func(row item) bool { return row.str(attrMovedBy) == me })
}

// Waiting returns an endpoint for which deliveries wait: parked ones, or held ones that are to
// be released or, when the endpoint was deleted, cancelled. ok is false when the endpoint is not
// due.
func (s *Store) Waiting(ctx context.Context, a id.App, h id.Endpoint) (found Endpoint, ok bool, err error) {
	row, err := s.get(ctx, hookKey(a, h))
	if err != nil || row == nil {
		return Endpoint{}, false, err
	}
	return endpointFrom(row), row.str(attrDue) != "" && row.num(attrDueAt) <= s.now(), nil
}

// Looked is the result of a look at the deliveries that wait for an endpoint.
type Looked struct {
	Began  time.Time // when the endpoint's row was read
	Parked bool      // some were parked
	Held   bool      // some held ones are left,
	Next   id.Event  // behind this event
	Again  time.Time // when to look again, if any are left
}

// LookedAt writes how far the waiting deliveries of an endpoint were processed. When none is
// left, the endpoint leaves the index, and the row of a deleted one is deleted. An endpoint that
// has changed since it was read stays as it is.
func (s *Store) LookedAt(ctx context.Context, h Endpoint, l Looked) error {
	k := hookKey(h.AppID, h.ID)
	done := !l.Parked && !l.Held && l.Began.UnixMilli() > h.parksUntil
	if done && h.Deleted {
		t := &txn{}
		t.remove(s.table, k, expr{when: "attribute_exists(deletedAt)"}, raced)
		return ignoreRaced(s.commit(ctx, t))
	}
	e := expr{
		update: "SET dueAt = :at", when: "version = :version AND " + unchanged(attrParksUntil, h.parksUntil != 0),
		values: item{":version": num(h.version), ":at": num(l.Again.UnixMilli())},
	}
	if h.parksUntil != 0 {
		e.values[":"+attrParksUntil] = num(h.parksUntil)
	}
	if h.Releasing {
		e.when += " AND releaseFrom = :seen"
		e.values[":seen"] = str(string(h.ReleaseFrom))
	}
	switch {
	case done:
		e.update = "REMOVE releaseFrom, parksUntil, due, dueAt"
		delete(e.values, ":at")
	case l.Held:
		e.update += ", releaseFrom = :next"
		e.values[":next"] = str(string(l.Next))
	default:
		e.update += " REMOVE releaseFrom"
	}
	_, err := s.mark(ctx, k, e, nil)
	return err
}

// unchanged returns the condition that an attribute is as it was read: with the value of the
// same name, or absent.
func unchanged(name string, there bool) string {
	if there {
		return name + " = :" + name
	}
	return "attribute_not_exists(" + name + ")"
}

package store

import (
	"context"
	"crypto/rand"
	"time"

	"latchkey/pkg/id"
)

// A delivery that meets an open breaker is parked: it leaves the index of what is
// due, and the endpoint's one row stands there in its place. The endpoint's row stays
// until a run of the sweep finds no parked delivery that began when no more could be
// parked. Deliveries are parked without a look at the endpoint's row, for which all
// of them would compete. So attrParksUntil bounds the time: each change that keeps
// the breaker open sets it, in the same update as the row's place in the index.

// attrParksUntil is when the last delivery may be parked by a process that read the
// endpoint while its breaker was open.
const attrParksUntil = "parksUntil"

// parksFor is how long after the breaker's time a delivery may still be parked: the
// time of the deliver function (30 seconds), the difference of two clocks, and the
// delay of the index.
const parksFor = 5 * time.Minute

// parkedIn is the part of the index in which the parked deliveries of an endpoint
// stand, by the begin of their round of attempts.
func parkedIn(h id.Endpoint) string { return pkDue + "parked#" + string(h) }

// open adds to what an update sets of an endpoint's row that its breaker is open
// until a time.
func (e *expr) open(k key, until int64) {
	due := dueAttrs(DueEndpoint, k, until)
	e.update += "openUntil = :until, parksUntil = :parks, due = :due, dueAt = :until"
	e.values[":until"], e.values[":parks"], e.values[":due"] = num(until), num(until+parksFor.Milliseconds()), due[attrDue]
}

// Park puts a delivery aside whose endpoint's breaker is open until a time. One that
// has changed since it was read is left alone.
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

// Parked lists parked deliveries of an endpoint whose round of attempts began at a
// time (milliseconds; At) or later, those first that began first.
func (s *Store) Parked(ctx context.Context, h id.Endpoint, from int64, limit int) ([]Due, error) {
	return s.dueIn(ctx, parkedIn(h), from, s.Now(), limit)
}

// Unpark makes a parked delivery due now, and reports whether it did: the one who did
// queues it. The row keeps a random text of that one, who may not get the answer.
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

// Waiting gives an endpoint for which deliveries wait: parked ones, or held ones that
// are to be released or, when it was deleted, cancelled. ok is false when its time has
// not come.
func (s *Store) Waiting(ctx context.Context, a id.App, h id.Endpoint) (found Endpoint, ok bool, err error) {
	row, err := s.get(ctx, hookKey(a, h))
	if err != nil || row == nil {
		return Endpoint{}, false, err
	}
	return endpointFrom(row), row.str(attrDue) != "" && row.num(attrDueAt) <= s.now(), nil
}

// Looked is what a look at the deliveries that wait for an endpoint has found.
type Looked struct {
	Began  time.Time // when the endpoint's row was read
	Parked bool      // some were parked
	Held   bool      // held ones are left,
	Next   id.Event  // behind this one
	Again  time.Time // when to look again, should anything be left
}

// LookedAt notes how far the waiting deliveries of an endpoint were dealt with. When
// nothing is left, the endpoint leaves the index, and a deleted one is forgotten. An
// endpoint that has changed since it was read stays as it is.
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

// unchanged is the condition that an attribute is as it was read: there, with the
// value that bears its name, or not there.
func unchanged(name string, there bool) string {
	if there {
		return name + " = :" + name
	}
	return "attribute_not_exists(" + name + ")"
}

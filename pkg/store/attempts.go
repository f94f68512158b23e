package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// leaseFor is how long one attempt may take, its signature included.
const leaseFor = time.Minute

// waitsNoMore ends the update of a delivery for which nothing is due any more.
const waitsNoMore = " REMOVE nextAttemptAt, due, dueAt"

// Work is a delivery with everything that an attempt needs.
type Work struct {
	Delivery
	To      Endpoint // with Deleted when there is no row any more
	Payload webhook.Event
}

// Work reads a delivery, its endpoint and its event, in one strong read. ok is false when there is
// no such delivery, or no such event, any more.
func (s *Store) Work(ctx context.Context, a id.App, h id.Endpoint, e id.Event) (w Work, ok bool, err error) {
	d, hook, event := deliveryKey(h, e), hookKey(a, h), eventKey(a, e)
	rows, err := s.getMany(ctx, d, hook, event)
	if err != nil || rows[d] == nil || rows[event] == nil {
		return Work{}, false, err
	}
	w = Work{Delivery: deliveryFrom(rows[d]), Payload: eventFrom(rows[event]), To: Endpoint{ID: h, AppID: a, Deleted: true}}
	if rows[hook] != nil {
		w.To = endpointFrom(rows[hook])
	}
	return w, true, nil
}

func (d Delivery) key() key { return deliveryKey(d.Endpoint, d.Event) }

// mark changes one row by one conditional update, and reports whether the condition held. When it
// did not hold, mine gets the row. The SDK may send an update again when the answer was lost, and
// the update then finds its own change: mine reports whether it is that (nil: never).
func (s *Store) mark(ctx context.Context, k key, e expr, mine func(item) bool) (bool, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: s.table, Key: k.attributes(), UpdateExpression: &e.update, ConditionExpression: textOrNil(e.when),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: oldRow,
	}
	var last error
	for try := range conflictTries {
		if err := pause(ctx, try); err != nil {
			return false, unavailable(errors.Join(err, last))
		}
		_, err := s.db.UpdateItem(ctx, in)
		var refused *types.ConditionalCheckFailedException
		var conflict *types.TransactionConflictException
		switch {
		case err == nil:
			return true, nil
		case errors.As(err, &refused):
			return mine != nil && mine(refused.Item), nil
		case !errors.As(err, &conflict):
			return false, unavailable(err)
		}
		last = err
	}
	return false, unavailable(last)
}

// LeaseAttempt takes the right to make the next attempt of a delivery. The attempt's name is the
// jti of its token. ok is false when another process has the right, or the delivery has changed
// since it was read.
func (s *Store) LeaseAttempt(ctx context.Context, w Work, jti string) (ok bool, err error) {
	until := s.now() + leaseFor.Milliseconds()
	return s.mark(ctx, w.key(), expr{
		update: "SET attempts = :made, lease = :jti, nextAttemptAt = :until, due = :due, dueAt = :until", // it may be parked
		when:   "#status = :pending AND attempts = :before AND nextAttemptAt = :seen", names: statusName(),
		values: item{
			":made": num(int64(w.Attempts + 1)), ":jti": str(jti), ":until": num(until), ":pending": str(string(DeliveryPending)),
			":before": num(int64(w.Attempts)), ":seen": num(w.NextAttempt), ":due": str(DueDelivery.partition(w.key())),
		},
	}, func(row item) bool { return row.str(attrLease) == jti })
}

// ReturnAttempt gives back a leased attempt that was not made. It is due again at a time, in
// milliseconds.
func (s *Store) ReturnAttempt(ctx context.Context, w Work, jti string, at int64) error {
	_, err := s.mark(ctx, w.key(), expr{
		update: "SET attempts = :before, nextAttemptAt = :at, dueAt = :due",
		when:   "#status = :pending AND lease = :jti AND attempts = :made", names: statusName(),
		values: item{
			":before": num(int64(w.Attempts)), ":made": num(int64(w.Attempts + 1)), ":at": num(at),
			":due": num(at + overdueAfter.Milliseconds()), ":pending": str(string(DeliveryPending)), ":jti": str(jti),
		},
	}, nil)
	return err
}

// Attempted is the result of an attempt, and the state of the delivery after it.
type Attempted struct {
	Last   LastAttempt
	Status DeliveryStatus // delivered, failed, or pending until Next
	Next   int64          // milliseconds
	// Queued means that a message of the queue will wake the next attempt. Otherwise the
	// sweep does.
	Queued bool
}

// Settle writes the result of an attempt. An attempt whose lease another process has taken over
// since changes nothing.
func (s *Store) Settle(ctx context.Context, w Work, a Attempted) error {
	last, err := json.Marshal(a.Last)
	if err != nil {
		return err
	}
	e := expr{
		update: "SET #status = :status, #last = :last", when: "#status = :pending AND lease = :jti",
		names: map[string]string{"#status": attrStatus, "#last": attrLast},
		values: item{
			":status": str(string(a.Status)), ":last": str(string(last)), ":pending": str(string(DeliveryPending)), ":jti": str(a.Last.ID),
		},
	}
	switch a.Status {
	case DeliveryPending:
		e.update += ", nextAttemptAt = :next, dueAt = :due"
		e.values[":next"], e.values[":due"] = num(a.Next), num(a.Next)
		if a.Queued {
			e.values[":due"] = num(a.Next + overdueAfter.Milliseconds())
		}
	case DeliveryDelivered:
		e.update += ", deliveredAt = :now" + waitsNoMore
		e.values[":now"] = num(s.now())
	default:
		e.update += waitsNoMore
	}
	_, err = s.mark(ctx, w.key(), e, nil)
	return err
}

// GiveUp makes a delivery failed without another attempt.
func (s *Store) GiveUp(ctx context.Context, w Work) error {
	return s.end(ctx, w.Delivery, DeliveryFailed)
}

// Cancel cancels a delivery that waits for a deleted endpoint.
func (s *Store) Cancel(ctx context.Context, d Delivery) error {
	return s.end(ctx, d, DeliveryCancelled)
}

func (s *Store) end(ctx context.Context, d Delivery, as DeliveryStatus) error {
	_, err := s.mark(ctx, d.key(), expr{
		update: "SET #status = :as" + waitsNoMore, when: "#status IN (:pending, :held)", names: statusName(),
		values: item{":as": str(string(as)), ":pending": str(string(DeliveryPending)), ":held": str(string(DeliveryHeld))},
	}, nil)
	return err
}

// Hold holds a pending delivery of a disabled endpoint. If the endpoint was enabled again
// meanwhile, the delivery stays pending.
func (s *Store) Hold(ctx context.Context, w Work) error {
	t := &txn{}
	t.check(s.table, hookKey(w.App, w.Endpoint), expr{when: isDisabled, values: item{":no": boolean(false)}}, raced)
	t.update(s.table, w.key(), expr{
		update: "SET #status = :held" + waitsNoMore, when: "#status = :pending", names: statusName(),
		values: item{":held": str(string(DeliveryHeld)), ":pending": str(string(DeliveryPending))},
	}, raced)
	return ignoreRaced(s.commit(ctx, t))
}

// requeueAfter is when a delivery that was queued, but not tried, is queued again: after this
// time or a quarter of its age, whichever is longer, so that a backlog does not fill the queue.
const requeueAfter = 90 * time.Second

// Requeue moves an overdue delivery's due time forward, and reports whether it did. Only the caller
// that moved it queues the delivery, so that it is not queued again each minute. The row holds a
// random text of that caller, which recognises its change by it when the answer was lost.
func (s *Store) Requeue(ctx context.Context, d Due) (ok bool, err error) {
	k := deliveryKey(d.Endpoint, d.Event)
	row, err := s.get(ctx, k)
	if err != nil || row == nil {
		return false, err
	}
	now := s.Now()
	until := now.Add(max(requeueAfter, now.Sub(time.UnixMilli(row.num(attrStartedAt)))/4))
	me := rand.Text()
	return s.mark(ctx, k, expr{
		update: "SET dueAt = :until, movedBy = :me", when: "#status = :pending AND dueAt = :seen", names: statusName(),
		values: item{":until": num(until.UnixMilli()), ":me": str(me), ":pending": str(string(DeliveryPending)), ":seen": num(d.At)},
	}, func(row item) bool { return row.str(attrMovedBy) == me })
}

// againAfter is how long a delivery that was sent again is not sent again.
const againAfter = time.Minute

// Again begins a new round of attempts for a delivery that is not pending. That of a disabled
// endpoint is held. queue is true when the delivery is to be queued. Errors: endpoint_not_found,
// delivery_not_found, and conflict for a delivery that is pending, or was sent again within a
// minute.
func (s *Store) Again(ctx context.Context, a id.App, h id.Endpoint, e id.Event) (queue bool, err error) {
	err = retryRaced(ctx, func() error {
		endpoint, err := s.Endpoint(ctx, a, h)
		if err != nil {
			return err
		}
		queue = endpoint.Enabled
		now := s.now()
		return s.again(ctx, endpoint, e, expr{
			update: ", againAt = :now", when: "attribute_exists(PK) AND #status <> :pending AND (attribute_not_exists(againAt) OR againAt <= :before)",
			values: item{":now": num(now), ":before": num(now - againAfter.Milliseconds()), ":pending": str(string(DeliveryPending))},
		})
	})
	if errors.Is(err, errNotAgain) {
		err = problem.New(problem.Conflict, "The delivery is pending, or was sent again less than a minute ago.")
	}
	return queue, err
}

// Release begins a new round of attempts for a held delivery. ok is false when the delivery is no
// longer held, or its endpoint is disabled again.
func (s *Store) Release(ctx context.Context, h Endpoint, e id.Event) (ok bool, err error) {
	err = s.again(ctx, h, e, expr{when: "#status = :held", values: item{":held": str(string(DeliveryHeld))}})
	if errors.Is(err, errRaced) || errors.Is(err, errNotAgain) {
		return false, nil
	}
	return err == nil, err
}

var errNotAgain = errors.New("store: the delivery is in another state")

// again begins a new round of attempts on the condition more.when. more.update is added to the
// update.
func (s *Store) again(ctx context.Context, h Endpoint, e id.Event, more expr) error {
	k := deliveryKey(h.ID, e)
	t := &txn{}
	enabled := expr{when: "attribute_not_exists(deletedAt) AND enabled = :enabled", values: item{":enabled": boolean(h.Enabled)}}
	t.check(s.table, hookKey(h.AppID, h.ID), enabled, raced)
	update := expr{update: "SET #status = :held" + more.update + waitsNoMore, when: more.when, names: statusName(), values: item{":held": str(string(DeliveryHeld))}}
	if h.Enabled {
		row := first(k, s.now())
		update.update = "SET #status = :status, nextAttemptAt = :next, startedAt = :next, attempts = :none, due = :due, dueAt = :dueAt" + more.update
		update.values = item{
			":status": row[attrStatus], ":next": row[attrNextAttempt], ":none": row[attrAttempts], ":due": row[attrDue], ":dueAt": row[attrDueAt],
		}
	}
	maps.Copy(update.values, more.values)
	t.updateOwn(s.table, k, update, func(found item) error {
		if found == nil {
			return errDeliveryNotFound()
		}
		return errNotAgain
	})
	return s.commit(ctx, t)
}

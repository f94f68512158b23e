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

// waitsNoMore ends the update of a delivery that nothing is to happen to by itself.
const waitsNoMore = " REMOVE nextAttemptAt, due, dueAt"

// Work is a delivery with all that an attempt needs to know.
type Work struct {
	Delivery
	To      Endpoint // Deleted when it is gone
	Payload webhook.Event
}

// Work reads a delivery, its endpoint and its event, in one strong read. ok is
// false when there is no such delivery any more.
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

// mark changes one row by one conditional update. It reports whether the condition
// held, and the row as it stood when not. The SDK may send an update again whose
// answer was lost; it then finds its own change, which mine recognises (nil: it
// does not matter).
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

// LeaseAttempt takes the right to make the next attempt of a delivery, named by
// its token's jti. ok is false when another has it, or the delivery has changed
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

// ReturnAttempt gives a leased attempt back that was not made, to be made at a
// time.
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

// Attempted is what came of an attempt, and what is to come of the delivery.
type Attempted struct {
	Last   LastAttempt
	Status DeliveryStatus // delivered, failed, or pending with the next attempt:
	Next   int64          // milliseconds
	// Queued says that a queue message will wake the next attempt; without one, the
	// sweep does.
	Queued bool
}

// Settle writes what came of an attempt. One whose lease another has taken over
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

// GiveUp settles a pending delivery without another attempt.
func (s *Store) GiveUp(ctx context.Context, w Work) error {
	return s.end(ctx, w.Delivery, DeliveryFailed)
}

// Cancel settles a delivery that waits for an endpoint which is gone.
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

// Hold puts a pending delivery aside whose endpoint is disabled. An endpoint that
// was enabled again meanwhile leaves it pending.
func (s *Store) Hold(ctx context.Context, w Work) error {
	t := &txn{}
	t.check(s.table, hookKey(w.App, w.Endpoint), expr{when: isDisabled, values: item{":no": boolean(false)}}, raced)
	t.update(s.table, w.key(), expr{
		update: "SET #status = :held" + waitsNoMore, when: "#status = :pending", names: statusName(),
		values: item{":held": str(string(DeliveryHeld)), ":pending": str(string(DeliveryPending))},
	}, raced)
	return ignoreRaced(s.commit(ctx, t))
}

// requeueAfter is when a delivery that was queued, and not tried, is queued again:
// after this or a quarter of its age, so that a backlog does not fill the queue.
const requeueAfter = 90 * time.Second

// Requeue moves an overdue delivery's due time forward, and reports whether it did:
// who moved it queues it, so that it is not queued again each minute. The row keeps
// a random text of the one who did, who may not get the answer.
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

// againAfter is how long after it was sent again a delivery may be sent again.
const againAfter = time.Minute

// Again begins a new round of attempts for a delivery that waits for none; that of a
// disabled endpoint is held. Errors: endpoint_not_found, delivery_not_found, and
// conflict for one that is pending, or was sent again within a minute.
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

// Release begins a new round of attempts for a held delivery. ok is false when it
// is not held any more, or its endpoint is disabled again.
func (s *Store) Release(ctx context.Context, h Endpoint, e id.Event) (ok bool, err error) {
	err = s.again(ctx, h, e, expr{when: "#status = :held", values: item{":held": str(string(DeliveryHeld))}})
	if errors.Is(err, errRaced) || errors.Is(err, errNotAgain) {
		return false, nil
	}
	return err == nil, err
}

var errNotAgain = errors.New("store: the delivery is in another state")

// again begins a new round on a condition; more.update is what it sets besides.
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

package store

import (
	"context"
	"encoding/json"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// The attributes of deliveries.
const (
	attrStatus      = "status" // a reserved word: always #status
	attrAttempts    = "attempts"
	attrNextAttempt = "nextAttemptAt"
	attrDeliveredAt = "deliveredAt"
	attrEventType   = "eventType"
	attrLease       = "lease"     // jti of the attempt that is being made, or was made last
	attrLast        = "last"      // the last attempt, JSON
	attrMovedBy     = "movedBy"   // random text of the run of the sweep that queued it last
	attrStartedAt   = "startedAt" // when this round of attempts began: at fan-out, or when it was redelivered

	// overdueAfter is how long after its time an attempt is left to the queue before the sweep
	// takes it.
	overdueAfter = time.Minute
)

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses. Pending and held deliveries wait. The others are settled, and can be redelivered.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
	DeliveryHeld      DeliveryStatus = "held"      // its endpoint is disabled
	DeliveryCancelled DeliveryStatus = "cancelled" // its endpoint was deleted
)

// DeliveryStatuses returns all statuses.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliveryHeld, DeliveryCancelled}
}

// LastAttempt is the result of the last attempt.
type LastAttempt struct {
	ID         string  `json:"id"` // jti of its token
	At         int64   `json:"at"` // milliseconds
	Status     *int    `json:"status"`
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"` // of an attempt without an answer, or with a redirect
	Body       *string `json:"body"`  // the beginning of the answer
}

// Delivery is one event for one endpoint. Times are in milliseconds; 0: not set.
type Delivery struct {
	Event       id.Event
	Endpoint    id.Endpoint
	App         id.App
	EventType   webhook.Type
	Status      DeliveryStatus
	Attempts    int
	NextAttempt int64
	DeliveredAt int64
	CreatedAt   int64
	StartedAt   int64 // of this round of attempts
	Last        *LastAttempt
}

func deliveryFrom(row item) Delivery {
	d := Delivery{
		Event: id.Event(row.str(attrSK)), Endpoint: id.Endpoint(trimmed(row.str(attrPK), pkDelivery)),
		App: id.App(row.str(attrAppID)), EventType: webhook.Type(row.str(attrEventType)),
		Status: DeliveryStatus(row.str(attrStatus)), Attempts: int(row.num(attrAttempts)),
		NextAttempt: row.num(attrNextAttempt), DeliveredAt: row.num(attrDeliveredAt), CreatedAt: row.num(attrCreatedAt),
		StartedAt: row.num(attrStartedAt),
	}
	_ = json.Unmarshal([]byte(row.str(attrLast)), &d.Last) // marshalled by this package
	return d
}

func errDeliveryNotFound() error {
	return problem.New(problem.DeliveryNotFound, "The app has no such delivery.")
}

func statusName() map[string]string { return map[string]string{"#status": attrStatus} }

// first returns the attributes of a delivery whose round of attempts begins now. The sweep makes
// sure that the first attempt is made.
func first(k key, now int64) item {
	row := dueAttrs(DueDelivery, k, now+overdueAfter.Milliseconds())
	row[attrStatus], row[attrNextAttempt], row[attrStartedAt], row[attrAttempts] = str(string(DeliveryPending)), num(now), num(now), num(0)
	return row
}

// isDisabled is the condition (with :no in values) on which a delivery may be held. Held
// deliveries of a deleted endpoint would never be released.
const isDisabled = "enabled = :no AND attribute_not_exists(deletedAt)"

// FanOut writes the deliveries of an event, one for each endpoint that takes its type. It
// returns those that are to be sent, with their Event, Endpoint and App. It returns none for an
// event that was fanned out before or no longer exists.
func (s *Store) FanOut(ctx context.Context, a id.App, e id.Event) (send []Delivery, err error) {
	err = retryRaced(ctx, func() error {
		send, err = s.fanOut(ctx, a, e)
		return err
	})
	return send, err
}

func (s *Store) fanOut(ctx context.Context, a id.App, e id.Event) ([]Delivery, error) {
	event, err := s.get(ctx, eventKey(a, e))
	if err != nil || event == nil || event.num(attrFannedAt) != 0 {
		return nil, err
	}
	endpoints, _, err := s.Endpoints(ctx, a, Page{})
	if err != nil {
		return nil, err
	}
	now := s.now()
	t := &txn{}
	var send []Delivery
	var names []id.Endpoint
	kind, only, except := webhook.Type(event.str(attrType)), id.Endpoint(event.str(attrOnly)), id.Endpoint(event.str(attrExcept))
	for _, h := range endpoints {
		if only != "" && h.ID != only || only == "" && !webhook.Wants(h.Events, kind) || h.ID == except {
			continue
		}
		names = append(names, h.ID)
		k := deliveryKey(h.ID, e)
		row := first(k, now)
		if h.Enabled {
			send = append(send, Delivery{Event: e, Endpoint: h.ID, App: a})
		} else {
			// If the endpoint was enabled again meanwhile, the delivery would never be
			// released. So the endpoint must still be disabled.
			row = item{attrStatus: str(string(DeliveryHeld)), attrAttempts: num(0)}
			t.check(s.table, hookKey(a, h.ID), expr{when: isDisabled, values: item{":no": boolean(false)}}, raced)
		}
		row[attrAppID], row[attrEventType] = str(string(a)), str(string(kind))
		row[attrCreatedAt], row[attrPurgeAt] = event[attrCreatedAt], event[attrPurgeAt]
		t.put(s.table, k, row, expr{when: ifAbsent}, raced)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	t.updateOwn(s.table, eventKey(a, e), expr{
		update: "SET fannedAt = :now, endpoints = :endpoints REMOVE due, dueAt", when: "attribute_exists(PK) AND attribute_not_exists(fannedAt)",
		values: item{":now": num(now), ":endpoints": str(string(list))},
	}, raced)
	return send, s.commit(ctx, t)
}

// DeliveriesOf lists the deliveries of an event, in the order of its endpoints. Error:
// event_not_found.
func (s *Store) DeliveriesOf(ctx context.Context, a id.App, e id.Event) ([]Delivery, error) {
	row, err := s.get(ctx, eventKey(a, e))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, errEventNotFound()
	}
	var endpoints []id.Endpoint
	_ = json.Unmarshal([]byte(row.str(attrEndpoints)), &endpoints) // marshalled by this package
	keys := make([]key, len(endpoints))
	for i, h := range endpoints {
		keys[i] = deliveryKey(h, e)
	}
	rows, err := s.getMany(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var out []Delivery
	for _, k := range keys {
		if rows[k] != nil {
			out = append(out, deliveryFrom(rows[k]))
		}
	}
	return out, nil
}

// DeliverySpan selects deliveries of an endpoint.
type DeliverySpan struct {
	Endpoint id.Endpoint
	Since    time.Time      // of the event; zero: from the first
	Status   DeliveryStatus // "": any
	After    id.Event       // begin behind this one
	Limit    int
}

// deliveryPages bounds how many pages of a partition one call searches for deliveries of a
// status. The cursor goes on from there.
const deliveryPages = 10

// Deliveries lists deliveries of an endpoint, oldest first. next is the event behind which the
// next page begins, "" at the end. Error: endpoint_not_found.
func (s *Store) Deliveries(ctx context.Context, a id.App, d DeliverySpan) (found []Delivery, next id.Event, err error) {
	if _, err := s.Endpoint(ctx, a, d.Endpoint); err != nil {
		return nil, "", err
	}
	return s.deliveries(ctx, d)
}

func (s *Store) deliveries(ctx context.Context, d DeliverySpan) (found []Delivery, next id.Event, err error) {
	sp := span{pk: pkDelivery + string(d.Endpoint), after: string(d.After), limit: max(d.Limit, 100)}
	if !d.Since.IsZero() {
		sp.from = string(id.FirstEvent(d.Since))
	}
	if sp.after < sp.from {
		sp.after = "" // DynamoDB refuses a start outside of the range
	}
	for range deliveryPages {
		rows, more, err := s.query(ctx, sp)
		if err != nil {
			return nil, "", err
		}
		var used int
		found, used = d.choose(found, rows)
		if used == len(rows) && !more {
			return found, "", nil
		}
		sp.after = rows[used-1].str(attrSK)
		if len(found) == d.Limit {
			break
		}
	}
	return found, id.Event(sp.after), nil
}

// choose adds the selected deliveries of rows to found, up to the limit. used is how many rows
// it read.
func (d DeliverySpan) choose(found []Delivery, rows []item) (_ []Delivery, used int) {
	for used < len(rows) && len(found) < d.Limit {
		if got := deliveryFrom(rows[used]); d.Status == "" || got.Status == d.Status {
			found = append(found, got)
		}
		used++
	}
	return found, used
}

// HeldCount counts the deliveries that are held for an endpoint, up to Limits.Held.
func (s *Store) HeldCount(ctx context.Context, h Endpoint) (int, error) {
	if h.Enabled && !h.Releasing {
		return 0, nil
	}
	held, _, err := s.deliveries(ctx, DeliverySpan{Endpoint: h.ID, Status: DeliveryHeld, After: h.ReleaseFrom, Limit: s.Limits.Held})
	return len(held), err
}

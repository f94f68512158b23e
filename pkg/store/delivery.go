package store

import (
	"context"
	"crypto/rand"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// overdueAfter is how long after its time an attempt is left to the queue before the sweep
// takes it.
const overdueAfter = time.Minute

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses. Pending and held deliveries wait. The others have ended, and can be redelivered.
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

// LastAttempt is the result of the last attempt, and the format of the attribute last.
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

func deliveryFrom(r *table.Reading) Delivery {
	return Delivery{
		Event: id.Event(r.SK("")), Endpoint: id.Endpoint(r.PK(pkDelivery)), App: attrAppID.From(r), EventType: attrEventType.From(r),
		Status: attrStatus.From(r), Attempts: attrAttempts.From(r), NextAttempt: attrNextAttempt.OrZero(r),
		DeliveredAt: attrDeliveredAt.OrZero(r), CreatedAt: attrCreatedAt.From(r), StartedAt: attrStartedAt.OrZero(r),
		Last: attrLast.OrZero(r),
	}
}

// firstAttempt begins a round of attempts of a delivery at a time. The sweep makes sure that the
// first attempt is made.
func firstAttempt(row table.Key, now int64) table.Change {
	return table.Changes(
		dueAt(DueDelivery, row, now+overdueAfter.Milliseconds()),
		attrStatus.Set(DeliveryPending), attrNextAttempt.Set(now), attrStartedAt.Set(now), attrAttempts.Set(0),
	)
}

// isDisabled is the condition on which a delivery may be held. Held deliveries of a deleted
// endpoint would never be released.
func isDisabled() table.Condition { return table.All(attrEnabled.Is(false), attrDeletedAt.Absent()) }

// marked changes a row by a change that no other transaction makes, on a row on which nothing
// else distinguishes two transactions.
func marked(changes ...table.Change) table.Change {
	return table.Changes(attrWrittenBy.Prove(rand.Text()), table.Changes(changes...))
}

// FanOut writes the deliveries of an event, one for each endpoint that takes its type. It
// returns those that are to be sent, with their Event, Endpoint and App. It returns none for an
// event that was fanned out before or no longer exists.
func (s *Store) FanOut(ctx context.Context, a id.App, e id.Event) (send []Delivery, err error) {
	err = s.db.Retry(ctx, func() error {
		send, err = s.fanOut(ctx, a, e)
		return err
	})
	return send, err
}

func (s *Store) fanOut(ctx context.Context, a id.App, e id.Event) ([]Delivery, error) {
	row, err := s.db.Get(ctx, eventRow(a, e))
	if err != nil || row == nil || attrFannedAt.IsIn(row) {
		return nil, err
	}
	event := table.Read(row)
	kind, only, except := attrType.From(&event), attrOnly.OrZero(&event), attrExcept.OrZero(&event)
	createdAt, purgeAt := attrCreatedAt.From(&event), attrPurgeAt.From(&event)
	if event.Err() != nil {
		return nil, event.Err()
	}
	endpoints, _, err := s.Endpoints(ctx, a, Page{})
	if err != nil {
		return nil, err
	}
	now := s.now()
	t := s.begin()
	var send []Delivery
	var names []id.Endpoint
	for _, h := range endpoints {
		if only != "" && h.ID != only || only == "" && !webhook.Wants(h.Events, kind) || h.ID == except {
			continue
		}
		names = append(names, h.ID)
		begin := firstAttempt(deliveryRow(h.ID, e), now)
		if h.Enabled {
			send = append(send, Delivery{Event: e, Endpoint: h.ID, App: a})
		} else {
			// If the endpoint was enabled again meanwhile, the delivery would never be
			// released. So the endpoint must still be disabled.
			begin = table.Changes(attrStatus.Set(DeliveryHeld), attrAttempts.Set(0))
			t.Check(endpointRow(a, h.ID), isDisabled(), table.Raced)
		}
		t.Put(deliveryRow(h.ID, e), table.Absent, table.Raced,
			begin, attrAppID.Set(a), attrEventType.Set(kind), attrCreatedAt.Set(createdAt), attrPurgeAt.Set(purgeAt))
	}
	t.Update(eventRow(a, e), table.All(table.Exists, attrFannedAt.Absent()), table.Raced,
		marked(attrFannedAt.Set(now), attrEndpoints.Set(names), notDue()))
	return send, t.Commit(ctx)
}

// DeliveriesOf lists the deliveries of an event, in the order of its endpoints. Error:
// event_not_found.
func (s *Store) DeliveriesOf(ctx context.Context, a id.App, e id.Event) (found []Delivery, err error) {
	endpoints, err := find(ctx, s, eventRow(a, e), attrEndpoints.OrZero, errEventNotFound)
	if err != nil {
		return nil, err
	}
	wanted := make([]table.Key, len(endpoints))
	for i, h := range endpoints {
		wanted[i] = deliveryRow(h, e)
	}
	rows, err := batch(ctx, s, wanted, deliveryFrom)
	for _, k := range wanted {
		if d, ok := rows[k]; ok {
			found = append(found, d)
		}
	}
	return found, err
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
	page := table.Span{PK: pkDelivery + string(d.Endpoint), After: string(d.After), Limit: max(d.Limit, 100)}
	if !d.Since.IsZero() {
		page.From = string(id.FirstEvent(d.Since))
	}
	if page.After < page.From {
		page.After = "" // DynamoDB refuses a start outside of the range
	}
	for range deliveryPages {
		all, more, err := list(ctx, s, page, deliveryFrom)
		if err != nil {
			return nil, "", err
		}
		var used int
		found, used = d.choose(found, all)
		if used == len(all) && more == "" {
			return found, "", nil
		}
		page.After = string(all[used-1].Event)
		if len(found) == d.Limit {
			break
		}
	}
	return found, id.Event(page.After), nil
}

// choose adds the selected ones of some deliveries to found, up to the limit. used is how many of
// them it looked at.
func (d DeliverySpan) choose(found, some []Delivery) (_ []Delivery, used int) {
	for used < len(some) && len(found) < d.Limit {
		if d.Status == "" || some[used].Status == d.Status {
			found = append(found, some[used])
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

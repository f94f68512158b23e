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
	webhook.DeliveryID
	webhook.Round
	Org         id.Org
	EventType   webhook.Type
	DeliveredAt int64
	CreatedAt   int64
	Last        *LastAttempt
}

func deliveryFrom(r *table.Reading) Delivery {
	return Delivery{
		DeliveryID: webhook.DeliveryID{App: attrAppID.From(r), Endpoint: id.Endpoint(r.PK(pkDelivery)), Event: id.Event(r.SK(""))},
		Round: webhook.Round{
			Status: attrStatus.From(r), Attempts: attrAttempts.From(r), NextAttempt: attrNextAttempt.OrZero(r), StartedAt: attrStartedAt.OrZero(r),
		},
		Org: attrOrgID.From(r), EventType: attrEventType.From(r),
		DeliveredAt: attrDeliveredAt.OrZero(r), CreatedAt: attrCreatedAt.From(r), Last: attrLast.OrZero(r),
	}
}

// firstAttempt begins a round of attempts of a delivery now. Its first attempt is late after that. The
// sweep makes sure that it is made.
func firstAttempt(row table.Key, now int64, late time.Duration) table.Change {
	first := now + late.Milliseconds()
	return table.Changes(
		dueAt(DueDelivery, row, first+overdueAfter.Milliseconds()),
		attrStatus.Set(webhook.DeliveryPending), attrNextAttempt.Set(first), attrStartedAt.Set(now), attrAttempts.Set(0),
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

// Deliveries has the use cases of deliveries, and of the endpoints to which they go.
type Deliveries struct{ s *Store }

// Deliveries returns the store's deliveries.
func (s *Store) Deliveries() Deliveries { return Deliveries{s} }

// Of lists the deliveries of an event, in the order of its endpoints. Error:
// event_not_found.
func (ds Deliveries) Of(ctx context.Context, a id.App, e id.Event) (found []Delivery, err error) {
	endpoints, err := find(ctx, ds.s, eventRow(a, e), attrEndpoints.OrZero, errEventNotFound)
	if err != nil {
		return nil, err
	}
	wanted := make([]table.Key, len(endpoints))
	for i, h := range endpoints {
		wanted[i] = deliveryRow(webhook.DeliveryID{App: a, Endpoint: h, Event: e})
	}
	rows, err := batch(ctx, ds.s, wanted, deliveryFrom)
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
	Since    time.Time              // of the event; zero: from the first
	Status   webhook.DeliveryStatus // "": any
	After    id.Event               // begin behind this one
	Limit    int
	OnePage  bool // search one page of deliveries, not deliveryPages
}

// deliveryPages bounds how many pages of a partition one call searches for deliveries of a
// status. The cursor goes on from there.
const deliveryPages = 10

// List lists deliveries of an endpoint, oldest first. next is the event behind which the
// next page begins, "" at the end. Error: endpoint_not_found.
func (ds Deliveries) List(ctx context.Context, a id.App, d DeliverySpan) (found []Delivery, next id.Event, err error) {
	if _, err := ds.s.Endpoint(ctx, a, d.Endpoint); err != nil {
		return nil, "", err
	}
	return ds.deliveries(ctx, d)
}

func (ds Deliveries) deliveries(ctx context.Context, d DeliverySpan) (found []Delivery, next id.Event, err error) {
	page := table.Span{PK: pkDelivery + string(d.Endpoint), After: string(d.After), Limit: max(d.Limit, 100)}
	if !d.Since.IsZero() {
		page.From = string(id.FirstEvent(d.Since))
	}
	if page.After < page.From {
		page.After = "" // DynamoDB refuses a start outside of the range
	}
	pages := deliveryPages
	if d.OnePage {
		pages = 1
	}
	for range pages {
		all, more, err := list(ctx, ds.s, page, deliveryFrom)
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

// HeldCount counts the deliveries that are held for an endpoint, among the first Limits.Held that are not
// released.
func (ds Deliveries) HeldCount(ctx context.Context, h Endpoint) (int, error) {
	if h.Enabled && !h.Releasing {
		return 0, nil
	}
	held, _, err := ds.deliveries(ctx, DeliverySpan{Endpoint: h.ID, Status: webhook.DeliveryHeld, After: h.ReleaseFrom, Limit: ds.s.Limits.Held, OnePage: true})
	return len(held), err
}

package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// overdueAfter is the time that the queue has to start an attempt. Then the sweep finds the attempt
// overdue.
const overdueAfter = time.Minute

// LastAttempt is the result of the last attempt, and the format of the attribute last.
type LastAttempt struct {
	ID         string  `json:"id"`     // jti of its token
	At         int64   `json:"at"`     // milliseconds
	Status     *int    `json:"status"` // of the answer; nil: there was none
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"` // of an attempt without an answer, or with a redirect
	Body       *string `json:"body"`  // the beginning of the answer
}

// EarlierAttempt is an attempt before the last one, and the format of the elements of the attribute earlier.
type EarlierAttempt struct {
	At         int64   `json:"at"`     // milliseconds
	Status     *int    `json:"status"` // of the answer; nil: there was none
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"`
	Body       *string `json:"body"` // the beginning of the answer, at most earlierBody bytes
}

const (
	earlierKept = 4   // attempts that a delivery keeps in addition to its last
	earlierBody = 128 // bytes
)

// earlier returns the new value of Earlier for the time when the next attempt replaces Last. It is nil if there is no Last.
func (d Delivery) earlier() []EarlierAttempt {
	if d.Last == nil {
		return nil
	}
	last := EarlierAttempt{At: d.Last.At, Status: d.Last.Status, DurationMs: d.Last.DurationMs, Error: d.Last.Error}
	if d.Last.Body != nil {
		body := strings.ToValidUTF8((*d.Last.Body)[:min(len(*d.Last.Body), earlierBody)], "") // drops a cut character at the end
		last.Body = &body
	}
	return append([]EarlierAttempt{last}, d.Earlier[:min(len(d.Earlier), earlierKept-1)]...)
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
	Earlier     []EarlierAttempt // before Last, latest first

	// Origin is the origin of the endpoint's URL, "" once the endpoint is deleted. Only Of and List set it.
	Origin string

	againAt int64 // when a request redelivered it last
}

func deliveryFrom(r *table.Reading) Delivery {
	return Delivery{
		DeliveryID: webhook.DeliveryID{App: attrAppID.From(r), Endpoint: id.Endpoint(r.PK(pkDelivery)), Event: id.Event(r.SK(""))},
		Round: webhook.Round{
			Status: attrStatus.From(r), Attempts: attrAttempts.From(r), NextAttempt: attrNextAttempt.OrZero(r), StartedAt: attrStartedAt.OrZero(r),
		},
		Org: attrOrgID.From(r), EventType: attrEventType.From(r),
		DeliveredAt: attrDeliveredAt.OrZero(r), CreatedAt: attrCreatedAt.From(r),
		Last: attrLast.OrZero(r), Earlier: attrEarlier.OrZero(r), againAt: attrAgainAt.OrZero(r),
	}
}

// firstAttempt begins a round of attempts of a delivery now. The time of the first attempt is now plus late.
// The delivery also becomes due for the sweep, for the case that the queue does not start the attempt.
func firstAttempt(row table.Key, now int64, late time.Duration) table.Change {
	first := now + late.Milliseconds()
	return table.Changes(
		dueAt(DueDelivery, row, first+overdueAfter.Milliseconds()),
		attrStatus.Set(webhook.DeliveryPending), attrNextAttempt.Set(first), attrStartedAt.Set(now), attrAttempts.Set(0),
	)
}

// isDisabled is the condition of an endpoint's row on which a delivery may be held. A deleted endpoint
// is disabled too, but its held deliveries would never be released.
func isDisabled() table.Condition { return table.All(attrEnabled.Is(false), attrDeletedAt.Absent()) }

// marked adds the proof of a transaction (Attribute.Prove) to changes of a row. It is for changes that
// another transaction could make with the same values.
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
	var wanted []table.Key
	for _, endpoint := range endpoints {
		wanted = append(wanted, deliveryRow(webhook.DeliveryID{App: a, Endpoint: endpoint, Event: e}), endpointRow(a, endpoint))
	}
	rows, err := ds.s.db.Batch(ctx, wanted...)
	for _, endpoint := range endpoints {
		delivery, to := table.Read(rows[deliveryRow(webhook.DeliveryID{App: a, Endpoint: endpoint, Event: e})]), table.Read(rows[endpointRow(a, endpoint)])
		if delivery.Row == nil {
			continue
		}
		d := deliveryFrom(&delivery)
		if !attrDeletedAt.IsIn(to.Row) {
			d.Origin = webhook.Origin(attrURL.OrZero(&to))
		}
		found = append(found, d)
		err = errors.Join(err, delivery.Err(), to.Err())
	}
	return found, err
}

// DeliverySpan selects deliveries of an endpoint.
type DeliverySpan struct {
	Endpoint id.Endpoint
	Since    time.Time              // only events from this time on; zero: all
	Status   webhook.DeliveryStatus // "": any
	After    id.Event               // the last event of the previous page; "": from the beginning
	Newest   bool                   // the newest first
	Limit    int
	OnePage  bool // search one page of deliveries, not searchPages
}

// List lists deliveries of an endpoint. next is After of the next page,
// "" at the end. With a status, a page may be short although more deliveries follow. Error:
// endpoint_not_found.
func (ds Deliveries) List(ctx context.Context, a id.App, d DeliverySpan) (found []Delivery, next id.Event, err error) {
	to, err := ds.s.Endpoint(ctx, a, d.Endpoint)
	if err != nil {
		return nil, "", err
	}
	found, next, err = ds.deliveries(ctx, d)
	for i := range found {
		found[i].Origin = webhook.Origin(to.URL)
	}
	return found, next, err
}

// deliveries is List without the check that the endpoint exists. It reads at least 100 rows at a time, because a
// status may select few of them.
func (ds Deliveries) deliveries(ctx context.Context, d DeliverySpan) (found []Delivery, next id.Event, err error) {
	page := table.Span{PK: pkDelivery + string(d.Endpoint), After: string(d.After), Reverse: d.Newest, Limit: max(d.Limit, 100)}
	if !d.Since.IsZero() {
		page.From = string(id.FirstEvent(d.Since))
	}
	switch { // DynamoDB refuses a start before From, and in reverse order also a start at From
	case d.Newest && page.After != "" && page.After <= page.From:
		return nil, "", nil
	case page.After < page.From:
		page.After = ""
	}
	pages := searchPages
	if d.OnePage {
		pages = 1
	}
	last, err := ds.s.search(ctx, page, pages, d.Limit, func(r *table.Reading) bool {
		one := deliveryFrom(r)
		matches := d.Status == "" || one.Status == d.Status
		if matches {
			found = append(found, one)
		}
		return matches
	})
	return found, id.Event(last), err
}

// HeldCount counts the deliveries that are held for an endpoint. To bound its cost, it reads only the newest Limits.Held
// deliveries. The held deliveries are the newest, because a disabled endpoint delivers nothing and the oldest are released first.
func (ds Deliveries) HeldCount(ctx context.Context, endpoint Endpoint) (int, error) {
	if endpoint.Enabled && !endpoint.Releasing {
		return 0, nil
	}
	newest, _, err := list(ctx, ds.s, table.Span{PK: pkDelivery + string(endpoint.ID), Reverse: true, Limit: ds.s.Limits.Held}, deliveryFrom)
	held := 0
	for _, d := range newest {
		if d.Status == webhook.DeliveryHeld {
			held++
		}
	}
	return held, err
}

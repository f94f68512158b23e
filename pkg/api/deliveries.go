package api

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/queue"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// redeliverAtOnce is how many deliveries of one call are sent again beside each
// other.
const redeliverAtOnce = 16

func (w webhooks) events(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Since  *int64  `json:"since"`
		Limit  *int64  `json:"limit"`
		Cursor *string `json:"cursor"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	since, err := millis("/since", in.Since)
	if err != nil {
		return answer{}, err
	}
	p, err := pageOf(in.Limit, in.Cursor, isEventID)
	if err != nil {
		return answer{}, err
	}
	after := max(id.Event(p.After), id.FirstEvent(time.UnixMilli(since)))
	found, next, err := w.store.Events(ctx, c.caller.AppID, after, p.Limit)
	if err != nil {
		return answer{}, err
	}
	if found == nil {
		found = []webhook.Event{}
	}
	return ok(struct {
		Events     []webhook.Event `json:"events"`
		NextCursor string          `json:"nextCursor"` // always: what comes later comes behind it
	}{found, cursor(string(next))}), nil
}

func (w webhooks) event(ctx context.Context, c *call) (answer, error) {
	var in struct {
		EventID *string `json:"eventId"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/eventId", in.EventID); err != nil {
		return answer{}, err
	}
	found, err := w.store.Event(ctx, c.caller.AppID, eventID(*in.EventID))
	if err != nil {
		return answer{}, err
	}
	return ok(found), nil
}

type deliveryBody struct {
	EventID       id.Event             `json:"eventId"`
	EndpointID    id.Endpoint          `json:"endpointId"`
	EventType     webhook.Type         `json:"eventType"`
	Status        store.DeliveryStatus `json:"status"`
	Attempts      int                  `json:"attempts"`
	NextAttemptAt *int64               `json:"nextAttemptAt"`
	DeliveredAt   *int64               `json:"deliveredAt"`
	CreatedAt     int64                `json:"createdAt"`
	LastAttempt   *store.LastAttempt   `json:"lastAttempt"`
}

type deliveriesBody struct {
	Deliveries []deliveryBody `json:"deliveries"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

func deliveriesBodyOf(found []store.Delivery, next id.Event) deliveriesBody {
	body := deliveriesBody{make([]deliveryBody, len(found)), cursor(string(next))}
	for i, d := range found {
		body.Deliveries[i] = deliveryBody{
			EventID: d.Event, EndpointID: d.Endpoint, EventType: d.EventType, Status: d.Status, Attempts: d.Attempts,
			NextAttemptAt: orNull(d.NextAttempt), DeliveredAt: orNull(d.DeliveredAt), CreatedAt: d.CreatedAt, LastAttempt: d.Last,
		}
	}
	return body
}

func (w webhooks) deliveries(ctx context.Context, c *call) (answer, error) {
	var in struct {
		EventID    *string `json:"eventId"`
		EndpointID *string `json:"endpointId"`
		Since      *int64  `json:"since"`
		Status     *string `json:"status"`
		Limit      *int64  `json:"limit"`
		Cursor     *string `json:"cursor"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := either(in.EventID != nil, in.EndpointID != nil, "Name either an event or an endpoint."); err != nil {
		return answer{}, err
	}
	if in.EventID != nil {
		if in.Since != nil || in.Status != nil || in.Limit != nil || in.Cursor != nil {
			return answer{}, problem.Invalid("/eventId", "conflict", "since, status, limit and cursor go with endpointId.")
		}
		found, err := w.store.DeliveriesOf(ctx, c.caller.AppID, eventID(*in.EventID))
		if err != nil {
			return answer{}, err
		}
		return ok(deliveriesBodyOf(found, "")), nil
	}
	span, err := spanOf(in.Since, in.Status, in.Cursor)
	if err != nil {
		return answer{}, err
	}
	p, err := pageOf(in.Limit, nil, isEventID)
	if err != nil {
		return answer{}, err
	}
	span.Endpoint, span.Limit = endpointID(*in.EndpointID), p.Limit
	found, next, err := w.store.Deliveries(ctx, c.caller.AppID, span)
	if err != nil {
		return answer{}, err
	}
	return ok(deliveriesBodyOf(found, next)), nil
}

// either wants an event or, in its place, another member, and not both.
func either(event, other bool, message string) error {
	switch {
	case event && other:
		return problem.Invalid("/eventId", "conflict", message)
	case !event && !other:
		return problem.Invalid("/eventId", "required", message)
	default:
		return nil
	}
}

// spanOf checks which deliveries of an endpoint are meant.
func spanOf(since *int64, status, after *string) (span store.DeliverySpan, err error) {
	at, err := millis("/since", since)
	if err != nil {
		return span, err
	}
	if at != 0 {
		span.Since = time.UnixMilli(at)
	}
	if status != nil {
		span.Status = store.DeliveryStatus(*status)
		if !slices.Contains(store.DeliveryStatuses(), span.Status) {
			return span, problem.Invalid("/status", "enum", "The value must be pending, delivered, failed, held or cancelled.")
		}
	}
	p, err := pageOf(nil, after, isEventID)
	span.After = id.Event(p.After)
	return span, err
}

func (w webhooks) redeliver(ctx context.Context, c *call) (answer, error) {
	var in struct {
		EventID    *string `json:"eventId"`
		EndpointID *string `json:"endpointId"`
		Since      *int64  `json:"since"`
		Status     *string `json:"status"`
		Cursor     *string `json:"cursor"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/endpointId", in.EndpointID); err != nil {
		return answer{}, err
	}
	h := endpointID(*in.EndpointID)
	if err := either(in.EventID != nil, in.Since != nil, "Name either an event or the time since when."); err != nil {
		return answer{}, err
	}
	if in.EventID != nil {
		if in.Status != nil || in.Cursor != nil {
			return answer{}, problem.Invalid("/eventId", "conflict", "status and cursor go with since.")
		}
		return w.redeliverOne(ctx, c, h, eventID(*in.EventID))
	}
	span, err := spanOf(in.Since, in.Status, in.Cursor)
	if err != nil {
		return answer{}, err
	}
	span.Endpoint, span.Limit = h, w.store.Limits.Redelivered
	if span.Status == "" {
		span.Status = store.DeliveryFailed
	}
	found, next, err := w.store.Deliveries(ctx, c.caller.AppID, span)
	if err != nil {
		return answer{}, err
	}
	events := make([]id.Event, len(found))
	for i, d := range found {
		events[i] = d.Event
	}
	if err := w.store.SpendDeliveries(ctx, c.caller.AppID, len(events)); err != nil {
		return answer{}, err
	}
	queued, failed := w.again(ctx, c.caller.AppID, h, events...)
	for i, err := range failed {
		if problem.Is(err, problem.Conflict) { // it is on its way
			failed[i] = nil
			queued--
		}
	}
	return redelivered(queued, next, errors.Join(failed...))
}

func (w webhooks) redeliverOne(ctx context.Context, c *call, h id.Endpoint, e id.Event) (answer, error) {
	if err := w.store.SpendDeliveries(ctx, c.caller.AppID, 1); err != nil {
		return answer{}, err
	}
	queued, failed := w.again(ctx, c.caller.AppID, h, e)
	return redelivered(queued, "", failed[0])
}

func redelivered(queued int, next id.Event, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(struct {
		Queued     int    `json:"queued"`
		NextCursor string `json:"nextCursor,omitempty"`
	}{queued, cursor(string(next))}), nil
}

// again begins new rounds of attempts, several at once, and gives the error of each.
// What the queue does not take, the sweep wakes.
func (w webhooks) again(ctx context.Context, a id.App, h id.Endpoint, events ...id.Event) (queued int, failed []error) {
	wakes, failed := make([]bool, len(events)), make([]error, len(events))
	slots := make(chan struct{}, redeliverAtOnce)
	var wg sync.WaitGroup
	for i, e := range events {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			wakes[i], failed[i] = w.store.Again(ctx, a, h, e)
		})
	}
	wg.Wait()
	var send []queue.Message
	for i, e := range events {
		if wakes[i] && failed[i] == nil {
			send = append(send, queue.Message{App: a, Endpoint: h, Event: e})
		}
	}
	if len(send) > 0 {
		if err := w.queue.Send(ctx, 0, send...); err != nil {
			slog.WarnContext(ctx, "deliveries are left to the sweep", "error", err)
		}
	}
	return len(events), failed
}

package api

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// redeliverAtOnce is how many deliveries of one call are sent again at the same time.
const redeliverAtOnce = 16

// eventsIn is a page of the feed of events.
type eventsIn struct {
	Since  *int64  `json:"since"`
	Limit  *int64  `json:"limit"`
	Cursor *string `json:"cursor"`
}

func (w webhooks) events(ctx context.Context, c *call, in eventsIn) (list[webhook.Event], error) {
	since, err := millis("/since", in.Since)
	if err != nil {
		return list[webhook.Event]{}, err
	}
	p, err := pageIn{in.Limit, in.Cursor}.page(isID(id.ParseEvent))
	if err != nil {
		return list[webhook.Event]{}, err
	}
	after := max(id.Event(p.After), id.FirstEvent(time.UnixMilli(since)))
	found, next, err := w.store.Events(ctx, c.caller.AppID, after, p.Limit)
	page := listOf("events", found, string(next), func(e webhook.Event) webhook.Event { return e })
	page.feed = true
	return page, err
}

// eventIn is a body that names an event.
type eventIn struct {
	EventID *string `json:"eventId"`
}

func (in *eventIn) check(*call) error { return required("/eventId", in.EventID) }

func (w webhooks) event(ctx context.Context, c *call, in eventIn) (webhook.Event, error) {
	return w.store.Event(ctx, c.caller.AppID, eventID(*in.EventID))
}

// eventID reads the id of an event. It returns id.NoEvent for a text that does not parse.
func eventID(text string) id.Event { return idOr(id.NoEvent, id.ParseEvent, text) }

type deliveryBody struct {
	EventID       id.Event               `json:"eventId"`
	EndpointID    id.Endpoint            `json:"endpointId"`
	EventType     webhook.Type           `json:"eventType"`
	Status        webhook.DeliveryStatus `json:"status"`
	Attempts      int                    `json:"attempts"`
	NextAttemptAt *int64                 `json:"nextAttemptAt"`
	DeliveredAt   *int64                 `json:"deliveredAt"`
	CreatedAt     int64                  `json:"createdAt"`
	LastAttempt   *attemptBody           `json:"lastAttempt"`
}

type attemptBody struct {
	ID         string  `json:"id"`
	At         int64   `json:"at"`
	Status     *int    `json:"status"`
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"`
	Body       *string `json:"body"`
}

func deliveryBodyOf(d store.Delivery) deliveryBody {
	return deliveryBody{
		EventID: d.Event, EndpointID: d.Endpoint, EventType: d.EventType, Status: d.Status, Attempts: d.Attempts,
		NextAttemptAt: orNull(d.NextAttempt), DeliveredAt: orNull(d.DeliveredAt), CreatedAt: d.CreatedAt, LastAttempt: (*attemptBody)(d.Last),
	}
}

// deliveriesIn selects the deliveries of an event, or some of an endpoint.
type deliveriesIn struct {
	EventID    *string `json:"eventId"`
	EndpointID *string `json:"endpointId"`
	Since      *int64  `json:"since"`
	Status     *string `json:"status"`
	Limit      *int64  `json:"limit"`
	Cursor     *string `json:"cursor"`
}

// selected says which deliveries a request is about. With an event they are that event's, of all endpoints or of the
// endpoint of span. Without one they are those of span.
type selected struct {
	event *id.Event
	span  store.DeliverySpan
}

func (in deliveriesIn) parse(*call) (s selected, err error) {
	if err := either(in.EventID != nil, in.EndpointID != nil, "Name either an event or an endpoint."); err != nil {
		return s, err
	}
	if in.EventID != nil {
		if in.Since != nil || in.Status != nil || in.Limit != nil || in.Cursor != nil {
			return s, problem.Invalid("/eventId", "conflict", "since, status, limit and cursor go with endpointId.")
		}
		e := eventID(*in.EventID)
		return selected{event: &e}, nil
	}
	if s.span, err = spanOf(in.EndpointID, in.Since, in.Status, in.Cursor); err != nil {
		return s, err
	}
	p, err := pageIn{Limit: in.Limit}.page(isID(id.ParseEvent))
	s.span.Limit = p.Limit
	return s, err
}

func (w webhooks) deliveries(ctx context.Context, c *call, s selected) (list[deliveryBody], error) {
	if s.event != nil {
		found, err := w.store.Deliveries().Of(ctx, c.caller.AppID, *s.event)
		return listOf("deliveries", found, "", deliveryBodyOf), err
	}
	found, next, err := w.store.Deliveries().List(ctx, c.caller.AppID, s.span)
	return listOf("deliveries", found, string(next), deliveryBodyOf), err
}

// either requires an event or, in its place, another member, but not both.
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

// spanOf checks the members that select deliveries of an endpoint.
func spanOf(endpoint *string, since *int64, status, after *string) (span store.DeliverySpan, err error) {
	at, err := millis("/since", since)
	if err != nil {
		return span, err
	}
	if at != 0 {
		span.Since = time.UnixMilli(at)
	}
	if status != nil {
		span.Status = webhook.DeliveryStatus(*status)
		if !slices.Contains(webhook.DeliveryStatuses(), span.Status) {
			return span, problem.Invalid("/status", "enum", "The value must be pending, delivered, failed, held or cancelled.")
		}
	}
	p, err := pageIn{Cursor: after}.page(isID(id.ParseEvent))
	span.After = id.Event(p.After)
	span.Endpoint = endpointID(*endpoint)
	return span, err
}

// redeliverIn selects one delivery, or those of an endpoint since a time.
type redeliverIn struct {
	EventID    *string `json:"eventId"`
	EndpointID *string `json:"endpointId"`
	Since      *int64  `json:"since"`
	Status     *string `json:"status"`
	Cursor     *string `json:"cursor"`
}

func (in redeliverIn) parse(*call) (s selected, err error) {
	if err := required("/endpointId", in.EndpointID); err != nil {
		return s, err
	}
	if err := either(in.EventID != nil, in.Since != nil, "Name either an event or the time since when."); err != nil {
		return s, err
	}
	if in.EventID != nil {
		if in.Status != nil || in.Cursor != nil {
			return s, problem.Invalid("/eventId", "conflict", "status and cursor go with since.")
		}
		e := eventID(*in.EventID)
		s.event = &e
	}
	s.span, err = spanOf(in.EndpointID, in.Since, in.Status, in.Cursor)
	if s.span.Status == "" {
		s.span.Status = webhook.DeliveryFailed
	}
	return s, err
}

type redeliverBody struct {
	Queued     int    `json:"queued"`
	NextCursor string `json:"nextCursor,omitempty"`
}

func (w webhooks) redeliver(ctx context.Context, c *call, s selected) (redeliverBody, error) {
	if s.event != nil {
		if err := w.store.Deliveries().Spend(ctx, c.caller.OrgID, c.caller.AppID, 1); err != nil {
			return redeliverBody{}, err
		}
		queued, failed := w.again(ctx, c, webhook.DeliveryID{App: c.caller.AppID, Endpoint: s.span.Endpoint, Event: *s.event})
		return redeliverBody{Queued: queued}, failed[0]
	}
	s.span.Limit, s.span.OnePage = w.store.Limits.Redelivered, true
	found, next, err := w.store.Deliveries().List(ctx, c.caller.AppID, s.span)
	if err != nil {
		return redeliverBody{}, err
	}
	again := make([]webhook.DeliveryID, len(found))
	for i, d := range found {
		again[i] = d.DeliveryID
	}
	if err := w.store.Deliveries().Spend(ctx, c.caller.OrgID, c.caller.AppID, len(again)); err != nil {
		return redeliverBody{}, err
	}
	queued, failed := w.again(ctx, c, again...)
	for i, err := range failed {
		if problem.Is(err, problem.Conflict) { // the delivery is on its way
			failed[i] = nil
			queued--
		}
	}
	return redeliverBody{queued, cursor(string(next))}, errors.Join(failed...)
}

// again begins new rounds of attempts, several at once. It returns the number of deliveries and
// the error of each. The sweep wakes the deliveries that the queue does not take.
func (w webhooks) again(ctx context.Context, c *call, deliveries ...webhook.DeliveryID) (queued int, failed []error) {
	wakes := make([]bool, len(deliveries))
	failed = parallel.Each(redeliverAtOnce, deliveries, func(i int, d webhook.DeliveryID) (err error) {
		wakes[i], err = w.store.Deliveries().Again(ctx, d)
		return err
	})
	var send []webhook.Message
	for i, d := range deliveries {
		if wakes[i] && failed[i] == nil {
			send = append(send, webhook.Message{Org: c.caller.OrgID, DeliveryID: d})
		}
	}
	if len(send) > 0 {
		if err := w.queue.Send(ctx, 0, send...); err != nil {
			slog.WarnContext(ctx, "deliveries are left to the sweep", "error", err)
		}
	}
	return len(deliveries), failed
}

package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// redeliverAtOnce is how many deliveries of one call are started again at the same time.
const redeliverAtOnce = 16

// eventsIn is a body that selects a page of the feed of events.
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
	p, err := c.eventPage(pageIn{in.Limit, in.Cursor})
	if err != nil {
		return list[webhook.Event]{}, err
	}
	if c.newest {
		found, next, err := w.store.NewestEvents(ctx, c.app, time.UnixMilli(since), id.Event(p.After), p.Limit)
		return listOf("events", found, c.eventCursor(next), c.shownEvent), err
	}
	after := max(id.Event(p.After), id.FirstEvent(time.UnixMilli(since))) // ids of events sort by time, so max is the later one
	found, next, err := w.store.Events(ctx, c.app, after, p.Limit)
	return listOf("events", found, string(next), c.shownEvent), err
}

// newestMark precedes the id in a cursor of a list that begins with the newest event. So a cursor is good for one order only.
const newestMark = "-"

// eventPage reads the limit and the cursor of a list in the order of events. Errors: validation_failed, invalid_cursor.
func (c *call) eventPage(in pageIn) (store.Page, error) {
	valid := isID(id.ParseEvent)
	p, err := in.page(func(text string) bool {
		event, newest := strings.CutPrefix(text, newestMark)
		return newest == c.newest && valid(event)
	})
	p.After = strings.TrimPrefix(p.After, newestMark)
	return p, err
}

// eventCursor returns the text of the cursor that eventPage reads, "" at the end of the list.
func (c *call) eventCursor(next id.Event) string {
	if c.newest && next != "" {
		return newestMark + string(next)
	}
	return string(next)
}

// eventIn is a body that names an event.
type eventIn struct {
	EventID *string `json:"eventId"`
}

func (in eventIn) parse(*call) (id.Event, error) {
	return eventID(orZero(in.EventID)), required("/eventId", in.EventID)
}

func (w webhooks) event(ctx context.Context, c *call, e id.Event) (webhook.Event, error) {
	found, err := w.store.Event(ctx, c.app, e)
	return c.shownEvent(found), err
}

// shownEvent returns an event as the caller may see it: only admins and the app see the data of an event about an endpoint or about
// the org's allowance.
func (c *call) shownEvent(e webhook.Event) webhook.Event {
	kind := string(e.Type)
	if !c.seesAll() && (strings.HasPrefix(kind, "endpoint.") || strings.HasPrefix(kind, "org.allowance_")) {
		e.Data = json.RawMessage("null")
	}
	return e
}

// eventID reads the id of an event. It returns id.NoEvent for a text that does not parse.
func eventID(text string) id.Event { return idOr(id.NoEvent, id.ParseEvent, text) }

type deliveryBody struct {
	EventID       id.Event               `json:"eventId"`
	EndpointID    id.Endpoint            `json:"endpointId"`
	EventType     webhook.Type           `json:"eventType"`
	Status        webhook.DeliveryStatus `json:"status"`
	Attempts      int                    `json:"attempts"`
	NextAttemptAt *int64                 `json:"nextAttemptAt"` // milliseconds, as all times below
	DeliveredAt   *int64                 `json:"deliveredAt"`
	CreatedAt     int64                  `json:"createdAt"`
	LastAttempt   *attemptBody           `json:"lastAttempt"`

	EndpointOrigin  *string       `json:"endpointOrigin"` // null once the endpoint is gone
	EarlierAttempts []earlierBody `json:"earlierAttempts"`
}

type attemptBody struct {
	ID         string  `json:"id"`
	At         int64   `json:"at"`
	Status     *int    `json:"status"` // the HTTP status of the receiver's answer; null without an answer
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"`
	Body       *string `json:"body"`
}

type earlierBody struct {
	At         int64   `json:"at"`
	Status     *int    `json:"status"`
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"`
	Body       *string `json:"body"`
}

// seesAll reports whether the caller is an admin or the app itself. Only they see receivers' answers, which may echo anything,
// the data of events about endpoints, which name keys, and the data of events about the allowance.
func (c *call) seesAll() bool { return c.role == "" || c.role == org.Admin }

// shownDelivery returns the body of a delivery as the caller may see it.
func (c *call) shownDelivery(d store.Delivery) deliveryBody {
	if !c.seesAll() {
		if d.Last != nil {
			last := *d.Last
			last.Body, d.Last = nil, &last
		}
		d.Earlier = slices.Clone(d.Earlier)
		for i := range d.Earlier {
			d.Earlier[i].Body = nil
		}
	}
	body := deliveryBody{
		EventID: d.Event, EndpointID: d.Endpoint, EventType: d.EventType, Status: d.Status, Attempts: d.Attempts,
		NextAttemptAt: orNull(d.NextAttempt), DeliveredAt: orNull(d.DeliveredAt), CreatedAt: d.CreatedAt, LastAttempt: (*attemptBody)(d.Last),
		EndpointOrigin: orNull(d.Origin), EarlierAttempts: make([]earlierBody, len(d.Earlier)),
	}
	for i, e := range d.Earlier {
		body.EarlierAttempts[i] = earlierBody(e)
	}
	return body
}

// deliveriesIn is a body that selects all deliveries of an event, or a page of the deliveries of an endpoint.
type deliveriesIn struct {
	EventID    *string `json:"eventId"`
	EndpointID *string `json:"endpointId"`
	Since      *int64  `json:"since"`
	Status     *string `json:"status"`
	Limit      *int64  `json:"limit"`
	Cursor     *string `json:"cursor"`
}

// selected names the deliveries that a request selects. parse returns a pointer, because this keeps the binary small: see
// testIn.parse.
type selected struct {
	// event selects the deliveries of one event: for a list the deliveries to every endpoint, for a redelivery only the
	// delivery to span.Endpoint. nil: span selects.
	event *id.Event
	span  store.DeliverySpan
}

func (in deliveriesIn) parse(c *call) (s *selected, err error) {
	s = &selected{}
	if err := exactlyOne(in.EventID != nil, in.EndpointID != nil, "Send either eventId or endpointId."); err != nil {
		return s, err
	}
	if in.EventID != nil {
		ofEndpointOnly := in.Since != nil || in.Status != nil || in.Limit != nil || in.Cursor != nil
		if ofEndpointOnly {
			return s, problem.Invalid("/eventId", "conflict", "Send since, status, limit and cursor only with endpointId.")
		}
		if c.newest {
			return s, problem.Invalid("/eventId", "conflict", "Send order=desc only with endpointId.")
		}
		e := eventID(*in.EventID)
		return &selected{event: &e}, nil
	}
	if s.span, err = c.spanOf(in.EndpointID, in.Since, in.Status, in.Cursor); err != nil {
		return s, err
	}
	p, err := c.eventPage(pageIn{Limit: in.Limit}) // spanOf has read the cursor
	s.span.Limit = p.Limit
	return s, err
}

func (w webhooks) deliveries(ctx context.Context, c *call, s *selected) (list[deliveryBody], error) {
	if s.event != nil {
		found, err := w.store.Deliveries().Of(ctx, c.app, *s.event)
		return listOf("deliveries", found, "", c.shownDelivery), err
	}
	found, next, err := w.store.Deliveries().List(ctx, c.app, s.span)
	return listOf("deliveries", found, c.eventCursor(next), c.shownDelivery), err
}

// exactlyOne refuses a body that has both an event and the other member, and a body that has neither.
func exactlyOne(event, other bool, message string) error {
	switch {
	case event && other:
		return problem.Invalid("/eventId", "conflict", message)
	case !event && !other:
		return problem.Invalid("/eventId", "required", message)
	default:
		return nil
	}
}

// spanOf checks the members that select deliveries of an endpoint. Only the endpoint must have been sent.
func (c *call) spanOf(endpoint *string, since *int64, status, cursor *string) (span store.DeliverySpan, err error) {
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
	p, err := c.eventPage(pageIn{Cursor: cursor})
	span.After, span.Newest = id.Event(p.After), c.newest
	span.Endpoint = endpointID(*endpoint)
	return span, err
}

// redeliverIn is a body that selects one delivery of an endpoint, or the endpoint's deliveries since a time.
type redeliverIn struct {
	EventID    *string `json:"eventId"`
	EndpointID *string `json:"endpointId"`
	Since      *int64  `json:"since"`
	Status     *string `json:"status"`
	Cursor     *string `json:"cursor"`
}

func (in redeliverIn) parse(c *call) (s *selected, err error) {
	s = &selected{}
	if err := required("/endpointId", in.EndpointID); err != nil {
		return s, err
	}
	if err := exactlyOne(in.EventID != nil, in.Since != nil, "Send either eventId or since."); err != nil {
		return s, err
	}
	if in.EventID != nil {
		if in.Status != nil || in.Cursor != nil {
			return s, problem.Invalid("/eventId", "conflict", "The members status and cursor can be sent only with since.")
		}
		e := eventID(*in.EventID)
		s.event = &e
	}
	s.span, err = c.spanOf(in.EndpointID, in.Since, in.Status, in.Cursor)
	if s.span.Status == "" { // not sent
		s.span.Status = webhook.DeliveryFailed
	}
	return s, err
}

type redeliverBody struct {
	Queued     int    `json:"queued"` // deliveries that start again, including those that are held for a disabled endpoint
	NextCursor string `json:"nextCursor,omitempty"`
}

// redeliver sends deliveries again. First it charges for all of them. If the request names a single delivery that is pending,
// redeliver returns an error. Among several deliveries, it skips the pending ones, those with an
// event that is too old, and those that DynamoDB has deleted since they were listed.
func (w webhooks) redeliver(ctx context.Context, c *call, s *selected) (redeliverBody, error) {
	if s.event != nil {
		if err := w.spend(ctx, c, 1); err != nil {
			return redeliverBody{}, err
		}
		failed := w.beginAgain(ctx, c, false, webhook.DeliveryID{App: c.app, Endpoint: s.span.Endpoint, Event: *s.event})
		return redeliverBody{Queued: 1}, failed[0]
	}
	s.span.Limit, s.span.OnePage = w.store.Limits.Redelivered, true // one page bounds the time of a call
	found, next, err := w.store.Deliveries().List(ctx, c.app, s.span)
	if err != nil {
		return redeliverBody{}, err
	}
	var again []webhook.DeliveryID
	for _, d := range found {
		if w.store.Deliveries().MayBeginAgain(d) {
			again = append(again, d.DeliveryID)
		}
	}
	if len(again) == 0 {
		return redeliverBody{0, cursor(string(next))}, nil
	}
	if err := w.spend(ctx, c, len(again)); err != nil {
		return redeliverBody{}, err
	}
	// One audit entry for the whole call of an admin. The role is checked again with each delivery.
	if err := w.store.Deliveries().ActToRedeliver(ctx, c.changer(), c.org, c.app, s.span.Endpoint); err != nil {
		return redeliverBody{}, err
	}
	failed := w.beginAgain(ctx, c, true, again...)
	queued := len(again)
	for i, err := range failed {
		if problem.Is(err, problem.Conflict) || problem.Is(err, problem.DeliveryNotFound) { // it is pending, was just started again, or is deleted
			failed[i] = nil
			queued--
		}
	}
	return redeliverBody{queued, cursor(string(next))}, parallel.Joined(failed)
}

// spend charges for n new deliveries, at least 1. An API key pays from the budgets of its app and its org, and any other caller
// only from the org's (infra/adr/0021).
func (w webhooks) spend(ctx context.Context, c *call, n int) error {
	if c.caller.Kind != principal.Key {
		return w.store.Deliveries().SpendOfOrg(ctx, c.org, n)
	}
	return w.store.Deliveries().Spend(ctx, c.org, c.app, n)
}

// beginAgain starts new rounds of attempts, several at the same time. It returns the error of each delivery, or nil. If the
// queue does not accept a delivery, the sweep sends it later.
func (w webhooks) beginAgain(ctx context.Context, c *call, audited bool, deliveries ...webhook.DeliveryID) (failed []error) {
	toQueue := make([]bool, len(deliveries)) // false: the delivery is held, because its endpoint is disabled
	failed = parallel.Each(redeliverAtOnce, deliveries, func(i int, d webhook.DeliveryID) (err error) {
		toQueue[i], err = w.store.Deliveries().Again(ctx, d, c.changer(), audited)
		return err
	})
	var send []webhook.Message
	for i, d := range deliveries {
		if toQueue[i] && failed[i] == nil {
			send = append(send, webhook.Message{Org: c.org, DeliveryID: d})
		}
	}
	if len(send) > 0 {
		if err := w.queue.Send(ctx, 0, send...); err != nil {
			slog.WarnContext(ctx, "deliveries are left to the sweep", "error", err)
		}
	}
	return failed
}

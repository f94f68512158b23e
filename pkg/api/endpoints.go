package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"unicode/utf8"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/queue"
	"latchkey/pkg/store"
	"latchkey/pkg/text"
	"latchkey/pkg/webhook"
	"latchkey/pkg/webhook/outbound"
)

// maxDescription is how long an endpoint's description may be, in characters.
const maxDescription = 200

// webhooks serves an app's webhook endpoints, its events and their deliveries.
type webhooks struct {
	store *store.Store
	guard *outbound.Guard
	queue queue.Sender
}

// Webhooks gives the handler of functions/webhooks.
func Webhooks(s *store.Store, g *outbound.Guard, q queue.Sender) http.Handler {
	w := webhooks{s, g, q}
	return newGroup("webhooks", map[string]handler{
		"POST /webhook_endpoint/create":    w.create,
		"POST /webhook_endpoint/get":       w.get,
		"POST /webhook_endpoint/list":      w.list,
		"POST /webhook_endpoint/update":    w.update,
		"POST /webhook_endpoint/delete":    w.delete,
		"POST /webhook_endpoint/test":      w.test,
		"POST /webhook_event/list":         w.events,
		"POST /webhook_event/get":          w.event,
		"POST /webhook_delivery/list":      w.deliveries,
		"POST /webhook_delivery/redeliver": w.redeliver,
	}, nil)
}

type endpointBody struct {
	ID             id.Endpoint           `json:"id"`
	URL            string                `json:"url"`
	Description    string                `json:"description"`
	Events         []string              `json:"events"`
	Enabled        bool                  `json:"enabled"`
	DisabledReason *store.DisabledReason `json:"disabledReason"`
	DisabledAt     *int64                `json:"disabledAt"`
	CreatedAt      int64                 `json:"createdAt"`
	UpdatedAt      int64                 `json:"updatedAt"`
	CreatedByKey   *id.Key               `json:"createdByKey"`
	URLSetByKey    *id.Key               `json:"urlSetByKey"`
	HeldCount      *int                  `json:"heldCount,omitempty"` // of get and update
}

func endpointBodyOf(h store.Endpoint) endpointBody {
	b := endpointBody{
		ID: h.ID, URL: h.URL, Description: h.Description, Events: h.Events, Enabled: h.Enabled,
		DisabledAt: orNull(h.DisabledAt), CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt,
	}
	if h.DisabledReason != "" {
		b.DisabledReason = &h.DisabledReason
	}
	if h.CreatedByKey != "" {
		b.CreatedByKey = &h.CreatedByKey
	}
	if h.URLSetByKey != "" {
		b.URLSetByKey = &h.URLSetByKey
	}
	return b
}

func (w webhooks) create(ctx context.Context, c *call) (answer, error) {
	var in struct {
		URL         *string  `json:"url"`
		Events      []string `json:"events"`
		Description *string  `json:"description"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/url", in.URL); err != nil {
		return answer{}, err
	}
	if in.Events == nil {
		in.Events = []string{webhook.Every}
	}
	if err := w.checkEndpoint(ctx, in.URL, in.Events, in.Description); err != nil {
		return answer{}, err
	}
	made := w.store.DraftEndpoint(c.caller.OrgID, c.caller.AppID)
	made.URL, made.Events = *in.URL, in.Events
	made.CreatedByKey, made.URLSetByKey = c.caller.KeyID, c.caller.KeyID
	if in.Description != nil {
		made.Description = *in.Description
	}
	body, err := render(endpointBodyOf(made))
	if err != nil {
		return answer{}, err
	}
	once, err := c.once(body)
	if err != nil {
		return answer{}, err
	}
	if err := w.store.SpendEvent(ctx, c.caller.AppID); err != nil {
		return answer{}, err
	}
	kept, err := w.store.CreateEndpoint(ctx, made, once)
	if err != nil {
		return answer{}, err
	}
	return created(body, kept), nil
}

// checkEndpoint holds what a body says of an endpoint to the contract; nil is not
// said.
func (w webhooks) checkEndpoint(ctx context.Context, url *string, events []string, description *string) error {
	if url != nil {
		_, err := w.guard.CheckURL(ctx, *url)
		var refused *outbound.Refused
		switch {
		case errors.As(err, &refused):
			return problem.Invalid("/url", "url_not_allowed", "The URL may not be used: "+refused.Reason+".")
		case err != nil:
			return err
		}
	}
	if events != nil {
		if len(events) == 0 {
			return problem.Invalid("/events", "length", `Name at least one type of event, or "*".`)
		}
		for i, e := range events {
			if !webhook.ValidFilter(e) || slices.Contains(events[:i], e) {
				return problem.Invalid("/events", "enum", `Each value must be a type of event, once, or "*".`)
			}
		}
	}
	if description != nil && (utf8.RuneCountInString(*description) > maxDescription || !text.Plain(*description) || *description != "" && !text.Visible(*description)) {
		return problem.Invalid("/description", "length", "The value must have at most 200 characters, none of them hidden and one of them visible.")
	}
	return nil
}

// named reads a body that names an endpoint alone.
func named(c *call) (id.Endpoint, error) {
	var in struct {
		EndpointID *string `json:"endpointId"`
	}
	if err := c.decode(&in); err != nil {
		return "", err
	}
	if err := required("/endpointId", in.EndpointID); err != nil {
		return "", err
	}
	return endpointID(*in.EndpointID), nil
}

// counted answers with an endpoint and how many of its deliveries are held.
func (w webhooks) counted(ctx context.Context, h store.Endpoint) (answer, error) {
	held, err := w.store.HeldCount(ctx, h)
	if err != nil {
		return answer{}, err
	}
	body := endpointBodyOf(h)
	body.HeldCount = &held
	return ok(body), nil
}

func (w webhooks) get(ctx context.Context, c *call) (answer, error) {
	h, err := named(c)
	if err != nil {
		return answer{}, err
	}
	found, err := w.store.Endpoint(ctx, c.caller.AppID, h)
	if err != nil {
		return answer{}, err
	}
	return w.counted(ctx, found)
}

func (w webhooks) list(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Limit  *int64  `json:"limit"`
		Cursor *string `json:"cursor"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	p, err := pageOf(in.Limit, in.Cursor, isEndpointID)
	if err != nil {
		return answer{}, err
	}
	found, next, err := w.store.Endpoints(ctx, c.caller.AppID, p)
	if err != nil {
		return answer{}, err
	}
	return ok(endpointListOf(found, next)), nil
}

type endpointList struct {
	Endpoints  []endpointBody `json:"endpoints"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

func endpointListOf(found []store.Endpoint, next string) endpointList {
	body := endpointList{make([]endpointBody, len(found)), cursor(next)}
	for i, f := range found {
		body.Endpoints[i] = endpointBodyOf(f)
	}
	return body
}

func (w webhooks) update(ctx context.Context, c *call) (answer, error) {
	var in struct {
		EndpointID  *string  `json:"endpointId"`
		URL         *string  `json:"url"`
		Events      []string `json:"events"`
		Description *string  `json:"description"`
		Enabled     *bool    `json:"enabled"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/endpointId", in.EndpointID); err != nil {
		return answer{}, err
	}
	if err := w.checkEndpoint(ctx, in.URL, in.Events, in.Description); err != nil {
		return answer{}, err
	}
	if err := w.store.SpendEvent(ctx, c.caller.AppID); err != nil {
		return answer{}, err
	}
	changed, err := w.store.UpdateEndpoint(ctx, c.caller.AppID, endpointID(*in.EndpointID), store.EndpointChange{
		By: c.caller.KeyID, URL: in.URL, Events: in.Events, Description: in.Description, Enabled: in.Enabled,
	})
	if err != nil {
		return answer{}, err
	}
	return w.counted(ctx, changed)
}

func (w webhooks) delete(ctx context.Context, c *call) (answer, error) {
	h, err := named(c)
	if err != nil {
		return answer{}, err
	}
	if err := w.store.SpendEvent(ctx, c.caller.AppID); err != nil {
		return answer{}, err
	}
	if err := w.store.DeleteEndpoint(ctx, c.caller.AppID, h, c.caller.KeyID); err != nil {
		return answer{}, err
	}
	return ok(struct {
		OK bool `json:"ok"`
	}{true}), nil
}

func (w webhooks) test(ctx context.Context, c *call) (answer, error) {
	h, err := named(c)
	if err != nil {
		return answer{}, err
	}
	if err := w.store.SpendDeliveries(ctx, c.caller.AppID, 1); err != nil {
		return answer{}, err
	}
	e, err := w.store.TestEndpoint(ctx, c.caller.AppID, h, "This is a test of your webhook endpoint.")
	if err != nil {
		return answer{}, err
	}
	return ok(struct {
		EventID id.Event `json:"eventId"`
	}{e}), nil
}

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/text"
	"latchkey/pkg/webhook"
)

const (
	maxDescription = 200 // characters of an endpoint's description
	maxFilters     = 50  // event types and beginnings in an endpoint's list
)

// webhooks serves an app's webhook endpoints, its events and their deliveries.
type webhooks struct {
	store *store.Store
	queue webhook.Queue // gets the deliveries that start again
}

// Webhooks returns the handler of functions/webhooks. refusal returns why a URL must not be registered; "" allows it. q gets
// the deliveries that are sent again. console lists the allowed origins, as in Orgs. An admin who creates or enables an
// endpoint must have signed in within maxAge; 0: any age.
func Webhooks(s *store.Store, refusal func(url string) (reason string), q webhook.Queue, console []string, rights route.Rights, maxAge time.Duration) http.Handler {
	w, named := webhooks{s, q}, fromPath("endpointId")
	return newGroup("webhooks", map[string]handler{
		"createWebhookEndpoint": handleAs[newEndpointIn](w.create),
		"getWebhookEndpoint":    handleAs[endpointIn](w.get),
		"listWebhookEndpoints":  handle(w.list),
		"updateWebhookEndpoint": handleAs[endpointChangeIn](w.update),
		"deleteWebhookEndpoint": handleAs[endpointIn](w.delete),
		"testWebhookEndpoint":   handleAs[testIn](w.test),
		"listWebhookEvents":     handle(w.events),
		"getWebhookEvent":       handleAs[eventIn](w.event),
		"listWebhookDeliveries": handleAs[deliveriesIn](w.deliveries),
		"redeliverWebhooks":     handleAs[redeliverIn](w.redeliver),

		"listAppWebhookEndpoints":  handle(inApp(s, w.all)),
		"createAppWebhookEndpoint": handleAs[newEndpointIn](inApp(s, w.create)),
		"getAppWebhookEndpoint":    named(handleAs[endpointIn](inApp(s, w.get))),
		"enableAppWebhookEndpoint": handleAs[enableIn](inApp(s, w.enable)),
		"deleteAppWebhookEndpoint": named(handleAs[endpointIn](inApp(s, w.deleteOnly))),
		"testAppWebhookEndpoint":   handleAs[testIn](inApp(s, w.test)),
		"listAppWebhookEvents":     fromQuery(handle(inApp(s, w.events))),
		"getAppWebhookEvent":       fromPath("eventId")(handleAs[eventIn](inApp(s, w.event))),
		"listAppWebhookDeliveries": fromQuery(handleAs[deliveriesIn](inApp(s, w.deliveries))),
		"redeliverAppWebhooks":     handleAs[redeliverIn](inApp(s, w.redeliver)),
	}, console, options{rights: rights, maxAge: maxAge, refusal: refusal})
}

type endpointBody struct {
	ID             id.Endpoint             `json:"id"`
	URL            string                  `json:"url"`
	Description    string                  `json:"description"`
	Events         []string                `json:"events"`
	Enabled        bool                    `json:"enabled"`
	DisabledReason *webhook.DisabledReason `json:"disabledReason"`
	DisabledAt     *int64                  `json:"disabledAt"`
	FailingSince   *int64                  `json:"failingSince"` // the first failure after the last success or a quiet time
	PausedUntil    *int64                  `json:"pausedUntil"`  // no attempt starts before this time
	CreatedAt      int64                   `json:"createdAt"`
	UpdatedAt      int64                   `json:"updatedAt"`
	CreatedByKey   *id.Key                 `json:"createdByKey"`
	URLSetByKey    *id.Key                 `json:"urlSetByKey"`
	HeldCount      *int                    `json:"heldCount,omitempty"` // only in the answers of get and update
}

func endpointBodyOf(endpoint store.Endpoint) endpointBody {
	return endpointBody{
		ID: endpoint.ID, URL: endpoint.URL, Description: endpoint.Description, Events: endpoint.Events, Enabled: endpoint.Enabled,
		DisabledReason: orNull(endpoint.DisabledReason), DisabledAt: orNull(endpoint.DisabledAt),
		FailingSince: orNull(endpoint.FailingSince), PausedUntil: orNull(endpoint.OpenUntil), CreatedAt: endpoint.CreatedAt, UpdatedAt: endpoint.UpdatedAt,
		CreatedByKey: orNull(endpoint.CreatedByKey), URLSetByKey: orNull(endpoint.URLSetByKey),
	}
}

// newEndpointIn is a body that describes a new endpoint.
type newEndpointIn struct {
	URL         *string  `json:"url"`
	Events      []string `json:"events"`
	Description *string  `json:"description"`
}

func (in newEndpointIn) parse(c *call) (wanted store.NewEndpoint, err error) {
	_, errKey := c.idempotencyKey() // before inApp reads the role
	if err := cmp.Or(required("/url", in.URL), c.checkEndpoint(in.URL, in.Events, in.Description), errKey); err != nil {
		return wanted, err
	}
	wanted = store.NewEndpoint{
		OrgID: c.org, AppID: c.app, URL: *in.URL, Events: in.Events, Description: orZero(in.Description), By: c.changer(),
	}
	if in.Events == nil { // not sent
		wanted.Events = []string{webhook.Every}
	}
	return wanted, nil
}

func (w webhooks) create(ctx context.Context, c *call, wanted store.NewEndpoint) (answer, error) {
	once, err := onceOf(c, endpointBodyOf)
	if err != nil {
		return answer{}, err
	}
	// The new endpoint causes an event, endpoint.created.
	once.Charge = func(ctx context.Context) (int, error) { return w.spendEvent(ctx, c) }
	return created(w.store.CreateEndpoint(ctx, wanted, once))
}

// spendEvent charges for the event of a new endpoint, and returns the charge. An API key pays for the deliveries to all
// endpoints of its app.
func (w webhooks) spendEvent(ctx context.Context, c *call) (paid int, err error) {
	if c.caller.Kind == principal.Key {
		return w.store.Deliveries().SpendEvent(ctx, c.org, c.app)
	}
	return 1, w.spend(ctx, c, 1)
}

// checkEndpoint checks the members that describe an endpoint. A nil member was not sent. Error: validation_failed.
func (c *call) checkEndpoint(url *string, events []string, description *string) error {
	if url != nil {
		if reason := c.refusal(*url); reason != "" {
			return problem.Invalid("/url", "url_not_allowed", "The URL is not allowed: "+reason+".")
		}
	}
	if events != nil {
		if len(events) == 0 || len(events) > maxFilters {
			return problem.Invalid("/events", "length", `The value must have 1 to 50 event types, beginnings of event types, or "*".`)
		}
		for i, e := range events {
			if !webhook.ValidFilter(e) || slices.Contains(events[:i], e) {
				return problem.Invalid("/events/"+strconv.Itoa(i), "enum", `The value must be an event type, the beginning of event types such as "invoice.*", or "*". The list must not repeat it.`)
			}
		}
	}
	if description != nil && !validDescription(*description) {
		return problem.Invalid("/description", textFault(*description), "The value must have at most 200 characters, at least one visible and none hidden.")
	}
	return nil
}

// textFault returns the code of the error for a bad name or description: format for a hidden character, else length.
func textFault(s string) string {
	if text.Plain(s) {
		return "length"
	}
	return "format"
}

// validDescription reports whether a text can describe an endpoint. An empty text removes the description.
func validDescription(s string) bool {
	if s == "" {
		return true
	}
	return utf8.RuneCountInString(s) <= maxDescription && text.Plain(s) && text.Visible(s)
}

// endpointIn is a body that names an endpoint.
type endpointIn struct {
	EndpointID *string `json:"endpointId"`
}

func (in endpointIn) parse(*call) (id.Endpoint, error) {
	if err := required("/endpointId", in.EndpointID); err != nil {
		return "", err
	}
	return endpointID(*in.EndpointID), nil
}

// counted returns the body of an endpoint, with the number of its held deliveries.
func (w webhooks) counted(ctx context.Context, endpoint store.Endpoint) (endpointBody, error) {
	held, err := w.store.Deliveries().HeldCount(ctx, endpoint)
	body := endpointBodyOf(endpoint)
	body.HeldCount = &held
	return body, err
}

func (w webhooks) get(ctx context.Context, c *call, endpoint id.Endpoint) (endpointBody, error) {
	found, err := w.store.Endpoint(ctx, c.app, endpoint)
	if err != nil {
		return endpointBody{}, err
	}
	return w.counted(ctx, found)
}

func (w webhooks) list(ctx context.Context, c *call, in pageIn) (list[endpointBody], error) {
	p, err := in.page(isID(id.ParseEndpoint))
	if err != nil {
		return list[endpointBody]{}, err
	}
	found, next, err := w.store.Endpoints(ctx, c.app, p)
	return listOf("endpoints", found, next, endpointBodyOf), err
}

// all lists an app's endpoints for an admin. Without limit and cursor the list is complete.
func (w webhooks) all(ctx context.Context, c *call, _ none) (list[json.RawMessage], error) {
	return reading[store.Endpoint, endpointBody]{
		name: "endpoints", valid: isID(id.ParseEndpoint), shown: endpointBodyOf,
		rows: func(p store.Page) ([]store.Endpoint, string, error) { return w.store.Endpoints(ctx, c.app, p) },
		id:   func(b endpointBody) string { return string(b.ID) },
	}.answer(c)
}

// enableIn is a body that enables or disables an endpoint.
type enableIn struct {
	Enabled *bool `json:"enabled"`
}

func (in enableIn) parse(*call) (bool, error) {
	return orZero(in.Enabled), required("/enabled", in.Enabled)
}

func (w webhooks) enable(ctx context.Context, c *call, enabled bool) (endpointBody, error) {
	changed, err := w.store.EnableEndpoint(ctx, c.actor(), c.app, endpointID(c.PathValue("endpointId")), enabled)
	return endpointBodyOf(changed), err
}

// endpointChangeIn is a body that changes an endpoint.
type endpointChangeIn struct {
	EndpointID  *string  `json:"endpointId"`
	URL         *string  `json:"url"`
	Events      []string `json:"events"`
	Description *string  `json:"description"`
	Enabled     *bool    `json:"enabled"`
}

// onlyDisables reports whether the change disables the endpoint, and nothing else.
func (in endpointChangeIn) onlyDisables() bool {
	return in.Enabled != nil && !*in.Enabled && in.URL == nil && in.Events == nil && in.Description == nil
}

// parse returns a valid body unchanged, because the handler charges for the change before it calls the store.
func (in endpointChangeIn) parse(c *call) (endpointChangeIn, error) {
	return in, cmp.Or(required("/endpointId", in.EndpointID), c.checkEndpoint(in.URL, in.Events, in.Description))
}

func (w webhooks) update(ctx context.Context, c *call, in endpointChangeIn) (endpointBody, error) {
	change := store.EndpointChange{By: c.caller.KeyID, URL: in.URL, Events: in.Events, Description: in.Description, Enabled: in.Enabled}
	if !in.onlyDisables() { // limits and budgets must not delay a change that only stops sending
		if err := c.withinLimits(); err != nil {
			return endpointBody{}, err
		}
		paid, err := w.store.Deliveries().SpendEvent(ctx, c.org, c.app)
		if err != nil {
			return endpointBody{}, err
		}
		change.Paid = paid
	}
	changed, err := w.store.UpdateEndpoint(ctx, c.app, endpointID(*in.EndpointID), change)
	if err != nil {
		return endpointBody{}, err
	}
	return w.counted(ctx, changed)
}

func (w webhooks) delete(ctx context.Context, c *call, endpoint id.Endpoint) (okBody, error) {
	return okBody{true}, w.store.DeleteEndpoint(ctx, c.app, endpoint, c.changer())
}

func (w webhooks) deleteOnly(ctx context.Context, c *call, endpoint id.Endpoint) (none, error) {
	_, err := w.delete(ctx, c, endpoint)
	return none{}, err
}

type testBody struct {
	EventID id.Event `json:"eventId"`
}

// testIn is a body that names an endpoint, unless the path does. It may have an example of an owner's event.
type testIn struct {
	EndpointID *string         `json:"endpointId"`
	Type       *string         `json:"type"`
	Data       json.RawMessage `json:"data"`
}

// parse returns a valid body with the endpoint of the path, and with the data in the form in which they are sent. It returns a pointer
// to keep the binary small: the name of each instance of handleAs contains the full definition of a struct.
func (in testIn) parse(c *call) (out *testIn, err error) {
	if path := c.PathValue("endpointId"); path != "" {
		if in.EndpointID != nil {
			return nil, problem.New(problem.InvalidJSON, "The path already names the endpoint, so do not send endpointId.")
		}
		in.EndpointID = &path
	}
	if err = required("/endpointId", in.EndpointID); err == nil && (in.Type != nil || isSent(in.Data)) {
		in.Data, err = parseExample(in.Type, in.Data)
	}
	_, errKey := c.idempotencyKey() // before inApp reads the role
	return &in, cmp.Or(err, errKey)
}

func (w webhooks) test(ctx context.Context, c *call, in *testIn) (answer, error) {
	once, err := onceOf(c, func(e id.Event) testBody { return testBody{e} })
	if err != nil {
		return answer{}, err
	}
	once.Charge = func(ctx context.Context) (int, error) { return 1, w.spend(ctx, c, 1) }
	out, err := created(w.store.Deliveries().Test(ctx, c.org, c.app, endpointID(*in.EndpointID), webhook.Type(orZero(in.Type)), in.Data, c.changer(), once))
	out.status = http.StatusOK
	return out, err
}

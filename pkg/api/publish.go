package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/strictjson"
	"latchkey/pkg/webhook"
)

const (
	maxPublished     = 25      // events of one request
	maxPublishedData = 8 << 10 // bytes of an event's data, as compact JSON
	maxPublishedID   = 64      // characters
)

// publishIn is a body that publishes events of the owner.
type publishIn struct {
	Events []publicationIn `json:"events"`
}

type publicationIn struct {
	ID   *string         `json:"id"`
	Type *string         `json:"type"`
	Data json.RawMessage `json:"data"`
}

func (in publishIn) parse(*call) ([]store.Publication, error) {
	if len(in.Events) < 1 || len(in.Events) > maxPublished {
		return nil, problem.Invalid("/events", "length", "The value must have 1 to 25 events.")
	}
	out, seen := make([]store.Publication, len(in.Events)), map[string]bool{}
	for i, e := range in.Events {
		p, err := e.parse()
		if err == nil && p.ID != "" && seen[p.ID] {
			err = problem.Invalid("/id", "conflict", "Another event in the request has the same id.")
		}
		if err != nil {
			return nil, below("/events/"+strconv.Itoa(i), err)
		}
		out[i], seen[p.ID] = p, true
	}
	return out, nil
}

func (in publicationIn) parse() (p store.Publication, err error) {
	if in.ID != nil {
		if !isVisible(*in.ID, 1, maxPublishedID) {
			return p, problem.Invalid("/id", "format", "The value must have 1 to 64 visible ASCII characters.")
		}
		p.ID = *in.ID
	}
	p.Data, err = parseExample(in.Type, in.Data)
	p.Type = webhook.Type(orZero(in.Type))
	return p, err
}

// parseExample checks the type and the data of an owner's event, and returns the data as compact JSON.
func parseExample(kind *string, data json.RawMessage) (json.RawMessage, error) {
	if err := required("/type", kind); err != nil {
		return nil, err
	}
	if !isSent(data) {
		return nil, problem.Invalid("/data", "required", "The value is required.")
	}
	if err := checkType(*kind); err != nil {
		return nil, err
	}
	return parseData("/data", data)
}

// checkType checks the type of an owner's event.
func checkType(s string) error {
	if !webhook.Type(s).Publishable() {
		return problem.Invalid("/type", "format", "The value must be 2 to 5 words of a to z, 0 to 9 and _, joined by dots, "+
			"of at most 64 characters, and must not begin like Latchkey's own event types.")
	}
	return nil
}

// isSent reports whether the body has a member, and it is not null.
func isSent(value json.RawMessage) bool { return value != nil && string(value) != "null" }

func isObject(pointer string, value json.RawMessage) error {
	if value[0] != '{' { // encoding/json has removed the space before a value
		return problem.Invalid(pointer, "type", "The value must be an object.")
	}
	return nil
}

// parseData returns the data of an event as compact JSON.
func parseData(pointer string, value json.RawMessage) (out json.RawMessage, err error) {
	if err := isObject(pointer, value); err != nil {
		return nil, err
	}
	out, err = plainjson.Marshal(json.RawMessage(strictjson.Unescaped(value)))
	if err == nil && len(out) > maxPublishedData {
		err = problem.Invalid(pointer, "length", "The value must have at most 8 KB as compact JSON.")
	}
	return out, err
}

// publishedBody has the id of each event, in the order of the request.
type publishedBody struct {
	Events []publishedEvent `json:"events"`
}

type publishedEvent struct {
	ID id.Event `json:"id"`
}

func publishedBodyOf(ids []id.Event) publishedBody {
	body := publishedBody{make([]publishedEvent, len(ids))}
	for i, e := range ids {
		body.Events[i].ID = e
	}
	return body
}

func (a apps) publish(ctx context.Context, c *call, events []store.Publication) (answer, error) {
	once, err := onceOf(c, publishedBodyOf)
	if err != nil {
		return answer{}, err
	}
	out, err := created(a.store.Publish(ctx, c.actor(), c.org, c.app, events, once))
	out.status = http.StatusAccepted // the deliveries are not written yet
	return out, err
}

package api

import (
	"context"
	"encoding/json"
	"net/http"

	"latchkey/pkg/store"
)

// handler answers a request, or returns why not. It holds no status-code plumbing.
type handler func(ctx context.Context, c *call) (answer, error)

// none is a request without a body, or an answer without one.
type none struct{}

// checked is a request whose values are held to the contract once they are decoded.
type checked interface{ check(c *call) error }

// handle makes a handler of f. The body is decoded into an In and checked, and the org of
// the path is read. What f returns is rendered: none as 204, an answer as it is, and
// anything else as the body of a 200.
func handle[In, Out any](f func(ctx context.Context, c *call, in In) (Out, error)) handler {
	return func(ctx context.Context, c *call) (answer, error) {
		var in In
		if err := c.decode(&in); err != nil {
			return answer{}, err
		}
		if v, ok := any(&in).(checked); ok {
			if err := v.check(c); err != nil {
				return answer{}, err
			}
		}
		if err := c.readOrg(); err != nil {
			return answer{}, err
		}
		out, err := f(ctx, c, in)
		switch out := any(out).(type) {
		case answer:
			return out, err
		case none:
			return answer{status: http.StatusNoContent}, err
		}
		if err != nil {
			return answer{}, err
		}
		return ok(out), nil
	}
}

// created is the answer 201 of a create. One that was given before says so.
func created[Made any](c store.Created[Made], err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	out := answer{status: http.StatusCreated, body: raw(c.Answer.Reveal())}
	if c.Replayed {
		out.header = map[string]string{"Idempotency-Replayed": "true"}
	}
	return out, nil
}

// list is a page of a list.
type list[Item any] struct {
	name  string // of the member that holds the items
	items []Item
	next  string // the cursor of the next page, "" at the end
	feed  bool   // the cursor is always shown: what comes later comes behind it
}

// listOf makes the page of a list from what the store found. next is an id.
func listOf[Found, Item any](name string, found []Found, next string, shown func(Found) Item) list[Item] {
	l := list[Item]{name: name, items: make([]Item, len(found)), next: cursor(next)}
	for i, f := range found {
		l.items[i] = shown(f)
	}
	return l
}

// MarshalJSON renders {"<name>": [...], "nextCursor": "..."}.
func (l list[Item]) MarshalJSON() ([]byte, error) {
	items, err := json.Marshal(l.items)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"`+l.name+`":`), items...)
	if l.next != "" || l.feed {
		out = append(out, `,"nextCursor":"`+l.next+`"`...)
	}
	return append(out, '}'), nil
}

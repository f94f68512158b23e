package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// handler returns the answer to a request, or an error. The code of the error decides the status.
type handler func(ctx context.Context, c *call) (answer, error)

// none is a request without a body, or an answer without one.
type none struct{}

// handle makes a handler of f. The handler decodes the body into an In, and reads the org in the path. It renders the result of
// f: none as a 204, an answer unchanged, and anything else as the body of a 200. With an error of f, only the headers of an
// answer are sent.
func handle[In, Out any](f func(ctx context.Context, c *call, in In) (Out, error)) handler {
	return func(ctx context.Context, c *call) (answer, error) {
		var in In
		if err := c.decode(&in); err != nil {
			return answer{}, err
		}
		if err := c.readOrg(); err != nil {
			return answer{}, err
		}
		return rendered(f(ctx, c, in))
	}
}

// parsed is a request body that parse turns into the input of a use case. parse returns an error if a value is not valid.
type parsed[Wanted any] interface {
	parse(c *call) (Wanted, error)
}

// handleAs is handle for a body that parses itself: f gets the result of parse. Go cannot infer In from f, so callers name it.
func handleAs[In parsed[Wanted], Wanted, Out any](f func(ctx context.Context, c *call, wanted Wanted) (Out, error)) handler {
	return func(ctx context.Context, c *call) (answer, error) {
		var in In
		if err := c.decode(&in); err != nil {
			return answer{}, err
		}
		notFound := c.readOrg() // parse needs the org, but an error of the body comes first
		wanted, err := in.parse(c)
		if err == nil {
			err = notFound
		}
		if err != nil {
			return answer{}, err
		}
		return rendered(f(ctx, c, wanted))
	}
}

// inApp lets people and services call f, on an app of the org in the path. First it reads the caller's role.
func inApp[In, Out any](s *store.Store, f func(ctx context.Context, c *call, in In) (Out, error)) func(context.Context, *call, In) (Out, error) {
	return func(ctx context.Context, c *call, in In) (out Out, err error) {
		if err = c.readRole(ctx, s); err != nil {
			return out, err
		}
		return f(ctx, c, in)
	}
}

func (c *call) readRole(ctx context.Context, s *store.Store) (err error) {
	c.role, err = s.RoleFor(ctx, c.actor(), c.org, c.app)
	return err
}

// fromDevice lets a route accept invalid characters, which become U+FFFD. A device may cut its name in the middle of a
// character, and a refusal would reach no one who can correct the name.
func fromDevice(h handler) handler {
	return func(ctx context.Context, c *call) (answer, error) {
		c.mends = true
		return h(ctx, c)
	}
}

// fromPath lets a route read the members of its body from parameters of the path with the same names. The request must have no
// body.
func fromPath(names ...string) func(handler) handler {
	return func(h handler) handler {
		return func(ctx context.Context, c *call) (answer, error) {
			members, err := c.pathMembers(names)
			if err != nil {
				return answer{}, err
			}
			return c.callWith(ctx, members, h)
		}
	}
}

func (c *call) pathMembers(names []string) (map[string]any, error) {
	if err := c.decode(&none{}); err != nil {
		return nil, err
	}
	members := map[string]any{}
	for _, name := range names {
		members[name] = onlyASCII(c.PathValue(name))
	}
	return members, nil
}

// fromQuery lets a route read the members of its body from the query. limit, since, from and to are numbers. order is not a member:
// it sets c.newest. An error of a member names the parameter.
func fromQuery(h handler) handler {
	return func(ctx context.Context, c *call) (answer, error) { return c.fromQuery(ctx, h) }
}

func (c *call) fromQuery(ctx context.Context, h handler) (answer, error) {
	members := map[string]any{}
	for name, values := range c.URL.Query() {
		if len(values) > 1 {
			return answer{}, problem.Invalid("?"+name, "format", "Send this parameter only once.")
		}
		if name == "order" {
			c.newest = values[0] == "desc"
			if !c.newest && values[0] != "asc" {
				return answer{}, problem.Invalid("?order", "enum", "The value must be asc or desc.")
			}
			continue
		}
		members[name] = onlyASCII(values[0])
		if number, err := strconv.ParseInt(values[0], 10, 64); err == nil && slices.Contains([]string{"limit", "since", "from", "to"}, name) {
			members[name] = number
		}
	}
	a, err := c.callWith(ctx, members, h)
	var refused *problem.Error
	if errors.As(err, &refused) {
		for i, f := range refused.Fields {
			refused.Fields[i].Pointer = "?" + strings.TrimPrefix(f.Pointer, "/")
		}
	}
	return a, err
}

// onlyASCII returns an ASCII text unchanged, and "?" for any other text. No valid id, number, cursor or status has other
// characters, and some of them would make the body invalid.
func onlyASCII(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "?"
	}
	return s
}

// callWith calls a handler with these members as the body.
func (c *call) callWith(ctx context.Context, members map[string]any, h handler) (a answer, err error) {
	if c.body, err = json.Marshal(members); err != nil {
		return a, err
	}
	return h(ctx, c)
}

// rendered makes an answer of the results of f.
func rendered(out any, err error) (answer, error) {
	switch out := out.(type) {
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

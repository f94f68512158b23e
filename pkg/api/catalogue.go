package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"latchkey/pkg/apikey"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/text"
)

const (
	maxCatalogued  = 200 // scopes of the catalogue, and event types
	maxExplanation = 500 // characters of a description in the catalogue
	cacheCatalogue = 60  // seconds for which a client may keep the catalogue
)

// catalogueIn is the owner's list of scopes and event types.
type catalogueIn struct {
	Scopes []scopeIn     `json:"scopes"`
	Events []eventTypeIn `json:"events"`
}

type scopeIn struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
}

type eventTypeIn struct {
	Type        *string         `json:"type"`
	Description *string         `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Example     json.RawMessage `json:"example,omitempty"`
}

// parse returns the catalogue as compact JSON. It does not evaluate the schemas: make catalogue does that before it sends the
// catalogue.
func (in catalogueIn) parse(*call) (string, error) {
	err := cmp.Or(
		checkEach("/scopes", "/name", in.Scopes, func(s *scopeIn) (string, error) {
			if err := checkExplained("/name", s.Name, s.Description); err != nil || apikey.ValidScope(*s.Name) {
				return orZero(s.Name), err
			}
			return "", problem.Invalid("/name", "format", "The value must have the form of a scope of an API key.")
		}),
		checkEach("/events", "/type", in.Events, func(e *eventTypeIn) (string, error) {
			if err := checkExplained("/type", e.Type, e.Description); err != nil {
				return "", err
			}
			return *e.Type, cmp.Or(checkType(*e.Type), optional("/schema", &e.Schema, isObject), optional("/example", &e.Example, isData))
		}),
	)
	if err != nil {
		return "", err
	}
	out, err := plainjson.Marshal(in)
	return string(out), err
}

// checkEach checks each item of a list. check returns the item's name, which no other item may have. pointer points at the
// list, and name at the name in an item.
func checkEach[T any](pointer, name string, items []T, check func(*T) (string, error)) error {
	switch {
	case items == nil:
		return problem.Invalid(pointer, "required", "The value is required.")
	case len(items) > maxCatalogued:
		return problem.Invalid(pointer, "length", "The value must have at most 200 items.")
	}
	seen := map[string]bool{}
	for i := range items {
		itemName, err := check(&items[i])
		if err == nil && seen[itemName] {
			err = problem.Invalid(name, "conflict", "Another item in the list has the same value.")
		}
		if err != nil {
			return below(pointer+"/"+strconv.Itoa(i), err)
		}
		seen[itemName] = true
	}
	return nil
}

// checkExplained checks that an item has a name and a description that people can read.
func checkExplained(pointer string, name, description *string) error {
	if err := cmp.Or(required(pointer, name), required("/description", description)); err != nil {
		return err
	}
	if utf8.RuneCountInString(*description) > maxExplanation || !text.Plain(*description) || !text.Visible(*description) {
		return problem.Invalid("/description", textFault(*description), "The value must have 1 to 500 characters, at least one visible and none hidden.")
	}
	return nil
}

// optional checks a member that may be missing. It removes a null, because null means the same as missing.
func optional(pointer string, value *json.RawMessage, check func(string, json.RawMessage) error) error {
	if !isSent(*value) {
		*value = nil
		return nil
	}
	return check(pointer, *value)
}

func isData(pointer string, value json.RawMessage) error {
	_, err := parseData(pointer, value)
	return err
}

// putCatalogue writes the catalogue. The catalogue belongs to no org, so no audit log names the service: a log line does.
func (a apps) putCatalogue(ctx context.Context, c *call, catalogue string) (none, error) {
	err := a.store.PutCatalogue(ctx, catalogue)
	if err == nil {
		claim := principal.ClaimOf(ctx)
		slog.InfoContext(ctx, "the catalogue was stored", "service", c.caller.Name, "operator", claim.Operator, "reason", claim.Reason, "requestId", problem.RequestID(ctx))
	}
	return none{}, err
}

// catalogueFile serves the catalogue from memory. It reads the table at most once in keptFor, also after an error.
type catalogueFile struct {
	store *store.Store

	mu   sync.Mutex // held during reads of the table
	text []byte
	err  error
	next time.Time // when the next read is due
}

func (f *catalogueFile) get(ctx context.Context, c *call, _ none) (answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.store.Now(); !now.Before(f.next) {
		text, err := f.store.Catalogue(ctx)
		if store.Unreadable(err) || err == nil && !json.Valid([]byte(text)) {
			err = problem.Wrap(problem.Unavailable, "The catalogue cannot be read.", cmp.Or(err, errors.New("api: the catalogue is not JSON")))
		}
		f.text, f.err, f.next = []byte(text), err, now.Add(keptFor)
	}
	if f.err != nil {
		return answer{}, f.err
	}
	a := tagged(c, json.RawMessage(f.text), etagOf(f.text), cacheCatalogue)
	a.header["X-Content-Type-Options"] = "nosniff"
	return a, nil
}

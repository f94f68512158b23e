package api

import (
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// pageOf checks limit and cursor of a body. Errors: validation_failed,
// invalid_cursor.
func pageOf(limit *int64, cursor *string, valid func(id string) bool) (store.Page, error) {
	p := store.Page{Limit: defaultLimit}
	if limit != nil {
		if *limit < 1 || *limit > maxLimit {
			return p, problem.Invalid("/limit", "range", "The value must be from 1 to 100.")
		}
		p.Limit = int(*limit)
	}
	if cursor != nil {
		after, ok := openCursor(*cursor)
		if !ok || !valid(after) {
			return p, errCursor()
		}
		p.After = after
	}
	return p, nil
}

func errCursor() error {
	return problem.New(problem.InvalidCursor, "Send the cursor as nextCursor gave it.")
}

// millis checks a time of a body; nil is 0. Error: validation_failed.
func millis(pointer string, at *int64) (int64, error) {
	const latest = 1 << 47 // what a ULID can tell
	if at == nil {
		return 0, nil
	}
	if *at < 0 || *at > latest {
		return 0, problem.Invalid(pointer, "range", "The value must be milliseconds since the epoch.")
	}
	return *at, nil
}

// required checks an id that a body must have, whatever its form.
func required(pointer string, value *string) error {
	if value == nil {
		return problem.Invalid(pointer, "required", "The value is required.")
	}
	return nil
}

// Ids of bodies; one that does not parse is looked up as the id of nothing.

func linkID(s string) id.Link {
	if l, err := id.ParseLink(s); err == nil {
		return l
	}
	return id.NoLink
}

func endpointID(s string) id.Endpoint {
	if h, err := id.ParseEndpoint(s); err == nil {
		return h
	}
	return id.NoEndpoint
}

func eventID(s string) id.Event {
	if e, err := id.ParseEvent(s); err == nil {
		return e
	}
	return id.NoEvent
}

func isLinkID(s string) bool     { _, err := id.ParseLink(s); return err == nil }
func isEndpointID(s string) bool { _, err := id.ParseEndpoint(s); return err == nil }
func isEventID(s string) bool    { _, err := id.ParseEvent(s); return err == nil }

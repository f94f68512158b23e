package api

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
)

const (
	defaultLimit = 50
	maxLimit     = 100
	maxCursor    = 128 // characters

	idempotencyHeader = "Idempotency-Key"
	minIdempotencyKey = 32 // characters
	maxIdempotencyKey = 255
)

// actor is the caller with the roles the route asks for.
func (c *call) actor() store.Actor {
	return store.Actor{User: c.caller.UserID, May: c.route.May.List()}
}

// orgID is the org of the path. One that does not parse is the same 404 as one
// that does not exist.
func (c *call) orgID() (id.Org, error) {
	o, err := id.ParseOrg(c.PathValue("orgId"))
	if err != nil {
		return "", problem.New(problem.OrgNotFound, "There is no such org, or you are not a member of it.")
	}
	return o, nil
}

// userID is the user of the path; one that does not parse is id.NoUser.
func (c *call) userID() id.User {
	u, err := id.ParseUser(c.PathValue("userId"))
	if err != nil {
		return id.NoUser
	}
	return u
}

// keyID is the API key of the path; one that does not parse is id.NoKey.
func (c *call) keyID() id.Key {
	k, err := id.ParseKey(c.PathValue("keyId"))
	if err != nil {
		return id.NoKey
	}
	return k
}

// appID reads an app's id; one that does not parse is id.NoApp.
func appID(s string) id.App {
	a, err := id.ParseApp(s)
	if err != nil {
		return id.NoApp
	}
	return a
}

// checkQuery refuses query parameters that a route with a credential does not
// take: one that is misspelt would otherwise be ignored unseen. Public routes
// ignore them, because links to them gain parameters on their way. Error:
// unknown_parameter.
func checkQuery(r *http.Request, route Route) error {
	if route.Takes == principal.Public {
		return nil
	}
	query, taken := r.URL.Query(), route.Query()
	var unknown []problem.Field
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(taken, name) {
			unknown = append(unknown, problem.Field{
				Pointer: "?" + name, Code: "unknown", Message: "This route does not know the parameter.",
			})
		}
	}
	if unknown == nil {
		return nil
	}
	return errParameter(unknown...)
}

func errParameter(unknown ...problem.Field) error {
	return &problem.Error{
		Code: problem.UnknownParameter, Detail: "The query has a parameter that this route does not know.", Fields: unknown,
	}
}

// endpointsToo reports whether the query is endpoints=disable. Error:
// unknown_parameter for any other value.
func (c *call) endpointsToo() (bool, error) {
	switch values := c.URL.Query()["endpoints"]; {
	case c.URL.RawQuery == "":
		return false, nil
	case len(values) == 1 && values[0] == "disable":
		return true, nil
	default:
		return false, errParameter(problem.Field{Pointer: "?endpoints", Code: "unknown", Message: "The one value is disable, sent once."})
	}
}

// page reads limit and cursor from the query. whole says that the list answers
// whole when neither is there. Errors: validation_failed, invalid_cursor.
func (c *call) page(whole bool, valid func(id string) bool) (store.Page, error) {
	q := c.URL.Query()
	limits, cursors := q["limit"], q["cursor"]
	if len(limits) == 0 && len(cursors) == 0 && whole {
		return store.Page{}, nil
	}
	p := store.Page{Limit: defaultLimit}
	if len(limits) > 0 {
		n, err := strconv.Atoi(limits[0])
		if err != nil || len(limits) > 1 || n < 1 || n > maxLimit {
			return p, problem.Invalid("?limit", "range", "limit must be one whole number from 1 to 100.")
		}
		p.Limit = n
	}
	if len(cursors) > 0 {
		after, ok := openCursor(cursors[0])
		if !ok || len(cursors) > 1 || !valid(after) {
			return p, errCursor()
		}
		p.After = after
	}
	return p, nil
}

// A cursor is the id behind which the list goes on, in base64url so that nobody
// takes it for one. Its partition comes from the path, so that tampering with it
// reveals nothing.
func cursor(id string) string {
	if id == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(id))
}

func openCursor(s string) (string, bool) {
	if s == "" || len(s) > maxCursor {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return string(b), err == nil
}

// once reads the Idempotency-Key of a create. Error: invalid_idempotency_key.
func (c *call) once(answer []byte) (store.Once, error) {
	values := c.Header.Values(idempotencyHeader)
	if len(values) == 0 {
		return store.Once{}, nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= minIdempotencyKey && len(key) <= maxIdempotencyKey
	for _, b := range []byte(key) {
		ok = ok && b > ' ' && b < 0x7f
	}
	if !ok {
		return store.Once{}, problem.New(problem.InvalidIdempotencyKey,
			"An Idempotency-Key is one value of 32 to 255 visible ASCII characters; use a random UUID.")
	}
	return store.Once{
		Key: secret.New(key), Principal: c.caller.ID(), Method: c.Method, Path: c.URL.Path,
		Request: c.body, Answer: answer,
	}, nil
}

// cleanName checks a name that a body must have, or may have.
func cleanName(pointer, name string) (string, error) {
	clean, ok := org.CleanName(name)
	if !ok {
		return "", problem.Invalid(pointer, "length", "The value must have 1 to 100 characters, none of them hidden and one of them visible.")
	}
	return clean, nil
}

// requiredName checks a name that a body must have.
func requiredName(pointer string, name *string) (string, error) {
	if name == nil {
		return "", problem.Invalid(pointer, "required", "The value is required.")
	}
	return cleanName(pointer, *name)
}

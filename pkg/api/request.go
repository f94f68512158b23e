package api

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
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

// actor returns the caller with the roles that the route admits.
func (c *call) actor() store.Actor {
	return store.Actor{User: c.caller.UserID, May: c.route.May.List()}
}

// signInSlack is the largest difference between the issuer's clock and ours, as of a token's other times.
const signInSlack = 30 * time.Second

// recent refuses a caller who has signed in too long ago for what the route does (RFC 9470), or whose token does not say
// when. Who revokes, disables, removes or leaves is never asked: nothing may hold back a clean-up.
func (c *call) recent() error {
	age := time.Since(time.Unix(c.caller.SignedInAt, 0))
	if c.maxAge == 0 || age >= -signInSlack && age <= c.maxAge+signInSlack {
		return nil
	}
	return &problem.Error{
		Code: problem.InsufficientUserAuthentication, MaxAge: c.maxAge,
		Detail: "This needs an access token of a recent sign-in. Sign in again, with the max_age of this answer.",
	}
}

// readOrg reads the org of the path, when the route has one. An id that does not parse is
// the same 404 as an org that does not exist.
func (c *call) readOrg() (err error) {
	text := c.PathValue("orgId")
	if text == "" {
		return nil
	}
	if c.org, err = id.ParseOrg(text); err != nil {
		return problem.New(problem.OrgNotFound, "There is no such org, or you are not a member of it.")
	}
	return nil
}

// userID returns the user of the path.
func (c *call) userID() id.User { return idOr(id.NoUser, id.ParseUser, c.PathValue("userId")) }

// keyID returns the API key of the path.
func (c *call) keyID() id.Key { return idOr(id.NoKey, id.ParseKey, c.PathValue("keyId")) }

// appID returns the app of the path.
func (c *call) appID() id.App { return idOr(id.NoApp, id.ParseApp, c.PathValue("appId")) }

// endpointID returns the webhook endpoint of the path.
func (c *call) endpointID() id.Endpoint { return endpointID(c.PathValue("endpointId")) }

// endpointID reads the id of an endpoint. For a text that does not parse it returns an id
// that no row has.
func endpointID(text string) id.Endpoint { return idOr(id.NoEndpoint, id.ParseEndpoint, text) }

// idOr returns the id that a text holds. For a text that does not parse it returns none, an
// id that no row has: the store looks it up as any other, and does not find it.
func idOr[ID any](none ID, parse func(string) (ID, error), text string) ID {
	if v, err := parse(text); err == nil {
		return v
	}
	return none
}

// isID returns a function that reports whether a cursor holds an id of the list's kind.
func isID[ID any](parse func(string) (ID, error)) func(string) bool {
	return func(text string) bool { _, err := parse(text); return err == nil }
}

// checkQuery refuses query parameters that a route with a credential does not take:
// otherwise a misspelt one would be ignored without notice. Public routes ignore unknown
// parameters, because links to them gain parameters on their way. Error:
// unknown_parameter.
func checkQuery(r *http.Request, to route.Route) error {
	if to.Takes == principal.Public {
		return nil
	}
	query, taken := r.URL.Query(), to.Query
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

// only reports whether the query has a parameter with its only value. It returns unknown_parameter for
// any other value, and for a query that cannot be read.
func (c *call) only(name, value string) (bool, error) {
	query, err := url.ParseQuery(c.URL.RawQuery)
	switch values := query[name]; {
	case err == nil && len(values) == 0:
		return false, nil
	case err == nil && len(values) == 1 && values[0] == value:
		return true, nil
	default:
		return false, errParameter(problem.Field{Pointer: "?" + name, Code: "unknown", Message: "The one value is " + value + ", sent once."})
	}
}

// createdBy reads the user of the query parameter createdBy, "" without one. Error: validation_failed.
func (c *call) createdBy() (id.User, error) {
	switch values := c.URL.Query()["createdBy"]; len(values) {
	case 0:
		return "", nil
	case 1:
		return idOr(id.NoUser, id.ParseUser, values[0]), nil
	default:
		return "", problem.Invalid("?createdBy", "format", "createdBy must be the id of one user.")
	}
}

// page reads limit and cursor from the query. With whole, a query without both is for the
// whole list. Errors: validation_failed, invalid_cursor.
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

// cursor encodes the id behind which a list goes on, in base64url so that no one takes it
// for an id. The partition comes from the path, so that a forged cursor reveals nothing.
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

// onceOf reads the Idempotency-Key of a create. shown makes the answer of what the store
// created. Error: invalid_idempotency_key.
func onceOf[Made, Shown any](c *call, shown func(Made) Shown) (store.Once[Made], error) {
	once := store.Once[Made]{Render: func(made Made) ([]byte, error) { return render(shown(made)) }}
	values := c.Header.Values(idempotencyHeader)
	if len(values) == 0 {
		return once, nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= minIdempotencyKey && len(key) <= maxIdempotencyKey
	for _, b := range []byte(key) {
		ok = ok && b > ' ' && b < 0x7f
	}
	if !ok {
		return once, problem.New(problem.InvalidIdempotencyKey,
			"An Idempotency-Key is one value of 32 to 255 visible ASCII characters; use a random UUID.")
	}
	once.Request = store.Request{Key: secret.New(key), Principal: c.caller.ID(), Method: c.Method, Path: c.URL.Path, Body: c.body}
	return once, nil
}

// nameIn is a body with a name.
type nameIn struct {
	Name *string `json:"name"`
}

// check cleans the name, when there is one.
func (in *nameIn) check(*call) error {
	if in.Name == nil {
		return nil
	}
	clean, ok := org.CleanName(*in.Name)
	if !ok {
		return problem.Invalid("/name", "length", "The value must have 1 to 100 characters, none of them hidden and one of them visible.")
	}
	in.Name = &clean
	return nil
}

// newNameIn is a body that must have a name.
type newNameIn nameIn

func (in *newNameIn) check(c *call) error {
	if err := required("/name", in.Name); err != nil {
		return err
	}
	return (*nameIn)(in).check(c)
}

// pageIn is the limit and cursor of a body.
type pageIn struct {
	Limit  *int64  `json:"limit"`
	Cursor *string `json:"cursor"`
}

// page reads the page of a body. Errors: validation_failed, invalid_cursor.
func (in pageIn) page(valid func(id string) bool) (store.Page, error) {
	p := store.Page{Limit: defaultLimit}
	if in.Limit != nil {
		if *in.Limit < 1 || *in.Limit > maxLimit {
			return p, problem.Invalid("/limit", "range", "The value must be from 1 to 100.")
		}
		p.Limit = int(*in.Limit)
	}
	if in.Cursor != nil {
		after, ok := openCursor(*in.Cursor)
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

// millis checks a time of a body. It returns 0 for nil. Error: validation_failed.
func millis(pointer string, at *int64) (int64, error) {
	const latest = 1 << 47 // below the largest time of a ULID, which has 48 bits
	if at == nil {
		return 0, nil
	}
	if *at < 0 || *at > latest {
		return 0, problem.Invalid(pointer, "range", "The value must be milliseconds since the epoch.")
	}
	return *at, nil
}

// required checks a member that a body must have.
func required[T any](pointer string, value *T) error {
	if value == nil {
		return problem.Invalid(pointer, "required", "The value is required.")
	}
	return nil
}

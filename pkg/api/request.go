package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
	"latchkey/pkg/strictjson"
)

const (
	defaultLimit = 50  // items of a page
	maxLimit     = 100 // items of a page

	idempotencyHeader = "Idempotency-Key"
	minIdempotencyKey = 32 // characters
	maxIdempotencyKey = 255
)

// signInSlack is the largest difference between the issuer's clock and ours. pkg/authn/accesstoken allows the same difference
// for a token's other times.
const signInSlack = 30 * time.Second

// actor returns the caller with the roles that the route allows. If the caller signed in too long ago, or the token does not
// have the time, the actor also has the refusal of RFC 9470. The store decides which use cases return it. Use cases that
// revoke, disable, remove or leave do not, because nothing may delay a clean-up.
func (c *call) actor() store.Actor {
	a := store.Actor{User: c.caller.UserID, Service: c.caller.Name, May: c.route.May.List(), WhileSuspended: c.route.Suspended == route.Open}
	age := time.Since(time.Unix(c.caller.SignedInAt, 0)) // more than 50 years if the token does not have the time
	isRecent := -signInSlack <= age && age <= c.maxAge+signInSlack
	if c.maxAge != 0 && !isRecent && c.caller.Kind != principal.Service { // services do not sign in
		a.OldSignIn = &problem.Error{
			Code: problem.InsufficientUserAuthentication, MaxAge: c.maxAge,
			Detail: "This route needs an access token from a recent sign-in. Sign in again with the maxAge of this answer.",
		}
	}
	return a
}

// withinLimits refuses an API key that is over its limits. Errors: rate_limited; unavailable if the limits could not be read.
func (c *call) withinLimits() error {
	l := c.caller.Limit
	switch {
	case l.Violated != "":
		return problem.OverLimits(l.Refusal(time.Now()), strings.Fields(l.Violated), time.Duration(l.RetryAfter)*time.Second)
	case c.caller.Deferred:
		return problem.New(problem.Unavailable, "The limits of the API key cannot be read right now. Try again.")
	}
	return nil
}

// needs refuses a service that lacks a right. It never refuses a user. Error: insufficient_role.
func (c *call) needs(r route.Right) error {
	switch {
	case c.caller.Kind != principal.Service || c.rights.Allow(c.caller.Name, r):
		return nil
	case r == route.People:
		return problem.New(problem.InsufficientRole, "Only users can use this route.")
	default:
		return problem.New(problem.InsufficientRole, "The service "+c.caller.Name+" lacks the right "+string(r)+".")
	}
}

// changer returns the caller as the author of a change in an app.
func (c *call) changer() store.Changer {
	if c.caller.Kind == principal.Key {
		return store.ByKey(c.caller.KeyID)
	}
	return store.Changer{Actor: c.actor()}
}

// readOrg reads the org and the app in the path, if the route has them. A malformed org id gets the same 404 as an unknown org.
func (c *call) readOrg() (err error) {
	text := c.PathValue("orgId")
	if text == "" {
		return nil
	}
	if c.org, err = id.ParseOrg(text); err != nil {
		return problem.New(problem.OrgNotFound, "There is no such org, or you are not a member of it.")
	}
	c.app = idOr(id.NoApp, id.ParseApp, c.PathValue("appId"))
	return nil
}

// userID returns the user of the path.
func (c *call) userID() id.User { return idOr(id.NoUser, id.ParseUser, c.PathValue("userId")) }

// keyID returns the API key of the path.
func (c *call) keyID() id.Key { return idOr(id.NoKey, id.ParseKey, c.PathValue("keyId")) }

// endpointID reads the id of an endpoint. For a malformed text it returns an id that no row has.
func endpointID(text string) id.Endpoint { return idOr(id.NoEndpoint, id.ParseEndpoint, text) }

// idOr returns the id in a text. For a malformed text it returns noRow, an id that no row has: the store then finds nothing.
func idOr[ID any](noRow ID, parse func(string) (ID, error), text string) ID {
	if v, err := parse(text); err == nil {
		return v
	}
	return noRow
}

// isID returns a function that reports whether the text of a cursor is an id of the list's kind.
func isID[ID any](parse func(string) (ID, error)) func(string) bool {
	return func(text string) bool { _, err := parse(text); return err == nil }
}

// checkQuery refuses query parameters that a route with a credential does not know. Otherwise a misspelt parameter would be
// ignored without notice. Public routes ignore unknown parameters, because others add parameters such as utm_source to links.
// Error: unknown_parameter.
func checkQuery(r *http.Request, rt route.Route) error {
	if rt.Takes == principal.Public {
		return nil
	}
	var unknown []problem.Field
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if !slices.Contains(rt.Query, name) {
			unknown = append(unknown, problem.Field{
				Pointer: "?" + name, Code: "unknown", Message: "This route does not know this parameter.",
			})
		}
	}
	if unknown == nil {
		return nil
	}
	return errParameter(unknown...)
}

// errParameter returns unknown_parameter, with the names of these parameters.
func errParameter(unknown ...problem.Field) error {
	return &problem.Error{
		Code: problem.UnknownParameter, Detail: "The query has a parameter that this route does not know.", Fields: unknown,
	}
}

// option reports whether the query has a parameter, which can have only one value. Error: unknown_parameter for another value,
// and for a query that cannot be parsed.
func (c *call) option(name, value string) (bool, error) {
	query, err := url.ParseQuery(c.URL.RawQuery)
	switch values := query[name]; {
	case err == nil && len(values) == 0:
		return false, nil
	case err == nil && len(values) == 1 && values[0] == value:
		return true, nil
	default:
		return false, errParameter(problem.Field{Pointer: "?" + name, Code: "unknown", Message: "The value must be " + value + ". Send the parameter only once."})
	}
}

// createdBy returns the user of the query parameter createdBy; "" without the parameter. Error: validation_failed.
func (c *call) createdBy() (id.User, error) {
	values := c.URL.Query()["createdBy"]
	if len(values) == 0 {
		return "", nil
	}
	user, err := id.ParseUser(values[0])
	if err != nil || len(values) > 1 {
		return "", problem.Invalid("?createdBy", "format", "The parameter createdBy must be the id of one user.")
	}
	return user, nil
}

// pageOrAll returns the page that the query selects. The zero Page means the whole list: the query has neither limit nor
// cursor.
func (c *call) pageOrAll(valid func(id string) bool) (store.Page, error) {
	if q := c.URL.Query(); !q.Has("limit") && !q.Has("cursor") {
		return store.Page{}, nil
	}
	return c.page(valid)
}

// page reads limit and cursor from the query. valid reports whether the id of a cursor has the form of the list's ids. Errors:
// validation_failed, invalid_cursor.
func (c *call) page(valid func(id string) bool) (store.Page, error) {
	q := c.URL.Query()
	limits, cursors := q["limit"], q["cursor"]
	p := store.Page{Limit: defaultLimit}
	if len(limits) > 0 {
		n, err := strconv.Atoi(limits[0])
		if err != nil || len(limits) > 1 || n < 1 || n > maxLimit {
			return p, problem.Invalid("?limit", "range", "The parameter limit must be one whole number from 1 to 100.")
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

// cursor encodes the id after which the next page begins, in base64url so that no one mistakes the cursor for an id. The
// partition of a list comes from the path or from the caller's API key, and never from the cursor. So a forged cursor reveals
// nothing.
func cursor(id string) string {
	if id == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(id))
}

// openCursor returns the id that cursor has encoded.
func openCursor(s string) (id string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return string(b), err == nil
}

// onceOf reads the Idempotency-Key of a create. Without the header, the store keeps no record of the request. shown makes the
// body of the answer from the result of the store. Error: invalid_idempotency_key.
func onceOf[Made, Shown any](c *call, shown func(Made) Shown) (store.Once[Made], error) {
	request, err := c.keyed()
	return store.Once[Made]{Request: request, Render: func(made Made) ([]byte, error) { return plainjson.Marshal(shown(made)) }}, err
}

// idempotencyKey returns the value of the header Idempotency-Key, or "" without the header. Error: invalid_idempotency_key.
func (c *call) idempotencyKey() (string, error) {
	values := c.Header.Values(idempotencyHeader)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) != 1 || !isVisible(values[0], minIdempotencyKey, maxIdempotencyKey) {
		return "", problem.New(problem.InvalidIdempotencyKey,
			"The Idempotency-Key must be one value of 32 to 255 visible ASCII characters. Use a random UUID.")
	}
	return values[0], nil
}

// keyed returns the record of a request with an Idempotency-Key, or the zero value without the header.
func (c *call) keyed() (request store.Request, err error) {
	key, err := c.idempotencyKey()
	if err != nil || key == "" {
		return request, err
	}
	body, err := strictjson.Canonical(c.body, c.shape) // c.decode has checked the body
	return store.Request{
		Key: secret.New(key), Principal: cmp.Or(string(c.caller.AppID), c.caller.ID()), Method: c.Method, Path: c.path(), Body: sha256.Sum256(body),
	}, err
}

// path returns the route's path with the values of its parameters. The URLs of two equal requests may differ in a base path or in
// their escapes, but this path does not.
func (c *call) path() string {
	parts := strings.Split(c.route.Pattern, "/")
	for i, part := range parts {
		if name, isParameter := strings.CutPrefix(part, "{"); isParameter {
			parts[i] = c.PathValue(strings.TrimSuffix(name, "}"))
		}
	}
	return strings.Join(parts, "/")
}

// created returns the answer 201 of a create. A header marks an answer that the store has kept from an earlier request with the
// same Idempotency-Key.
func created[Made any](c store.Created[Made], err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	out := answer{status: http.StatusCreated, body: json.RawMessage(c.Answer.Reveal())}
	if c.Replayed {
		out.header = map[string]string{"Idempotency-Replayed": "true"}
	}
	return out, nil
}

// isVisible reports whether a text has only visible ASCII characters, and from least to most of them.
func isVisible(s string, least, most int) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return len(s) >= least && len(s) <= most
}

// nameIn is a body with a name.
type nameIn struct {
	Name *string `json:"name"`
}

// parse returns the name without the spaces around it. It returns nil for nil, which means that the member was not sent.
func (in nameIn) parse(*call) (*string, error) {
	if in.Name == nil {
		return nil, nil //nolint:nilnil // the name may be left out
	}
	clean, ok := org.CleanName(*in.Name)
	if !ok {
		return nil, problem.Invalid("/name", textFault(strings.TrimSpace(*in.Name)), "The value must have 1 to 100 characters, at least one visible and none hidden.")
	}
	return &clean, nil
}

// newNameIn is a body that must have a name.
type newNameIn nameIn

func (in newNameIn) parse(c *call) (string, error) {
	if err := required("/name", in.Name); err != nil {
		return "", err
	}
	name, err := nameIn(in).parse(c)
	return orZero(name), err
}

// pageIn is a body with the limit and the cursor of a page.
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
	return problem.New(problem.InvalidCursor, "Send the unchanged nextCursor of the last page as the cursor.")
}

// millis checks a time of a body, in milliseconds since the epoch. It returns 0 for nil. Error: validation_failed.
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

package store_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// causeMember is in the result of a read that failed with an internal error.
const causeMember = `"cause":`

// readAll calls methods of the store on the rows of writeAll: first methods that read, then methods that write. It returns
// their results as JSON, by the name of the read.
func (c *connected) readAll(t *testing.T, of asked) (read map[string]json.RawMessage) {
	t.Helper()
	read = map[string]json.RawMessage{}
	note := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			failure := map[string]any{"code": problem.From(err).Code}
			if problem.From(err).Code.Status() >= http.StatusInternalServerError {
				failure["cause"] = err.Error()
			}
			v = map[string]any{"error": failure}
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		read[name] = text
	}
	one := func(name string) func(any, error) { return func(v any, err error) { note(name, v, err) } }
	two := func(name string) func(any, any, error) {
		return func(v, more any, err error) { note(name, []any{v, more}, err) }
	}
	idOf := func(name string) string {
		if of.IDs[name] == "" {
			t.Fatalf("the release has no id %q", name)
		}
		return of.IDs[name]
	}
	at := time.UnixMilli(of.At)
	c.Now = func() time.Time { return at }
	c.ada, c.org, c.app = id.User(idOf("ada")), id.Org(idOf("org")), id.App(idOf("app"))
	c.readPeople(idOf, one, two)
	c.readKeys(idOf, one, two)
	c.readWebhooks(idOf, one, two)
	for _, kind := range store.DueKinds() {
		one("due: " + string(kind))(c.DueBefore(ctx, kind, at.Add(400*dayLong), 100))
	}
	c.doAll(idOf, one, two)
	return read
}

// noteOne and noteTwo return functions that note the one or two results of a method. idNamed returns the id with a name.
type (
	noteOne func(name string) func(any, error)
	noteTwo func(name string) func(any, any, error)
	idNamed func(name string) string
)

func (c *connected) readPeople(idOf idNamed, one noteOne, two noteTwo) {
	two("identity")(c.Identity(ctx, "https://issuer.test", "sub-ada@example.com"))
	two("identity of a user who was asked for")(c.Identity(ctx, "https://issuer.test", "zoe"))
	two("identity of a stopped user")(c.Identity(ctx, "https://issuer.test", "sub-stopped@example.com"))
	one("stopped user")(c.User(ctx, id.User(idOf("stopped"))))
	two("identity of an erased user")(c.Identity(ctx, "https://issuer.test", "sub-erased@example.com"))
	one("erased user")(c.User(ctx, id.User(idOf("erased"))))
	two("orgs of a user")(c.OrgsOf(ctx, c.ada, store.Page{}))
	two("orgs of a member")(c.OrgsOf(ctx, id.User(idOf("bob")), store.Page{}))
	one("org")(c.Org(ctx, admin(c.ada), c.org))
	two("org by external id")(c.OrgByExternalID(ctx, billing, "cus_1"))
	two("role")(c.Role(ctx, c.org, id.User(idOf("bob"))))
	members, next, err := c.Members(ctx, admin(c.ada), c.org, store.Page{})
	slices.SortFunc(members, func(a, b store.Member) int {
		return cmp.Or(cmp.Compare(b.JoinedAt, a.JoinedAt), cmp.Compare(b.UserID, a.UserID))
	})
	two("members")(members, next, err)
	two("apps")(c.Apps(ctx, admin(c.ada), c.org, store.Page{}))
	two("audit log")(c.AuditLog(ctx, admin(c.ada), c.org, store.AuditFilter{}, store.Page{Limit: 100}))
}

func (c *connected) readKeys(idOf idNamed, one noteOne, two noteTwo) {
	two("API key")(c.APIKey(ctx, c.org, id.Key(idOf("key"))))
	two("API keys")(c.Keys(ctx, admin(c.ada), c.org, "", store.Page{}))
	two("API key of a suspended org")(c.APIKey(ctx, id.Org(idOf("suspended")), id.Key(idOf("refused"))))
	one("suspended org")(c.Org(ctx, billing, id.Org(idOf("suspended"))))
	one("app of an API key")(c.AccessOf(ctx, c.org, c.app, id.Key(idOf("key"))))
	two("imported key")(c.Imported(ctx, apikey.HashOf("sk_a")))
	two("active signing key")(c.ActiveSigningKey(ctx))
	one("signing keys")(c.SigningKeys(ctx))
	one("verification keys")(c.VerificationKeys(ctx))
	one("link")(c.Link(ctx, c.app, id.Link(idOf("claimed"))))
	two("links")(c.Links(ctx, c.app, store.Page{Limit: 100}))
}

func (c *connected) readWebhooks(idOf idNamed, one noteOne, two noteTwo) {
	two("endpoints")(c.Endpoints(ctx, c.app, store.Page{}))
	one("event")(c.Event(ctx, c.app, id.Event(idOf("published"))))
	two("events")(c.Events(ctx, c.app, "", 100))
	for name, event := range map[string]string{"endpoint": "failed", "disabled": "held"} {
		endpoint, e := id.Endpoint(idOf(name)), id.Event(idOf(event))
		two(event + " delivery")(c.Deliveries().Work(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint, Event: e}))
		two("deliveries to " + name)(c.Deliveries().List(ctx, c.app, store.DeliverySpan{Endpoint: endpoint, Limit: 100}))
	}
	one("deliveries of an event")(c.Deliveries().Of(ctx, c.app, id.Event(idOf("failed"))))
	one("parked deliveries")(c.Deliveries().Parked(ctx, id.Endpoint(idOf("endpoint")), 0, 100))
}

// doAll calls methods that write. Their results depend on attributes that no other read shows.
func (c *connected) doAll(idOf idNamed, one noteOne, two noteTwo) {
	c.doLinks(idOf, one)
	c.doEndpoints(idOf, one, two)
	c.doKeys(idOf, one, two)
	c.doPeople(idOf, one, two)
}

func (c *connected) doLinks(idOf idNamed, one noteOne) {
	claim := func(name, key string) (any, error) {
		l := madeLink{token: link.Token{App: c.app, Link: id.Link(idOf(name))}}
		hash, err := base64.StdEncoding.DecodeString(idOf(name + "Hash"))
		copy(l.token.Hash[:], hash)
		if err != nil {
			return nil, err
		}
		return c.ClaimLink(ctx, l.claim(key))
	}
	one("a device repeats its claim")(claim("claimed", "k"))
	one("another device claims a claimed link")(claim("claimed", "other"))
	one("a claim of a link of a barred key")(claim("stolen", "k"))
	one("the links of a barred key are revoked")(c.CleanLinks(ctx, c.app, id.Key(idOf("thief"))))
	one("a link of a barred key")(c.Link(ctx, c.app, id.Link(idOf("stolen"))))
}

func (c *connected) doEndpoints(idOf idNamed, one noteOne, two noteTwo) {
	failed := webhook.DeliveryID{App: c.app, Endpoint: id.Endpoint(idOf("endpoint")), Event: id.Event(idOf("failed"))}
	w, _, err := c.Deliveries().Work(ctx, failed)
	one("an attempt is returned")(nil, errors.Join(err, c.Deliveries().ReturnAttempt(ctx, w, "attempt-1", c.Now().UnixMilli())))
	two("a returned delivery")(c.Deliveries().Work(ctx, failed))
	published, err := c.Publish(ctx, billing, c.org, c.app, publications("order-1"), store.Once[[]id.Event]{})
	one("an event is published again")(published.Made, err)
	one("a spent budget")(c.Deliveries().SpendEvent(ctx, c.org, c.app))
	all, _, err := c.Events(ctx, c.app, "", 100)
	one("events to fan out")(len(all), err)
	for _, e := range all {
		one("fan-out of " + string(e.ID))(c.Deliveries().FanOut(ctx, c.app, e.ID))
		one("deliveries of " + string(e.ID))(c.Deliveries().Of(ctx, c.app, e.ID))
	}
	one("the endpoints that a key has set are disabled")(nil, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, id.Key(idOf("setter"))))
	text := "Changed"
	one("an endpoint is changed")(c.UpdateEndpoint(ctx, c.app, id.Endpoint(idOf("endpoint")), store.EndpointChange{Description: &text}))
}

func (c *connected) doKeys(idOf idNamed, one noteOne, two noteTwo) {
	create := func(body string) (store.Created[store.MintedKey], error) {
		return c.CreateKey(ctx, admin(c.ada), c.org, wide(), once[store.MintedKey](c, idempotencyKey, body, `{"id":2}`))
	}
	again, err := create("{}")
	two("a create is sent again")(again.Answer.Reveal(), again.Replayed, err)
	one("a create is sent again with another body")(nil, errorOf(create("{ }")))
	one("the lease of the signing keys is held")(errors.Is(errorOf(c.LeaseSigningKeys(ctx, time.Minute)), store.ErrLeaseHeld), nil)
	limits := c.Limits
	c.Limits.ActiveKeys, c.Limits.Apps, c.Limits.Endpoints, c.Limits.OrgsCreated = 4, 1, 2, 2
	one("one key too many")(nil, errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wide(), store.Once[store.MintedKey]{})))
	one("one app too many")(nil, errorOf(c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "More"}, store.Once[store.App]{})))
	one("one endpoint too many")(nil, errorOf(c.CreateEndpoint(ctx, c.wanted(""), store.Once[store.Endpoint]{})))
	one("one org too many")(nil, errorOf(c.CreateOrg(ctx, c.ada, "More", store.Once[store.Org]{})))
	now := c.Now()
	c.Now = func() time.Time { return now.Add(2 * dayLong) }
	one("a deleted org does not count after a day")(nil, errorOf(c.CreateOrg(ctx, c.ada, "More", store.Once[store.Org]{})))
	c.Now, c.Limits = func() time.Time { return now }, limits
	one("a successor is rotated")(nil, errorOf(c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: id.Key(idOf("successor")), Prefix: "lk"}, store.Once[store.MintedKey]{})))
	two("which ends the grace of the first key")(c.APIKey(ctx, c.org, id.Key(idOf("key"))))
}

func (c *connected) doPeople(idOf idNamed, one noteOne, two noteTwo) {
	add := func(email string) (any, error) {
		added, err := c.AddMember(ctx, admin(c.ada), c.org, email, org.Viewer, store.Once[id.User]{})
		return added.Made, err
	}
	one("a member is added by email")(add("eve@example.com"))
	c.Limits.Members = 3
	one("one member too many")(add("zoe@example.com"))
	c.Limits.Members = store.DefaultLimits().Members
	eve, known, err := c.Identity(ctx, "https://issuer.test", "sub-eve@example.com")
	moved := store.Seen{Issuer: "https://issuer.test", Subject: "sub-eve@example.com", Email: "eve2@example.com", Folded: "eve2@example.com", Verified: true, IssuedAt: 5_000_000_000}
	one("a user has another email")(nil, errors.Join(err, errorOf(c.SignIn(ctx, eve, known, moved))))
	one("a member is added by an old email")(add("eve@example.com"))
	other := store.Seen{Issuer: "https://issuer.test", Subject: "other", Email: "zoe@example.com", Folded: "zoe@example.com", Verified: true, IssuedAt: 5_000_000_000}
	one("another user proves an email")(nil, errorOf(c.SignIn(ctx, store.Identity{}, false, other)))
	two("which the first user has no longer")(c.Identity(ctx, "https://issuer.test", "zoe"))
	one("a member is added by an email that was given up")(add("pat@example.com"))
	one("another user proves that email")(nil, errorOf(c.SignIn(ctx, store.Identity{}, false, claims{"new", "pat@example.com", true, 1}.seen())))
	one("a member is added by it")(nil, errorOf(add("pat@example.com")))
	one("the last admin leaves")(nil, c.LeaveOrg(ctx, admin(c.ada), c.org))
	one("a member is made admin")(c.ChangeRole(ctx, admin(c.ada), c.org, id.User(idOf("bob")), org.Admin))
	one("the first admin leaves")(nil, c.LeaveOrg(ctx, admin(c.ada), c.org))
	one("a stopped user is resumed")(c.ResumeUser(ctx, billing, id.User(idOf("stopped"))))
	two("and is known again")(c.Identity(ctx, "https://issuer.test", "sub-stopped@example.com"))
	more, cutShort, err := c.EndOrg(ctx, id.Org(idOf("deleted")))
	two("a deleted org is ended")(more, cutShort, err)
}

package store_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"latchkey/pkg/id"
	"latchkey/pkg/lambda"
	"latchkey/pkg/link"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// writeAll makes rows of each kind, and returns their ids for readAll.
func (c *connected) writeAll(t *testing.T) (ids map[string]string) {
	t.Helper()
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Member)
	c.NewUser(t, "eve@example.com")
	noError(t, c.PutCatalogue(ctx, `{"scopes":[],"events":[]}`))
	zoe := store.Seen{
		Issuer: "https://issuer.test", Subject: "zoe", Email: "Zoe@example.com", Folded: "zoe@example.com", Verified: true, Name: "Zoe", IssuedAt: 1, AskedAt: 2,
	}
	noError(t, errorOf(c.SignIn(ctx, store.Identity{}, false, zoe)))
	for n, verified := range []bool{true, false} { // Pat gives an address up
		claims{"pat", "pat@example.com", verified, int64(n + 1)}.signsIn(t, c.Table)
	}
	stopped := c.NewUser(t, "stopped@example.com")
	noError(t, c.SignOutUser(ctx, billing, stopped))
	noError(t, errorOf(c.StopUser(ctx, billing, stopped)))
	erased := c.NewUser(t, "erased@example.com")
	noError(t, c.EraseUser(ctx, billing, erased))
	externalID := "cus_1"
	request := problem.WithRequestID(ctx, "request-1")
	noError(t, errorOf(c.ChangeOrg(request, billing, c.org, store.OrgChange{ExternalID: &externalID})))
	deleted := c.NewOrg(t, c.ada)
	noError(t, c.DeleteOrg(ctx, admin(c.ada), deleted))
	suspended, yes := c.orgOfService(t, store.NewOrg{Name: "Late", Allowance: "9/d", Plan: "pro"}), true
	refused, err := c.CreateKey(ctx, billing, suspended, wantedKey(0), store.Once[store.MintedKey]{})
	noError(t, err)
	noError(t, errorOf(c.ChangeOrg(ctx, billing, suspended, store.OrgChange{Suspended: &yes})))
	made, err := c.CreateKey(ctx, admin(c.ada), c.org, wide(), once[store.MintedKey](c, idempotencyKey, "{}", `{"id":1}`))
	noError(t, err)
	key := made.Made.ID
	c.advanceClock(time.Hour)
	for len(c.rowsOf(t, "USED#")) == 0 { // NoteUse gives up when the database is slow
		c.NoteUse(ctx, row(t, c.Table, c.org, key), c.Now().UnixMilli())
	}
	successor := rotate(t, c.Table, c.org, c.ada, key, 7*dayLong, "").ID
	thief, setter := makeKey(t, c.Table, c.org, c.ada, 100*dayLong).ID, makeKey(t, c.Table, c.org, c.ada, 0).ID
	c.importKeys(t, c.org, foreign("sk_a"), store.Once[store.MintedKey]{})
	c.leases(t)

	claimed, device := c.link(t, time.Hour), "Phone"
	claim := claimed.claim("k")
	claim.Device = &link.Device{Name: &device}
	noError(t, errorOf(c.ClaimLink(ctx, claim)))
	c.link(t, dayLong)
	stolen, err := c.CreateLink(ctx, store.NewLink{OrgID: c.org, AppID: c.app, ClientUserID: "user-2", ExpiresIn: dayLong, By: thief}, store.Once[store.MintedLink]{Charge: func(context.Context) (int, error) { return 1, nil }})
	noError(t, err)
	stolenToken, err := link.ParseToken(stolen.Made.Token.Text.Reveal())
	noError(t, err)

	wanted := c.wanted(successor)
	wanted.URL, wanted.Description, wanted.Events = "https://receiver.example/hook", "Ours", []string{webhook.Every}
	endpoint, err := c.CreateEndpoint(ctx, wanted, store.Once[store.Endpoint]{})
	noError(t, err)
	url := "https://other.example/hook"
	noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.Made.ID, store.EndpointChange{URL: &url, By: setter})))
	noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.Made.ID, store.EndpointChange{Events: []string{"test", webhook.Every}, By: successor})))
	failed, parked := c.attempts(t, endpoint.Made)
	disabled := c.endpoint(t)
	c.enable(t, disabled.ID, false)
	held := c.fanOutTest(t, disabled.ID)
	c.testEvent(t, endpoint.Made.ID) // waits for its fan-out
	published := c.publish(t, publications("order-1")...)
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, thief))
	noError(t, c.RevokeLinksOf(ctx, admin(c.ada), c.org, thief))

	c.advanceClock(time.Hour)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, store.DefaultLimits().Budget.Burst))
	l := lease(t, c.Table) // is still in force when the rows are read
	for _, name := range []string{"a", "b"} {
		noError(t, c.ActivateSigningKey(ctx, l, signingKeys(t, c.Table), jwk(name), "arn:"+name))
	}
	noError(t, c.PublishSigningKey(ctx, l, jwk("c"), "arn:c"))
	noError(t, c.RevokeVerificationKey(ctx, jwk("a").Kid))
	noError(t, c.NoteDisabledKey(ctx, l, jwk("a").Kid))
	noError(t, c.KeepMadeKey(ctx, l, "arn:d"))
	hash := func(token link.Token) string { return base64.StdEncoding.EncodeToString(token.Hash[:]) }
	return map[string]string{
		"ada": string(c.ada), "bob": string(bob), "org": string(c.org), "app": string(c.app),
		"key": string(key), "successor": string(successor), "thief": string(thief), "setter": string(setter), "deleted": string(deleted),
		"stopped": string(stopped), "erased": string(erased), "suspended": string(suspended), "refused": string(refused.Made.ID),
		"claimed": string(claimed.ID), "claimedHash": hash(claimed.token), "stolen": string(stolen.Made.ID), "stolenHash": hash(stolenToken),
		"endpoint": string(endpoint.Made.ID), "disabled": string(disabled.ID),
		"failed": string(failed), "parked": string(parked), "held": string(held), "published": string(published[0]),
	}
}

// attempts makes a delivery to an endpoint that has failed once, and one that waits for the endpoint's breaker.
func (c *connected) attempts(t *testing.T, endpoint store.Endpoint) (failed, parked id.Event) {
	t.Helper()
	failed, parked = c.fanOutTest(t, endpoint.ID), c.fanOutTest(t, endpoint.ID)
	w, status, body := c.readWork(t, endpoint.ID, failed), 500, "<no>"
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, "attempt-1")))
	noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{
		Last:   store.LastAttempt{ID: "attempt-1", At: c.Now().UnixMilli(), Status: &status, DurationMs: 7, Body: &body},
		Status: webhook.DeliveryPending, Next: c.Now().UnixMilli() + 5000,
	}))
	for range webhook.BreakAfter {
		c.advanceClock(10 * time.Second)
		noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
	}
	noError(t, c.Deliveries().Park(ctx, c.readWork(t, endpoint.ID, parked), c.readEndpoint(t, endpoint.ID).OpenUntil))
	return failed, parked
}

// The names of the reads of texts that functions send to each other.
const (
	readContext = "context of the authorizer: "
	readMessage = "message of the queue"
)

// sentBy returns the texts that functions send to each other, by the name of the read.
func sentBy(t *testing.T, of asked) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	send := func(name string, v any) {
		t.Helper()
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	user, o, app, key := id.User(of.IDs["ada"]), id.Org(of.IDs["org"]), id.App(of.IDs["app"]), id.Key(of.IDs["key"])
	for _, p := range []principal.Principal{
		{Kind: principal.User, UserID: user, SignedInAt: of.At / 1000}, {Kind: principal.Key, OrgID: o, AppID: app, KeyID: key},
		{Kind: principal.Service, Name: "billing"}, {Kind: principal.None},
	} {
		send(readContext+string(p.Kind), p.Context())
	}
	send(readMessage, webhook.Message{Org: o, DeliveryID: webhook.DeliveryID{App: app, Endpoint: id.Endpoint(of.IDs["endpoint"]), Event: id.Event(of.IDs["failed"])}})
	return out
}

// readSent reads a text of sentBy as the functions do, and returns their result as JSON.
func readSent(t *testing.T, name string, sent json.RawMessage) json.RawMessage {
	t.Helper()
	var got any
	if strings.HasPrefix(name, readContext) {
		e := events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet, Path: "/", Resource: "/"}
		if err := json.Unmarshal(sent, &e.RequestContext.Authorizer); err != nil {
			t.Fatal(err)
		}
		_, err := lambda.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			p, err := principal.FromContext(r.Context())
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = p
		}))(ctx, e)
		noError(t, err)
	} else {
		m, err := webhook.ParseMessage(string(sent))
		noError(t, err)
		got = m
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

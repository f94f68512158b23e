package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/verify"
)

// webhooks runs the tests that need a stack that delivers webhooks.
func webhooks(t *testing.T, s *stack.Stack, tg *target) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s *stack.Stack, tg *target)
	}{
		{"OneEventReachesOneEndpoint", oneEvent},
		{"ATokenIsForItsEndpointAndForNothingElse", tokensAreBound},
		{"EventsOfAKeyArrive", keyEvents},
		{"A410HoldsDeliveriesUntilTheEndpointIsEnabled", goneAndBack},
		{"AStolenKeyIsRevokedWithItsEndpoints", stolenKey},
		{"TheDocumentedReceiversAcceptDeliveries", documentedReceivers},
		{"SigningKeysRotateAndAreRevoked", rotation},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s, tg) })
	}
}

// oneEvent claims a link: the webhook, the event and the delivery must agree. A redelivery sends the same event again.
func oneEvent(t *testing.T, _ *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil)
	id, token := c.link(t, "u-1")
	tg.want(t, newDevice().claims(token), 200, "")
	got := hook.one(t, "link.claimed", id)
	t.Logf("the webhook came %s after the claim", got.At.Sub(got.CreatedAt))
	var data struct {
		Status, ClientUserID string
		Device               struct{ Platform string }
	}
	if err := json.Unmarshal(got.Data, &data); err != nil || data.Status != "claimed" || data.ClientUserID != "u-1" || data.Device.Platform != "ios" {
		t.Errorf("data %s, %v", got.Data, err)
	}
	one := c.ok(t, "/webhook_event/get", members{"eventId": got.ID})
	if one.str("type") != got.Type || number(one.body["createdAt"]) != got.CreatedAt.UnixMilli() {
		t.Errorf("the event is %s, and the time in the webhook is %s", one.text, got.CreatedAt)
	}
	d := c.delivered(t, hook.endpoint, got.ID)
	last, _ := d["lastAttempt"].(members)
	if number(d["attempts"]) != 1 || d["nextAttemptAt"] != nil || last["id"] != got.Attempt || number(last["status"]) != http.StatusNoContent {
		t.Errorf("the delivery: %v", d)
	}
	if r := c.ok(t, "/webhook_delivery/redeliver", members{"endpointId": hook.endpoint, "eventId": got.ID}); number(r.body["queued"]) != 1 {
		t.Errorf("redelivered: %s", r.text)
	}
	within(t, "the event again", func() bool { return len(hook.about("link.claimed", id)) == 2 })
	sameIDs(t, "after a redelivery", hook)
	hook.noneRefused(t)
}

// delivered waits until an event is delivered to an endpoint, and returns the delivery.
func (c *server) delivered(t *testing.T, endpoint, event string) (d map[string]any) {
	t.Helper()
	within(t, event+" delivered", func() bool {
		for _, d = range c.ok(t, "/webhook_delivery/list", members{"eventId": event}).list("deliveries") {
			if d["endpointId"] == endpoint && d["status"] == "delivered" {
				return true
			}
		}
		return t.Failed()
	})
	return d
}

// tokensAreBound sends a webhook's token to the endpoint of another app, and as an access token and an API key to our API.
func tokensAreBound(t *testing.T, _ *stack.Stack, tg *target) {
	a, b := tg.server(t), tg.server(t)
	to, other := a.receiver(t, nil), b.receiver(t, nil)
	a.ok(t, "/webhook_endpoint/test", members{"endpointId": to.endpoint})
	token := to.one(t, "test", "").Token
	status := postToken(t, other.url, token)
	onlyItsOwn := len(other.arrivals()) == len(other.about("key.created", "")) // the event of its app's key may come late
	if status != http.StatusUnauthorized || !onlyItsOwn {
		t.Errorf("another endpoint's receiver answers %d", status)
	}
	_, err := newVerifier(t, tg, other.endpoint).Verify(t.Context(), []byte(token))
	var refused *verify.RefusedError
	if !errors.As(err, &refused) || refused.Reason != verify.WrongAudience {
		t.Errorf("another endpoint's verifier returns %v", err)
	}
	if _, err := newVerifier(t, tg, to.endpoint).Verify(t.Context(), []byte(token)); err != nil {
		t.Errorf("the endpoint's verifier returns %v", err)
	}
	tg.want(t, call{method: "GET", path: "/v1/orgs", bearer: token}, 401, "token_invalid")
	tg.want(t, call{method: "GET", path: "/v1/orgs/" + a.org + "/keys", bearer: token}, 401, "token_invalid")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: token}, 401, "api_key_required")
	to.noneRefused(t)
}

// postToken sends a token to a receiver, as any program could, and returns the status of the answer.
func postToken(t *testing.T, url, token string) int {
	t.Helper()
	res, err := http.Post(url, "application/jwt", strings.NewReader(token))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// keyEvents makes keys of two apps and revokes one: an app's endpoint gets only the events of its own app.
func keyEvents(t *testing.T, _ *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil, "key.created", "key.revoked")
	appID := c.owner.want(t, "POST", "/v1/orgs/"+c.org+"/apps", `{"name":"Other"}`, 201, "").str("id")
	foreign, _ := c.owner.key(t, c.org, `{"appId":"`+appID+`"}`)
	id, key := c.owner.key(t, c.org, `{"name":"short","expiresIn":86400}`)
	made := hook.one(t, "key.created", id)
	for range 2 { // the second revocation changes nothing, and has no event
		c.owner.want(t, "DELETE", "/v1/orgs/"+c.org+"/keys/"+id, "", 204, "")
	}
	ended := hook.one(t, "key.revoked", id)
	for _, a := range []arrival{made, ended} {
		var data struct {
			KeyPrefix, Name, AppID string
			ExpiresAt, RevokedAt   *int64
		}
		err := json.Unmarshal(a.Data, &data)
		describesKey := data.Name == "short" && data.AppID == c.appID && data.ExpiresAt != nil && strings.HasPrefix(key, data.KeyPrefix)
		isRevoked := data.RevokedAt != nil
		if err != nil || !describesKey || isRevoked != (a.Type == "key.revoked") || strings.Contains(string(a.Data), key) {
			t.Errorf("%s: %s, %v", a.Type, a.Data, err)
		}
	}
	if n := len(hook.about("key.revoked", id)); n != 1 || len(hook.about("key.created", foreign)) != 0 {
		t.Errorf("key.revoked came %d times, another app's key.created %d", n, len(hook.about("key.created", foreign)))
	}
	hook.noneRefused(t)
}

// goneAndBack starts a receiver that answers 410. Its endpoint is disabled, the app's other endpoint gets an event about
// this, and deliveries are held until the endpoint is enabled.
func goneAndBack(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	var gone atomic.Bool
	gone.Store(true)
	hook := c.receiver(t, func(arrival) int {
		if gone.Load() {
			return http.StatusGone
		}
		return http.StatusOK
	}, "link.revoked")
	other := c.receiver(t, nil, "endpoint.disabled")
	revoke := func() string {
		id, _ := c.link(t, "u")
		c.ok(t, "/link/revoke", members{"linkId": id})
		return id
	}
	links := []string{revoke()}
	disabled := other.one(t, "endpoint.disabled", hook.endpoint)
	if !strings.Contains(string(disabled.Data), `"reason":"gone"`) {
		t.Errorf("the other endpoint got %s", disabled.Data)
	}
	r := c.ok(t, "/webhook_endpoint/get", members{"endpointId": hook.endpoint})
	if r.body["enabled"] != false || r.str("disabledReason") != "gone" || r.body["disabledAt"] == nil {
		t.Errorf("after the 410: %s", r.text)
	}
	links = append(links, revoke(), revoke())
	within(t, "three deliveries held", func() bool {
		return len(c.deliveries(t, hook.endpoint, "held")) == len(links) || t.Failed()
	})
	gone.Store(false)
	r = c.ok(t, "/webhook_endpoint/update", members{"endpointId": hook.endpoint, "enabled": true})
	if number(r.body["heldCount"]) != int64(len(links)) || r.body["enabled"] != true {
		t.Errorf("enabled again: %s", r.text)
	}
	runScheduled(t, s, "SweepFunction")
	for _, l := range links {
		within(t, "link.revoked of "+l, func() bool { return len(hook.about("link.revoked", l)) > 0 })
	}
	within(t, "all delivered", func() bool {
		return len(c.deliveries(t, hook.endpoint, "delivered")) == len(links) || t.Failed()
	})
	if r := c.ok(t, "/webhook_endpoint/get", members{"endpointId": hook.endpoint}); number(r.body["heldCount"]) != 0 {
		t.Errorf("after the release: %s", r.text)
	}
	if n := len(other.about("endpoint.disabled", "")); n != 1 {
		t.Errorf("endpoint.disabled came %d times", n)
	}
	hook.noneRefused(t)
}

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/harness/local/stack"
)

// stolenKey registers an endpoint with a stolen key, and renames it with an honest key. The admin sees both changes, and
// revokes the stolen key with its endpoints while events happen. No attempt begins after the answer to the revocation,
// and no other key can enable the endpoint. Then the admin revokes the thief's links and enables the endpoint, which gets
// the held deliveries.
func stolenKey(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil)
	thief := &server{tg: tg, owner: c.owner, org: c.org, appID: c.appID}
	thief.keyID, thief.key = c.owner.key(t, c.org, `{"name":"stolen"}`)
	evil := thief.receiver(t, nil)
	c.ok(t, "/webhook_endpoint/update", members{"endpointId": evil.endpoint, "description": "Production"})

	thiefsID, thiefsToken := thief.link(t, "victim")
	waitForChange(t, hook, evil, "endpoint.created", thief.keyID)
	waitForChange(t, hook, evil, "endpoint.updated", c.keyID)
	base := "/v1/orgs/" + c.org
	c.checkAudit(t, evil.endpoint, "endpoint.updated api_key "+c.keyID, "endpoint.created api_key "+thief.keyID)
	c.checkEndpoint(t, evil.endpoint, thief.keyID, true)

	var caused map[string]bool
	var run sync.WaitGroup
	stop := make(chan struct{})
	run.Go(func() { caused = c.makeEventsUntil(t, stop) })
	// The thief's endpoint gets the events of makeEventsUntil.
	within(t, "events at the thief's endpoint", func() bool { return len(evil.about("link.revoked", "")) > 1 })
	c.owner.want(t, "DELETE", base+"/keys/"+thief.keyID+"?endpoints=disable", "", 204, "")
	answered := time.Now()
	within(t, "later deliveries are held", func() bool { return len(c.deliveries(t, evil.endpoint, "held")) > 4 || t.Failed() })
	close(stop)
	run.Wait()
	within(t, "all events at the honest receiver", func() bool { return hook.missing(caused) == 0 })
	for _, d := range c.deliveries(t, evil.endpoint, "") {
		if last, _ := d["lastAttempt"].(members); last != nil && number(last["at"]) > answered.UnixMilli() {
			t.Errorf("an attempt began after the revocation was answered at %d: %v", answered.UnixMilli(), d)
		}
	}
	waitForChange(t, hook, evil, "endpoint.updated", "")
	c.checkAudit(t, evil.endpoint, "endpoint.updated user "+c.owner.userID(t, c.org, c.owner.email))
	c.checkEndpoint(t, evil.endpoint, thief.keyID, false)

	thief.want(t, "/webhook_endpoint/update", members{"endpointId": evil.endpoint, "enabled": true}, 401, "key_revoked")
	r := c.want(t, "/webhook_endpoint/update", members{"endpointId": evil.endpoint, "enabled": true}, 409, "disabled_by_admin")
	if !strings.Contains(r.str("detail"), "admin") {
		t.Errorf("refused: %s", r.text)
	}
	c.owner.want(t, "DELETE", base+"/keys/"+thief.keyID+"?endpoints=enable", "", 400, "unknown_parameter")
	_, honestToken := c.link(t, "u")
	c.owner.want(t, "DELETE", base+"/keys/"+thief.keyID+"?endpoints=disable&links=revoke", "", 204, "") // the key is already revoked, its links are not
	claim := func(token string, status int, code string) {
		t.Helper()
		tg.want(t, call{method: "POST", path: "/link/claim", body: `{"token":"` + token + `","claimKey":"0123456789abcdefghijkl"}`}, status, code)
	}
	claim(thiefsToken, 410, "link_revoked")
	claim(honestToken, 200, "")

	before := len(evil.arrivals())
	evilPath := base + "/apps/" + c.appID + "/webhook_endpoints/" + evil.endpoint
	if r := c.owner.want(t, "PATCH", evilPath, `{"enabled":true}`, 200, ""); r.body["enabled"] != true || r.body["disabledReason"] != nil {
		t.Errorf("enabled by the admin: %s", r.text)
	}
	runScheduled(t, s, "SweepFunction")
	within(t, "the held deliveries arrive after the admin has enabled the endpoint", func() bool { return len(evil.arrivals()) > before })
	within(t, "the thief's link is revoked", func() bool { return c.ok(t, "/link/get", members{"linkId": thiefsID}).str("status") == "revoked" })
	evil.noneRefused(t)
	hook.noneRefused(t)
}

// waitForChange waits until hook got an event about a change of another endpoint by a key, or by an admin (""). The event
// must have only the origin of that endpoint's URL.
func waitForChange(t *testing.T, hook, about *receiver, kind, key string) {
	t.Helper()
	within(t, fmt.Sprintf("%s by %q", kind, key), func() bool {
		for _, a := range hook.about(kind, about.endpoint) {
			var data struct{ Origin, KeyID string }
			if err := json.Unmarshal(a.Data, &data); err != nil || data.Origin != "http://"+about.address || strings.Contains(string(a.Data), about.url) {
				t.Fatalf("%s: %s, %v", kind, a.Data, err)
			}
			if data.KeyID == key {
				return true
			}
		}
		return false
	})
}

// checkAudit checks that these are the newest entries about an endpoint in the audit log.
func (c *server) checkAudit(t *testing.T, endpoint string, want ...string) {
	t.Helper()
	log := c.owner.want(t, "GET", "/v1/orgs/"+c.org+"/audit", "", 200, "")
	var got []string
	for _, e := range log.list("entries") {
		actor, _ := e["actor"].(members)
		if target, _ := e["target"].(members); target["id"] == endpoint && target["type"] == "endpoint" {
			got = append(got, fmt.Sprint(e["action"], " ", actor["type"], " ", actor["id"]))
		}
	}
	if len(got) < len(want) || fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
		t.Errorf("the audit log has %v, want %v", got, want)
	}
}

// checkEndpoint checks that an admin sees which key made an endpoint, and whether the endpoint is enabled.
func (c *server) checkEndpoint(t *testing.T, endpoint, madeBy string, enabled bool) {
	t.Helper()
	for _, h := range c.owner.want(t, "GET", "/v1/orgs/"+c.org+"/apps/"+c.appID+"/webhook_endpoints", "", 200, "").list("endpoints") {
		if h["id"] != endpoint {
			continue
		}
		isDisabledByAdmin := h["disabledReason"] == "admin"
		if h["createdByKey"] != madeBy || h["urlSetByKey"] != madeBy || h["enabled"] != enabled || isDisabledByAdmin == enabled {
			t.Errorf("the admin sees the endpoint as %v", h)
		}
		return
	}
	t.Errorf("the list lacks the endpoint %s", endpoint)
}

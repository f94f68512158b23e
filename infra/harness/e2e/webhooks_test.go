package e2e_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

// segment decodes part n of a token, counted from 0. It returns nil if the token has no such part.
func segment(token string, n int) []byte {
	parts := strings.Split(token, ".")
	if n >= len(parts) {
		return nil
	}
	b, _ := base64.RawURLEncoding.DecodeString(parts[n]) // nil if the part cannot be decoded
	return b
}

// deadURL returns a URL that can be registered, and where no receiver listens.
func (tg *target) deadURL() string {
	if tg.name == "deployed" {
		return "https://hooks.example.com/in"
	}
	return "http://127.0.0.1:9/in"
}

// anEndpoint makes, reads, changes, tests and deletes a webhook endpoint, and tries URLs that are not allowed.
func anEndpoint(t *testing.T, tg *target) {
	c := tg.server(t)
	made := c.want(t, "/webhook_endpoint/create", members{"url": tg.deadURL(), "description": "first"}, 201, "")
	id := made.str("id")
	if !strings.HasPrefix(id, "whe_") || made.body["enabled"] != true || made.body["disabledReason"] != nil || made.str("url") != tg.deadURL() ||
		made.str("createdByKey") != c.keyID || made.str("urlSetByKey") != c.keyID {
		t.Errorf("created: %s", made.text)
	}
	if events, _ := made.body["events"].([]any); len(events) != 1 || events[0] != "*" {
		t.Errorf("an endpoint made without events has the events %v", events)
	}
	if r := c.ok(t, "/webhook_endpoint/get", members{"endpointId": id}); r.str("description") != "first" || number(r.body["heldCount"]) != 0 {
		t.Errorf("got: %s", r.text)
	}
	if l := c.ok(t, "/webhook_endpoint/list", nil).list("endpoints"); len(l) != 1 || l[0]["id"] != id {
		t.Errorf("listed: %v", l)
	}
	r := c.ok(t, "/webhook_endpoint/update", members{"endpointId": id, "events": []string{"link.claimed"}, "enabled": false})
	if r.body["enabled"] != false || r.str("disabledReason") != "user" || r.body["disabledAt"] == nil || r.body["heldCount"] == nil {
		t.Errorf("disabled: %s", r.text)
	}
	r = c.ok(t, "/webhook_endpoint/update", members{"endpointId": id, "enabled": true})
	if r.body["enabled"] != true || r.body["disabledReason"] != nil || r.body["disabledAt"] != nil || r.str("description") != "first" {
		t.Errorf("enabled again: %s", r.text)
	}
	if r := c.ok(t, "/webhook_endpoint/test", members{"endpointId": id}); !strings.HasPrefix(r.str("eventId"), "evt_") {
		t.Errorf("tested: %s", r.text)
	}
	for _, refused := range []string{
		"http://hooks.example.com/in", "https://hooks.example.com:8443/in", "https://user@hooks.example.com/", "https://10.0.0.1/",
		"https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/", "https://2130706433/", "https://localhost/", "ftp://hooks.example.com/", "",
	} {
		for path, body := range map[string]members{
			"/webhook_endpoint/create": {"url": refused}, "/webhook_endpoint/update": {"endpointId": id, "url": refused},
		} {
			r := c.want(t, path, body, 422, "validation_failed")
			if l := r.list("errors"); len(l) != 1 || l[0]["code"] != "url_not_allowed" || l[0]["pointer"] != "/url" {
				t.Errorf("%s %q: %s", path, refused, r.text)
			}
		}
	}
	c.want(t, "/webhook_endpoint/create", members{"url": tg.deadURL(), "events": []string{"link.eaten"}}, 422, "validation_failed")
	if r := c.ok(t, "/webhook_endpoint/delete", members{"endpointId": id}); r.text != `{"ok":true}`+"\n" {
		t.Errorf("deleted: %s", r.text)
	}
	for _, path := range []string{"get", "update", "delete", "test"} {
		c.want(t, "/webhook_endpoint/"+path, members{"endpointId": id}, 404, "endpoint_not_found")
	}
	if l := c.ok(t, "/webhook_endpoint/list", nil).list("endpoints"); len(l) != 0 {
		t.Errorf("listed after its deletion: %v", l)
	}
}

// feed reads the events and deliveries of an app. It also passes on a stack that delivers nothing.
func feed(t *testing.T, tg *target) {
	c := tg.server(t)
	endpoint := c.endpoint(t, tg.deadURL(), "link.claimed")
	id, _ := c.link(t, "u-1")
	c.ok(t, "/link/revoke", members{"linkId": id})
	test := c.ok(t, "/webhook_endpoint/test", members{"endpointId": endpoint}).str("eventId")
	one := c.ok(t, "/webhook_event/get", members{"eventId": test})
	if data, _ := one.body["data"].(members); one.str("type") != "test" || !isText(data["message"]) || one.str("id") != test {
		t.Errorf("the event: %s", one.text)
	}
	first := c.ok(t, "/webhook_event/list", members{"since": 0})
	if first.str("nextCursor") == "" {
		t.Errorf("the feed has no cursor: %s", first.text)
	}
	if l := c.deliveries(t, endpoint, "delivered"); len(l) != 0 {
		t.Errorf("no receiver listens, and these deliveries are delivered: %v", l)
	}
	if r := c.ok(t, "/webhook_delivery/redeliver", members{"endpointId": endpoint, "since": 0}); number(r.body["queued"]) != 0 {
		t.Errorf("redelivered: %s", r.text)
	}
	c.ok(t, "/webhook_delivery/list", members{"eventId": test})
	c.want(t, "/webhook_event/get", members{"eventId": "evt_x"}, 404, "event_not_found")
	c.want(t, "/webhook_delivery/redeliver", members{"endpointId": endpoint, "eventId": "evt_x"}, 404, "delivery_not_found")
	c.want(t, "/webhook_delivery/list", nil, 422, "validation_failed")
	// From the cursor on, the feed shows an event ten seconds after it happened.
	var kinds []string
	within(t, "four events in the feed", func() bool {
		kinds = nil
		for _, e := range c.pages(t, "/webhook_event/list", "events", members{"cursor": first.str("nextCursor"), "limit": 2}) {
			kinds = append(kinds, e["type"].(string))
		}
		time.Sleep(200 * time.Millisecond)
		return len(kinds) == 4 || t.Failed()
	})
	if got := strings.Join(kinds, " "); got != "key.created endpoint.created link.revoked test" {
		t.Errorf("the feed, oldest first: %s", got)
	}
}

// anotherApp calls routes with the key of another app: everything of the first app is not found.
func anotherApp(t *testing.T, tg *target) {
	c := tg.server(t)
	endpoint := c.endpoint(t, tg.deadURL(), "link.claimed")
	id, _ := c.link(t, "u-1")
	event := c.ok(t, "/webhook_endpoint/test", members{"endpointId": endpoint}).str("eventId")
	appID := c.owner.want(t, "POST", "/v1/orgs/"+c.org+"/apps", `{"name":"Other"}`, 201, "").str("id")
	_, key := c.owner.key(t, c.org, `{"appId":"`+appID+`"}`)
	stranger := tg.server(t)
	for name, other := range map[string]*server{"another app of the org": {tg: tg, key: key}, "another org": stranger} {
		t.Run(name, func(t *testing.T) {
			other.want(t, "/link/get", members{"linkId": id}, 404, "link_not_found")
			other.want(t, "/link/revoke", members{"linkId": id}, 404, "link_not_found")
			for _, path := range []string{"get", "update", "delete", "test"} {
				other.want(t, "/webhook_endpoint/"+path, members{"endpointId": endpoint}, 404, "endpoint_not_found")
			}
			other.want(t, "/webhook_event/get", members{"eventId": event}, 404, "event_not_found")
			other.want(t, "/webhook_delivery/list", members{"eventId": event}, 404, "event_not_found")
			other.want(t, "/webhook_delivery/list", members{"endpointId": endpoint}, 404, "endpoint_not_found")
			other.want(t, "/webhook_delivery/redeliver", members{"endpointId": endpoint, "eventId": event}, 404, "endpoint_not_found")
			other.want(t, "/webhook_delivery/redeliver", members{"endpointId": endpoint, "since": 0}, 404, "endpoint_not_found")
			for path, list := range map[string]string{"/link/list": "links", "/webhook_endpoint/list": "endpoints"} {
				if r := other.ok(t, path, nil); len(r.list(list)) != 0 {
					t.Errorf("%s: %s", path, r.text)
				}
			}
			if r := other.ok(t, "/webhook_event/list", nil); strings.Contains(r.text, event) || strings.Contains(r.text, id) {
				t.Errorf("events: %s", r.text)
			}
		})
	}
	if r := c.ok(t, "/link/get", members{"linkId": id}); r.str("status") != "pending" {
		t.Errorf("after all that: %s", r.text)
	}
	c.ok(t, "/webhook_endpoint/get", members{"endpointId": endpoint})
}

// people reads an app's links, events and deliveries as a member, and changes them as an admin. No receiver answers.
func people(t *testing.T, tg *target) {
	c := tg.server(t)
	bob := tg.person(t, "bob")
	c.owner.invite(t, c.org, bob, "member")
	base := "/v1/orgs/" + c.org + "/apps/" + c.appID
	made := c.owner.want(t, "POST", base+"/webhook_endpoints", `{"url":"`+tg.deadURL()+`","events":["test"]}`, 201, "")
	own := base + "/webhook_endpoints/" + made.str("id")
	test := c.owner.want(t, "POST", own+"/test", "", 200, "").str("eventId")
	link, _ := c.link(t, "u-1")
	if r := bob.want(t, "GET", base+"/links", "", 200, ""); len(r.list("links")) != 1 {
		t.Errorf("%s", r.text)
	}
	bob.want(t, "GET", base+"/webhook_events/"+test, "", 200, "")
	if r := bob.want(t, "GET", base+"/webhook_events?since=0&limit=100", "", 200, ""); r.str("nextCursor") == "" {
		t.Errorf("%s", r.text)
	}
	for _, order := range []string{"asc", "desc"} {
		r := bob.want(t, "GET", base+"/webhook_events?limit=1&order="+order, "", 200, "")
		if cursor, isThere := r.body["nextCursor"].(string); isThere {
			bob.want(t, "GET", base+"/webhook_events?order="+order+"&cursor="+cursor, "", 200, "")
		}
		bob.want(t, "GET", base+"/webhook_deliveries?endpointId="+made.str("id")+"&order="+order, "", 200, "")
	}
	bob.want(t, "GET", base+"/webhook_deliveries?eventId="+test, "", 200, "")
	bob.want(t, "GET", base+"/webhook_deliveries?endpointId="+made.str("id")+"&status=failed", "", 200, "")
	for path, method := range map[string]string{
		own: "GET", own + "/test": "POST", base + "/webhook_endpoints": "GET", base + "/links/" + link: "DELETE", base + "/webhook_deliveries/redeliver": "POST",
	} {
		body := ""
		if strings.HasSuffix(path, "redeliver") {
			body = `{"endpointId":"` + made.str("id") + `","since":0}`
		}
		bob.want(t, method, path, body, 403, "insufficient_role")
	}
	c.owner.want(t, "DELETE", base+"/links/"+link, "", 204, "")
	if r := c.ok(t, "/link/get", members{"linkId": link}); r.str("status") != "revoked" {
		t.Errorf("%s", r.text)
	}
	c.owner.want(t, "POST", base+"/webhook_deliveries/redeliver", `{"endpointId":"`+made.str("id")+`","since":0}`, 200, "")
	if r := c.owner.want(t, "GET", own, "", 200, ""); number(r.body["heldCount"]) != 0 {
		t.Errorf("%s", r.text)
	}
	c.owner.want(t, "PATCH", own, `{"enabled":false}`, 200, "")
	c.owner.want(t, "DELETE", own, "", 204, "")
	c.owner.want(t, "GET", own, "", 404, "endpoint_not_found")
}

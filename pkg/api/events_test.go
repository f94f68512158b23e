package api_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/webhook"
)

// TestEveryTypeOfEventIsAsDocumented causes one event of each type. The harness compares the feed with infra/openapi.yaml.
func TestEveryTypeOfEventIsAsDocumented(t *testing.T) {
	w := newWorld(t, newServer(t), "") // its API key causes key.created
	at := time.Now()
	w.Now = func() time.Time { return at }
	key, ada := w.caller("key"), user(w.byRole[org.Admin])
	post := func(path, body string) reply {
		t.Helper()
		r := w.do(t, request{as: key, method: "POST", path: path, body: body})
		if r.status >= 300 {
			t.Fatalf("%s: %s", path, r.text)
		}
		return r
	}
	link := func() reply {
		return post("/link/create", `{"clientUserId":"u","metadata":{"a":"b"},"expiresIn":60}`)
	}
	h := post("/webhook_endpoint/create", bodyWith("url", hookURL)).str("id")
	post("/webhook_endpoint/test", bodyWith("endpointId", h))
	another := post("/webhook_endpoint/create", bodyWith("url", hookURL)).str("id")
	post("/webhook_endpoint/update", `{"endpointId":"`+another+`","description":"New"}`)
	post("/webhook_endpoint/delete", bodyWith("endpointId", another))
	post("/link/revoke", bodyWith("linkId", link().str("id")))
	post("/link/claim", `{"token":"`+link().str("token")+`","claimKey":"`+firstDevice+`","device":{"platform":"ios"}}`)
	expired := id.Link(link().str("id"))
	at = at.Add(time.Minute)
	// 15 days: a key that lives up to 14 days causes no key.expiring.
	expiring := w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", ada, `{"expiresIn":1296000}`), 201, "")
	endpoint, err := w.Endpoint(t.Context(), key.AppID, id.Endpoint(h))
	if err != nil {
		t.Fatal(err)
	}
	leaked, _, err := w.APIKey(t.Context(), w.org, id.Key(expiring.str("id")))
	for _, err := range []error{
		err, w.ReportLeak(t.Context(), leaked, "https://example.com/a", false),
		w.ExpireLink(t.Context(), key.AppID, expired),
		w.Deliveries().DisableEndpoint(t.Context(), endpoint, webhook.DisabledByGone),
		w.WarnOfKey(t.Context(), w.org, id.Key(expiring.str("id"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.passMarks(t, at, key.KeyID)
	w.want(t, w.request("PATCH", keyPath, ada, `{"scopes":["a"]}`), 200, "")
	w.want(t, w.request("DELETE", "/v1/orgs/{orgId}/keys/{keyId}", ada, ""), 204, "")
	at = at.Add(time.Minute) // the feed shows an event once it is 10 s old
	seen := post("/webhook_event/list", `{}`)
	for _, kind := range webhook.AllTypes() {
		if !slices.Contains(seen.each("events", "type"), string(kind)) {
			t.Errorf("no %s in %v", kind, seen.each("events", "type"))
		}
	}
	for _, e := range seen.each("events", "id") {
		if one := post("/webhook_event/get", bodyWith("eventId", e)); !strings.Contains(seen.text, strings.TrimSpace(one.text)) {
			t.Errorf("the feed has another event than %s", one.text)
		}
	}
}

// passMarks makes a key and the org use 8 of the 10 requests of a day, and then 2 more. So both marks are passed, near and
// reached.
func (w *world) passMarks(t *testing.T, at time.Time, k id.Key) {
	t.Helper()
	day := at.Unix() - at.Unix()%86_400
	for mark, requests := range []int64{limit.Near: 8, limit.Reached: 2} {
		for _, of := range []id.Key{k, ""} {
			l := limit.Lease{Owner: limit.Owner{Org: w.org, Key: of}, Row: limit.Day, Start: day}
			l.Wants[limit.Day] = limit.Want{Start: day, Requests: requests, Limit: 10}
			_, done, err := w.Lease(t.Context(), l)
			n := limit.Notice{Owner: l.Owner, Used: of, Row: limit.Day, Start: day, Mark: limit.Mark(mark), Limit: 10}
			row := at.UTC().Format(time.DateOnly) + "#" + cmp.Or(string(of), "ORG") + "#" + []string{"near", "reached"}[mark] + "#10"
			if err := errors.Join(err, w.Announce(t.Context(), n), w.Tell(t.Context(), "NOTE#"+string(w.org), row)); err != nil || !done {
				t.Fatal(done, err)
			}
		}
	}
}

func TestOneCallRedeliversAtMostItsLimit(t *testing.T) {
	d := newAppServer(t)
	d.Limits.Redelivered = 3
	h := d.newEndpoint(t)
	for range 4 {
		d.settle(t, d.testEvent(t, h), h, webhook.DeliveryFailed)
	}
	d.queue.messages = nil // drops earlier messages
	first := d.post(t, "/webhook_delivery/redeliver", `{"endpointId":"`+h+`","since":0}`, 200, "")
	if first.num("queued") != 3 || first.str("nextCursor") == "" || len(d.queue.messages) != 3 {
		t.Errorf("%s, %d messages", first.text, len(d.queue.messages))
	}
	rest := d.post(t, "/webhook_delivery/redeliver", `{"endpointId":"`+h+`","since":0,"cursor":"`+first.str("nextCursor")+`"}`, 200, "")
	if rest.num("queued") != 1 || rest.str("nextCursor") != "" {
		t.Errorf("%s", rest.text)
	}
	if left := d.post(t, "/webhook_delivery/redeliver", `{"endpointId":"`+h+`","since":0}`, 200, ""); left.num("queued") != 0 {
		t.Errorf("%s", left.text)
	}
}

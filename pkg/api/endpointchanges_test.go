package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// changeEndpoints changes webhook endpoints in every way, by a key and by the admin, and sends some requests that change nothing.
func (a *auditedOrg) changeEndpoints(t *testing.T) {
	t.Helper()
	base := "/" + string(a.org) + "/keys"
	k := a.send(t, request{method: "POST", path: base, body: `{}`}).str("id")
	a.expect("key.created", k, `{"appId":{"from":null,"to":"`+string(id.DefaultApp(a.org))+`"},"expiresAt":{"from":null,"to":null},"name":{"from":null,"to":""}}`)
	// sendByKey makes a request with the key k, and expects no entry.
	sendByKey := func(path, body string) reply {
		t.Helper()
		a.at = a.at.Add(time.Second)
		as := &principal.Principal{Kind: principal.Key, OrgID: a.org, AppID: id.DefaultApp(a.org), KeyID: id.Key(k)}
		out := a.do(t, request{as: as, method: "POST", path: "/webhook_endpoint/" + path, body: body})
		if out.status >= http.StatusMultipleChoices {
			t.Fatalf("%s: %s", path, out.text)
		}
		return out
	}
	// expectByKey expects an entry of the key k.
	expectByKey := func(action, target, changes string) {
		a.expect(action, target, changes)
		a.want[len(a.want)-1].Actor = subject{Type: "api_key", ID: k}
	}
	made := `{"description":{"from":null,"to":""},"enabled":{"from":null,"to":true},"events":{"from":null,"to":["*"]},"url":{"from":null,"to":"https://a.example.com"}}`
	h := sendByKey("create", `{"url":"https://a.example.com/in?token=secret"}`).str("id")
	expectByKey("endpoint.created", h, made)
	update := func(fields, changes string) {
		t.Helper()
		sendByKey("update", `{"endpointId":"`+h+`",`+fields+`}`)
		expectByKey("endpoint.updated", h, changes)
	}
	update(`"description":"mine"`, `{"description":{"from":"","to":"mine"}}`)
	sendByKey("update", `{"endpointId":"`+h+`","description":"mine","enabled":true}`) // the present values
	// The log shows only the origin of a URL, because the path and the query may have a secret.
	update(`"url":"https://a.example.com/in?token=other"`, `{"url":{"from":"https://a.example.com","to":"https://a.example.com"}}`)
	update(`"url":"https://b.example.com/","events":["test"]`,
		`{"events":{"from":["*"],"to":["test"]},"url":{"from":"https://a.example.com","to":"https://b.example.com"}}`)
	update(`"enabled":false`, `{"disabledReason":{"from":null,"to":"user"},"enabled":{"from":true,"to":false}}`)
	byAdmin := func(enabled bool, changes string) {
		t.Helper()
		path := "/" + string(a.org) + "/apps/" + string(id.DefaultApp(a.org)) + "/webhook_endpoints/" + h
		r := request{method: "PATCH", path: path, body: fmt.Sprintf(`{"enabled":%t}`, enabled)}
		a.sendAndExpect(t, r, "endpoint.updated", h, changes)
		a.send(t, r) // changes nothing
	}
	byAdmin(false, `{"disabledReason":{"from":"user","to":"admin"}}`)
	byAdmin(true, `{"disabledReason":{"from":"admin","to":null},"enabled":{"from":false,"to":true}}`)
	revoke := request{method: "DELETE", path: base + "/" + k + "?endpoints=disable"}
	gone := sendByKey("create", `{"url":"https://a.example.com"}`).str("id")
	expectByKey("endpoint.created", gone, made)
	sendByKey("delete", bodyWith("endpointId", gone))
	expectByKey("endpoint.deleted", gone,
		`{"description":{"from":"","to":null},"enabled":{"from":true,"to":null},"events":{"from":["*"],"to":null},"url":{"from":"https://a.example.com","to":null}}`)
	// One request has two entries, which log sorts by their actions.
	a.sendAndExpect(t, revoke, "endpoint.updated", h, `{"disabledReason":{"from":null,"to":"admin"},"enabled":{"from":true,"to":false}}`)
	a.expect("key.revoked", k, `{"revokedAt":{"from":null,"to":%d}}`)
	a.send(t, revoke) // changes nothing
}

// changeByAdmin makes an admin's other changes of an app: endpoints are created, tested, redelivered and deleted, and a service
// revokes a link.
func (a *auditedOrg) changeByAdmin(t *testing.T) {
	t.Helper()
	app := id.DefaultApp(a.org)
	base := "/" + string(a.org) + "/apps/" + string(app) + "/"
	h := a.send(t, request{method: "POST", path: base + "webhook_endpoints", body: `{"url":"https://a.example.com/in?token=secret","events":["test"]}`}).str("id")
	a.expect("endpoint.created", h,
		`{"description":{"from":null,"to":""},"enabled":{"from":null,"to":true},"events":{"from":null,"to":["test"]},"url":{"from":null,"to":"https://a.example.com"}}`)
	e := a.send(t, request{method: "POST", path: base + "webhook_endpoints/" + h + "/test"}).str("eventId")
	a.expect("endpoint.tested", h, `{}`)
	if _, err := a.Deliveries().FanOut(t.Context(), app, id.Event(e)); err != nil {
		t.Fatal(err)
	}
	for _, selects := range []string{`"since":0`, `"eventId":"` + e + `"`} {
		if err := a.Deliveries().GiveUp(t.Context(), webhook.DeliveryID{App: app, Endpoint: id.Endpoint(h), Event: id.Event(e)}); err != nil {
			t.Fatal(err)
		}
		a.at = a.at.Add(time.Minute)
		a.sendAndExpect(t, request{method: "POST", path: base + "webhook_deliveries/redeliver", body: `{"endpointId":"` + h + `",` + selects + `}`}, "endpoint.redelivered", h, `{}`)
	}
	a.sendAndExpect(t, request{method: "DELETE", path: base + "webhook_endpoints/" + h}, "endpoint.deleted", h,
		`{"description":{"from":"","to":null},"enabled":{"from":true,"to":null},"events":{"from":["test"],"to":null},"url":{"from":"https://a.example.com","to":null}}`)
	key := &principal.Principal{Kind: principal.Key, OrgID: a.org, AppID: app, KeyID: id.NoKey}
	l := a.do(t, request{as: key, method: "POST", path: "/link/create", body: `{"clientUserId":"u"}`}).str("id")
	revoke := request{as: service(), method: "DELETE", path: base + "links/" + l}
	a.sendAndExpect(t, revoke, "link.revoked", l, `{}`)
	a.want[len(a.want)-1].Actor = subject{Type: "service", Name: "billing"}
	a.send(t, revoke) // changes nothing
}

// TestEventsOfAnEndpointsChangeReachTheOthers: they go to every endpoint of the app except the changed one. So a thief who
// redirects an endpoint cannot hide the change.
func TestEventsOfAnEndpointsChangeReachTheOthers(t *testing.T) {
	w := newAppWithStolenKey(t)
	ours := w.create(t, w.honest)
	theirs := w.want(t, request{as: w.stolen, method: "POST", path: "/webhook_endpoint/create", body: bodyWith("url", "https://t.example.com/in?token=secret")}, 201, "").str("id")
	w.update(t, w.stolen, theirs, `"url":"https://t.example.com/other?token=secret"`)
	w.endpoint = theirs
	admin := user(w.byRole[org.Admin])
	w.want(t, w.request("PATCH", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", admin, `{"enabled":false}`), 200, "")
	w.want(t, request{as: w.honest, method: "POST", path: "/webhook_endpoint/delete", body: bodyWith("endpointId", theirs)}, 200, "")
	var sent []string
	for _, row := range w.Rows(t) {
		// except is the endpoint that an event does not go to.
		if !strings.HasPrefix(text(row, "PK"), "EVTS#") || text(row, "except") != theirs {
			continue
		}
		if strings.Contains(text(row, "data"), "secret") || strings.Contains(text(row, "data"), "other") {
			t.Errorf("the event shows the path or the query: %s", text(row, "data"))
		}
		if _, err := w.Deliveries().FanOut(t.Context(), w.honest.AppID, id.Event(text(row, "SK"))); err != nil {
			t.Fatal(err)
		}
		deliveries, err := w.Deliveries().Of(t.Context(), w.honest.AppID, id.Event(text(row, "SK")))
		if err != nil || len(deliveries) != 1 || string(deliveries[0].Endpoint) != ours {
			t.Errorf("%s went to %+v, %v", text(row, "type"), deliveries, err)
		}
		sent = append(sent, text(row, "type")+" "+text(row, "data"))
	}
	data := func(rest string) string {
		return `{"endpointId":"` + theirs + `","origin":"https://t.example.com","events":["*"],` + rest + `}`
	}
	enabled, disabled := `"enabled":true,"disabledReason":null,"keyId":`, `"enabled":false,"disabledReason":"admin","keyId":`
	want := []string{
		"endpoint.created " + data(enabled+`"`+string(w.stolen.KeyID)+`"`),
		"endpoint.updated " + data(enabled+`"`+string(w.stolen.KeyID)+`","changed":["url"]`),
		"endpoint.updated " + data(disabled+`null,"changed":["disabledReason","enabled"]`),
		"endpoint.deleted " + data(disabled+`"`+string(w.honest.KeyID)+`"`),
	}
	slices.Sort(sent)
	slices.Sort(want)
	same(t, "sent", sent, want)
}

func TestAnAdminSeesTheEndpointsInPages(t *testing.T) {
	w := newAppWithStolenKey(t)
	var want []string
	for range 5 {
		want = append(want, w.create(t, w.honest))
	}
	slices.Sort(want)
	slices.Reverse(want)
	path, admin := "/v1/orgs/"+string(w.org)+"/apps/"+string(w.honest.AppID)+"/webhook_endpoints", user(w.byRole[org.Admin])
	whole := w.want(t, request{as: admin, method: "GET", path: path}, 200, "")
	same(t, "whole", whole.each("endpoints", "id"), want)
	var got []string
	for query := "?limit=2"; query != ""; {
		page := w.want(t, request{as: admin, method: "GET", path: path + query}, 200, "")
		got, query = append(got, page.each("endpoints", "id")...), ""
		if next := page.str("nextCursor"); next != "" {
			query = "?limit=2&cursor=" + next
		}
	}
	same(t, "in pages", got, want)
	w.want(t, request{as: admin, method: "GET", path: path + "?cursor=x"}, 400, problem.InvalidCursor)
	empty := w.want(t, request{as: admin, method: "PATCH", path: path + "/" + want[0], body: `{}`}, 422, problem.ValidationFailed)
	if got := strings.Join(fields(empty), ", "); got != "/enabled required" {
		t.Errorf("%s", empty.text)
	}
	other := w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps", admin, `{"name":"Other"}`), 201, "").str("id")
	foreign := "/v1/orgs/" + string(w.org) + "/apps/" + other + "/webhook_endpoints"
	if r := w.want(t, request{as: admin, method: "GET", path: foreign}, 200, ""); len(r.list("endpoints")) != 0 {
		t.Errorf("another app's: %s", r.text)
	}
	w.want(t, request{as: admin, method: "PATCH", path: foreign + "/" + want[0], body: `{"enabled":false}`}, 404, problem.EndpointNotFound)
}

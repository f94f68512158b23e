package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// newPeople returns a world with one of everything that people can read of an app. The delivery has failed after two answers of
// the receiver.
func newPeople(t *testing.T) *world {
	t.Helper()
	s, now := newServer(t), time.Now()
	s.Now = func() time.Time { return now }
	w := newWorld(t, s, "")
	now = now.Add(time.Second)
	w.connect(t)
	d := webhook.DeliveryID{App: id.DefaultApp(w.org), Endpoint: id.Endpoint(w.endpoint), Event: id.Event(w.event)}
	now = now.Add(2 * time.Minute) // so that the feed shows the events
	if _, err := w.Deliveries().Again(t.Context(), d, store.Changer{}, false); err != nil {
		t.Fatal(err)
	}
	status, next := 500, webhook.DeliveryPending
	for _, answer := range []string{"the first answer", "the second answer"} {
		work, _, err := w.Deliveries().Work(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = w.Deliveries().LeaseAttempt(t.Context(), work, answer); err != nil {
			t.Fatal(err)
		}
		last := store.LastAttempt{ID: answer, At: now.UnixMilli(), Status: &status, Body: &answer}
		if err := w.Deliveries().RecordAttempt(t.Context(), work, store.Attempted{Last: last, Status: next, Next: now.UnixMilli()}); err != nil {
			t.Fatal(err)
		}
		next = webhook.DeliveryFailed
	}
	return w
}

// get reads a path below the app, as the member with a role.
func (w *world) get(t *testing.T, as org.Role, path string) reply {
	t.Helper()
	return w.want(t, w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/"+path, user(w.byRole[as]), ""), 200, "")
}

// TestAMemberSeesNoReceiversAnswersAndNoEndpoints. A member does see the app's events, and the status of each delivery.
func TestAMemberSeesNoReceiversAnswersAndNoEndpoints(t *testing.T) {
	w := newPeople(t)
	for role, answers := range map[org.Role]int{org.Admin: 2, org.Member: 0} {
		for _, query := range []string{"?eventId={eventId}", "?endpointId={endpointId}&status=failed&since=0&limit=5"} {
			r := w.get(t, role, "webhook_deliveries"+query)
			if strings.Count(r.text, `"body":"the`) != answers || strings.Count(r.text, `"status":500`) != 2 || !strings.Contains(r.text, `"endpointOrigin":"https://hooks.example.com"`) {
				t.Errorf("%s %s: %s", role, query, r.text)
			}
			if strings.Contains(r.text, "hidden") {
				t.Errorf("%s sees more than the origin: %s", role, r.text)
			}
		}
		r := w.get(t, role, "webhook_events")
		types := r.each("events", "type")
		slices.Sort(types) // the clock does not move, so the order is random
		for _, e := range r.list("events") {
			if hidden := e["data"] == nil; hidden != (role == org.Member && e["type"] == "endpoint.created") {
				t.Errorf("%s: %v", role, e)
			}
			one := w.get(t, role, "webhook_events/"+fmt.Sprint(e["id"]))
			if (one.body["data"] == nil) != (e["data"] == nil) {
				t.Errorf("%s: %s", role, one.text)
			}
		}
		same(t, string(role), types, []string{"endpoint.created", "key.created", "test"})
		if links := w.get(t, role, "links?limit=1"); !slices.Equal(links.each("links", "id"), []string{w.link}) || strings.Contains(links.text, "token") {
			t.Errorf("%s: %s", role, links.text)
		}
	}
}

// TestOnlyAdminsSeeTheAllowanceInEvents: a member sees that an allowance is near, but no number. A limit of a key is visible to both.
func TestOnlyAdminsSeeTheAllowanceInEvents(t *testing.T) {
	w := newPeople(t)
	at := w.Now()
	w.passMarks(t, at, w.key)
	w.Now = func() time.Time { return at.Add(time.Minute) } // the feed shows an event once it is 10 s old
	for _, role := range []org.Role{org.Admin, org.Member} {
		marks := 0
		for _, e := range w.get(t, role, "webhook_events?order=desc").list("events") {
			kind := fmt.Sprint(e["type"])
			isAllowance := strings.HasPrefix(kind, "org.allowance_")
			if !isAllowance && !strings.HasPrefix(kind, "key.limit_") {
				continue
			}
			marks++
			one := w.get(t, role, "webhook_events/"+fmt.Sprint(e["id"]))
			want := role == org.Member && isAllowance
			if (e["data"] == nil) != want || (one.body["data"] == nil) != want {
				t.Errorf("%s: %v, %s", role, e, one.text)
			}
		}
		if marks != 4 {
			t.Errorf("%s: %d events", role, marks)
		}
	}
}

// TestAQueryIsCheckedLikeABody on the API keys' route. Each error names the parameter.
func TestAQueryIsCheckedLikeABody(t *testing.T) {
	w := newPeople(t)
	const deliveries = "webhook_deliveries?endpointId={endpointId}"
	for query, want := range map[string]string{
		"webhook_events?limit=x": "422 ?limit", "webhook_events?limit=0": "422 ?limit", "webhook_events?since=-1": "422 ?since",
		"webhook_events?since=9999999999999999999": "422 ?since", "webhook_events?since=1&since=2": "422 ?since", "webhook_events?cursor=x": "400 ",
		"webhook_events?status=failed": "400 ?status", "webhook_deliveries": "422 ?eventId", deliveries + "&eventId={eventId}": "422 ?eventId",
		deliveries + "&status=lost": "422 ?status", "webhook_deliveries?eventId={eventId}&since=0": "422 ?eventId", "webhook_deliveries?endpointId=%FF": "404 ",
		"webhook_deliveries?eventId=%EF%BF%BD": "404 ", "webhook_events/%FF": "404 ", "links?limit=101": "422 ?limit", "links?limit=1e1": "422 ?limit",
		"webhook_events?order=DESC": "422 ?order", "webhook_events?order=": "422 ?order", "webhook_events?order=desc&order=desc": "422 ?order", deliveries + "&order=newest": "422 ?order",
		"webhook_deliveries?eventId={eventId}&order=desc": "422 ?eventId", "links?order=desc": "400 ?order", "webhook_events/{eventId}?order=desc": "400 ?order",
	} {
		r := w.do(t, w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/"+query, user(w.byRole[org.Member]), ""))
		pointers := r.each("errors", "pointer")
		if got := fmt.Sprint(r.status, " ", strings.Join(pointers, "+")); got != want {
			t.Errorf("%s: %s: %s", query, got, r.text)
		}
	}
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test", user(w.byRole[org.Admin]), `{"endpointId":"{endpointId}"}`), 400, problem.InvalidJSON)
}

// TestPeopleReadTheNewestFirst with order=desc, page by page to the end. Only the feed with order=asc has no end. A cursor is
// good for one order only.
func TestPeopleReadTheNewestFirst(t *testing.T) {
	w := newPeople(t)
	all := w.get(t, org.Member, "webhook_events").each("events", "id")
	const deliveries = "webhook_deliveries?limit=1&endpointId={endpointId}"
	pages := func(path, list, member string) (ids, cursors []string) {
		t.Helper()
		for next := ""; len(ids) < 10; next = "&cursor=" + cursors[len(cursors)-1] {
			r := w.get(t, org.Member, path+next)
			ids = append(ids, r.each(list, member)...)
			if r.body["nextCursor"] == nil {
				return ids, cursors
			}
			cursors = append(cursors, r.str("nextCursor"))
		}
		t.Fatalf("%s: more than 10 pages", path)
		return nil, nil
	}
	newest, newestCursors := pages("webhook_events?limit=1&order=desc", "events", "id")
	slices.Reverse(newest)
	same(t, "events", newest, all)
	if len(all) != 3 || len(newestCursors) != 2 {
		t.Errorf("%d events, %d cursors", len(all), len(newestCursors))
	}
	sent, _ := pages(deliveries+"&order=desc", "deliveries", "eventId")
	oldest, _ := pages(deliveries+"&order=asc", "deliveries", "eventId")
	same(t, "deliveries", sent, []string{w.event})
	same(t, "deliveries", oldest, []string{w.event})
	oldestCursor := w.get(t, org.Member, "webhook_events?limit=1&order=asc").str("nextCursor")
	admin := user(w.byRole[org.Admin])
	for _, r := range []request{
		w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_events?cursor="+newestCursors[0], admin, ""),
		w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_events?order=asc&cursor="+newestCursors[0], admin, ""),
		w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_events?order=desc&cursor="+oldestCursor, admin, ""),
		w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/"+deliveries+"&cursor="+newestCursors[0], admin, ""),
		w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/"+deliveries+"&order=desc&cursor="+oldestCursor, admin, ""),
		w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver", admin, `{"endpointId":"{endpointId}","since":0,"cursor":"`+newestCursors[0]+`"}`),
	} {
		w.want(t, r, 400, problem.InvalidCursor)
	}
	end := w.get(t, org.Member, "webhook_events?order=desc&limit=100&since="+fmt.Sprint(w.Now().UnixMilli()))
	if strings.TrimSpace(end.text) != `{"events":[]}` {
		t.Errorf("since now: %s", end.text)
	}
	for _, r := range []request{ // the routes of API keys have no order
		w.request("POST", "/webhook_event/list", w.caller("key"), `{"order":"desc"}`),
		w.request("POST", "/webhook_delivery/list", w.caller("key"), `{"endpointId":"{endpointId}","order":"desc"}`),
	} {
		w.want(t, r, 400, problem.InvalidJSON)
	}
	for _, r := range []request{
		w.request("POST", "/webhook_event/list?order=desc", w.caller("key"), ""),
		w.request("POST", "/webhook_event/list?order=desc", w.caller("key"), `{"cursor":"`+newestCursors[0]+`"}`),
	} {
		w.want(t, r, 400, problem.UnknownParameter)
	}
	w.want(t, w.request("POST", "/webhook_event/list", w.caller("key"), `{"cursor":"`+newestCursors[0]+`"}`), 400, problem.InvalidCursor)
}

// TestPeopleReachOnlyTheAppInThePath, and nothing of another app of the same org.
func TestPeopleReachOnlyTheAppInThePath(t *testing.T) {
	w := newPeople(t)
	admin := user(w.byRole[org.Admin])
	second := w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps", admin, `{"name":"Second"}`), 201, "").str("id")
	send := func(method, path, body string, status int, code problem.Code) reply {
		t.Helper()
		return w.want(t, w.request(method, "/v1/orgs/{orgId}/apps/"+second+"/"+path, admin, body), status, code)
	}
	for _, path := range []string{"webhook_endpoints", "webhook_events", "links"} {
		if r := send("GET", path, "", 200, ""); strings.Contains(r.text, `"id"`) {
			t.Errorf("%s: %s", path, r.text)
		}
	}
	send("GET", "webhook_endpoints/{endpointId}", "", 404, problem.EndpointNotFound)
	send("DELETE", "webhook_endpoints/{endpointId}", "", 404, problem.EndpointNotFound)
	send("POST", "webhook_endpoints/{endpointId}/test", "", 404, problem.EndpointNotFound)
	send("GET", "webhook_events/{eventId}", "", 404, problem.EventNotFound)
	send("GET", "webhook_deliveries?eventId={eventId}", "", 404, problem.EventNotFound)
	send("GET", "webhook_deliveries?endpointId={endpointId}", "", 404, problem.EndpointNotFound)
	send("POST", "webhook_deliveries/redeliver", `{"endpointId":"{endpointId}","since":0}`, 404, problem.EndpointNotFound)
	send("POST", "webhook_deliveries/redeliver", `{"endpointId":"{endpointId}","eventId":"{eventId}"}`, 404, problem.EndpointNotFound)
	send("DELETE", "links/{linkId}", "", 404, problem.LinkNotFound)
	foreign := w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/links", user(w.outside), "")
	foreign.path = strings.Replace(foreign.path, string(w.org), string(id.Org(w.otherOrg(t))), 1)
	w.want(t, foreign, 404, problem.AppNotFound) // an admin of another org names this org's app
}

// otherOrg returns the org of w.outside.
func (w *world) otherOrg(t *testing.T) string {
	t.Helper()
	return w.want(t, request{as: user(w.outside), method: "GET", path: "/v1/orgs"}, 200, "").each("orgs", "id")[0]
}

// TestAnAdminRedeliversMany: the audit log has one entry for the request, and none when no delivery was due. The role is
// checked again with each delivery.
func TestAnAdminRedeliversMany(t *testing.T) {
	w := newPeople(t)
	admin := w.byRole[org.Admin]
	path, body := "/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver", `{"endpointId":"{endpointId}","since":0}`
	redelivered := func() (n int) {
		for _, e := range (&auditedOrg{server: w.server, admin: admin, org: w.org}).log(t) {
			if e.Action == "endpoint.redelivered" {
				n++
			}
		}
		return n
	}
	// The delivery was sent again less than a minute ago, so no delivery is due.
	if r := w.want(t, w.request("POST", path, user(admin), body), 200, ""); r.num("queued") != 0 || redelivered() != 0 {
		t.Errorf("%s, %d entries", r.text, redelivered())
	}
	now := w.Now().Add(2 * time.Minute)
	w.Now = func() time.Time { return now }
	w.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 1}
	w.spendAll(t, w.org, id.DefaultApp(w.org))
	if w.want(t, w.request("POST", path, user(admin), body), 429, problem.RateLimited); redelivered() != 0 {
		t.Error("the refused request is audited")
	}
	w.Limits.OrgBudget = store.DefaultLimits().OrgBudget
	for entries := range 2 { // the admin loses the role before the entry, and then between the entry and the delivery
		w.beforeTransaction(entries, func() { w.setRole(t, admin, org.Member) })
		w.want(t, w.request("POST", path, user(admin), body), 403, problem.InsufficientRole)
		w.setRole(t, admin, org.Admin)
		if got := w.get(t, org.Admin, "webhook_deliveries?eventId={eventId}").list("deliveries")[0]["status"]; got != "failed" || redelivered() != entries || len(w.queue.messages) != 0 {
			t.Errorf("%v, %d entries, %v", got, redelivered(), w.queue.messages)
		}
	}
	before := redelivered()
	if r := w.want(t, w.request("POST", path, user(admin), body), 200, ""); r.num("queued") != 1 || redelivered() != before+1 || len(w.queue.messages) != 1 || w.queue.messages[0].Org != w.org {
		t.Errorf("%s, %d entries, %v", r.text, redelivered()-before, w.queue.messages)
	}
	w.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 1}
	w.spendAll(t, w.org, id.DefaultApp(w.org))
	if r := w.want(t, w.request("POST", path, user(admin), body), 200, ""); r.num("queued") != 0 || redelivered() != before+1 {
		t.Errorf("with no delivery due: %s, %d entries", r.text, redelivered()-before)
	}
}

// TestRevokingAKeyKeepsAnAdminsEndpoint: an admin's endpoint names no key. It is created once for one Idempotency-Key, and has
// the same rules as a key's endpoint.
func TestRevokingAKeyKeepsAnAdminsEndpoint(t *testing.T) {
	w := newPeople(t)
	admin := user(w.byRole[org.Admin])
	made := w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", admin, `{"url":"https://mine.example.com/in?s=1","events":["test"],"description":"Mine"}`)
	made.header = map[string]string{"Idempotency-Key": strings.Repeat("k", 32)}
	r := w.want(t, made, 201, "")
	again := w.want(t, made, 201, "")
	if r.body["createdByKey"] != nil || r.body["urlSetByKey"] != nil || again.str("id") != r.str("id") || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s %s", r.text, again.text)
	}
	w.want(t, w.request("DELETE", "/v1/orgs/{orgId}/keys/{keyId}?endpoints=disable", admin, ""), 204, "")
	paid := 0 // the part that the creation has paid for its event; fan-out charges only the rest
	for _, row := range w.Rows(t) {
		if text(row, "type") == "endpoint.created" && strings.Contains(text(row, "data"), "mine.example.com") {
			paid = int(numberOf(t, row, "paid"))
		}
	}
	if paid != 1 {
		t.Errorf("paid %d", paid)
	}
	w.endpoint = r.str("id")
	shown := w.want(t, w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", admin, ""), 200, "")
	if shown.body["enabled"] != true || shown.num("heldCount") != 0 || shown.str("url") != "https://mine.example.com/in?s=1" {
		t.Errorf("%s", shown.text)
	}
	for body, code := range map[string]problem.Code{
		`{"url":"http://127.0.0.1/"}`: problem.ValidationFailed, `{}`: problem.ValidationFailed,
		`{"url":"https://x.example.com","events":[]}`: problem.ValidationFailed,
	} {
		w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", admin, body), 422, code)
	}
	w.Limits.Endpoints = 2
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", admin, `{"url":"https://x.example.com"}`), 409, problem.LimitReached)
}

// TestNoEndpointIsCreatedInADeletedOrg, by a person or a service: the deletion begins between the check of the role and the
// transaction.
func TestNoEndpointIsCreatedInADeletedOrg(t *testing.T) {
	for _, as := range []string{"admin", "service"} {
		w := newPeople(t)
		caller := user(w.byRole[org.Admin])
		if as == "service" {
			caller = service()
		}
		var deleted reply
		w.beforeTransaction(0, func() {
			deleted = w.do(t, w.request("DELETE", "/v1/orgs/{orgId}", user(w.byRole[org.Admin]), ""))
		})
		w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", caller, `{"url":"https://late.example.com"}`), 404, problem.OrgNotFound)
		if deleted.status != 204 {
			t.Fatalf("%s", deleted.text)
		}
	}
}

// TestAServiceChangesNothingInADeletedOrg: the org is deleted between the check of the org and the write.
func TestAServiceChangesNothingInADeletedOrg(t *testing.T) {
	for route, body := range map[string]string{
		"POST webhook_endpoints/{endpointId}/test": "", "DELETE webhook_endpoints/{endpointId}": "", "DELETE links/{linkId}": "",
		"POST webhook_deliveries/redeliver": `{"endpointId":"{endpointId}","eventId":"{eventId}"}`,
	} {
		w := newPeople(t)
		now := w.Now().Add(2 * time.Minute)
		w.Now = func() time.Time { return now }
		w.beforeTransaction(0, func() {
			w.want(t, w.request("DELETE", "/v1/orgs/{orgId}", user(w.byRole[org.Admin]), ""), 204, "")
		})
		method, path, _ := strings.Cut(route, " ")
		w.want(t, w.request(method, "/v1/orgs/{orgId}/apps/{appId}/"+path, service(), body), 404, problem.OrgNotFound)
	}
}

// TestAnAdminCanRevokeOnlyPendingLinks: a second revocation changes nothing and has no audit entry. A claimed or expired link
// is refused.
func TestAnAdminCanRevokeOnlyPendingLinks(t *testing.T) {
	w := newPeople(t)
	admin, path := user(w.byRole[org.Admin]), "/v1/orgs/{orgId}/apps/{appId}/links/{linkId}"
	entries := len((&auditedOrg{server: w.server, admin: admin.UserID, org: w.org}).log(t))
	for range 2 {
		w.want(t, w.request("DELETE", path, admin, ""), 204, "")
	}
	log := (&auditedOrg{server: w.server, admin: admin.UserID, org: w.org}).log(t)
	if last := log[len(log)-1]; len(log) != entries+1 || last.Action != "link.revoked" || last.Target != (subject{Type: "link", ID: w.link}) || last.Actor.ID != string(admin.UserID) {
		t.Errorf("%v", log)
	}
	key := w.caller("key")
	made := w.want(t, w.request("POST", "/link/create", key, `{"clientUserId":"u"}`), 201, "")
	claim := fmt.Sprintf(`{"token":%q,"claimKey":%q}`, made.str("token"), "AAECAwQFBgcICQoLDA0ODw")
	w.want(t, request{method: "POST", path: "/link/claim", body: claim}, 200, "")
	w.link = made.str("id")
	w.want(t, w.request("DELETE", path, admin, ""), 409, problem.LinkAlreadyClaimed)
	w.link = w.want(t, w.request("POST", "/link/create", key, `{"clientUserId":"u","expiresIn":60}`), 201, "").str("id")
	now := w.Now().Add(time.Hour)
	w.Now = func() time.Time { return now }
	w.want(t, w.request("DELETE", path, admin, ""), 410, problem.LinkExpired)
	w.link = "lnk_x"
	w.want(t, w.request("DELETE", path, &principal.Principal{Kind: principal.Service, Name: "billing"}, ""), 404, problem.LinkNotFound)
}

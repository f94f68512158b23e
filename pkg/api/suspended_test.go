package api_test

import (
	"crypto/rand"
	"maps"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store/storetest"
)

// whileSuspended lists what each route of an org does while the org is suspended. It is written by hand. "narrows" means that
// the route can take rights away (TestASuspendedOrgAllowsOnlyNarrowerRights), but not give any. The word after it is for the body of
// the matrix: two of these bodies give rights.
var whileSuspended = map[string]string{
	"GET /v1/orgs/{orgId}":                                                   "reads",
	"PATCH /v1/orgs/{orgId}":                                                 "open",
	"DELETE /v1/orgs/{orgId}":                                                "open",
	"POST /v1/orgs/{orgId}/suspension":                                       "open",
	"DELETE /v1/orgs/{orgId}/suspension":                                     "open",
	"GET /v1/orgs/{orgId}/audit":                                             "reads",
	"GET /v1/orgs/{orgId}/members":                                           "reads",
	"POST /v1/orgs/{orgId}/members":                                          "closed",
	"PATCH /v1/orgs/{orgId}/members/{userId}":                                "narrows: closed",
	"DELETE /v1/orgs/{orgId}/members/{userId}":                               "open",
	"POST /v1/orgs/{orgId}/leave":                                            "open",
	"GET /v1/orgs/{orgId}/keys":                                              "reads",
	"POST /v1/orgs/{orgId}/keys":                                             "closed",
	"POST /v1/orgs/{orgId}/keys/import":                                      "closed",
	"PATCH /v1/orgs/{orgId}/keys/{keyId}":                                    "narrows: closed",
	"DELETE /v1/orgs/{orgId}/keys/{keyId}":                                   "open",
	"DELETE /v1/orgs/{orgId}/keys":                                           "open",
	"POST /v1/orgs/{orgId}/keys/{keyId}/rotate":                              "closed",
	"GET /v1/orgs/{orgId}/keys/{keyId}/usage":                                "reads",
	"GET /v1/orgs/{orgId}/usage":                                             "reads",
	"GET /v1/orgs/{orgId}/apps":                                              "reads",
	"POST /v1/orgs/{orgId}/apps":                                             "closed",
	"PATCH /v1/orgs/{orgId}/apps/{appId}":                                    "open",
	"GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                    "reads",
	"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                   "closed",
	"GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":       "reads",
	"PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":     "narrows: open",
	"DELETE /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":    "open",
	"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test": "closed",
	"GET /v1/orgs/{orgId}/apps/{appId}/webhook_events":                       "reads",
	"GET /v1/orgs/{orgId}/apps/{appId}/webhook_events/{eventId}":             "reads",
	"GET /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries":                   "reads",
	"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver":        "closed",
	"GET /v1/orgs/{orgId}/apps/{appId}/links":                                "reads",
	"DELETE /v1/orgs/{orgId}/apps/{appId}/links/{linkId}":                    "open",
	"POST /v1/orgs/{orgId}/apps/{appId}/events":                              "closed",
}

// suspend suspends the world's org.
func (w *world) suspend(t *testing.T) {
	t.Helper()
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/suspension", service(), ""), 200, "")
}

// TestEachRouteOfASuspendedOrgIsOpenOrClosed calls each route of an org as its admin, as a service and as an admin of another
// org.
func TestEachRouteOfASuspendedOrgIsOpenOrClosed(t *testing.T) {
	s, untested := newServer(t), maps.Clone(whileSuspended)
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com")
	suspended := func(t *testing.T) *world {
		suffix := strings.ToLower(rand.Text())
		w := newWorld(t, s, suffix)
		w.add(t, "deputy"+suffix+"@example.com", org.Admin)
		w.connect(t)
		w.suspend(t)
		return w
	}
	shared := suspended(t)
	for _, r := range route.All() {
		if r.Takes != principal.UserToken || !strings.Contains(r.Pattern, "{orgId}") {
			continue
		}
		effect, row := untested[r.Name()], good()[r.Name()]
		delete(untested, r.Name())
		t.Run(r.Name(), func(t *testing.T) {
			for _, caller := range []string{"admin", "service"} {
				w := shared
				if strings.Contains(effect, "open") {
					w = suspended(t)
				}
				as, status, code := w.actor(caller), row.status, problem.Code("")
				switch {
				case caller == "admin" && row.may == services || caller == "service" && strings.HasSuffix(r.Pattern, "/leave"):
					status, code = 403, problem.InsufficientRole
				case strings.Contains(effect, "closed"):
					status, code = 403, problem.OrgSuspended
				}
				w.want(t, w.request(r.Method, r.Pattern, user(w.outside), row.body), 404, problem.OrgNotFound)
				w.want(t, w.request(r.Method, r.Pattern, as, row.body), status, code)
			}
			want := map[string]route.Openness{"closed": route.Closed, "reads": route.Closed, "narrows": route.Narrows, "open": route.Open}
			if kind, _, _ := strings.Cut(effect, ":"); effect == "" || (effect == "reads") != (r.Method == "GET") || want[kind] != r.Suspended {
				t.Errorf("%q, but the table of routes has %d", effect, r.Suspended)
			}
		})
	}
	if len(untested) != 0 {
		t.Errorf("these routes do not exist: %v", untested)
	}
}

// TestASuspendedOrgAllowsOnlyNarrowerRights: rights can be taken away, but not given, also by a service.
func TestASuspendedOrgAllowsOnlyNarrowerRights(t *testing.T) {
	s := newServer(t)
	const member, key = "/v1/orgs/{orgId}/members/{userId}", "/v1/orgs/{orgId}/keys/{keyId}"
	const endpoint = "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}"
	for _, as := range []string{"admin", "service"} {
		w := newWorld(t, s, as)
		w.connect(t)
		w.want(t, w.request("PATCH", member, w.actor(as), `{"role":"admin"}`), 200, "")
		w.want(t, w.request("PATCH", key, w.actor(as), `{"scopes":["a","b"],"limits":[{"requests":5,"per":"day"}]}`), 200, "")
		w.want(t, w.request("PATCH", key, service(), `{"ceilings":[{"requests":5,"per":"hour"}]}`), 200, "")
		w.suspend(t)
		for _, c := range []struct {
			pattern, body string
			allowed       bool
		}{
			{member, `{"role":"admin"}`, true},
			{member, `{"role":"member"}`, true}, {member, `{"role":"member"}`, true}, {member, `{"role":"admin"}`, false},
			{member, `{"role":"viewer"}`, true}, {member, `{"role":"member"}`, false},
			{key, `{}`, true}, {key, `{"name":"New"}`, true}, {key, `{"metadata":{"a":"b"}}`, true},
			{key, `{"scopes":["a","b","c"]}`, false}, {key, `{"scopes":["a"]}`, true}, {key, `{"scopes":["b"]}`, false}, {key, `{"scopes":[]}`, true},
			{key, `{"limits":[{"requests":6,"per":"day"}]}`, false}, {key, `{"limits":[]}`, false}, {key, `{"name":"Newer","limits":[]}`, false},
			{key, `{"limits":[{"requests":4,"per":"day"}]}`, true}, {key, `{"limits":[{"requests":4,"per":"day"},{"requests":1,"per":"hour"}]}`, true},
			{endpoint, `{"enabled":false}`, true}, {endpoint, `{"enabled":false}`, true}, {endpoint, `{"enabled":true}`, false},
		} {
			status, code := 200, problem.Code("")
			if !c.allowed {
				status, code = 403, problem.OrgSuspended
			}
			w.want(t, w.request("PATCH", c.pattern, w.actor(as), c.body), status, code)
		}
		for _, body := range []string{`{"ceilings":[{"requests":9,"per":"hour"}]}`, `{"ceilings":[]}`} { // the owner may always set ceilings
			w.want(t, w.request("PATCH", key, service(), body), 200, "")
		}
		w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", service(), `{"allowance":[{"requests":5,"per":"day"}],"plan":"pro","externalId":"cus_`+as+`"}`), 200, "")
		w.want(t, w.request("DELETE", key+"?endpoints=disable&links=revoke", w.actor(as), ""), 204, "")
	}
}

// TestARetryFromBeforeASuspensionGetsItsAnswer. A request with another Idempotency-Key is refused.
func TestARetryFromBeforeASuspensionGetsItsAnswer(t *testing.T) {
	s, routes := newServer(t), 0
	s.NewUser(t, "spare@example.com")
	for name, effect := range whileSuspended {
		if effect != "closed" || strings.HasSuffix(name, "/redeliver") { // no answer of a redelivery is kept
			continue
		}
		routes++
		suffix := strings.ToLower(rand.Text())
		w := newWorld(t, s, suffix)
		w.connect(t)
		method, pattern, _ := strings.Cut(name, " ")
		once := w.request(method, pattern, service(), good()[name].body)
		first := w.retried(t, once, good()[name].status, "")
		w.suspend(t)
		if again := w.retried(t, once, good()[name].status, ""); again.text != first.text || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: %s, not %s", name, again.text, first.text)
		}
		once.header = map[string]string{"Idempotency-Key": "76543210-89ab-cdef-0123-456789abcdef"}
		once.body = strings.Replace(once.body, "spare@", "outside"+suffix+"@", 1) // spare is already a member
		w.want(t, once, 403, problem.OrgSuspended)
	}
	w := newWorld(t, s, "-enrols")
	enrols := w.request("POST", "/v1/orgs/{orgId}/members", service(), `{"subject":"zoe"}`)
	w.retried(t, enrols, 201, "")
	w.suspend(t)
	w.retried(t, enrols, 201, "")
	if routes != 8 {
		t.Errorf("%d routes", routes)
	}
}

// TestNoOneClaimsALinkOfASuspendedOrg. A device that claimed a link before gets its answer again.
func TestNoOneClaimsALinkOfASuspendedOrg(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	claim := func() request {
		token := w.want(t, w.request("POST", "/link/create", w.caller("key"), `{"clientUserId":"u"}`), 201, "").str("token")
		return request{method: "POST", path: "/link/claim", body: `{"token":"` + token + `","claimKey":"` + rand.Text() + `"}`}
	}
	claimed, pending := claim(), claim()
	w.want(t, claimed, 200, "")
	w.suspend(t)
	if again := w.want(t, claimed, 200, ""); again.body["replayed"] != true {
		t.Errorf("again: %s", again.text)
	}
	w.want(t, pending, 403, problem.OrgSuspended)
	w.want(t, w.request("DELETE", "/v1/orgs/{orgId}/suspension", service(), ""), 204, "")
	w.want(t, pending, 200, "")
}

// TestMembersSeeASuspensionAndItsReason: every member sees the suspension and the plan, and admins see the reason in the audit
// log.
func TestMembersSeeASuspensionAndItsReason(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	at := time.UnixMilli(1_800_000_000_000)
	w.Now = func() time.Time { return at }
	w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", service(), `{"plan":"pro","externalId":"cus_1"}`), 200, "")
	seen := func(since string) { // since: the time of the suspension; "": the org is not suspended
		t.Helper()
		for caller, query := range map[string]string{"admin": "", "member": "", "viewer": "", "service": "?externalId=cus_1"} {
			one := w.want(t, w.request("GET", "/v1/orgs/{orgId}", w.actor(caller), ""), 200, "")
			all := w.want(t, w.request("GET", "/v1/orgs"+query, w.actor(caller), ""), 200, "")
			for _, out := range []reply{one, all} {
				if _, at, _ := strings.Cut(out.text, `"suspendedAt":`); strings.TrimRight(at, "}]\n") != since {
					t.Errorf("%s sees %s", caller, out.text)
				}
			}
			if one.str("plan") != "pro" || strings.Contains(all.text, `"plan":"pro"`) != (caller == "service") {
				t.Errorf("%s sees %s and %s", caller, one.text, all.text)
			}
		}
	}
	at = at.Add(time.Second)
	suspension := w.request("POST", "/v1/orgs/{orgId}/suspension", service(), `{"reason":" \u0000Invoice 7 `+strings.Repeat("x", 200)+`"}`)
	suspension.header = map[string]string{"Latchkey-Reason": "Another", "Latchkey-Operator": "ada@owner.example"}
	w.want(t, suspension, 200, "")
	seen("1800000001000")
	at = at.Add(time.Second)
	w.want(t, suspension, 200, "")
	seen("1800000001000")
	at = at.Add(time.Second)
	suspension.method, suspension.body = "DELETE", ""
	w.want(t, suspension, 204, "")
	w.want(t, suspension, 204, "")
	seen("")
	entries := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=2", user(w.byRole[org.Admin]), ""), 200, "").list("entries")
	if reason := "Invoice 7 " + strings.Repeat("x", 190); entries[1]["action"] != "org.suspended" || entries[1]["reason"] != reason || entries[0]["action"] != "org.resumed" || entries[0]["reason"] != "Another" {
		t.Error(entries)
	}
	log := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=2", service(), ""), 200, "").list("entries")
	if log[0]["operator"] != "ada@owner.example" || log[1]["operator"] != "ada@owner.example" {
		t.Error(log)
	}
}

// TestDeliveriesGoOnInASuspendedOrg: events from before the suspension are sent, and tried again.
func TestDeliveriesGoOnInASuspendedOrg(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	app := id.DefaultApp(w.org)
	event := w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test", service(), ""), 200, "").str("eventId")
	w.suspend(t)
	queued, err := w.Deliveries().FanOut(t.Context(), app, id.Event(event))
	if err != nil || len(queued) != 1 {
		t.Fatalf("%v, %v", queued, err)
	}
	work, ok, err := w.Deliveries().Work(t.Context(), queued[0].DeliveryID)
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	if ok, err := w.Deliveries().LeaseAttempt(t.Context(), work, "jti"); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestASuspensionRightBeforeAWriteRefusesTheWrite, because the transaction checks it. Only a publication reads the state before
// its transaction.
func TestASuspensionRightBeforeAWriteRefusesTheWrite(t *testing.T) {
	s := newServer(t)
	s.NewUser(t, "spare@example.com")
	for name, effect := range whileSuspended {
		if effect == "open" || effect == "reads" || strings.HasSuffix(name, "/events") {
			continue
		}
		w := newWorld(t, s, strings.ToLower(rand.Text()))
		w.connect(t)
		body := good()[name].body
		if effect == "narrows: open" {
			w.want(t, w.request("PATCH", name[len("PATCH "):], service(), body), 200, "")
			body = `{"enabled":true}`
		}
		method, pattern, _ := strings.Cut(name, " ")
		w.Faults.Before("TransactWriteItems", func() { w.suspend(t) })
		if out := w.do(t, w.request(method, pattern, service(), body)); w.Faults.Pending() || out.code() != "org_suspended" {
			t.Errorf("%s: %d %s", name, out.status, out.text)
		}
	}
}

// TestARepeatedSuspensionFinishesAnInterruptedOne: the table fails while the keys get the state of the org. A resume can be
// repeated in the same way.
func TestARepeatedSuspensionFinishesAnInterruptedOne(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	for _, c := range []struct {
		method string
		done   int
		isHeld bool
	}{{"POST", 200, true}, {"DELETE", 204, false}} {
		sent := w.request(c.method, "/v1/orgs/{orgId}/suspension", service(), "")
		w.beforeTransaction(1, func() { w.Faults.Plan("TransactWriteItems", storetest.Throttle, 20) }) // the first transaction changes the org, the next ones its keys
		w.want(t, sent, 503, problem.Unavailable)
		w.Faults.Heal()
		isHeld := func() bool {
			k, _, err := w.APIKey(t.Context(), w.org, w.key)
			if err != nil {
				t.Fatal(err)
			}
			return k.Held
		}
		if isHeld() == c.isHeld {
			t.Errorf("%s: the fault came too late", c.method)
		}
		w.want(t, sent, c.done, "")
		if isHeld() != c.isHeld {
			t.Errorf("%s, sent again: %v", c.method, !c.isHeld)
		}
	}
	entries := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=2", service(), ""), 200, "").each("entries", "action")
	if len(entries) != 2 || entries[0] != "org.resumed" || entries[1] != "org.suspended" {
		t.Errorf("%q", entries)
	}
}

package api_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store/storetest"
)

// form is a body of a route. needsSignIn: the route requires a recent sign-in for this body.
type form struct {
	body        string
	needsSignIn bool
}

// forms returns bodies for each route of a user, by operation. They change the key and the endpoint of wideWorld. A request
// that gives more power needs a recent sign-in: power over the org, a key or more rights of a key, or a receiver of events. A
// request that takes something away, reads or renames does not.
func forms() map[string][]form {
	const narrow, wide = false, true // a wide request gives more power
	plain := map[string]bool{        // the row of good() is the only form
		"listOrgs": narrow, "createOrg": narrow, "getOrg": narrow, "updateOrg": narrow, "deleteOrg": wide, "listAudit": narrow,
		"listMembers": narrow, "removeMember": narrow, "leaveOrg": narrow, "signOutMe": narrow,
		"listKeys": narrow, "createKey": wide, "revokeKey": narrow, "revokeKeysOf": narrow, "getKeyUsage": narrow, "getUsage": narrow,
		"listApps": narrow, "createApp": narrow, "updateApp": narrow,
		"listAppWebhookEndpoints": narrow, "createAppWebhookEndpoint": wide, "getAppWebhookEndpoint": narrow, "deleteAppWebhookEndpoint": narrow,
		"testAppWebhookEndpoint": narrow, "listAppWebhookEvents": narrow, "getAppWebhookEvent": narrow, "listAppWebhookDeliveries": narrow,
		"redeliverAppWebhooks": narrow, "listAppLinks": narrow, "revokeAppLink": narrow,
	}
	out := map[string][]form{
		"addMember": {
			{`{"email":"spare@example.com"}`, narrow}, {`{"email":"spare@example.com","role":"viewer"}`, narrow},
			{`{"email":"spare@example.com","role":"admin"}`, wide},
		},
		"updateMember":             {{`{"role":"viewer"}`, narrow}, {`{"role":"member"}`, narrow}, {`{"role":"admin"}`, wide}},
		"rotateKey":                {{`{"graceSeconds":0}`, wide}, {`{"graceSeconds":0,"scopes":[]}`, wide}, {`{"graceSeconds":60,"limits":[],"expiresIn":60}`, wide}},
		"enableAppWebhookEndpoint": {{`{"enabled":false}`, narrow}, {`{"enabled":true}`, wide}},
		"updateKey": {
			{`{}`, narrow}, {`{"name":"n","metadata":{"plan":"pro"}}`, narrow}, {`{"scopes":null,"limits":null}`, narrow},
			{`{"scopes":["b","a"]}`, narrow}, {`{"scopes":["a"]}`, narrow}, {`{"scopes":[]}`, narrow},
			{`{"scopes":["a","b","c"]}`, wide}, {`{"scopes":["c"]}`, wide}, {`{"scopes":["a:b"]}`, wide},
			{`{"limits":[]}`, wide}, {`{"scopes":[],"limits":[]}`, wide}, {`{"name":"n","limits":[]}`, wide},
			{limited("100/minute", "1000/day"), narrow}, {limited("99/minute", "1/day"), narrow}, {limited("100/minute", "1000/day", "1/month"), narrow},
			{limited("101/minute", "1000/day"), wide}, {limited("100/minute", "1001/day"), wide}, {limited("1/minute", "1001/day"), wide},
			{limited("100/minute"), wide}, {limited("1000/day"), wide}, {limited("100/minute", "1000/month"), wide}, {limited("100/month"), wide},
			{limited("100/minute", "1/hour"), wide}, {limited("1/hour", "1000/day"), wide}, {limited("1/day"), wide}, {limited("1/minute"), wide},
			{limited("100/minute", "1/hour", "1000/day"), narrow}, {limited("1/minute", "1000/day", "1000000000/month"), narrow},
			{`{"name":"n","scopes":["a"],"limits":[{"requests":1,"per":"month"}]}`, wide},
		},
	}
	for operation, needsSignIn := range plain {
		for _, r := range route.All() {
			if r.Operation == operation {
				out[operation] = []form{{good()[r.Name()].body, needsSignIn}}
			}
		}
	}
	return out
}

// limited returns a body with limits. Each argument is a limit such as "100/minute".
func limited(limits ...string) string {
	var parts []string
	for _, l := range limits {
		n, per, _ := strings.Cut(l, "/")
		parts = append(parts, `{"requests":`+n+`,"per":"`+per+`"}`)
	}
	return `{"limits":[` + strings.Join(parts, ",") + `]}`
}

// wideWorld returns a world with a second admin, a disabled endpoint, and a key with two scopes and two limits.
func wideWorld(t *testing.T, s *server) *world {
	t.Helper()
	w := newWorld(t, s, strings.ToLower(rand.Text()))
	w.add(t, "deputy"+strings.ToLower(rand.Text())+"@example.com", org.Admin) // so that the admin can leave
	w.connect(t)
	w.want(t, w.request("POST", "/webhook_endpoint/update", w.caller("key"), `{"endpointId":"{endpointId}","enabled":false}`), 200, "")
	for _, body := range []string{`{"scopes":["a","b"]}`, limited("100/minute", "1000/day")} {
		w.want(t, w.request("PATCH", keyPath, w.caller("admin"), body), 200, "")
	}
	return w
}

// TestRequestsThatGivePowerNeedARecentSignIn sends every form of every route of a user, as an admin. The sign-in was too long
// ago, lies in the future, is not known, or is recent enough. Other forms succeed without a known sign-in.
func TestRequestsThatGivePowerNeedARecentSignIn(t *testing.T) {
	const maxAge = time.Hour
	s, all := newServerFor(t, settings{maxAuthAge: maxAge}), forms()
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com") // addMember adds this user
	for _, r := range route.All() {
		if r.Takes != principal.UserToken || r.May == route.ServicesOnly { // services do not sign in
			continue
		}
		if all[r.Operation] == nil {
			t.Errorf("%s has no form", r.Operation)
		}
		for _, f := range all[r.Operation] {
			w := wideWorld(t, s)
			admin, now := w.caller("admin"), time.Now() // read for each form: "in the future" must still be in the future
			for what, at := range map[string]int64{"not known": 0, "long ago": now.Add(-maxAge - time.Minute).Unix(), "in the future": now.Add(time.Minute).Unix()} {
				if !f.needsSignIn {
					continue
				}
				admin.SignedInAt = at
				out := s.want(t, w.request(r.Method, r.Pattern, admin, f.body), 401, problem.InsufficientUserAuthentication)
				if got := out.header.Get("WWW-Authenticate"); got != `Bearer error="insufficient_user_authentication", max_age="3600"` || !strings.Contains(out.text, `"maxAge":3600`) {
					t.Errorf("%s, %s: %s, %s", r.Name(), what, got, out.text)
				}
			}
			admin.SignedInAt = 0
			if f.needsSignIn {
				admin.SignedInAt = now.Add(-maxAge + time.Minute).Unix()
			}
			if out := s.do(t, w.request(r.Method, r.Pattern, admin, f.body)); out.status >= 300 {
				t.Errorf("%s %s: %d %s", r.Name(), f.body, out.status, out.text)
			}
		}
	}
}

// TestAnInterruptedDeletionCanBeRepeated: DynamoDB refuses every try of the deletion's second transaction. The answer is 503,
// and a repeated request gets 204.
func TestAnInterruptedDeletionCanBeRepeated(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	send := func(status int, code problem.Code) reply {
		t.Helper()
		return w.want(t, w.request("DELETE", "/v1/orgs/{orgId}", ada, ""), status, code)
	}
	w.beforeTransaction(1, func() { w.Faults.Plan("TransactWriteItems", storetest.Conflict, -1) })
	if r := send(503, problem.Unavailable); r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
	}
	w.Faults.Heal()
	if l := w.want(t, w.request("GET", "/v1/orgs", ada, ""), 200, ""); len(l.body["orgs"].([]any)) != 1 {
		t.Errorf("the admin who can repeat the deletion sees no org: %s", l.text)
	}
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", ada, `{}`), 404, problem.OrgNotFound)
	send(204, "")
	send(404, problem.OrgNotFound)
	for role, u := range w.byRole {
		if l := w.want(t, w.request("GET", "/v1/orgs", user(u), ""), 200, ""); len(l.body["orgs"].([]any)) != 0 {
			t.Errorf("the %s sees %s", role, l.text)
		}
	}
	w.want(t, request{as: w.caller("key"), method: "POST", path: "/app/get", body: `{}`}, 404, problem.KeyNotFound)
}

// TestANewWindowDoesNotBypassASpentLimit: an admin with an old sign-in cannot replace the spent limit of a day by a limit of
// another window.
func TestANewWindowDoesNotBypassASpentLimit(t *testing.T) {
	s := newServerFor(t, settings{maxAuthAge: time.Hour})
	w := newWorld(t, s, "")
	admin := w.caller("admin")
	admin.SignedInAt = time.Now().Unix()
	w.want(t, w.request("PATCH", keyPath, admin, limited("3/day")), 200, "")
	admin.SignedInAt = 0
	for _, limits := range [][]string{{"3/month"}, {"1/hour"}, {"1/minute"}, {"1/minute", "1/hour", "1/month"}, {"4/day", "1/month"}} {
		w.want(t, w.request("PATCH", keyPath, admin, limited(limits...)), 401, problem.InsufficientUserAuthentication)
	}
	w.want(t, w.request("PATCH", keyPath, admin, limited("3/day", "3/month")), 200, "")
	w.want(t, w.request("PATCH", keyPath, admin, limited("3/month")), 401, problem.InsufficientUserAuthentication)
	w.want(t, w.request("PATCH", keyPath, service(), limited("3/month")), 200, "") // services do not sign in
}

// TestCallersWithoutTheRoleAreNotSentToSignIn, because a new sign-in would not give them the role.
func TestCallersWithoutTheRoleAreNotSentToSignIn(t *testing.T) {
	s, all, checked := newServerFor(t, settings{maxAuthAge: time.Hour}), forms(), 0
	w := wideWorld(t, s)
	for _, r := range route.All() {
		for _, f := range all[r.Operation] {
			if !f.needsSignIn {
				continue
			}
			checked++
			for caller, want := range map[string]problem.Code{
				"member": problem.InsufficientRole, "viewer": problem.InsufficientRole, "admin of another org": problem.OrgNotFound, "no member": problem.OrgNotFound,
			} {
				as := w.caller(caller)
				as.SignedInAt = 0
				w.want(t, w.request(r.Method, r.Pattern, as, f.body), want.Status(), want)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d forms need a recent sign-in", checked)
	}
}

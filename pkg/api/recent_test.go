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

// TestWhatCannotBeUndoneNeedsARecentSignIn calls every route of a user, as an admin whose sign-in was too long ago, is
// recent, or is not known. No route that only takes a right away may need a recent sign-in.
func TestWhatCannotBeUndoneNeedsARecentSignIn(t *testing.T) {
	const maxAge = time.Hour
	s := newServerFor(t, settings{maxAuthAge: maxAge})
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com") // addMember adds this user
	needs := map[string]bool{"deleteOrg": true, "createKey": true, "rotateKey": true, "createAppWebhookEndpoint": true}
	now := time.Now()
	for _, r := range route.All() {
		if r.Takes != principal.UserToken || r.May == route.ServicesOnly { // no one signs in as a service
			continue
		}
		bodies := map[string]bool{good()[r.Name()].body: needs[r.Operation]} // whether each needs a recent sign-in
		switch r.Operation {
		case "addMember":
			bodies[`{"email":"spare@example.com","role":"admin"}`] = true
		case "updateMember":
			bodies[`{"role":"admin"}`] = true
		}
		for body, needed := range bodies {
			w := newWorld(t, s, strings.ToLower(rand.Text()))
			w.add(t, "deputy"+strings.ToLower(rand.Text())+"@example.com", org.Admin) // so that the admin may leave
			if strings.Contains(r.Pattern, "/webhook_") || strings.Contains(r.Pattern, "/links") {
				w.connect(t)
			}
			for what, at := range map[string]int64{"not known": 0, "long ago": now.Add(-maxAge - time.Minute).Unix(), "to come": now.Add(time.Minute).Unix()} {
				if !needed {
					continue
				}
				admin := w.caller("admin")
				admin.SignedInAt = at
				out := s.want(t, w.request(r.Method, r.Pattern, admin, body), 401, problem.InsufficientUserAuthentication)
				if got := out.header.Get("WWW-Authenticate"); got != `Bearer error="insufficient_user_authentication", max_age="3600"` || !strings.Contains(out.text, `"maxAge":3600`) {
					t.Errorf("%s, %s: %s, %s", r.Name(), what, got, out.text)
				}
			}
			admin := w.caller("admin")
			admin.SignedInAt = 0
			if needed {
				admin.SignedInAt = now.Add(-maxAge + time.Minute).Unix()
			}
			if out := s.do(t, w.request(r.Method, r.Pattern, admin, body)); out.status >= 300 {
				t.Errorf("%s %s: %d %s", r.Name(), body, out.status, out.text)
			}
		}
	}
}

// TestADeletionCutShortIs503AndItsRepetition204 makes the database refuse every try of the
// deletion's second transaction.
func TestADeletionCutShortIs503AndItsRepetition204(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	ask := func(status int, code problem.Code) reply {
		t.Helper()
		return w.want(t, w.request("DELETE", "/v1/orgs/{orgId}", ada, ""), status, code)
	}
	w.beforeTransaction(1, func() { w.Faults.Plan("TransactWriteItems", storetest.Conflict, -1) })
	if r := ask(503, problem.Unavailable); r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
	}
	w.Faults.Heal()
	if l := w.want(t, w.request("GET", "/v1/orgs", ada, ""), 200, ""); len(l.body["orgs"].([]any)) != 1 {
		t.Errorf("the admin who can repeat the deletion sees no org: %s", l.text)
	}
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", ada, `{}`), 404, problem.OrgNotFound)
	ask(204, "")
	ask(404, problem.OrgNotFound)
	for role, u := range w.byRole {
		if l := w.want(t, w.request("GET", "/v1/orgs", user(u), ""), 200, ""); len(l.body["orgs"].([]any)) != 0 {
			t.Errorf("the %s sees %s", role, l.text)
		}
	}
	w.want(t, request{as: w.caller("key"), method: "POST", path: "/app/get", body: `{}`}, 404, problem.KeyNotFound)
}

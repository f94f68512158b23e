package api_test

import (
	"testing"

	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
)

// TestADeletionCutShortIs503AndItsRepetition204 makes the database refuse every try of the
// deletion's second transaction.
func TestADeletionCutShortIs503AndItsRepetition204(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	ask := func(status int, code problem.Code) reply {
		t.Helper()
		return w.want(t, w.request("DELETE", "/v1/orgs/{orgId}", ada, ""), status, code)
	}
	w.Faults.Before("TransactWriteItems", func() {})
	w.Faults.Before("TransactWriteItems", func() { w.Faults.Plan("TransactWriteItems", storetest.Conflict, -1) })
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

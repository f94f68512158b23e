package api_test

import (
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// TestRevokingAKeyTakesItsLinksToo: the links that it made, and no other. Both parameters go together.
func TestRevokingAKeyTakesItsLinksToo(t *testing.T) {
	w := newThief(t)
	link := func(as string) (id, token string) {
		t.Helper()
		by := w.stolen
		if as == "honest" {
			by = w.honest
		}
		r := w.want(t, w.request("POST", "/link/create", by, `{"clientUserId":"u"}`), 201, "")
		return r.str("id"), r.str("token")
	}
	claim := func(token string, status int, code problem.Code) {
		t.Helper()
		w.want(t, w.request("POST", "/link/claim", nil, `{"token":"`+token+`","claimKey":"0123456789012345678901"}`), status, code)
	}
	ours, good := link("honest")
	theirs, bad := link("stolen")
	for l, key := range map[string]id.Key{ours: w.honest.KeyID, theirs: w.stolen.KeyID} {
		if r := w.want(t, w.request("POST", "/link/get", w.honest, `{"linkId":"`+l+`"}`), 200, ""); r.str("createdByKey") != string(key) {
			t.Errorf("%s", r.text)
		}
	}
	h := w.create(t, w.stolen)
	w.revoke(t, "?endpoints=disable", 204, "")
	claimed, _ := link("honest")
	w.revoke(t, "?links=revoke&endpoints=disable", 204, "")
	claim(bad, 410, problem.LinkRevoked)
	claim(good, 200, "")
	if got := w.reasons(t)[h]; got != "admin" {
		t.Errorf("the endpoint is disabled by %v", got)
	}
	if r := w.want(t, w.request("POST", "/link/list", w.honest, `{}`), 200, ""); len(r.list("links")) != 3 || r.list("links")[0]["id"] != claimed {
		t.Errorf("%s", r.text)
	}
}

// TestKeysAreListedForWhoMadeThem: for an admin who looks at what a member who left has made.
func TestKeysAreListedForWhoMadeThem(t *testing.T) {
	s := newServer(t)
	w := newWorld(t, s, "x")
	ada := w.byRole[org.Admin]
	list := func(query string, status int, code problem.Code) reply {
		t.Helper()
		return w.want(t, w.request("GET", "/v1/orgs/{orgId}/keys"+query, user(ada), ""), status, code)
	}
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", user(ada), `{}`), 201, "")
	all := list("", 200, "").list("keys")
	for _, k := range all {
		if k["createdBy"] != string(ada) {
			t.Errorf("%v", k)
		}
	}
	if got := list("?createdBy="+string(ada), 200, "").list("keys"); len(got) != len(all) || len(all) == 0 {
		t.Errorf("%d of %d", len(got), len(all))
	}
	if got := list("?limit=1&createdBy="+string(w.outside), 200, ""); len(got.list("keys")) != 0 || got.str("nextCursor") != "" {
		t.Errorf("%s", got.text)
	}
	for _, none := range []string{"", "x", string(w.org)} { // as an id that no one has
		if got := list("?createdBy="+none, 200, "").list("keys"); len(got) != 0 {
			t.Errorf("%q: %v", none, got)
		}
	}
	list("?createdBy="+string(ada)+"&createdBy="+string(ada), 422, problem.ValidationFailed)
}

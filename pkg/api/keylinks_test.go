package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
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

// TestAPageOfOneCreatorsKeysMissesNone: keys of others lie between them, before them and behind them.
func TestAPageOfOneCreatorsKeysMissesNone(t *testing.T) {
	s := newServer(t)
	w := newWorld(t, s, "")
	ada, eve := w.byRole[org.Admin], s.NewUser(t, "eve@example.com")
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", user(ada), `{"email":"eve@example.com","role":"admin"}`), 201, "")
	now := w.Now()
	w.Now = func() time.Time { return now }
	var want []string
	for _, maker := range "aeeaeaaeeea" {
		as := map[rune]*principal.Principal{'a': user(ada), 'e': user(eve)}[maker]
		if made := w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", as, `{}`), 201, "").str("id"); maker == 'e' {
			want = append(want, made)
		}
		now = now.Add(time.Second)
	}
	slices.Reverse(want) // the newest come first
	for limit := range 8 {
		var got []string
		query := fmt.Sprintf("?createdBy=%s&limit=%d", eve, limit+1)
		for page, cursor := 0, ""; page == 0 || cursor != ""; page++ {
			r := w.want(t, w.request("GET", "/v1/orgs/{orgId}/keys"+query+cursor, user(ada), ""), 200, "")
			for _, k := range r.list("keys") {
				id, _ := k["id"].(string)
				got = append(got, id)
			}
			if cursor = r.str("nextCursor"); cursor != "" {
				cursor = "&cursor=" + cursor
			}
			if page > 20 {
				t.Fatal("the pages do not end")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: %v, want %v", limit+1, got, want)
		}
	}
}

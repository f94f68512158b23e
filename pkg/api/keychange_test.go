package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

const (
	keysPath   = "/v1/orgs/{orgId}/keys"
	keyPath    = "/v1/orgs/{orgId}/keys/{keyId}"
	rotatePath = "/v1/orgs/{orgId}/keys/{keyId}/rotate"
)

// scopesAndMetadata returns the scopes and the metadata of a key, as text.
func scopesAndMetadata(t *testing.T, key any) string {
	t.Helper()
	k, _ := key.(map[string]any)
	out, err := json.Marshal([]any{k["scopes"], k["metadata"]})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestEachAnswerShowsScopesAndMetadataOfAKey: the list, /app/get and the answer to a change.
func TestEachAnswerShowsScopesAndMetadataOfAKey(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	// checkShown checks the scopes and metadata of w.key in the list and in /app/get.
	checkShown := func(what, want string) {
		t.Helper()
		all := w.want(t, w.request("GET", keysPath, ada, ""), 200, "").list("keys")
		at := slices.IndexFunc(all, func(k map[string]any) bool { return k["id"] == string(w.key) })
		self := w.want(t, w.request("POST", "/app/get", w.caller("key"), `{}`), 200, "")
		if listed, byKey := scopesAndMetadata(t, all[at]), scopesAndMetadata(t, self.body["key"]); listed != want || byKey != want {
			t.Errorf("%s: listed %s, /app/get %s, want %s", what, listed, byKey, want)
		}
	}
	// change changes w.key, and checks its new scopes and metadata in each answer.
	change := func(body, want string) {
		t.Helper()
		if got := scopesAndMetadata(t, w.want(t, w.request("PATCH", keyPath, ada, body), 200, "").body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		checkShown(body, want)
	}
	checkShown("without scopes", `[[],{}]`)
	made := w.want(t, w.request("POST", keysPath, ada, `{"scopes":["b:write","a","b:write"],"metadata":{"plan":"pro","":""}}`), 201, "")
	if len(made.body) != 4 { // id, key, prefix and expiresAt
		t.Errorf("the answer of a creation: %s", made.text)
	}
	w.key = id.Key(made.str("id"))
	const all = `[["a","b:write"],{"":"","plan":"pro"}]`
	checkShown("created", all)
	change(`{}`, all)
	change(`{"name":null,"scopes":null,"metadata":null}`, all)
	change(`{"scopes":["c","a"]}`, `[["a","c"],{"":"","plan":"pro"}]`)
	change(`{"metadata":{"plan":"free"}}`, `[["a","c"],{"plan":"free"}]`)
	// rotate rotates w.key, and sets w.key to the new key.
	rotate := func(body, want string) {
		t.Helper()
		old := w.key
		w.key = id.Key(w.want(t, w.request("POST", rotatePath, ada, body), 201, "").str("id"))
		checkShown(body, want)
		successor := map[any]any{string(old): string(w.key), string(w.key): nil}
		for _, k := range w.want(t, w.request("GET", keysPath, ada, ""), 200, "").list("keys") {
			if next, ok := successor[k["id"]]; ok && k["rotatedTo"] != next {
				t.Errorf("%s: %v is rotated to %v, want %v", body, k["id"], k["rotatedTo"], next)
			}
		}
	}
	rotate(`{"graceSeconds":60}`, `[["a","c"],{"plan":"free"}]`)
	rotate(`{"graceSeconds":0,"scopes":["a"],"metadata":null}`, `[["a"],{"plan":"free"}]`)
	rotate(`{"graceSeconds":0,"scopes":null,"metadata":{}}`, `[["a"],{}]`)
	change(`{"scopes":[],"name":"bare"}`, `[[],{}]`)
}

// TestEachRouteChecksScopesMetadataAndLimits sends each bad value to each route that accepts the member.
func TestEachRouteChecksScopesMetadataAndLimits(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	// list returns n scopes. The first 32 differ from each other.
	list := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"s%d"`, i%32))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	// metadata returns metadata of n bytes.
	metadata := func(n int) string { return `{"x":"` + strings.Repeat("&", n-len(`{"x":""}`)) + `"}` }
	before := len(w.Rows(t))
	for members, pointer := range map[string]string{
		`"scopes":` + list(33): "/scopes", `"scopes":"a"`: "/scopes", `"scopes":{}`: "/scopes", `"scopes":[1]`: "/scopes/0",
		`"scopes":["a b"]`: "/scopes/0", `"scopes":["a","B"]`: "/scopes/1", `"scopes":[""]`: "/scopes/0", `"scopes":[null]`: "/scopes/0",
		`"scopes":["latchkey.keys"]`: "/scopes/0", `"scopes":["a","` + strings.Repeat("x", 65) + `"]`: "/scopes/1",
		`"metadata":` + metadata(1025): "/metadata", `"metadata":[]`: "/metadata", `"metadata":"x"`: "/metadata",
		`"metadata":{"x":1}`: "/metadata/x", `"metadata":{"x":null}`: "/metadata/x", `"metadata":{"a":"b","x":{"y":"z"}}`: "/metadata/x",
		`"metadata":{"a/b~":true}`: "/metadata/a~1b~0", `"metadata":{"":[]}`: "/metadata/",
		`"limits":{}`: "/limits", `"limits":[{"per":"day"}]`: "/limits/0/requests", `"limits":[{"requests":1}]`: "/limits/0/per",
		`"limits":[{"requests":0,"per":"day"}]`: "/limits/0/requests", `"limits":[{"requests":1000000001,"per":"day"}]`: "/limits/0/requests",
		`"limits":[{"requests":1.5,"per":"day"}]`: "/limits/0/requests", `"limits":[{"requests":1,"per":"Day"}]`: "/limits/0/per",
		`"limits":[{"requests":1,"per":"day"},{"requests":2,"per":"day"}]`:                                                             "/limits/1/per",
		`"limits":[{"requests":1,"per":"minute"},{"requests":1,"per":"hour"},{"requests":1,"per":"day"},{"requests":1,"per":"month"}]`: "/limits",
	} {
		for _, r := range []request{
			w.request("POST", keysPath, ada, `{`+members+`}`), w.request("PATCH", keyPath, ada, `{`+members+`}`),
			w.request("POST", rotatePath, ada, `{"graceSeconds":0,`+members+`}`),
		} {
			if out := w.want(t, r, 422, problem.ValidationFailed); !strings.Contains(out.text, `"pointer":"`+pointer+`"`) {
				t.Errorf("%s %.60s: no pointer %s in %s", r.method, members, pointer, out.text)
			}
		}
	}
	w.want(t, w.request("PATCH", keyPath, ada, `{"name":""}`), 422, problem.ValidationFailed)
	w.want(t, w.request("PATCH", keyPath, ada, `{"metadata":{"x":"a","x":"b"}}`), 400, problem.InvalidJSON)
	w.want(t, w.request("PATCH", keyPath, ada, `{"expiresIn":1}`), 400, problem.InvalidJSON)
	if after := len(w.Rows(t)); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
	w.want(t, w.request("PATCH", keyPath, ada, `{"scopes":`+list(32)+`,"metadata":`+metadata(1024)+`}`), 200, "")
}

// TestAChangeOfAKeyAppliesToItsNextRequest. A revoked key cannot be changed.
func TestAChangeOfAKeyAppliesToItsNextRequest(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada, key := user(w.byRole[org.Admin]), w.caller("key")
	self := func(as *principal.Principal) string {
		t.Helper()
		return scopesAndMetadata(t, w.want(t, request{as: as, method: "POST", path: "/app/get", body: `{}`}, 200, "").body["key"])
	}
	for i := range 20 {
		want := fmt.Sprintf(`[["s%d"],{}]`, i)
		w.want(t, w.request("PATCH", keyPath, ada, fmt.Sprintf(`{"scopes":["s%d"]}`, i)), 200, "")
		if got := self(key); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	w.want(t, w.request("DELETE", keyPath, ada, ""), 204, "")
	w.want(t, w.request("PATCH", keyPath, ada, `{"scopes":["a"]}`), 409, problem.KeyNotActive)
}

// changeScopesAndMetadata changes the scopes and the metadata of a key, first by updates and then by a rotation.
func (a *auditedOrg) changeScopesAndMetadata(t *testing.T, base string, rotate func(k, body string) string) {
	t.Helper()
	k := a.send(t, request{method: "POST", path: base, body: `{"scopes":["b","a"],"metadata":{"x":"1"}}`}).str("id")
	a.expect("key.created", k, `{"appId":{"from":null,"to":"`+string(id.DefaultApp(a.org))+`"},"expiresAt":{"from":null,"to":null},`+
		`"metadata":{"from":null,"to":{"x":"1"}},"name":{"from":null,"to":""},"scopes":{"from":null,"to":["a","b"]}}`)
	change := func(body, changes string) {
		t.Helper()
		r := request{method: "PATCH", path: base + "/" + k, body: body}
		a.sendAndExpect(t, r, "key.updated", k, changes)
		a.send(t, r) // changes nothing
	}
	change(`{"scopes":["a"],"metadata":{"x":"1"}}`, `{"scopes":{"from":["a","b"],"to":["a"]}}`)
	change(`{"name":"x","metadata":{"x":"2"}}`, `{"metadata":{"from":{"x":"1"},"to":{"x":"2"}},"name":{"from":"","to":"x"}}`)
	change(`{"scopes":[],"metadata":{}}`, `{"metadata":{"from":{"x":"2"},"to":null},"scopes":{"from":["a"],"to":null}}`)
	to := rotate(k, `{"graceSeconds":0,"scopes":["all"]}`)
	a.expect("key.rotated", k, `{"expiresAt":{"from":null,"to":%d},"rotatedTo":{"from":null,"to":"`+to+`"},"scopes":{"from":null,"to":["all"]}}`)
}

// TestRevokingAKeyCanRevokeItsLinks: links=revoke ends the links that the key created, and no other link. The request can have
// endpoints=disable too.
func TestRevokingAKeyCanRevokeItsLinks(t *testing.T) {
	w := newAppWithStolenKey(t)
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
	last, _ := link("honest")
	w.revoke(t, "?links=revoke&endpoints=disable", 204, "")
	claim(bad, 410, problem.LinkRevoked)
	claim(good, 200, "")
	if got := w.reasons(t)[h]; got != "admin" {
		t.Errorf("the endpoint is disabled by %v", got)
	}
	if r := w.want(t, w.request("POST", "/link/list", w.honest, `{}`), 200, ""); len(r.list("links")) != 3 || r.list("links")[0]["id"] != last {
		t.Errorf("%s", r.text)
	}
}

// TestKeysCanBeListedByCreator: an admin lists the keys that one user created, for example a member who has left.
func TestKeysCanBeListedByCreator(t *testing.T) {
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
	for _, none := range []string{"", "x", string(w.org)} { // not the id of a user
		list("?createdBy="+none, 422, problem.ValidationFailed)
	}
	list("?createdBy="+string(ada)+"&createdBy="+string(ada), 422, problem.ValidationFailed)
}

// TestKeysCanBeRevokedByCreator: an admin has removed a member. A service then revokes all keys that the member created, and
// gives a reason.
func TestKeysCanBeRevokedByCreator(t *testing.T) {
	s := newServer(t)
	w := newWorld(t, s, "x")
	ada, eve := w.byRole[org.Admin], w.add(t, "eve@example.com", org.Admin)
	send := func(as *principal.Principal, query string, status int, code problem.Code) reply {
		t.Helper()
		in := w.request("DELETE", "/v1/orgs/{orgId}/keys"+query, as, "")
		in.header = map[string]string{"Latchkey-Reason": "left"}
		return w.want(t, in, status, code)
	}
	made := w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", user(eve), `{}`), 201, "").str("id")
	w.want(t, w.request("DELETE", "/v1/orgs/{orgId}/members/"+string(eve), user(ada), ""), 204, "")
	if out := send(user(ada), "", 400, problem.MissingParameter); out.str("detail") != "Send the parameter createdBy. It is the id of the user who created the API keys to revoke." {
		t.Errorf("%s", out.text)
	}
	for _, none := range []string{"", "x", string(w.org), string(eve) + "&createdBy=" + string(eve)} {
		send(user(ada), "?createdBy="+none, 422, problem.ValidationFailed)
	}
	send(user(ada), "?createdBy="+string(eve)+"&links=revoke", 400, problem.UnknownParameter)
	send(user(eve), "?createdBy="+string(eve), 404, problem.OrgNotFound)
	send(user(ada), "?createdBy="+string(id.NoUser), 204, "")
	send(user(ada), "?createdBy=usr_7zzzzzzzzzzzzzzzzzzzzzzzzz", 204, "")
	send(service(), "?createdBy="+string(eve), 204, "")
	for _, k := range w.want(t, w.request("GET", "/v1/orgs/{orgId}/keys", user(ada), ""), 200, "").list("keys") {
		if k["id"] == made != (k["revokedAt"] != nil) {
			t.Errorf("%v", k)
		}
	}
	newest := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=1", user(ada), ""), 200, "").list("entries")[0]
	if newest["action"] != "key.revoked" || newest["reason"] != "left" || newest["target"].(map[string]any)["id"] != made {
		t.Errorf("%v", newest)
	}
}

// TestPagesOfOneCreatorsKeysAreComplete: other creators' keys come before, between and after them.
func TestPagesOfOneCreatorsKeysAreComplete(t *testing.T) {
	s := newServer(t)
	w := newWorld(t, s, "")
	ada, eve := w.byRole[org.Admin], s.NewUser(t, "eve@example.com")
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", user(ada), `{"email":"eve@example.com","role":"admin"}`), 201, "")
	now := w.Now()
	w.Now = func() time.Time { return now }
	var want []string
	for _, creator := range "aeeaeaaeeea" { // a: ada, e: eve
		as := map[rune]*principal.Principal{'a': user(ada), 'e': user(eve)}[creator]
		made := w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", as, `{}`), 201, "").str("id")
		if creator == 'e' {
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
			t.Errorf("pages of %d: %v, want %v", limit+1, got, want)
		}
	}
}

// TestAdminsSetLimitsAndServicesSetCeilings: services can also set limits, and admins see the ceilings.
func TestAdminsSetLimitsAndServicesSetCeilings(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	limits := func(key any) string {
		k, _ := key.(map[string]any)
		return fmt.Sprint(k["limits"], k["ceilings"])
	}
	for _, c := range []struct {
		by         *principal.Principal
		body, want string
	}{
		{ada, `{}`, "[] []"},
		{ada, `{"limits":[{"requests":10000,"per":"day"},{"requests":100,"per":"minute"}]}`, "[map[per:minute requests:100] map[per:day requests:10000]] []"},
		{service(), `{"ceilings":[{"requests":1000000000,"per":"month"}]}`, "[map[per:minute requests:100] map[per:day requests:10000]] [map[per:month requests:1000000000]]"},
		{ada, `{"limits":[{"requests":1,"per":"hour"}]}`, "[map[per:hour requests:1]] [map[per:month requests:1000000000]]"},
		{service(), `{"limits":[],"ceilings":null}`, "[] [map[per:month requests:1000000000]]"},
	} {
		changed := w.want(t, w.request("PATCH", keyPath, c.by, c.body), 200, "")
		listed := w.want(t, w.request("GET", keysPath, ada, ""), 200, "").list("keys")
		if at := slices.IndexFunc(listed, func(k map[string]any) bool { return k["id"] == string(w.key) }); limits(changed.body) != c.want || limits(listed[at]) != c.want {
			t.Errorf("%s: %s, listed %s", c.body, limits(changed.body), limits(listed[at]))
		}
	}
	for _, body := range []string{`"ceilings":[]`, `"ceilings":[{"requests":1,"per":"day"}]`} {
		w.want(t, w.request("PATCH", keyPath, ada, `{`+body+`}`), 403, problem.InsufficientRole)
		w.want(t, w.request("POST", keysPath, ada, `{`+body+`}`), 403, problem.InsufficientRole)
		w.want(t, w.request("POST", rotatePath, ada, `{"graceSeconds":0,`+body+`}`), 403, problem.InsufficientRole)
	}
	id := w.want(t, w.request("POST", rotatePath, ada, `{"graceSeconds":0,"limits":[{"requests":2,"per":"hour"}]}`), 201, "").str("id")
	for _, k := range w.want(t, w.request("GET", keysPath, ada, ""), 200, "").list("keys") {
		if k["id"] == id && limits(k) != "[map[per:hour requests:2]] [map[per:month requests:1000000000]]" {
			t.Errorf("rotated: %s", limits(k))
		}
	}
}

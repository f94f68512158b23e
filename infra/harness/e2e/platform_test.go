package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// anOrg makes, lists, renames and reads an org, and reads its audit log.
func anOrg(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	if r := ada.want(t, "GET", "/v1/orgs", "", 200, ""); len(r.list("orgs")) != 0 {
		t.Errorf("a new user's orgs: %s", r.text)
	}
	made := ada.want(t, "POST", "/v1/orgs", `{"name":"Acme"}`, 201, "")
	id := made.str("id")
	hasMillis := len(fmt.Sprint(made.body["createdAt"])) == 13 // digits
	if !strings.HasPrefix(id, "org_") || made.str("name") != "Acme" || !hasMillis || len(made.body) != 3 {
		t.Errorf("created: %s", made.text)
	}
	if got := made.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
	if l := ada.want(t, "GET", "/v1/orgs", "", 200, "").list("orgs"); len(l) != 1 || l[0]["role"] != "admin" || l[0]["id"] != id {
		t.Errorf("orgs: %v", l)
	}
	if r := ada.want(t, "PATCH", "/v1/orgs/"+id, `{"name":"Acme 2"}`, 200, ""); r.str("name") != "Acme 2" {
		t.Errorf("renamed: %s", r.text)
	}
	if r := ada.want(t, "PATCH", "/v1/orgs/"+id, `{}`, 200, ""); r.str("name") != "Acme 2" {
		t.Errorf("patched with nothing: %s", r.text)
	}
	if r := ada.want(t, "GET", "/v1/orgs/"+id, "", 200, ""); r.str("name") != "Acme 2" || r.body["role"] != nil {
		t.Errorf("org: %s", r.text)
	}
	entries := ada.want(t, "GET", "/v1/orgs/"+id+"/audit", "", 200, "").list("entries")
	if len(entries) != 2 || entries[0]["action"] != "org.updated" || entries[1]["action"] != "org.created" || !isText(entries[0]["requestId"]) {
		t.Errorf("audit: %v", entries)
	}
	found := ada.want(t, "GET", "/v1/orgs/"+id+"/audit?action=org.created&target="+id+"&to=140737488355328", "", 200, "").list("entries")
	if len(found) != 1 || found[0]["id"] != entries[1]["id"] {
		t.Errorf("audit of one action: %v", found)
	}
	ada.want(t, "GET", "/v1/orgs/"+id+"/audit?actor=ada", "", 422, "validation_failed")
}

// anInvite invites a person before and after the person's first sign-in. The answer for an outsider is the same both times.
func anInvite(t *testing.T, tg *target) {
	ada, bob, eve := tg.person(t, "ada"), tg.person(t, "bob"), tg.person(t, "eve")
	org := ada.org(t)
	members := "/v1/orgs/" + org + "/members"
	body := `{"email":"` + strings.ToUpper(bob.email) + `"}` // the case of an address does not matter
	ada.want(t, "POST", members, body, 422, "user_not_found")
	before := eve.want(t, "POST", members, body, 404, "org_not_found")
	bob.want(t, "GET", "/v1/orgs", "", 200, "") // his first request makes his user
	after := eve.want(t, "POST", members, body, 404, "org_not_found")
	if before.str("detail") != after.str("detail") {
		t.Errorf("the answer shows an outsider who has signed in: %s, %s", before.text, after.text)
	}
	if r := ada.want(t, "POST", members, body, 201, ""); r.text != `{"ok":true}`+"\n" {
		t.Errorf("invited: %s", r.text)
	}
	ada.want(t, "POST", members, body, 409, "member_exists")
	list := ada.want(t, "GET", members, "", 200, "").list("members")
	if len(list) != 2 {
		t.Fatalf("members: %v", list)
	}
	for _, m := range list {
		if m["email"] == bob.email && (m["role"] != "member" || !isText(m["name"]) || !isText(m["addedBy"]) || len(m) != 6) {
			t.Errorf("bob: %v", m)
		}
	}
}

// roles calls routes as a viewer, a member and an admin. The last admin can neither leave nor lose the role.
func roles(t *testing.T, tg *target) {
	ada, bob := tg.person(t, "ada"), tg.person(t, "bob")
	org := ada.org(t)
	ada.invite(t, org, bob, "viewer")
	base := "/v1/orgs/" + org
	bobID, adaID := ada.userID(t, org, bob.email), ada.userID(t, org, ada.email)

	bob.want(t, "GET", base, "", 200, "")
	bob.want(t, "GET", base+"/members", "", 403, "insufficient_role")
	bob.want(t, "PATCH", base+"/members/"+bobID, `{"role":"admin"}`, 403, "insufficient_role")
	if r := ada.want(t, "PATCH", base+"/members/"+bobID, `{"role":"member"}`, 200, ""); r.str("role") != "member" || r.str("email") != bob.email {
		t.Errorf("promoted: %s", r.text)
	}
	bob.want(t, "GET", base+"/members", "", 200, "")
	bob.want(t, "GET", base+"/keys", "", 200, "")
	bob.want(t, "POST", base+"/keys", `{}`, 403, "insufficient_role")
	bob.want(t, "GET", base+"/audit", "", 403, "insufficient_role")

	ada.want(t, "DELETE", base+"/members/"+adaID, "", 409, "last_admin")
	ada.want(t, "PATCH", base+"/members/"+adaID, `{"role":"viewer"}`, 409, "last_admin")
	ada.want(t, "PATCH", base+"/members/"+bobID, `{"role":"admin"}`, 200, "")
	ada.want(t, "DELETE", base+"/members/"+adaID, "", 204, "")
	ada.want(t, "GET", base, "", 404, "org_not_found")
	ada.want(t, "DELETE", base+"/members/"+bobID, "", 404, "org_not_found")
	bob.want(t, "DELETE", base+"/members/"+adaID, "", 404, "member_not_found")
	carol := tg.person(t, "carol")
	bob.invite(t, org, carol, "viewer")
	if members := bob.want(t, "GET", base+"/members", "", 200, "").list("members"); members[0]["addedBy"] != bobID {
		t.Errorf("members: %v", members)
	}
	orgsOfCarol := carol.want(t, "GET", "/v1/orgs", "", 200, "").list("orgs")
	if len(orgsOfCarol) != 1 {
		t.Fatalf("carol's orgs: %v", orgsOfCarol)
	}
	if by, _ := orgsOfCarol[0]["addedBy"].(map[string]any); by["userId"] != bobID || by["email"] != bob.email {
		t.Errorf("added by: %v", orgsOfCarol)
	}
	carol.want(t, "POST", base+"/leave", "{}", 204, "")
	carol.want(t, "POST", base+"/leave", "{}", 404, "org_not_found")
	bob.want(t, "POST", base+"/leave", "{}", 409, "last_admin")
}

// expiryAndRotation uses a key that expires after two seconds, and a rotated key with a grace of two seconds.
func expiryAndRotation(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	base := "/v1/orgs/" + org + "/keys"
	id, key := ada.key(t, org, `{"name":"short","expiresIn":2}`)
	first := tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 200, "")
	if k, _ := first.body["key"].(map[string]any); k["id"] != id || k["name"] != "short" || k["expiresAt"] == nil {
		t.Errorf("app/get: %s", first.text)
	}
	oldID, old := ada.key(t, org, `{}`)
	rotated := ada.want(t, "POST", base+"/"+oldID+"/rotate", `{"graceSeconds":2}`, 201, "")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: old}, 200, "")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: rotated.str("key")}, 200, "")
	ada.want(t, "POST", base+"/"+oldID+"/rotate", `{"graceSeconds":2}`, 409, "key_not_active")
	time.Sleep(2100 * time.Millisecond)
	tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 401, "key_expired")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: old}, 401, "key_expired")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: rotated.str("key")}, 200, "")
}

// retries sends every create twice with one Idempotency-Key, and then once with another body.
func retries(t *testing.T, tg *target) {
	ada, bob := tg.person(t, "ada"), tg.person(t, "bob")
	bob.want(t, "GET", "/v1/orgs", "", 200, "") // his first request makes his user
	org := ada.org(t)
	base := "/v1/orgs/" + org
	rotated, _ := ada.key(t, org, `{}`)
	_, key := ada.key(t, org, `{}`)
	for n, c := range []struct{ path, body, otherBody, bearer string }{
		{"/v1/orgs", `{"name":"once"}`, `{"name":"other"}`, ada.token},
		{base + "/members", `{"email":"` + bob.email + `"}`, `{"email":"` + bob.email + `","role":"viewer"}`, ada.token},
		{base + "/keys", `{"name":"once"}`, `{"name":"other"}`, ada.token},
		{base + "/keys/" + rotated + "/rotate", `{"graceSeconds":1}`, `{"graceSeconds":2}`, ada.token},
		{base + "/apps", `{"name":"once"}`, `{"name":"other"}`, ada.token},
		{"/link/create", `{"clientUserId":"once"}`, `{"clientUserId":"other"}`, key},
		{"/webhook_endpoint/create", `{"url":"` + tg.deadURL() + `/once"}`, `{"url":"` + tg.deadURL() + `/other"}`, key},
	} {
		once := http.Header{"Idempotency-Key": {fmt.Sprintf("e2e-%s-0123456789-0123456789-%06d", tg.run, n)}}
		create := call{method: "POST", path: c.path, body: c.body, bearer: c.bearer, header: once}
		first, again := tg.want(t, create, 201, ""), tg.want(t, create, 201, "")
		if first.text != again.text || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: first %d characters, then %d; replayed: %q", c.path, len(first.text), len(again.text), again.header.Get("Idempotency-Replayed"))
		}
		create.body = c.otherBody
		tg.want(t, create, 422, "idempotency_key_reused")
	}
	if l := ada.want(t, "GET", base+"/keys", "", 200, "").list("keys"); len(l) != 4 {
		t.Errorf("%d keys, want 4: two made before, one made by both requests, and one made by the rotation", len(l))
	}
}

// pages reads a list of three keys in pages of two.
func pages(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	for range 3 {
		ada.key(t, org, `{}`)
	}
	path := "/v1/orgs/" + org + "/keys?limit=2"
	first := ada.want(t, "GET", path, "", 200, "")
	rest := ada.want(t, "GET", path+"&cursor="+first.str("nextCursor"), "", 200, "")
	if len(first.list("keys")) != 2 || len(rest.list("keys")) != 1 || rest.str("nextCursor") != "" {
		t.Errorf("%s\n%s", first.text, rest.text)
	}
}

// apps makes and renames an app, and makes and rotates a key of the app.
func apps(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	base := "/v1/orgs/" + ada.org(t)
	app := ada.want(t, "POST", base+"/apps", `{"name":"Mobile"}`, 201, "").str("id")
	if r := ada.want(t, "PATCH", base+"/apps/"+app, `{"name":"Mobile 2"}`, 200, ""); r.str("name") != "Mobile 2" || r.body["isDefault"] != false {
		t.Errorf("renamed: %s", r.text)
	}
	if l := ada.want(t, "GET", base+"/apps", "", 200, "").list("apps"); len(l) != 2 || l[0]["id"] != app {
		t.Errorf("apps: %v", l)
	}
	made := ada.want(t, "POST", base+"/keys", `{"appId":"`+app+`"}`, 201, "")
	key := made.str("key")
	prefix, _, _ := strings.Cut(key, "_")
	ada.want(t, "PATCH", base+"/apps/"+app, `{"keysBeginWith":"`+prefix+`test"}`, 200, "")
	rotated := ada.want(t, "POST", base+"/keys/"+made.str("id")+"/rotate", `{"graceSeconds":60}`, 201, "").str("key")
	if !strings.HasPrefix(rotated, prefix+"test_") {
		t.Errorf("the new key of an app whose keys begin with %stest has another prefix", prefix)
	}
	for _, key := range []string{key, rotated} {
		r := tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 200, "")
		if a, _ := r.body["app"].(map[string]any); a["id"] != app {
			t.Errorf("app/get: %s", r.text)
		}
	}
	ada.want(t, "PATCH", base+"/apps/"+app, `{"keysBeginWith":"lkt"}`, 422, "validation_failed")
	ada.want(t, "POST", base+"/keys", `{"appId":"app_x"}`, 404, "app_not_found")
}

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey/infra/harness/local/stack"
)

// serviceOf returns the service of the local stack.
func serviceOf(t *testing.T, s *stack.Stack, tg *target) *person {
	t.Helper()
	token, err := s.Token(t.Context(), stack.Service, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	return &person{tg: tg, token: token}
}

// aServiceWithRights calls routes as a support service, which may read orgs and keys, and revoke keys. All else is refused.
func aServiceWithRights(t *testing.T, s *stack.Stack, tg *target) {
	token, err := s.Token(t.Context(), stack.Service, "support", "", "")
	if err != nil {
		t.Fatal(err)
	}
	billing, support := serviceOf(t, s, tg), &person{tg: tg, token: token}
	org := "/v1/orgs/" + billing.want(t, "POST", "/v1/orgs", `{"name":"Customer"}`, 201, "").str("id")
	made := billing.want(t, "POST", org+"/keys", `{}`, 201, "")
	support.want(t, "GET", org, "", 200, "")
	support.want(t, "GET", org+"/keys", "", 200, "")
	tg.want(t, call{method: "DELETE", path: org + "/keys/" + made.str("id"), bearer: token, header: http.Header{
		"Latchkey-Operator": {"ada@owner.example"}, "Latchkey-Reason": {"Ticket 4711"},
	}}, 204, "")
	if audit := billing.want(t, "GET", org+"/audit", "", 200, ""); !strings.Contains(audit.text, `"reason":"Ticket 4711","operator":"ada@owner.example"`) {
		t.Errorf("the audit log: %s", audit.text)
	}
	tg.want(t, call{method: "POST", path: "/app/get", bearer: made.str("key")}, 401, "key_revoked")
	for _, c := range []struct{ method, path, body, lacks string }{
		{"DELETE", org, "", "orgs.end"}, {"PATCH", org, `{"name":"Mine"}`, "orgs.write"}, {"PATCH", org, `{"allowance":[]}`, "orgs.limit"},
		{"POST", org + "/keys", `{}`, "keys.write"}, {"GET", org + "/members", "", "members.read"}, {"GET", org + "/audit", "", "audit.read"},
		{"GET", org + "/apps", "", "apps.read"}, {"POST", "/v1/orgs", `{"name":"Mine"}`, "orgs.write"},
	} {
		if r := support.want(t, c.method, c.path, c.body, 403, "insufficient_role"); !strings.Contains(r.str("detail"), "the right "+c.lacks+".") {
			t.Errorf("%s %s: %s", c.method, c.path, r.text)
		}
	}
	billing.want(t, "DELETE", org, "", 204, "")
}

// onlyServicesMakeOrgs deploys with OrgsBy=services: a user may not make an org, and a service may.
func onlyServicesMakeOrgs(t *testing.T, s *stack.Stack, tg *target) {
	for by, status := range map[string]int{"services": 403, "anyone": 201} {
		if err := s.Deploy(t.Context(), map[string]string{"OrgsBy": by}); err != nil {
			t.Fatal(err)
		}
		tg.want(t, call{method: "POST", path: "/v1/orgs", body: `{"name":"Own"}`, bearer: tg.person(t, "gus").token}, status, map[int]string{403: "insufficient_role"}[status])
		serviceOf(t, s, tg).want(t, "POST", "/v1/orgs", `{"name":"Ours"}`, 201, "")
	}
	if err := s.Deploy(t.Context(), map[string]string{"OrgsBy": "anyone"}); err != nil {
		t.Fatal(err)
	}
}

// aFormerMember removes an admin who made two keys. An admin then revokes both keys by the person's id.
func aFormerMember(t *testing.T, tg *target) {
	hal, ivy := tg.person(t, "hal"), tg.person(t, "ivy")
	org := hal.org(t)
	path := "/v1/orgs/" + org
	hal.invite(t, org, ivy, "admin")
	user, keysBy := hal.userID(t, org, ivy.email), path+"/keys?createdBy="
	_, stays := hal.key(t, org, `{}`)
	_, one := ivy.key(t, org, `{}`)
	_, other := ivy.key(t, org, `{}`)
	hal.want(t, "DELETE", path+"/members/"+user, "", 204, "")
	ivy.want(t, "DELETE", keysBy+user, "", 404, "org_not_found")
	hal.want(t, "DELETE", path+"/keys", "", 400, "missing_parameter")
	for range 2 {
		hal.want(t, "DELETE", keysBy+user, "", 204, "")
		for key, status := range map[string]int{one: 401, other: 401, stays: 200} {
			tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, status, map[int]string{401: "key_revoked"}[status])
		}
	}
	if audit := hal.want(t, "GET", path+"/audit", "", 200, ""); strings.Count(audit.text, `"action":"key.revoked"`) != 2 {
		t.Errorf("the audit log: %s", audit.text)
	}
	hal.want(t, "DELETE", path, "", 204, "")
}

// aSuspension suspends and resumes the org of a customer who does not pay in time.
func aSuspension(t *testing.T, s *stack.Stack, tg *target) {
	billing, eva := serviceOf(t, s, tg), tg.person(t, "eva")
	org := "/v1/orgs/" + billing.want(t, "POST", "/v1/orgs", `{"name":"Late","admin":{"subject":"`+eva.email+`"},"plan":"pro"}`, 201, "").str("id")
	check := call{method: "POST", path: "/app/get", bearer: eva.want(t, "POST", org+"/keys", `{}`, 201, "").str("key")}
	tg.want(t, check, 200, "")
	for _, method := range []string{"POST", "DELETE"} {
		eva.want(t, method, org+"/suspension", "", 403, "insufficient_role")
		tg.person(t, "fay").want(t, method, org+"/suspension", "", 404, "org_not_found")
	}
	tg.want(t, check, 200, "")
	for range 2 {
		billing.want(t, "POST", org+"/suspension", `{"reason":"Invoice 7"}`, 200, "")
		tg.want(t, check, 401, "key_suspended")
	}
	eva.want(t, "POST", org+"/keys", `{}`, 403, "org_suspended")
	billing.want(t, "POST", org+"/keys", `{}`, 403, "org_suspended")
	if seen := eva.want(t, "GET", org, "", 200, ""); seen.body["suspendedAt"] == nil || seen.str("plan") != "pro" {
		t.Errorf("the org's admin sees %s", seen.text)
	}
	if audit := eva.want(t, "GET", org+"/audit", "", 200, ""); !strings.Contains(audit.text, `"action":"org.suspended"`) || !strings.Contains(audit.text, `"reason":"Invoice 7"`) {
		t.Errorf("the audit log: %s", audit.text)
	}
	for range 2 {
		billing.want(t, "DELETE", org+"/suspension", "", 204, "")
		tg.want(t, check, 200, "")
	}
	billing.want(t, "DELETE", org, "", 204, "")
}

// aStop stops, resumes and signs out a person whose laptop was stolen. It erases another person.
func aStop(t *testing.T, s *stack.Stack, tg *target) {
	const refused = `Bearer error="insufficient_user_authentication", max_age="0"`
	billing, gil := serviceOf(t, s, tg), tg.person(t, "gil")
	org := "/v1/orgs/" + billing.want(t, "POST", "/v1/orgs", `{"name":"Stolen","admin":{"subject":"`+gil.email+`"}}`, 201, "").str("id")
	gil.want(t, "POST", org+"/keys", `{}`, 201, "")
	found := billing.want(t, "GET", "/v1/users?email="+gil.email, "", 200, "").list("users")
	if len(found) != 1 {
		t.Fatalf("found: %v", found)
	}
	path := fmt.Sprint("/v1/users/", found[0]["id"])
	hal := tg.person(t, "hal")
	hal.want(t, "GET", "/v1/orgs", "", 200, "")
	gil.want(t, "POST", org+"/members", `{"email":"`+hal.email+`","role":"viewer"}`, 201, "")
	if added := billing.want(t, "GET", "/v1/users?subject="+hal.email, "", 200, ""); !strings.Contains(added.text, `"role":"viewer"`) {
		t.Errorf("by subject: %s", added.text)
	}
	for method, route := range map[string]string{"GET": path, "POST": path + "/stop", "DELETE": path + "/stop"} {
		gil.want(t, method, route, "", 403, "insufficient_role")
	}
	gil.want(t, "GET", org, "", 200, "")
	if orgs := billing.want(t, "POST", path+"/stop", `{"reason":"A stolen laptop"}`, 200, "").list("orgs"); len(orgs) != 1 || fmt.Sprintf("%v %v", orgs[0]["activeKeys"], orgs[0]["onlyAdmin"]) != "1 true" {
		t.Errorf("the orgs of the stopped person: %v", orgs)
	}
	gil.want(t, "GET", org, "", 401, "user_stopped")
	billing.want(t, "DELETE", path+"/stop", "", 204, "")
	gil.want(t, "GET", org, "", 200, "")
	for _, signOut := range []func(){
		func() { gil.want(t, "POST", "/v1/me/signout", "", 204, "") },
		func() { billing.want(t, "POST", path+"/signout", "", 204, "") },
	} {
		signOut()
		if r := gil.want(t, "GET", org, "", 401, "token_ended"); r.header.Get("WWW-Authenticate") != refused {
			t.Errorf("the challenge: %v", r.header)
		}
		time.Sleep(1100 * time.Millisecond) // a sign-in in the same second counts as before the sign-out
		token, err := tg.token(t.Context(), "", gil.email, "gil")
		if err != nil {
			t.Fatal(err)
		}
		gil.token = token
		gil.want(t, "GET", org, "", 200, "")
	}
	billing.want(t, "POST", "/v1/me/signout", "", 403, "insufficient_role")
	if r := billing.want(t, "DELETE", path, "", 409, "last_admin"); fmt.Sprint(r.body["orgs"]) != "["+strings.TrimPrefix(org, "/v1/orgs/")+"]" {
		t.Errorf("the orgs whose last admin the person is: %s", r.text)
	}
	halPath := fmt.Sprint("/v1/users/", billing.want(t, "GET", "/v1/users?email="+hal.email, "", 200, "").list("users")[0]["id"])
	tableHasAddress := func() bool {
		rows, err := s.Rows(t.Context(), "")
		text, failed := json.Marshal(rows)
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), hal.email)
	}
	for _, want := range []bool{true, false} { // before the erasure, and after it
		if tableHasAddress() != want {
			t.Errorf("the person's address is in the table: %t, want %t", !want, want)
		}
		billing.want(t, "DELETE", halPath, "", 204, "")
	}
	hal.want(t, "GET", "/v1/orgs", "", 401, "token_ended")
	billing.want(t, "GET", halPath, "", 404, "unknown_user")
	billing.want(t, "POST", org+"/members", `{"subject":"`+hal.email+`"}`, 404, "unknown_user")
	gil.want(t, "POST", org+"/members", `{"email":"`+hal.email+`"}`, 422, "user_not_found")
	newOrg := call{
		method: "POST", path: "/v1/orgs", body: `{"name":"New","externalId":"cus_new","admin":{"subject":"` + hal.email + `"}}`, bearer: billing.token,
		header: http.Header{"Idempotency-Key": {strings.Repeat("e", 32)}},
	}
	tg.want(t, newOrg, 404, "unknown_user")
	time.Sleep(1100 * time.Millisecond) // a sign-in in the same second counts as before the erasure
	token, err := tg.token(t.Context(), "", hal.email, "hal")
	if err != nil {
		t.Fatal(err)
	}
	hal.token = token
	hal.want(t, "GET", "/v1/orgs", "", 200, "")
	tg.want(t, newOrg, 201, "") // the admin has signed in again
	billing.want(t, "DELETE", org, "", 204, "")
}

// aService makes an org for a customer and deletes it, as an owner's server does. The customer's admin has not signed in before.
func aService(t *testing.T, s *stack.Stack, tg *target) {
	billing := serviceOf(t, s, tg)
	zoe := tg.person(t, "zoe") // the subject of a local token is its email
	made := billing.want(t, "POST", "/v1/orgs", `{"name":"Customer","externalId":"cus_1","admin":{"subject":"`+zoe.email+`","name":"Zoe"}}`, 201, "")
	org := "/v1/orgs/" + made.str("id")
	billing.want(t, "POST", "/v1/orgs", `{"name":"Own","admin":{"subject":"service"}}`, 422, "validation_failed") // its own subject
	billing.want(t, "POST", org+"/members", `{"subject":"service","role":"admin"}`, 422, "validation_failed")
	if found := billing.want(t, "GET", "/v1/orgs?externalId=cus_1", "", 200, "").list("orgs"); len(found) != 1 || found[0]["id"] != made.str("id") {
		t.Fatalf("found: %v", found)
	}
	billing.want(t, "PATCH", org, `{"externalId":"cus_2"}`, 200, "")
	billing.want(t, "POST", org+"/members", `{"subject":"`+tg.person(t, "ben").email+`","role":"viewer"}`, 201, "")
	if r := zoe.want(t, "GET", org, "", 200, ""); r.str("externalId") != "cus_2" {
		t.Errorf("the org's admin gets, after the first sign-in: %s", r.text)
	}
	key := billing.want(t, "POST", org+"/keys", `{}`, 201, "").str("key")
	if r := billing.want(t, "POST", "/v1/keys/find", `{"locator":"`+key[:strings.LastIndex(key, "_")]+`"}`, 200, ""); !strings.Contains(r.text, `"status":"active"`) {
		t.Errorf("found by its locator: %s", r.text)
	}
	if keys := billing.want(t, "GET", org+"/keys", "", 200, "").list("keys"); len(keys) != 1 || keys[0]["createdBy"] != nil {
		t.Errorf("the org's keys: %v", keys)
	}
	good := call{method: "POST", path: "/app/get", bearer: key}
	tg.want(t, good, 200, "")
	billing.want(t, "PATCH", org, `{"allowance":[{"requests":1,"per":"month"}]}`, 200, "")
	tg.want(t, good, 200, "")
	other := call{method: "POST", path: "/app/get", bearer: billing.want(t, "POST", org+"/keys", `{}`, 201, "").str("key")}
	if r := tg.want(t, other, 429, "rate_limited"); !strings.Contains(r.text, "The org has used its allowance of 1 a month. The next one begins at 20") {
		t.Errorf("another key of the org: %s", r.text)
	}
	zoe.want(t, "PATCH", org, `{"allowance":[]}`, 403, "insufficient_role")
	billing.want(t, "PATCH", org, `{"allowance":[]}`, 200, "")
	audit := zoe.want(t, "GET", org+"/audit", "", 200, "")
	if !strings.Contains(audit.text, `{"type":"service","name":"billing"}`) {
		t.Errorf("the audit log: %s", audit.text)
	}
	// A change of all fields in one transaction, which the role must allow.
	billing.want(t, "PATCH", org, `{"externalId":"cus_3","plan":"pro","allowance":[{"requests":1000,"per":"month"}]}`, 200, "")
	billing.want(t, "PATCH", org, `{"externalId":null,"plan":null,"allowance":[]}`, 200, "")
	billing.want(t, "PATCH", org, `{"externalId":"cus_2"}`, 200, "")
	billing.want(t, "POST", org+"/leave", `{}`, 403, "insufficient_role")
	billing.want(t, "GET", "/v1/orgs?externalId=", "", 400, "missing_parameter")
	// checkListed checks that the org is on a page of a list, in this state.
	checkListed := func(path, name, state string) {
		t.Helper()
		for cursor := ""; ; {
			page := billing.want(t, "GET", path+"limit=100"+cursor, "", 200, "")
			for _, row := range page.list(name) {
				if (row["id"] == made.str("id") || row["orgId"] == made.str("id")) && row["externalId"] == "cus_2" && row["state"] == state {
					return
				}
			}
			if cursor = "&cursor=" + page.str("nextCursor"); cursor == "&cursor=" {
				t.Errorf("not in %s: %s", path, page.text)
				return
			}
		}
	}
	checkListed("/v1/orgs?", "orgs", "active")
	checkListed("/v1/usage?", "usage", "active")
	zoe.want(t, "GET", "/v1/usage", "", 403, "insufficient_role")
	zoe.want(t, "GET", "/v1/orgs?externalId=cus_2", "", 400, "unknown_parameter")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: billing.token}, 401, "api_key_required")
	billing.want(t, "DELETE", org, "", 204, "")
	tg.want(t, good, 401, "key_revoked")
	if found := billing.want(t, "GET", "/v1/orgs?externalId=cus_2", "", 200, "").list("orgs"); len(found) != 0 {
		t.Errorf("the deleted org is still found: %v", found)
	}
	billing.want(t, "DELETE", org, "", 404, "org_not_found")
	checkListed("/v1/orgs?", "orgs", "deleted") // the owner can still write the last invoice
	checkListed("/v1/usage?", "usage", "deleted")
	if r := billing.want(t, "GET", org+"/usage", "", 200, ""); len(r.list("usage")) == 0 { // the sum of all keys under the allowance
		t.Errorf("the use of a deleted org: %s", r.text)
	}
}

// aCatalogue sets the catalogue as a service. Everyone can read it within two minutes. A user cannot set it.
func aCatalogue(t *testing.T, s *stack.Stack, tg *target) {
	const body = `{"scopes":[{"name":"invoices:read","description":"Read <i>invoices</i>"}],"events":[{"type":"invoice.paid","description":"Paid","example":{"amount":4900}}]}`
	tg.person(t, "ivo").want(t, "PUT", "/v1/catalogue", body, 403, "insufficient_role")
	serviceOf(t, s, tg).want(t, "PUT", "/v1/catalogue", body, 204, "")
	var shown reply
	for until := time.Now().Add(2 * time.Minute); strings.TrimSpace(shown.text) != body; time.Sleep(time.Second) {
		if time.Now().After(until) {
			t.Fatalf("the catalogue after two minutes: %d %s", shown.status, shown.text)
		}
		shown = tg.do(t, call{method: "GET", path: "/catalogue.json"})
	}
	tg.want(t, call{method: "GET", path: "/catalogue.json", header: http.Header{"If-None-Match": {shown.header.Get("ETag")}}}, 304, "")
}

package api_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// TestAServiceFindsAPersonByAddressSubjectAndID, with the person's orgs and roles.
func TestAServiceFindsAPersonByAddressSubjectAndID(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	person := `{"id":"` + string(w.target) + `","name":"target","email":"target@example.com","createdAt":%d,"orgs":[{"id":"` + string(w.org) +
		`","name":"Acme","role":"viewer"}],"more":false}`
	found, err := w.User(t.Context(), w.target)
	if err != nil {
		t.Fatal(err)
	}
	person = strings.ReplaceAll(person, "%d", strconv.FormatInt(found.CreatedAt, 10))
	for query, want := range map[string]string{
		"?email=Target@Example.com":       `{"users":[` + person + `]}`,
		"?subject=sub-target@example.com": `{"users":[` + person + `]}`,
		"?email=absent@example.com":       `{"users":[]}`,
		"?subject=absent":                 `{"users":[]}`,
		"/" + string(w.target):            person,
	} {
		out := w.do(t, request{as: service(), method: "GET", path: "/v1/users" + query})
		if out.status != 200 || strings.TrimSpace(out.text) != want {
			t.Errorf("%s: %d %s, want %s", query, out.status, out.text, want)
		}
	}
	for query, want := range map[string]outcome{
		"":                             {400, problem.MissingParameter},
		"?email=a@b.example&email=c":   {400, problem.MissingParameter},
		"?email=a@b.example&subject=c": {400, problem.MissingParameter},
		"?name=Ada":                    {400, problem.UnknownParameter},
		"?email=a":                     {422, problem.ValidationFailed},
		"?subject=":                    {422, problem.ValidationFailed},
		"/usr_none":                    {404, problem.UnknownUser},
		"/" + string(w.org):            {404, problem.UnknownUser},
	} {
		w.want(t, request{as: service(), method: "GET", path: "/v1/users" + query}, want.status, want.code)
	}
}

// TestAStopNamesTheOrgsThatNeedAnotherAdmin. The reason is in the org's audit log, but only services see it.
func TestAStopNamesTheOrgsThatNeedAnotherAdmin(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	at := time.UnixMilli(1_800_000_000_000)
	w.Now = func() time.Time { return at }
	w.target = w.byRole[org.Admin]
	stop := w.request("POST", "/v1/users/{userId}/stop", service(), `{"reason":" A stolen laptop\u0000"}`)
	stop.header = map[string]string{"Latchkey-Reason": "Another"}
	out := w.want(t, stop, 200, "")
	want := `{"id":"` + string(w.target) + `","name":"admin","email":"admin@example.com","stoppedAt":1800000000000,"orgs":[{"id":"` + string(w.org) +
		`","name":"Acme","activeKeys":1,"onlyAdmin":true}],"more":false}`
	if strings.TrimSpace(out.text) != want {
		t.Errorf("%s, want %s", out.text, want)
	}
	entries, _, err := w.AuditLog(t.Context(), store.Actor{Service: "billing"}, w.org, store.AuditFilter{}, store.Page{Limit: 1})
	if err != nil || entries[0].Action != "user.stopped" || entries[0].Reason != "A stolen laptop" {
		t.Errorf("%+v, %v", entries, err)
	}
	services := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=1", service(), ""), 200, "")
	if !strings.Contains(services.text, "A stolen laptop") {
		t.Error(services.text)
	}
	w.want(t, w.request("DELETE", "/v1/users/{userId}/stop", service(), ""), 204, "")
	admins := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=2", user(w.byRole[org.Admin]), ""), 200, "")
	if !strings.Contains(admins.text, "user.stopped") || strings.Contains(admins.text, "A stolen laptop") {
		t.Error(admins.text)
	}
	out = w.want(t, w.request("GET", "/v1/users/{userId}", service(), ""), 200, "")
	if strings.Contains(out.text, "stoppedAt") {
		t.Error(out.text)
	}
	for _, path := range []string{"/stop", "/signout"} {
		w.want(t, request{as: service(), method: "POST", path: "/v1/users/usr_none" + path}, 404, problem.UnknownUser)
	}
}

// TestASignOutAffectsOnePerson: the caller, or the person in the path.
func TestASignOutAffectsOnePerson(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.want(t, w.request("POST", "/v1/me/signout", user(w.outside), ""), 204, "")
	w.want(t, w.request("POST", "/v1/users/{userId}/signout", service(), ""), 204, "")
	for name, signedOut := range map[string]bool{"outside": true, "target": true, "admin": false} {
		known, _, err := w.Identity(t.Context(), issuer, "sub-"+name+"@example.com")
		if err != nil || (known.NotBefore != 0) != signedOut {
			t.Errorf("%s: %+v, %v", name, known, err)
		}
	}
}

// TestAnErasureNeedsAnotherAdminInEachOrg: a refusal names the orgs without another admin. An erased person is not found.
func TestAnErasureNeedsAnotherAdminInEachOrg(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	path := func(u id.User) string { return "/v1/users/" + string(u) }
	refused := w.want(t, request{as: service(), method: "DELETE", path: path(w.byRole[org.Admin])}, 409, problem.LastAdmin)
	if !strings.Contains(refused.text, `"orgs":["`+string(w.org)+`"]`) {
		t.Error(refused.text)
	}
	erase := request{as: service(), method: "DELETE", path: path(w.target), header: map[string]string{"Latchkey-Reason": "Asked for it"}}
	w.want(t, erase, 204, "")
	w.want(t, erase, 204, "")
	for method, path := range map[string]string{"GET": path(w.target), "POST": path(w.target) + "/stop", "DELETE": path("usr_none")} {
		w.want(t, request{as: service(), method: method, path: path}, 404, problem.UnknownUser)
	}
	subject := `"subject":"sub-target@example.com"`
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", service(), `{`+subject+`}`), 404, problem.UnknownUser)
	w.want(t, request{as: service(), method: "POST", path: "/v1/orgs", body: `{"name":"Late","admin":{` + subject + `}}`}, 404, problem.UnknownUser)
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", service(), `{"email":"target@example.com"}`), 422, problem.UserNotFound)
	if got := w.want(t, request{as: service(), method: "GET", path: "/v1/users?subject=sub-target@example.com"}, 200, ""); got.text != "{\"users\":[]}\n" {
		t.Error(got.text)
	}
	admins := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit?limit=1", user(w.byRole[org.Admin]), ""), 200, "")
	if !strings.Contains(admins.text, "user.erased") || strings.Contains(admins.text, "Asked") {
		t.Error(admins.text)
	}
}

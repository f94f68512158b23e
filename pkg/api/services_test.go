package api_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// service is a caller that is a server of the owner.
func service() *principal.Principal {
	return &principal.Principal{Kind: principal.Service, Name: "billing"}
}

// TestAServiceMayWhatAnAdminMay is the column of the role matrix for a service: on every route of an org what an admin may,
// in an org of which it is no member.
func TestAServiceMayWhatAnAdminMay(t *testing.T) {
	others := map[string]outcome{ // by hand
		"GET /v1/orgs":                {400, problem.MissingParameter}, // there is no list of all orgs
		"POST /v1/orgs/{orgId}/leave": {403, problem.InsufficientRole}, // it is no member
	}
	s := newServerFor(t, settings{maxAuthAge: time.Minute}) // who signs in is asked for a recent sign-in, a service never
	s.NewUser(t, "spare@example.com")
	rows := good()
	for _, r := range route.All() {
		if r.Takes == principal.Public {
			continue
		}
		t.Run(r.Name(), func(t *testing.T) {
			line := rows[r.Name()]
			w := newWorld(t, s, strings.ToLower(rand.Text()))
			w.connect(t)
			want, ok := others[r.Name()]
			switch {
			case line.may == withAKey:
				want = outcome{500, problem.Internal} // such a route has lost its authorizer
			case !ok:
				want = outcome{line.status, ""}
			}
			out := s.do(t, w.request(r.Method, r.Pattern, service(), line.body))
			if out.status != want.status || out.code() != string(want.code) {
				t.Errorf("%d %s, want %d %s: %s", out.status, out.code(), want.status, want.code, out.text)
			}
		})
	}
}

// TestOnlyAServiceSetsWhatIsTheOwners.
func TestOnlyAServiceSetsWhatIsTheOwners(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	admin := user(w.byRole["admin"])
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/orgs", `{"name":"x","externalId":"cus_1"}`},
		{"POST", "/v1/orgs", `{"name":"x","admin":{"subject":"zoe"}}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"externalId":"cus_1"}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"externalId":null}`},
		{"POST", "/v1/orgs", `{"name":"x","allowance":[]}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"allowance":[]}`},
		{"POST", "/v1/orgs/{orgId}/members", `{"subject":"zoe"}`},
		{"POST", "/v1/orgs/{orgId}/members", `{"email":"spare@example.com","name":"Zoe"}`},
	} {
		w.want(t, w.request(c.method, c.path, admin, c.body), 403, problem.InsufficientRole)
	}
	w.want(t, w.request("GET", "/v1/orgs?externalId=cus_1", admin, ""), 400, problem.UnknownParameter)
}

func TestAServiceMakesFindsAndChangesAnOrg(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	as := func(method, path, body string, status int, code problem.Code) reply {
		t.Helper()
		return w.want(t, w.request(method, path, service(), body), status, code)
	}
	made := as("POST", "/v1/orgs", `{"name":"Customer","externalId":"cus_1","admin":{"subject":"zoe","name":"Zoe"}}`, 201, "")
	if made.str("externalId") != "cus_1" {
		t.Errorf("made: %s", made.text)
	}
	path := "/v1/orgs/" + made.str("id")
	found := as("GET", "/v1/orgs?externalId=cus_1", "", 200, "").each("orgs", "id")
	if len(found) != 1 || found[0] != made.str("id") {
		t.Errorf("found: %v", found)
	}
	if none := as("GET", "/v1/orgs?externalId=cus_2", "", 200, "").each("orgs", "id"); len(none) != 0 {
		t.Errorf("found: %v", none)
	}
	members := as("GET", path+"/members", "", 200, "")
	if names := members.each("members", "name"); len(names) != 1 || names[0] != "Zoe" || members.each("members", "role")[0] != "admin" {
		t.Errorf("members: %s", members.text)
	}
	as("POST", path+"/members", `{"subject":"ben","role":"viewer"}`, 201, "")
	as("POST", path+"/members", `{"subject":"ben"}`, 409, problem.MemberExists)
	as("POST", "/v1/orgs", `{"name":"Other","externalId":"cus_1"}`, 409, problem.Conflict)
	if changed := as("PATCH", path, `{"externalId":null,"name":"Renamed"}`, 200, ""); changed.str("externalId") != "" || changed.str("name") != "Renamed" {
		t.Errorf("changed: %s", changed.text)
	}
	for _, bad := range []struct{ method, path, body, pointer string }{
		{"POST", "/v1/orgs", `{"externalId":"cus_9"}`, "/name"},
		{"POST", "/v1/orgs", `{"name":"x","externalId":""}`, "/externalId"},
		{"POST", "/v1/orgs", `{"name":"x","externalId":"a b"}`, "/externalId"},
		{"POST", "/v1/orgs", `{"name":"x","externalId":"` + strings.Repeat("x", 129) + `"}`, "/externalId"},
		{"POST", "/v1/orgs", `{"name":"x","admin":{}}`, "/admin/subject"},
		{"POST", "/v1/orgs", `{"name":"x","admin":{"subject":"\n"}}`, "/admin/subject"},
		{"POST", "/v1/orgs", `{"name":"x","admin":{"subject":"zoe","name":7}}`, "/admin/name"},
		{"PATCH", path, `{"externalId":1}`, "/externalId"},
		{"PATCH", path, `{"allowance":[{"requests":0,"per":"day"}]}`, "/allowance/0/requests"},
		{"POST", "/v1/orgs", `{"name":"x","allowance":[{"requests":1}]}`, "/allowance/0/per"},
		{"POST", path + "/members", `{"name":"Zoe"}`, "/subject"},
		{"POST", path + "/members", `{"subject":"zoe","email":"zoe@example.com"}`, "/email"},
	} {
		if out := as(bad.method, bad.path, bad.body, 422, problem.ValidationFailed); !strings.Contains(out.text, `"pointer":"`+bad.pointer+`"`) {
			t.Errorf("%s: no pointer %s in %s", bad.body, bad.pointer, out.text)
		}
	}
	for _, query := range []string{"", "?externalId=", "?externalId=a&externalId=b"} {
		as("GET", "/v1/orgs"+query, "", 400, problem.MissingParameter)
	}
	entry := as("GET", path+"/audit", "", 200, "")
	if !strings.Contains(entry.text, `"actor":{"type":"service","name":"billing"}`) || strings.Contains(entry.text, "zoe") {
		t.Errorf("the audit log: %s", entry.text)
	}
}

// TestAServiceIsNeverEnrolledAsAUser: its token would be an admin's by the API, and a member's at the doors.
func TestAServiceIsNeverEnrolledAsAUser(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	for subject, isService := range map[string]bool{
		`m2m@clients`: true, `a-service`: true, `\u0061-service`: true,
		`A-service`: false, `a-service `: false, `m2m`: false, `a-service2`: false,
	} {
		for _, c := range []struct {
			path, body, pointer string
			status              int
		}{
			{"/v1/orgs", `{"name":"x","admin":{"subject":"` + subject + `"}}`, "/admin/subject", 201},
			{"/v1/orgs", `{"name":"x","externalId":"` + strings.ToLower(rand.Text()) + `","admin":{"subject":"` + subject + `","name":"Bot"}}`, "/admin/subject", 201},
			{"/v1/orgs/{orgId}/members", `{"subject":"` + subject + `"}`, "/subject", 201},
		} {
			if !isService {
				w.want(t, w.request("POST", c.path, service(), c.body), c.status, "")
				continue
			}
			out := w.want(t, w.request("POST", c.path, service(), c.body), 422, problem.ValidationFailed)
			if !strings.Contains(out.text, `"pointer":"`+c.pointer+`"`) {
				t.Errorf("%s %s: %s", c.path, c.body, out.text)
			}
		}
	}
}

// TestOnlyAdminsAndServicesSeeAnExternalID.
func TestOnlyAdminsAndServicesSeeAnExternalID(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", service(), `{"externalId":"cus_1"}`), 200, "")
	for _, role := range allRoles {
		got := w.want(t, w.request("GET", "/v1/orgs/{orgId}", user(w.byRole[role]), ""), 200, "").str("externalId")
		if sees := got == "cus_1"; sees != (role == "admin") {
			t.Errorf("%s sees %q", role, got)
		}
	}
}

// TestAServiceIsNoMemberByItsAddress: it was a user before the deployment named its subject, and its address is still proved.
func TestAServiceIsNoMemberByItsAddress(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	signIn := func(issuer, subject string) {
		t.Helper()
		if _, err := w.SignIn(t.Context(), store.Identity{}, false, store.Seen{
			Issuer: issuer, Subject: subject, Email: subject + "@example.com", Folded: subject + "@example.com", Verified: true, IssuedAt: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	signIn(issuer, "a-service")
	path := "/v1/orgs/{orgId}/members"
	for _, as := range []*principal.Principal{w.caller("admin"), service()} {
		for _, role := range []string{"admin", "member", "viewer"} {
			w.want(t, w.request("POST", path, as, `{"email":"A-service@example.com","role":"`+role+`"}`), 422, problem.UserNotFound)
		}
	}
	signIn("https://another.example", "m2m") // of another issuer
	signIn(issuer, "a-service-2")
	for _, address := range []string{"m2m", "a-service-2"} {
		w.want(t, w.request("POST", path, w.caller("admin"), `{"email":"`+address+`@example.com"}`), 201, "")
	}
}

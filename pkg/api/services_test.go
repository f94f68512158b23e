package api_test

import (
	"crypto/rand"
	"slices"
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

// TestAServiceMayDoTheSameAsAnAdmin tests the role matrix for a service. It may call every route of an org that an admin may
// call, although it is not a member of the org.
func TestAServiceMayDoTheSameAsAnAdmin(t *testing.T) {
	others := map[string]outcome{ // the exceptions
		"POST /v1/orgs/{orgId}/leave": {403, problem.InsufficientRole}, // a service is not a member
		"POST /v1/me/signout":         {403, problem.InsufficientRole}, // a service does not sign in
	}
	s := newServerFor(t, settings{maxAuthAge: time.Minute}) // only users need a recent sign-in
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
				want = outcome{500, problem.Internal} // a route with a wrong credential has lost its authorizer
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

// needed lists the routes that each right allows to a service. It is written by hand. Only users may leave an org or sign
// themselves out.
var needed = map[route.Right][]string{
	route.OrgsRead:      {"GET /v1/orgs", "GET /v1/orgs/{orgId}"},
	route.OrgsWrite:     {"POST /v1/orgs", "PATCH /v1/orgs/{orgId}"},
	route.OrgsEnd:       {"DELETE /v1/orgs/{orgId}"},
	route.OrgsSuspend:   {"POST /v1/orgs/{orgId}/suspension"},
	route.OrgsResume:    {"DELETE /v1/orgs/{orgId}/suspension"},
	route.OrgsLimit:     {}, // this right is for members of bodies: TestAllowancesCeilingsAndPlansNeedTheirOwnRight
	route.AuditRead:     {"GET /v1/orgs/{orgId}/audit"},
	route.UsersRead:     {"GET /v1/users", "GET /v1/users/{userId}"},
	route.UsersEnd:      {"DELETE /v1/users/{userId}"},
	route.UsersStop:     {"POST /v1/users/{userId}/stop", "DELETE /v1/users/{userId}/stop", "POST /v1/users/{userId}/signout"},
	route.MembersRead:   {"GET /v1/orgs/{orgId}/members"},
	route.MembersWrite:  {"POST /v1/orgs/{orgId}/members", "PATCH /v1/orgs/{orgId}/members/{userId}"},
	route.MembersEnd:    {"DELETE /v1/orgs/{orgId}/members/{userId}"},
	route.KeysRead:      {"GET /v1/orgs/{orgId}/keys", "POST /v1/keys/find"},
	route.KeysWrite:     {"POST /v1/orgs/{orgId}/keys", "PATCH /v1/orgs/{orgId}/keys/{keyId}", "POST /v1/orgs/{orgId}/keys/{keyId}/rotate"},
	route.KeysImport:    {"POST /v1/orgs/{orgId}/keys/import"},
	route.KeysRevoke:    {"DELETE /v1/orgs/{orgId}/keys/{keyId}", "DELETE /v1/orgs/{orgId}/keys"},
	route.UsageRead:     {"GET /v1/orgs/{orgId}/keys/{keyId}/usage", "GET /v1/orgs/{orgId}/usage", "GET /v1/usage"},
	route.AppsRead:      {"GET /v1/orgs/{orgId}/apps"},
	route.AppsWrite:     {"POST /v1/orgs/{orgId}/apps", "PATCH /v1/orgs/{orgId}/apps/{appId}"},
	route.WebhooksRead:  {"GET " + anApp + "/webhook_endpoints", "GET " + anApp + "/webhook_endpoints/{endpointId}", "GET " + anApp + "/webhook_deliveries"},
	route.WebhooksWrite: {"POST " + anApp + "/webhook_endpoints", "PATCH " + anApp + "/webhook_endpoints/{endpointId}", "POST " + anApp + "/webhook_endpoints/{endpointId}/test", "POST " + anApp + "/webhook_deliveries/redeliver"},
	route.WebhooksEnd:   {"DELETE " + anApp + "/webhook_endpoints/{endpointId}"},
	route.EventsRead:    {"GET " + anApp + "/webhook_events", "GET " + anApp + "/webhook_events/{eventId}"},
	route.EventsWrite:   {"POST " + anApp + "/events"},
	route.LinksRead:     {"GET " + anApp + "/links"},
	route.LinksEnd:      {"DELETE " + anApp + "/links/{linkId}"},

	route.CatalogueWrite: {"PUT /v1/catalogue"},
}

const anApp = "/v1/orgs/{orgId}/apps/{appId}"

// withRight returns a service that has one right. The service has the name of the right.
func withRight(r route.Right) *principal.Principal {
	return &principal.Principal{Kind: principal.Service, Name: strings.ReplaceAll(string(r), ".", "-")}
}

// serverWithRights returns a server that knows one service for each right.
func serverWithRights(t *testing.T) *server {
	rights := route.Rights{}
	for r := range needed {
		rights[withRight(r).Name] = []route.Right{r}
	}
	return newServerFor(t, settings{rights: rights})
}

// TestAServiceWithOneRightIsRefusedEverywhereElse calls each route of /v1 as a service of each right.
func TestAServiceWithOneRightIsRefusedEverywhereElse(t *testing.T) {
	s := serverWithRights(t)
	s.NewUser(t, "spare@example.com")
	refusing := newWorld(t, s, "refusing")
	refusing.connect(t)
	rows := good()
	for _, r := range route.All() {
		if r.Takes != principal.UserToken {
			continue
		}
		t.Run(r.Name(), func(t *testing.T) {
			row, may := rows[r.Name()], 0
			for right, names := range needed {
				if !slices.Contains(names, r.Name()) {
					out := refusing.want(t, refusing.request(r.Method, r.Pattern, withRight(right), row.body), 403, problem.InsufficientRole)
					if detail := out.str("detail"); !strings.Contains(detail, " right "+string(r.Right)+".") && !strings.Contains(detail, "Only users") {
						t.Errorf("%s: %s", right, detail)
					}
					continue
				}
				may++
				w := newWorld(t, s, strings.ToLower(rand.Text()))
				w.connect(t)
				w.want(t, w.request(r.Method, r.Pattern, withRight(right), row.body), row.status, "")
			}
			if usersOnly := r.Name() == "POST /v1/orgs/{orgId}/leave" || r.Name() == "POST /v1/me/signout"; may != 1 && !usersOnly || may != 0 && usersOnly {
				t.Errorf("%d rights allow it", may)
			}
		})
	}
}

// TestAllowancesCeilingsAndPlansNeedTheirOwnRight: orgs.limit, in addition to the right for the rest of the body.
func TestAllowancesCeilingsAndPlansNeedTheirOwnRight(t *testing.T) {
	limit := withRight(route.OrgsLimit)
	s := newServerFor(t, settings{rights: route.Rights{
		limit.Name: {route.OrgsLimit}, "writes": {route.OrgsWrite, route.KeysWrite, route.KeysImport}, "both": {route.OrgsWrite, route.KeysWrite, route.KeysImport, route.OrgsLimit},
	}})
	w := newWorld(t, s, "")
	writes, both := &principal.Principal{Kind: principal.Service, Name: "writes"}, &principal.Principal{Kind: principal.Service, Name: "both"}
	const some = `[{"requests":5,"per":"day"}]`
	importing := `{"keys":[{"sha256":"` + strings.Repeat("0b", 32) + `","prefix":"sk","ceilings":` + some + `}]}`
	for _, c := range []struct {
		method, path, body string
		ofLimit, ofBoth    int // the status for the service with only orgs.limit, and for the service with all rights
		lacks              route.Right
	}{
		{"PATCH", "/v1/orgs/{orgId}", `{"allowance":` + some + `}`, 200, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"allowance":[]}`, 200, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"name":"New","allowance":` + some + `}`, 403, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"externalId":null,"allowance":` + some + `}`, 403, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"plan":"pro"}`, 200, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"plan":null}`, 200, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"plan":"pro","name":"New"}`, 403, 200, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"plan":"pro","externalId":null}`, 403, 200, route.OrgsLimit},
		{"POST", "/v1/orgs", `{"name":"New","plan":"pro"}`, 403, 201, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}", `{"name":"New"}`, 403, 200, ""},
		{"PATCH", "/v1/orgs/{orgId}", `{}`, 403, 200, ""},
		{"POST", "/v1/orgs", `{"name":"New","allowance":` + some + `}`, 403, 201, route.OrgsLimit},
		{"POST", "/v1/orgs/{orgId}/keys", `{"ceilings":` + some + `}`, 403, 201, route.OrgsLimit},
		{"PATCH", "/v1/orgs/{orgId}/keys/{keyId}", `{"ceilings":` + some + `}`, 403, 200, route.OrgsLimit},
		{"POST", "/v1/orgs/{orgId}/keys/import", importing, 403, 200, route.OrgsLimit},
		{"POST", "/v1/orgs/{orgId}/keys/{keyId}/rotate", `{"graceSeconds":0,"ceilings":` + some + `}`, 403, 201, route.OrgsLimit},
	} {
		for _, as := range []struct {
			service *principal.Principal
			status  int
		}{{limit, c.ofLimit}, {writes, map[bool]int{true: c.ofBoth, false: 403}[c.lacks == ""]}, {both, c.ofBoth}} {
			out := s.do(t, w.request(c.method, c.path, as.service, c.body))
			if out.status != as.status || as.service == writes && !strings.Contains(out.text, string(c.lacks)) {
				t.Errorf("%s %s %s as %s: %d %s, want %d", c.method, c.path, c.body, as.service.Name, out.status, out.text, as.status)
			}
		}
	}
}

// TestTheAuditLogHasOperatorAndReasonOfAService: admins see the reason, and only services see the operator.
func TestTheAuditLogHasOperatorAndReasonOfAService(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	claim := func(caller *principal.Principal, name, operator, reason string) {
		t.Helper()
		in := w.request("PATCH", "/v1/orgs/{orgId}", caller, `{"name":"`+name+`"}`)
		in.header = map[string]string{"Latchkey-Operator": operator, "Latchkey-Reason": reason}
		w.want(t, in, 200, "")
	}
	claim(service(), "First", "ada@owner.example", "Ticket 4711")
	claim(service(), "Second", " \x00a\x80"+strings.Repeat("b", 200), strings.Repeat("c", 201)+"d")
	claim(service(), "Third", "\u202e", " ")
	claim(user(w.byRole["admin"]), "Fourth", "ada@owner.example", "Ticket 4711")
	for caller, seesOperator := range map[*principal.Principal]bool{service(): true, user(w.byRole["admin"]): false} {
		entries := w.want(t, w.request("GET", "/v1/orgs/{orgId}/audit", caller, ""), 200, "").list("entries")
		want := []struct{ operator, reason any }{{nil, nil}, {nil, nil}, {"a " + strings.Repeat("b", 98), strings.Repeat("c", 200)}, {"ada@owner.example", "Ticket 4711"}}
		for i, c := range want { // the newest first
			if !seesOperator {
				c.operator = nil
			}
			if entries[i]["operator"] != c.operator || entries[i]["reason"] != c.reason {
				t.Errorf("%s sees %v, want %v", caller.Kind, entries[i], c)
			}
		}
	}
}

// TestOnlyAServiceSetsTheOwnersValues: externalId, allowance, plan, and members by subject.
func TestOnlyAServiceSetsTheOwnersValues(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	admin := user(w.byRole["admin"])
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/orgs", `{"name":"x","externalId":"cus_1"}`},
		{"POST", "/v1/orgs", `{"name":"x","admin":{"subject":"zoe"}}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"externalId":"cus_1"}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"externalId":null}`},
		{"POST", "/v1/orgs", `{"name":"x","allowance":[]}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"allowance":[]}`},
		{"POST", "/v1/orgs", `{"name":"x","plan":"pro"}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"plan":"pro"}`},
		{"PATCH", "/v1/orgs/{orgId}", `{"plan":null}`},
		{"POST", "/v1/orgs/{orgId}/members", `{"subject":"zoe"}`},
		{"POST", "/v1/orgs/{orgId}/members", `{"email":"spare@example.com","name":"Zoe"}`},
	} {
		w.want(t, w.request(c.method, c.path, admin, c.body), 403, problem.InsufficientRole)
	}
	w.want(t, w.request("GET", "/v1/orgs?externalId=cus_1", admin, ""), 400, problem.UnknownParameter)
}

// TestTheOwnerCanLetOnlyServicesCreateOrgs: a user is then refused with every body, also with an invalid one.
func TestTheOwnerCanLetOnlyServicesCreateOrgs(t *testing.T) {
	s := newServerFor(t, settings{orgsBy: "services"})
	w := newWorld(t, s, "")
	for _, body := range []string{`{"name":"x"}`, `{}`, `{"name":"x","plan":"pro"}`} {
		out := w.want(t, w.request("POST", "/v1/orgs", user(w.byRole["admin"]), body), 403, problem.InsufficientRole)
		if out.str("detail") != "In this deployment only the owner can create orgs." {
			t.Errorf("%s: %s", body, out.text)
		}
	}
	w.want(t, w.request("POST", "/v1/orgs", service(), `{"name":"x"}`), 201, "")
	w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", user(w.byRole["admin"]), `{"name":"y"}`), 200, "")
}

func TestAServiceCreatesFindsAndChangesAnOrg(t *testing.T) {
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
		{"POST", "/v1/orgs", `{"name":"x","plan":""}`, "/plan"},
		{"POST", "/v1/orgs", `{"name":"x","plan":"Pro"}`, "/plan"},
		{"PATCH", path, `{"plan":"` + strings.Repeat("x", 17) + `"}`, "/plan"},
		{"PATCH", path, `{"plan":7}`, "/plan"},
		{"POST", path + "/members", `{"name":"Zoe"}`, "/subject"},
		{"POST", path + "/members", `{"subject":"zoe","email":"zoe@example.com"}`, "/email"},
	} {
		if out := as(bad.method, bad.path, bad.body, 422, problem.ValidationFailed); !strings.Contains(out.text, `"pointer":"`+bad.pointer+`"`) {
			t.Errorf("%s: no pointer %s in %s", bad.body, bad.pointer, out.text)
		}
	}
	for _, query := range []string{"?externalId=", "?externalId=a&externalId=b"} {
		as("GET", "/v1/orgs"+query, "", 400, problem.MissingParameter)
	}
	entry := as("GET", path+"/audit", "", 200, "")
	if !strings.Contains(entry.text, `"actor":{"type":"service","name":"billing"}`) || strings.Contains(entry.text, "zoe") {
		t.Errorf("the audit log: %s", entry.text)
	}
}

// TestAServiceIsNeverEnrolledAsAUser: else its access token would count as an admin's in the API, and as a member's at the
// doors.
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

// TestAServiceCannotBecomeAMemberByEmail: the subject was a user before the deployment named it as a service, so the table
// still has its verified address.
func TestAServiceCannotBecomeAMemberByEmail(t *testing.T) {
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
	signIn("https://another.example", "m2m") // another issuer
	signIn(issuer, "a-service-2")
	for _, address := range []string{"m2m", "a-service-2"} {
		w.want(t, w.request("POST", path, w.caller("admin"), `{"email":"`+address+`@example.com"}`), 201, "")
	}
}

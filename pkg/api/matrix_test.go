package api_test

import (
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/webhook"
)

// row is a line of the matrix: a request to a route, and the callers who may make it. The callers are written by hand, because
// the matrix tests the table of routes.
type row struct {
	body   string
	status int    // of the answer to a caller who may make the request
	may    string // the callers: roles, or one of the texts below
}

const (
	ofNoOrg   = "only services, not about one org"
	anyUser   = "any user" // the route is not about one org
	withAKey  = "API key"
	services  = "only services" // TestAServiceMayDoTheSameAsAnAdmin tests them
	anyMember = "admin, member, viewer"
)

// allRoles lists the roles. Each has a member in the matrix.
var allRoles = []org.Role{org.Admin, org.Member, org.Viewer}

// good has a row for every route that accepts a credential.
func good() map[string]row {
	return map[string]row{
		"GET /v1/orgs":                                                           {"", 200, anyUser},
		"POST /v1/orgs":                                                          {`{"name":"New"}`, 201, anyUser},
		"GET /v1/orgs/{orgId}":                                                   {"", 200, anyMember},
		"PATCH /v1/orgs/{orgId}":                                                 {`{"name":"Renamed"}`, 200, "admin"},
		"DELETE /v1/orgs/{orgId}":                                                {"", 204, "admin"},
		"POST /v1/orgs/{orgId}/suspension":                                       {"", 200, services},
		"DELETE /v1/orgs/{orgId}/suspension":                                     {"", 204, services},
		"GET /v1/orgs/{orgId}/audit":                                             {"", 200, "admin"},
		"GET /v1/orgs/{orgId}/members":                                           {"", 200, "admin, member"},
		"POST /v1/orgs/{orgId}/members":                                          {`{"email":"spare@example.com"}`, 201, "admin"},
		"PATCH /v1/orgs/{orgId}/members/{userId}":                                {`{"role":"member"}`, 200, "admin"},
		"DELETE /v1/orgs/{orgId}/members/{userId}":                               {"", 204, "admin"},
		"POST /v1/orgs/{orgId}/leave":                                            {`{}`, 204, anyMember},
		"GET /v1/orgs/{orgId}/keys":                                              {"", 200, "admin, member"},
		"POST /v1/orgs/{orgId}/keys":                                             {`{}`, 201, "admin"},
		"POST /v1/orgs/{orgId}/keys/import":                                      {`{"keys":[{"sha256":"` + strings.Repeat("0a", 32) + `","prefix":"sk"}]}`, 200, services},
		"PATCH /v1/orgs/{orgId}/keys/{keyId}":                                    {`{"scopes":["a"]}`, 200, "admin"},
		"DELETE /v1/orgs/{orgId}/keys/{keyId}":                                   {"", 204, "admin"},
		"DELETE /v1/orgs/{orgId}/keys":                                           {"?createdBy={adminId}", 204, "admin"},
		"POST /v1/orgs/{orgId}/keys/{keyId}/rotate":                              {`{"graceSeconds":0}`, 201, "admin"},
		"GET /v1/orgs/{orgId}/keys/{keyId}/usage":                                {"", 200, "admin, member"},
		"GET /v1/orgs/{orgId}/usage":                                             {"", 200, "admin"},
		"GET /v1/orgs/{orgId}/apps":                                              {"", 200, "admin, member"},
		"POST /v1/orgs/{orgId}/apps":                                             {`{"name":"Second"}`, 201, "admin"},
		"PATCH /v1/orgs/{orgId}/apps/{appId}":                                    {`{"name":"Renamed"}`, 200, "admin"},
		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                    {"", 200, "admin"},
		"PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":     {`{"enabled":false}`, 200, "admin"},
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                   {`{"url":"https://hooks.example.com"}`, 201, "admin"},
		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":       {"", 200, "admin"},
		"DELETE /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":    {"", 204, "admin"},
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test": {"", 200, "admin"},
		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_events":                       {"", 200, "admin, member"},
		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_events/{eventId}":             {"", 200, "admin, member"},
		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries":                   {"?endpointId={endpointId}", 200, "admin, member"},
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver":        {`{"eventId":"{eventId}","endpointId":"{endpointId}"}`, 200, "admin"},
		"GET /v1/orgs/{orgId}/apps/{appId}/links":                                {"", 200, "admin, member"},
		"DELETE /v1/orgs/{orgId}/apps/{appId}/links/{linkId}":                    {"", 204, "admin"},
		"POST /v1/orgs/{orgId}/apps/{appId}/events":                              {`{"events":[{"type":"invoice.paid","data":{}}]}`, 202, services},
		"POST /v1/keys/find":                                                     {`{"key":"lk_x"}`, 200, ofNoOrg},
		"PUT /v1/catalogue":                                                      {`{"scopes":[],"events":[]}`, 204, ofNoOrg},
		"GET /v1/usage":                                                          {"", 200, ofNoOrg},
		"GET /v1/users":                                                          {"?email=target@example.com", 200, ofNoOrg},
		"GET /v1/users/{userId}":                                                 {"", 200, ofNoOrg},
		"DELETE /v1/users/{userId}":                                              {"", 204, ofNoOrg},
		"POST /v1/users/{userId}/stop":                                           {"", 200, ofNoOrg},
		"DELETE /v1/users/{userId}/stop":                                         {"", 204, ofNoOrg},
		"POST /v1/users/{userId}/signout":                                        {"", 204, ofNoOrg},
		"POST /v1/me/signout":                                                    {"", 204, anyUser},
		"POST /app/get":                                                          {`{}`, 200, withAKey},
		"POST /link/create":                                                      {`{"clientUserId":"u"}`, 201, withAKey},
		"POST /link/get":                                                         {`{"linkId":"{linkId}"}`, 200, withAKey},
		"POST /link/list":                                                        {`{}`, 200, withAKey},
		"POST /link/revoke":                                                      {`{"linkId":"{linkId}"}`, 200, withAKey},
		"POST /webhook_endpoint/create":                                          {`{"url":"https://hooks.example.com"}`, 201, withAKey},
		"POST /webhook_endpoint/get":                                             {`{"endpointId":"{endpointId}"}`, 200, withAKey},
		"POST /webhook_endpoint/list":                                            {`{}`, 200, withAKey},
		"POST /webhook_endpoint/update":                                          {`{"endpointId":"{endpointId}","description":"changed"}`, 200, withAKey},
		"POST /webhook_endpoint/delete":                                          {`{"endpointId":"{endpointId}"}`, 200, withAKey},
		"POST /webhook_endpoint/test":                                            {`{"endpointId":"{endpointId}"}`, 200, withAKey},
		"POST /webhook_event/list":                                               {`{}`, 200, withAKey},
		"POST /webhook_event/get":                                                {`{"eventId":"{eventId}"}`, 200, withAKey},
		"POST /webhook_delivery/list":                                            {`{"eventId":"{eventId}"}`, 200, withAKey},
		"POST /webhook_delivery/redeliver":                                       {`{"eventId":"{eventId}","endpointId":"{endpointId}"}`, 200, withAKey},
	}
}

// world is an org with one of everything that a route can name. Each row of the matrix gets a new world.
type world struct {
	*server
	org     id.Org
	byRole  map[org.Role]id.User
	target  id.User // a viewer: the member that the routes with {userId} change
	outside id.User // admin of another org
	orgless id.User // a user without any org
	key     id.Key

	link, endpoint, event string // "" before connect
}

// newWorld makes a world. suffix makes its emails differ from the emails of other worlds on the same server.
func newWorld(t *testing.T, s *server, suffix string) *world {
	t.Helper()
	w := &world{server: s, byRole: map[org.Role]id.User{}}
	mail := func(name string) string { return name + suffix + "@example.com" }
	w.byRole[org.Admin] = s.NewUser(t, mail("admin"))
	w.org = s.NewOrg(t, w.byRole[org.Admin])
	for _, r := range allRoles[1:] {
		w.byRole[r] = w.add(t, mail(string(r)), r)
	}
	w.target = w.add(t, mail("target"), org.Viewer)
	w.outside, w.orgless = s.NewUser(t, mail("outside")), s.NewUser(t, mail("orgless"))
	s.NewOrg(t, w.outside)
	made := s.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", user(w.byRole[org.Admin]), `{}`), 201, "")
	w.key = id.Key(made.str("id"))
	return w
}

// add makes a user, and adds the user to the org.
func (w *world) add(t *testing.T, email string, r org.Role) id.User {
	t.Helper()
	u := w.NewUser(t, email)
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", user(w.byRole[org.Admin]), `{"email":"`+email+`","role":"`+string(r)+`"}`), 201, "")
	return u
}

// request returns a request with the ids of the world in place of the names in braces. A body that begins with ? is a query.
func (w *world) request(method, pattern string, as *principal.Principal, body string) request {
	if strings.HasPrefix(body, "?") {
		pattern, body = pattern+body, ""
	}
	ids := strings.NewReplacer(
		"{orgId}", string(w.org), "{userId}", string(w.target), "{adminId}", string(w.byRole[org.Admin]), "{keyId}", string(w.key), "{appId}", string(id.DefaultApp(w.org)),
		"{linkId}", w.link, "{endpointId}", w.endpoint, "{eventId}", w.event,
	)
	return request{as: as, method: method, path: ids.Replace(pattern), body: ids.Replace(body)}
}

// connect adds the items that the routes of an API key can name: a link, an endpoint, an event, and its failed delivery to the
// endpoint.
func (w *world) connect(t *testing.T) {
	t.Helper()
	key := w.caller("key")
	w.link = w.want(t, w.request("POST", "/link/create", key, `{"clientUserId":"u"}`), 201, "").str("id")
	w.endpoint = w.want(t, w.request("POST", "/webhook_endpoint/create", key, `{"url":"https://hooks.example.com/in?token=hidden"}`), 201, "").str("id")
	w.event = w.want(t, w.request("POST", "/webhook_endpoint/test", key, `{"endpointId":"{endpointId}"}`), 200, "").str("eventId")
	if _, err := w.Deliveries().FanOut(t.Context(), key.AppID, id.Event(w.event)); err != nil {
		t.Fatal(err)
	}
	failed := webhook.DeliveryID{App: key.AppID, Endpoint: id.Endpoint(w.endpoint), Event: id.Event(w.event)}
	if err := w.Deliveries().GiveUp(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
}

// TestRoleMatrix calls every route as every kind of caller.
func TestRoleMatrix(t *testing.T) {
	if !slices.Equal(allRoles, org.AllRoles()) {
		t.Fatalf("the matrix has the roles %q, want %q", allRoles, org.AllRoles())
	}
	s := newServer(t)
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com") // the row of POST …/members adds this user
	rows := good()
	for _, route := range route.All() {
		if route.Takes == principal.Public {
			continue
		}
		r, ok := rows[route.Name()]
		delete(rows, route.Name())
		t.Run(route.Name(), func(t *testing.T) {
			if !ok {
				t.Fatal("the route has no row in the matrix")
			}
			suffix := strings.ToLower(rand.Text())
			w := newWorld(t, s, suffix)
			w.add(t, "deputy"+suffix+"@example.com", org.Admin) // so that the admin can leave: the last admin cannot
			if r.may == withAKey || strings.Contains(route.Pattern, "/webhook_") || strings.Contains(route.Pattern, "/links") {
				w.connect(t)
			}
			callers := expected(r)
			// Refused callers come first: they have the higher status. So they find the items before other callers change them.
			names := slices.SortedFunc(maps.Keys(callers), func(a, b string) int {
				return cmp.Or(cmp.Compare(callers[b].status, callers[a].status), cmp.Compare(a, b))
			})
			for _, caller := range names {
				want := callers[caller]
				out := s.do(t, w.request(route.Method, route.Pattern, w.caller(caller), r.body))
				if out.status != want.status || out.code() != string(want.code) {
					t.Errorf("%s: %d %s, want %d %s", caller, out.status, out.code(), want.status, want.code)
				}
				if got := out.header.Get("Cache-Control"); got != "no-store" {
					t.Errorf("%s: Cache-Control %q", caller, got)
				}
			}
		})
	}
	for name := range rows {
		t.Errorf("%s has a row, and is not a route that accepts a credential", name)
	}
}

// TestTheMatrixFollowsTheContract compares the rows with the table "Roles" of the contract. For each line of that table, words
// lists the routes that the line allows.
func TestTheMatrixFollowsTheContract(t *testing.T) {
	text, err := os.ReadFile("../../infra/docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n| Role | May |\n|---|---|\n")
	section, _, _ = strings.Cut(section, "\n\n")
	const theOrg, leave, app = "GET /v1/orgs/{orgId}", "POST /v1/orgs/{orgId}/leave", "GET /v1/orgs/{orgId}/apps/{appId}/"
	words := map[string][]string{ // nil: every route of an org
		"| admin | do everything in the org |": nil,
		"| member | read the org, its members, its API keys and their use, its apps, and their links, events and deliveries, and leave it |": {
			theOrg, theOrg + "/members", theOrg + "/keys", theOrg + "/keys/{keyId}/usage", theOrg + "/apps", leave, app + "links", app + "webhook_events",
			app + "webhook_events/{eventId}", app + "webhook_deliveries",
		},
		"| viewer | read the org itself, and leave it |": {theOrg, leave},
	}
	lines := strings.Split(section, "\n")
	if len(lines) != len(allRoles) {
		t.Errorf("the contract has %d roles", len(lines))
	}
	for _, line := range lines {
		routes, ok := words[line]
		if !ok {
			t.Errorf("the matrix does not know the words %q", line)
			continue
		}
		role := strings.Fields(line)[1]
		for name, r := range good() {
			if !strings.Contains(name, "{orgId}") || r.may == services {
				continue
			}
			may := slices.Contains(strings.Split(r.may, ", "), role)
			if isAllowed := routes == nil || slices.Contains(routes, name); may != isAllowed {
				t.Errorf("%s for %s: %t in the matrix, %t in the contract", name, role, may, isAllowed)
			}
		}
	}
}

type outcome struct {
	status int
	code   problem.Code
}

// expected returns the outcome of a row for each kind of caller, by the name that world.caller accepts.
func expected(r row) map[string]outcome {
	success := outcome{r.status, ""}
	// If a route gets a credential of another kind, it has lost its authorizer. That is our fault, so the answer is a 500.
	noAuthorizer := outcome{http.StatusInternalServerError, problem.Internal}
	if r.may == withAKey {
		return map[string]outcome{"key": success, "admin": noAuthorizer, "none": noAuthorizer, "no credential": noAuthorizer}
	}
	out := map[string]outcome{
		"key": noAuthorizer, "no credential": noAuthorizer,
		"none": {http.StatusForbidden, problem.IdentityIncomplete},
	}
	for _, role := range allRoles {
		out[string(role)] = outcome{http.StatusForbidden, problem.InsufficientRole}
		if r.may == anyUser || slices.Contains(strings.Split(r.may, ", "), string(role)) {
			out[string(role)] = success
		}
	}
	for _, outsider := range []string{"admin of another org", "no member"} {
		out[outsider] = outcome{http.StatusNotFound, problem.OrgNotFound}
		if r.may == anyUser {
			out[outsider] = success
		}
		if r.may == ofNoOrg {
			out[outsider] = outcome{http.StatusForbidden, problem.InsufficientRole}
		}
	}
	return out
}

// caller returns the principal for a name in expected. "none" is an access token that identifies no user.
func (w *world) caller(name string) *principal.Principal {
	switch name {
	case "key":
		return &principal.Principal{Kind: principal.Key, OrgID: w.org, AppID: id.DefaultApp(w.org), KeyID: w.key}
	case "none":
		return &principal.Principal{Kind: principal.None}
	case "no credential":
		return nil
	case "admin of another org":
		return user(w.outside)
	case "no member":
		return user(w.orgless)
	default:
		return user(w.byRole[org.Role(name)])
	}
}

func TestMembersCannotChangeOrRemoveThemselves(t *testing.T) {
	s := newServer(t)
	for _, role := range allRoles[1:] {
		// A member cannot remove themselves by this route: POST …/leave is for that.
		w := newWorld(t, s, "-self-"+string(role))
		w.target = w.byRole[role]
		for _, to := range allRoles {
			w.want(t, w.request("PATCH", "/v1/orgs/{orgId}/members/{userId}", user(w.target), `{"role":"`+string(to)+`"}`), 403, problem.InsufficientRole)
		}
		w.want(t, w.request("DELETE", "/v1/orgs/{orgId}/members/{userId}", user(w.target), ""), 403, problem.InsufficientRole)
	}
}

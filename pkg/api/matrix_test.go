package api_test

import (
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// good has, for every route with roles, a request that succeeds for an admin, and the status of
// that success. A new route without a row fails the matrix.
func good() map[string]struct {
	body   string
	status int
} {
	return map[string]struct {
		body   string
		status int
	}{
		"GET /v1/orgs":                                                       {"", 200},
		"POST /v1/orgs":                                                      {`{"name":"New"}`, 201},
		"GET /v1/orgs/{orgId}":                                               {"", 200},
		"PATCH /v1/orgs/{orgId}":                                             {`{"name":"Renamed"}`, 200},
		"DELETE /v1/orgs/{orgId}":                                            {"", 204},
		"GET /v1/orgs/{orgId}/audit":                                         {"", 200},
		"GET /v1/orgs/{orgId}/members":                                       {"", 200},
		"POST /v1/orgs/{orgId}/members":                                      {`{"email":"spare@example.com"}`, 201},
		"PATCH /v1/orgs/{orgId}/members/{userId}":                            {`{"role":"member"}`, 200},
		"DELETE /v1/orgs/{orgId}/members/{userId}":                           {"", 204},
		"POST /v1/orgs/{orgId}/leave":                                        {`{}`, 204},
		"GET /v1/orgs/{orgId}/keys":                                          {"", 200},
		"POST /v1/orgs/{orgId}/keys":                                         {`{}`, 201},
		"PATCH /v1/orgs/{orgId}/keys/{keyId}":                                {`{"scopes":["a"]}`, 200},
		"DELETE /v1/orgs/{orgId}/keys/{keyId}":                               {"", 204},
		"POST /v1/orgs/{orgId}/keys/{keyId}/rotate":                          {`{"graceSeconds":0}`, 201},
		"GET /v1/orgs/{orgId}/apps":                                          {"", 200},
		"POST /v1/orgs/{orgId}/apps":                                         {`{"name":"Second"}`, 201},
		"PATCH /v1/orgs/{orgId}/apps/{appId}":                                {`{"name":"Renamed"}`, 200},
		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                {"", 200},
		"PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}": {`{"enabled":false}`, 200},
		"POST /app/get":                                                      {`{}`, 200},
		"POST /link/create":                                                  {`{"clientUserId":"u"}`, 201},
		"POST /link/get":                                                     {`{"linkId":"{linkId}"}`, 200},
		"POST /link/list":                                                    {`{}`, 200},
		"POST /link/revoke":                                                  {`{"linkId":"{linkId}"}`, 200},
		"POST /webhook_endpoint/create":                                      {`{"url":"https://hooks.example.com"}`, 201},
		"POST /webhook_endpoint/get":                                         {`{"endpointId":"{endpointId}"}`, 200},
		"POST /webhook_endpoint/list":                                        {`{}`, 200},
		"POST /webhook_endpoint/update":                                      {`{"endpointId":"{endpointId}","description":"changed"}`, 200},
		"POST /webhook_endpoint/delete":                                      {`{"endpointId":"{endpointId}"}`, 200},
		"POST /webhook_endpoint/test":                                        {`{"endpointId":"{endpointId}"}`, 200},
		"POST /webhook_event/list":                                           {`{}`, 200},
		"POST /webhook_event/get":                                            {`{"eventId":"{eventId}"}`, 200},
		"POST /webhook_delivery/list":                                        {`{"eventId":"{eventId}"}`, 200},
		"POST /webhook_delivery/redeliver":                                   {`{"eventId":"{eventId}","endpointId":"{endpointId}"}`, 200},
	}
}

// world is an org with everything that a route can name, made anew for each row of the matrix.
type world struct {
	*server
	org     id.Org
	byRole  map[org.Role]id.User
	target  id.User // a viewer that others change
	outside id.User // admin of another org
	orgless id.User // a user without any org
	key     id.Key

	link, endpoint, event string // of connect
}

func newWorld(t *testing.T, s *server, suffix string) *world {
	t.Helper()
	w := &world{server: s, byRole: map[org.Role]id.User{}}
	mail := func(name string) string { return name + suffix + "@example.com" }
	w.byRole[org.Admin] = s.NewUser(t, mail("admin"))
	w.org = s.NewOrg(t, w.byRole[org.Admin])
	for _, r := range []org.Role{org.Member, org.Viewer} {
		w.byRole[r] = w.add(t, mail(string(r)), r)
	}
	w.target = w.add(t, mail("target"), org.Viewer)
	w.outside, w.orgless = s.NewUser(t, mail("outside")), s.NewUser(t, mail("orgless"))
	s.NewOrg(t, w.outside)
	made := s.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", user(w.byRole[org.Admin]), `{}`), 201, "")
	w.key = id.Key(made.str("id"))
	return w
}

func (w *world) add(t *testing.T, email string, r org.Role) id.User {
	t.Helper()
	u := w.NewUser(t, email)
	w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", user(w.byRole[org.Admin]), `{"email":"`+email+`","role":"`+string(r)+`"}`), 201, "")
	return u
}

func (w *world) request(method, pattern string, as *principal.Principal, body string) request {
	path := strings.NewReplacer(
		"{orgId}", string(w.org), "{userId}", string(w.target), "{keyId}", string(w.key),
		"{appId}", string(id.DefaultApp(w.org)), "{endpointId}", w.endpoint,
	).Replace(pattern)
	body = strings.NewReplacer("{linkId}", w.link, "{endpointId}", w.endpoint, "{eventId}", w.event).Replace(body)
	return request{as: as, method: method, path: path, body: body}
}

// connect adds what the routes of an API key can name: a link, an endpoint, an
// event, and its delivery to the endpoint, which has failed.
func (w *world) connect(t *testing.T) {
	t.Helper()
	key := w.caller("key")
	w.link = w.want(t, w.request("POST", "/link/create", key, `{"clientUserId":"u"}`), 201, "").str("id")
	w.endpoint = w.want(t, w.request("POST", "/webhook_endpoint/create", key, `{"url":"https://hooks.example.com"}`), 201, "").str("id")
	w.event = w.want(t, w.request("POST", "/webhook_endpoint/test", key, `{"endpointId":"{endpointId}"}`), 200, "").str("eventId")
	if _, err := w.FanOut(t.Context(), key.AppID, id.Event(w.event)); err != nil {
		t.Fatal(err)
	}
	failed := store.Delivery{App: key.AppID, Endpoint: id.Endpoint(w.endpoint), Event: id.Event(w.event)}
	if err := w.GiveUp(t.Context(), store.Work{Delivery: failed}); err != nil {
		t.Fatal(err)
	}
}

// TestRoleMatrix calls every route as every kind of caller.
func TestRoleMatrix(t *testing.T) {
	s := newServer(t)
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com")
	for _, route := range route.All() {
		if route.Takes == principal.Public {
			continue
		}
		t.Run(route.Name(), func(t *testing.T) {
			ask, ok := good()[route.Name()]
			if !ok {
				t.Fatal("the route has no row in the matrix")
			}
			suffix := strings.ToLower(rand.Text())
			w := newWorld(t, s, suffix)
			w.add(t, "deputy"+suffix+"@example.com", org.Admin) // so that an admin may leave
			if route.Takes == principal.APIKey || strings.Contains(route.Pattern, "{endpointId}") {
				w.connect(t)
			}
			callers := expected(route, ask.status)
			// Callers that are refused come first: they must not change the world.
			names := slices.SortedFunc(maps.Keys(callers), func(a, b string) int {
				return cmp.Or(cmp.Compare(callers[b].status, callers[a].status), cmp.Compare(a, b))
			})
			for _, caller := range names {
				want := callers[caller]
				out := s.do(t, w.request(route.Method, route.Pattern, w.caller(caller), ask.body))
				if out.status != want.status || out.code() != string(want.code) {
					t.Errorf("%s: %d %s, want %d %s", caller, out.status, out.code(), want.status, want.code)
				}
				if got := out.header.Get("Cache-Control"); got != "no-store" {
					t.Errorf("%s: Cache-Control %q", caller, got)
				}
			}
		})
	}
}

type outcome struct {
	status int
	code   problem.Code
}

// expected returns every caller's outcome by the line of the route.
func expected(r route.Route, good int) map[string]outcome {
	fine := outcome{good, ""}
	unwired := outcome{http.StatusInternalServerError, problem.Internal}
	if r.Takes == principal.APIKey {
		return map[string]outcome{"key": fine, "admin": unwired, "none": unwired, "no credential": unwired}
	}
	out := map[string]outcome{
		"key": unwired, "no credential": unwired,
		"none": {http.StatusForbidden, problem.IdentityIncomplete},
	}
	for _, role := range org.AllRoles() {
		switch {
		case r.May == route.NoOrg, slices.Contains(r.May.List(), role):
			out[string(role)] = fine
		default:
			out[string(role)] = outcome{http.StatusForbidden, problem.InsufficientRole}
		}
	}
	for _, stranger := range []string{"admin of another org", "no member"} {
		out[stranger] = outcome{http.StatusNotFound, problem.OrgNotFound}
		if r.May == route.NoOrg {
			out[stranger] = fine
		}
	}
	return out
}

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

func TestARowOfTheMatrixForTheCallerThemselves(t *testing.T) {
	s := newServer(t)
	for _, role := range []org.Role{org.Member, org.Viewer} {
		w := newWorld(t, s, "-self-"+string(role))
		w.target = w.byRole[role]
		for _, to := range org.AllRoles() {
			w.want(t, w.request("PATCH", "/v1/orgs/{orgId}/members/{userId}", user(w.target), `{"role":"`+string(to)+`"}`), 403, problem.InsufficientRole)
		}
		w.want(t, w.request("DELETE", "/v1/orgs/{orgId}/members/{userId}", user(w.target), ""), 403, problem.InsufficientRole)
	}
}

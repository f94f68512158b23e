package api_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/api"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store/storetest"
)

// The origins of the owner's console in these tests.
const (
	console = "https://console.example.com"
	local   = "http://localhost:5173" // the console on its developer's machine
)

// otherOrigins are values of Origin that are neither console nor local.
var otherOrigins = []string{
	"https://evil.example", "http://console.example.com", "https://console.example.com.evil.example", "https://x.console.example.com",
	"https://console.example.com:8443", "https://console.example.com/", "HTTPS://console.example.com", "null", "*", console + ", " + local, "",
}

// from returns the headers of a request from a page of an origin; "": from no page.
func from(origin string) map[string]string {
	if origin == "" {
		return nil
	}
	return map[string]string{"Origin": origin}
}

// Results of sharedWith.
const (
	everyPage      = "* Retry-After "
	noPage         = "  "
	consoleHeaders = " Retry-After, Idempotency-Replayed Origin" // follows an origin of the console
)

// sharedWith returns three texts with spaces between them: the pages that may read the answer, the headers that they may read,
// and Vary.
func sharedWith(h http.Header) string {
	if h.Values("Access-Control-Allow-Credentials") != nil {
		return "credentials"
	}
	vary := slices.DeleteFunc(slices.Clone(h["Vary"]), func(v string) bool { return v == "Accept-Encoding" }) // not about pages
	return strings.Join(h["Access-Control-Allow-Origin"], "+") + " " + strings.Join(h["Access-Control-Expose-Headers"], "+") + " " + strings.Join(vary, "+")
}

func TestAPreflightAllowsTheMethodsOfItsPath(t *testing.T) {
	s := newServer(t, console, local)
	for path, methods := range map[string]string{
		"/v1/orgs": "GET, POST", "/v1/orgs/o": "GET, PATCH, DELETE", "/v1/orgs/o/audit": "GET", "/v1/orgs/o/members": "GET, POST",
		"/v1/orgs/o/members/u": "PATCH, DELETE", "/v1/orgs/o/leave": "POST", "/v1/orgs/o/keys": "GET, POST, DELETE", "/v1/orgs/o/keys/k": "PATCH, DELETE",
		"/v1/orgs/o/keys/k/rotate": "POST", "/v1/orgs/o/keys/k/usage": "GET", "/v1/orgs/o/usage": "GET", "/v1/orgs/o/apps": "GET, POST", "/v1/orgs/o/apps/a": "PATCH",
		"/v1/orgs/o/apps/a/webhook_endpoints": "GET, POST", "/v1/orgs/o/apps/a/webhook_endpoints/e": "GET, PATCH, DELETE",
		"/v1/orgs/o/apps/a/webhook_endpoints/e/test": "POST", "/v1/orgs/o/apps/a/webhook_events": "GET", "/v1/orgs/o/apps/a/webhook_events/e": "GET",
		"/v1/orgs/o/apps/a/webhook_deliveries": "GET", "/v1/orgs/o/apps/a/webhook_deliveries/redeliver": "POST",
		"/v1/orgs/o/apps/a/links": "GET", "/v1/orgs/o/apps/a/links/l": "DELETE",
	} {
		for _, origin := range []string{console, local} {
			h := s.want(t, request{method: "OPTIONS", path: path, header: from(origin)}, 204, "").header
			if got := h.Get("Access-Control-Allow-Methods"); got != methods {
				t.Errorf("%s: methods %q", path, got)
			}
			if h.Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Idempotency-Key" || h.Get("Access-Control-Max-Age") != "86400" {
				t.Errorf("%s: %v", path, h)
			}
			if got := sharedWith(h); got != origin+consoleHeaders {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	for _, path := range []string{"/link/claim", "/key/revoke", verificationKey} {
		h := s.want(t, request{method: "OPTIONS", path: path, header: from("https://any.example")}, 204, "").header
		if sharedWith(h) != everyPage || h.Get("Access-Control-Allow-Methods") != "POST" {
			t.Errorf("%s: %v", path, h)
		}
		if h.Get("Access-Control-Allow-Headers") != "Content-Type" || h.Get("Access-Control-Max-Age") != "86400" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// TestEveryPathForPagesHasAPreflight checks that a preflight allows each path of the console its own methods, and other paths
// none.
func TestEveryPathForPagesHasAPreflight(t *testing.T) {
	s, methods := newServer(t, console), map[string][]string{}
	for _, r := range route.All() {
		if strings.HasPrefix(r.Pattern, "/v1/") && r.May != route.ServicesOnly && r.Method != http.MethodOptions { // a page cannot act as a service
			methods[r.Pattern] = append(methods[r.Pattern], r.Method)
		}
	}
	if len(methods) < 20 {
		t.Errorf("only %v", methods)
	}
	for path, want := range methods {
		h := s.want(t, request{method: "OPTIONS", path: path, header: from(console)}, 204, "").header
		if got := h.Get("Access-Control-Allow-Methods"); got != strings.Join(want, ", ") {
			t.Errorf("%s: methods %q", path, got)
		}
	}
	for _, path := range []string{"/v1/orgs/o/apps/a/events", "/v1/nothing", "/v1/orgs/o/k", "/v1/orgs/o/keys/k/rotate/x", "/v1/%7Bproxy+%7D", "/v1/orgs/o/apps/a/links/l/l"} {
		h := s.want(t, request{method: "OPTIONS", path: path, header: from(console)}, 404, problem.RouteNotFound).header
		if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// TestAFunctionsPathHasOneAuthorizer: SAM local uses the authorizer of the last method for all methods of a path in a function.
func TestAFunctionsPathHasOneAuthorizer(t *testing.T) {
	public := map[[2]string]bool{}
	for _, r := range route.All() {
		at := [2]string{r.Function, r.Pattern}
		open := r.Takes == principal.Public
		if before, known := public[at]; known && before != open {
			t.Errorf("%s of %s: public %v, another method %v", r.Name(), r.Function, open, before)
		}
		public[at] = open
	}
}

func TestOtherOriginsGetA404ForPreflights(t *testing.T) {
	listed, none := newServer(t, console, local), newServer(t) // with console origins, and without
	for _, r := range route.All() {
		if !r.ForConsole() {
			continue
		}
		for _, origin := range append(otherOrigins, console) {
			for s, vary := range map[*server]string{listed: "Origin", none: ""} {
				if s == listed && origin == console {
					continue // this server knows the origin
				}
				h := s.want(t, request{method: "OPTIONS", path: r.Pattern, header: from(origin)}, 404, problem.RouteNotFound).header
				if got := sharedWith(h); got != "*  "+vary || h.Get("Cache-Control") != "no-store" || h.Get("Access-Control-Allow-Methods") != "" {
					t.Errorf("%s from %q: %v", r.Name(), origin, h)
				}
			}
		}
	}
}

// TestAnswersUnderV1AreSharedOnlyWithTheConsole: both good answers and errors.
func TestAnswersUnderV1AreSharedOnlyWithTheConsole(t *testing.T) {
	w := newWorld(t, newServer(t, console, local), "")
	admin, viewer := user(w.byRole[org.Admin]), user(w.byRole[org.Viewer])
	send := func(as *principal.Principal, method, pattern, body, origin string, status int, code problem.Code) string {
		r := w.request(method, pattern, as, body)
		r.header = from(origin)
		return sharedWith(w.want(t, r, status, code).header)
	}
	for _, c := range []struct {
		as                    *principal.Principal
		method, pattern, body string
		status                int
		code                  problem.Code
	}{
		{admin, "GET", "/v1/orgs", "", 200, ""}, {admin, "POST", "/v1/orgs/{orgId}/apps", `{"name":"x"}`, 201, ""},
		{viewer, "GET", "/v1/orgs/{orgId}/keys", "", 403, problem.InsufficientRole}, {admin, "GET", "/v1/orgs?x=1", "", 400, problem.UnknownParameter},
		{user(w.orgless), "GET", "/v1/orgs/{orgId}/members", "", 404, problem.OrgNotFound}, {viewer, "DELETE", "/v1/orgs/{orgId}", "", 403, problem.InsufficientRole}, {admin, "POST", "/v1/orgs", "", 422, problem.ValidationFailed},
		{nil, "GET", "/v1/orgs", "", 500, problem.Internal},
	} {
		for _, origin := range []string{console, local} {
			if got := send(c.as, c.method, c.pattern, c.body, origin, c.status, c.code); got != origin+consoleHeaders {
				t.Errorf("%s %s, %d: %s", c.method, c.pattern, c.status, got)
			}
		}
	}
	for _, origin := range otherOrigins {
		if got := send(admin, "GET", "/v1/orgs", "", origin, 200, ""); got != "  Origin" {
			t.Errorf("from %q: %s", origin, got)
		}
	}
	w.Faults.Plan("", storetest.LostBefore, -1)
	if got := send(admin, "GET", "/v1/orgs", "", console, 503, problem.Unavailable); got != console+consoleHeaders {
		t.Errorf("503: %s", got)
	}
	unlisted := newWorld(t, newServer(t), "")
	r := unlisted.request("GET", "/v1/orgs", user(unlisted.orgless), "")
	r.header = from(console)
	if got := sharedWith(unlisted.want(t, r, 200, "").header); got != noPage {
		t.Errorf("without a list: %s", got)
	}
}

// TestAnAnswerAfterAPanicIsSharedToo: the CORS headers are set before the handler is called.
func TestAnAnswerAfterAPanicIsSharedToo(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(principal.NewContext(t.Context(), principal.Principal{Kind: principal.User}), "GET", "/v1/orgs", nil)
	r.Pattern = "GET /v1/orgs"
	r.Header.Set("Origin", console)
	func() {
		defer func() { _ = recover() }()
		api.Orgs(nil, []string{console}, nil, issuer, nil, false).ServeHTTP(w, r)
		t.Error("no panic")
	}()
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != console {
		t.Errorf("Access-Control-Allow-Origin %q", got)
	}
}

func TestPublicAnswersAreSharedWithEveryPage(t *testing.T) {
	r := newKeyServer(t)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/.well-known/jwks.json", "", 200}, {"HEAD", "/.well-known/jwks.json", "", 200}, {"GET", "/openapi.yaml", "", 200},
		{"GET", keyByPath + r.active, "", 200}, {"GET", keyByPath + r.revoked, "", 410}, {"HEAD", keyByPath + r.active, "", 200},
		{"GET", keyByPath + strings.Repeat("A", 43), "", 404}, {"GET", keyByPath + "x", "", 400},
		{"POST", verificationKey, `{"kid":"` + r.active + `"}`, 200}, {"POST", verificationKey, `{}`, 422}, {"POST", "/link/claim", `{}`, 422},
	} {
		out := r.do(t, request{method: c.method, path: c.path, body: c.body, header: from("https://any.example")})
		if out.status != c.status || sharedWith(out.header) != everyPage {
			t.Errorf("%s %s: %d %v", c.method, c.path, out.status, out.header)
		}
	}
	r.Faults.Plan("", storetest.LostBefore, -1)
	out := r.do(t, request{method: "GET", path: keyByPath + r.next, header: from("https://any.example")})
	if out.status != 503 || sharedWith(out.header) != everyPage {
		t.Errorf("%d %v", out.status, out.header)
	}
}

// TestAnswersToAnAPIKeyAreSharedWithNoPage: an API key is a server's credential.
func TestAnswersToAnAPIKeyAreSharedWithNoPage(t *testing.T) {
	w := newWorld(t, newServer(t, console), "")
	for _, path := range []string{"/app/get", "/link/list", "/webhook_endpoint/list"} {
		out := w.want(t, request{as: w.caller("key"), method: "POST", path: path, body: `{}`, header: from(console)}, 200, "")
		if got := sharedWith(out.header); got != noPage {
			t.Errorf("%s: %s", path, got)
		}
	}
}

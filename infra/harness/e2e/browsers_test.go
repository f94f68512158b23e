package e2e_test

import (
	"net/http"
	"strings"
	"testing"
)

// consoleOrigin is an origin of ConsoleOrigins on the stacks that tests start.
const consoleOrigin = "https://console.example.com"

// foreignPages sends the preflights that a browser sends for a page of another origin. Public routes allow them. The function
// of /v1 must refuse them. It must not be the gateway, whose own answers have the header X-Amzn-Errortype.
func foreignPages(t *testing.T, tg *target) {
	from := http.Header{"Origin": {"https://stranger.example"}}
	for _, path := range []string{"/v1/orgs", "/v1/orgs/o/keys/k", "/v1/orgs/o/members", "/v1/orgs/o/apps"} {
		r := tg.do(t, call{method: "OPTIONS", path: path, header: from})
		notFound := r.status == 404 && r.code() == "route_not_found"
		if !notFound || r.header.Get("X-Amzn-Errortype") != "" || r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: %d %v %s", path, r.status, r.header, r.text)
		}
	}
	for _, path := range []string{"/link/claim", "/key/revoke", "/webhook_verification_key/get"} {
		r := tg.do(t, call{method: "OPTIONS", path: path, header: from})
		if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != "*" || r.header.Get("Access-Control-Allow-Headers") != "Content-Type" {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
	}
}

// consolePages calls /v1 as a page of the console does. The gateway's own answers allow every
// origin, because they cannot choose one.
func consolePages(t *testing.T, tg *target) {
	from := http.Header{"Origin": {consoleOrigin}}
	for path, method := range map[string]string{
		"/v1/orgs": "POST", "/v1/orgs/o/members/u": "PATCH", "/v1/orgs/o/keys/k": "DELETE", "/v1/orgs/o/apps/a/webhook_endpoints/e": "PATCH",
	} {
		pre, err := tg.try(t.Context(), call{method: "OPTIONS", path: path, header: from}) // not do, because the OpenAPI document has no preflights
		if err != nil || pre.status != 204 || pre.header.Get("Access-Control-Allow-Origin") != consoleOrigin || pre.header.Get("Vary") != "Origin" {
			t.Fatalf("%s: %d %v, %v", path, pre.status, pre.header, err)
		}
		methods, headers := pre.header.Get("Access-Control-Allow-Methods"), pre.header.Get("Access-Control-Allow-Headers")
		if !strings.Contains(methods, method) || headers != "Authorization, Content-Type, Idempotency-Key" {
			t.Errorf("%s: %s; %s", path, methods, headers)
		}
	}
	ada := tg.person(t, "ada")
	once := from.Clone()
	once.Set("Idempotency-Key", "a-console-that-sends-its-request-twice")
	for _, replayed := range []string{"", "true"} { // the second request repeats the first
		r := tg.want(t, call{method: "POST", path: "/v1/orgs", body: `{"name":"Acme"}`, bearer: ada.token, header: once}, 201, "")
		if r.header.Get("Access-Control-Allow-Origin") != consoleOrigin || r.header.Get("Idempotency-Replayed") != replayed {
			t.Errorf("%v", r.header)
		}
		if got := r.header.Get("Access-Control-Expose-Headers"); got != "Retry-After, Idempotency-Replayed" {
			t.Errorf("exposed: %s", got)
		}
	}
	refused := tg.want(t, call{method: "GET", path: "/v1/orgs", bearer: "nonsense", header: from}, 401, "token_invalid")
	if got := refused.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("401: Access-Control-Allow-Origin %q", got)
	}
}

// difference is an answer of SAM local that is not the right one, because SAM local cannot do more.
type difference struct {
	status int    // the status of SAM local's answer
	why    string // what SAM local cannot do
}

// samDifferences is the complete list of answers of `sam local start-api` that differ, by the
// request's method and path, or by the problem code of the right answer. A run fails if one of
// them does not occur.
var samDifferences = map[string]difference{
	"missing_credentials": {http.StatusForbidden, "SAM local has no gateway responses: a Deny is a 403 with a fixed sentence"},
	"invalid_credentials": {http.StatusForbidden, "as above"},
	"key_revoked":         {http.StatusForbidden, "as above"},
	"key_expired":         {http.StatusForbidden, "as above"},
	"token_invalid":       {http.StatusForbidden, "as above"},
	"user_token_required": {http.StatusForbidden, "as above"},
	"api_key_required":    {http.StatusForbidden, "as above"},
	"GET /v1/orgs/a%2Fb":  {http.StatusForbidden, "SAM local decodes %2F before it routes: the path is an unknown one"},
	"route_not_found":     {http.StatusForbidden, "SAM local answers an unknown path with 403 Missing Authentication Token"},
}

// differs reports whether an answer that is not the expected one is a known difference of the target.
func (tg *target) differs(c call, status int, code string, r reply) bool {
	if tg.name != "sam" || r.status == status {
		return false
	}
	for _, name := range []string{c.method + " " + c.path, code} {
		if d, known := samDifferences[name]; known && r.status == d.status {
			tg.mu.Lock()
			defer tg.mu.Unlock()
			tg.met[name] = true // for everyDifferenceOccurred
			return true
		}
	}
	return false
}

// everyDifferenceOccurred checks that SAM local still has each difference in samDifferences.
func (tg *target) everyDifferenceOccurred(t *testing.T) {
	t.Helper()
	if tg.name != "sam" {
		return
	}
	for name, d := range samDifferences {
		if !tg.met[name] {
			t.Errorf("%s: SAM local no longer answers %d (%s): remove the line from samDifferences", name, d.status, d.why)
		}
	}
}

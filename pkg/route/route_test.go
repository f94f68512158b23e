package route_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
)

// TestPreflightsArePublic: public functions that pages call answer their own preflights, and webhookkeys answers the preflights
// of /v1.
func TestPreflightsArePublic(t *testing.T) {
	functions := map[string]string{"/link/claim": "links", "/key/revoke": "keys", "/webhook_verification_key/get": "webhookkeys", "/v1/{proxy+}": "webhookkeys"}
	for _, r := range route.All() {
		if r.Method != "OPTIONS" {
			continue
		}
		if r.Operation != route.Preflight || r.Takes != principal.Public || r.May != route.NoOrg || r.Function != functions[r.Pattern] {
			t.Errorf("%+v", r)
		}
		delete(functions, r.Pattern)
	}
	if len(functions) != 0 {
		t.Errorf("without a preflight: %v", functions)
	}
}

// TestRoutesAreFoundByMethodAndPath: Methods returns only the methods that a page in a browser may use.
func TestRoutesAreFoundByMethodAndPath(t *testing.T) {
	for path, want := range map[string][]string{
		"/v1/orgs": {"GET", "POST"}, "/link/claim": {"POST"}, "/webhook_verification_key/get": {"POST"}, "/v1/orgs/o/keys/k": {"PATCH", "DELETE"},
		"/v1/orgs/o/keys/import":   {"PATCH", "DELETE"}, // the methods of a key with the id "import": browsers cannot call the import
		"/v1/orgs/o/apps/a/events": nil, "/v1": nil, "/v1/orgs/": nil, "/v1/orgs//keys": nil, "/v1/{proxy+}": nil, "/v1/x": nil, "/link/create": nil,
	} {
		if got := route.Methods(path); !slices.Equal(got, want) {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, c := range [][2]string{{"PUT", "/v1/orgs"}, {"GET", "/link/create"}, {"GET", "/none"}} {
		if found, ok := route.Find(c[0], c[1]); found.Operation != "" || ok {
			t.Errorf("%s %s: %+v, %v", c[0], c[1], found, ok)
		}
	}
	for _, r := range route.All() {
		method, pattern, _ := strings.Cut(r.Name(), " ")
		if method != r.Method || pattern != r.Pattern {
			t.Errorf("%+v is named %q", r, r.Name())
		}
	}
}

// operations lists all routes, except preflights and HEAD. Each public GET also has a HEAD.
const operations = `listOrgs GET /v1/orgs, createOrg POST /v1/orgs, getOrg GET /v1/orgs/{orgId}, updateOrg PATCH /v1/orgs/{orgId},
	deleteOrg DELETE /v1/orgs/{orgId}, suspendOrg POST /v1/orgs/{orgId}/suspension, resumeOrg DELETE /v1/orgs/{orgId}/suspension, listAudit GET /v1/orgs/{orgId}/audit,
	findUser GET /v1/users, getUser GET /v1/users/{userId}, eraseUser DELETE /v1/users/{userId},
	stopUser POST /v1/users/{userId}/stop, resumeUser DELETE /v1/users/{userId}/stop,
	signOutUser POST /v1/users/{userId}/signout, signOutMe POST /v1/me/signout, listMembers GET /v1/orgs/{orgId}/members,
	addMember POST /v1/orgs/{orgId}/members, updateMember PATCH /v1/orgs/{orgId}/members/{userId},
	removeMember DELETE /v1/orgs/{orgId}/members/{userId}, leaveOrg POST /v1/orgs/{orgId}/leave, listKeys GET /v1/orgs/{orgId}/keys,
	createKey POST /v1/orgs/{orgId}/keys, importKeys POST /v1/orgs/{orgId}/keys/import, updateKey PATCH /v1/orgs/{orgId}/keys/{keyId},
	revokeKey DELETE /v1/orgs/{orgId}/keys/{keyId}, revokeKeysOf DELETE /v1/orgs/{orgId}/keys, rotateKey POST /v1/orgs/{orgId}/keys/{keyId}/rotate,
	getKeyUsage GET /v1/orgs/{orgId}/keys/{keyId}/usage, getUsage GET /v1/orgs/{orgId}/usage, listApps GET /v1/orgs/{orgId}/apps,
	createApp POST /v1/orgs/{orgId}/apps, updateApp PATCH /v1/orgs/{orgId}/apps/{appId},
	listAppWebhookEndpoints GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints,
	createAppWebhookEndpoint POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints,
	getAppWebhookEndpoint GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId},
	enableAppWebhookEndpoint PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId},
	deleteAppWebhookEndpoint DELETE /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId},
	testAppWebhookEndpoint POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test,
	listAppWebhookEvents GET /v1/orgs/{orgId}/apps/{appId}/webhook_events,
	getAppWebhookEvent GET /v1/orgs/{orgId}/apps/{appId}/webhook_events/{eventId},
	listAppWebhookDeliveries GET /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries,
	redeliverAppWebhooks POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver,
	listAppLinks GET /v1/orgs/{orgId}/apps/{appId}/links, revokeAppLink DELETE /v1/orgs/{orgId}/apps/{appId}/links/{linkId},
	publishEvents POST /v1/orgs/{orgId}/apps/{appId}/events, getApp POST /app/get, createLink POST /link/create, getLink POST /link/get,
	listLinks POST /link/list, revokeLink POST /link/revoke, createWebhookEndpoint POST /webhook_endpoint/create,
	getWebhookEndpoint POST /webhook_endpoint/get, listWebhookEndpoints POST /webhook_endpoint/list,
	updateWebhookEndpoint POST /webhook_endpoint/update, deleteWebhookEndpoint POST /webhook_endpoint/delete,
	testWebhookEndpoint POST /webhook_endpoint/test, listWebhookEvents POST /webhook_event/list, getWebhookEvent POST /webhook_event/get,
	listWebhookDeliveries POST /webhook_delivery/list, redeliverWebhooks POST /webhook_delivery/redeliver,
	getWebhookVerificationKey POST /webhook_verification_key/get, readWebhookVerificationKey GET /webhook_verification_key/{kid},
	getJWKS GET /.well-known/jwks.json, getContract GET /openapi.yaml, getConsole GET /console,
	getConsoleConfig GET /console/config.json, getConsoleFile GET /console/files/{file}, getVerifyPage GET /console/verify,
	getReference GET /reference, getSummary GET /llms.txt, claimLink POST /link/claim, revokeByText POST /key/revoke,
	findKey POST /v1/keys/find, putCatalogue PUT /v1/catalogue, getCatalogue GET /catalogue.json, reportLeaks POST /key/leaks/github, listUsage GET /v1/usage`

// TestEachOperationHasItsMethodAndPath compares the table with operations, which is written by hand.
func TestEachOperationHasItsMethodAndPath(t *testing.T) {
	missing := map[string]int{}
	for line := range strings.SplitSeq(operations, ",") {
		operation, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		missing[operation+" "+name] = 1
		if method, pattern, _ := strings.Cut(name, " "); method == "GET" && !strings.HasPrefix(pattern, "/v1/") {
			missing[operation+" HEAD "+pattern] = 1
		}
	}
	for _, r := range route.All() {
		if r.Method != "OPTIONS" {
			missing[r.Operation+" "+r.Name()]--
		}
	}
	for name, n := range missing {
		if n != 0 {
			t.Errorf("%s: %d routes too few (negative: too many)", name, n)
		}
	}
}

func TestSetsOfRolesAreExact(t *testing.T) {
	for set, want := range map[route.Roles][]org.Role{
		route.NoOrg: nil, route.ServicesOnly: nil, route.AdminsOnly: {org.Admin}, route.MayRead: {org.Admin, org.Member}, route.AnyMember: {org.Admin, org.Member, org.Viewer},
	} {
		if got := set.List(); !slices.Equal(got, want) {
			t.Errorf("%d: %v", set, got)
		}
	}
}

// TestTheLargestBodiesAreAsDocumented in infra/docs/api.md: one bound for most routes, and a separate bound for each other route.
func TestTheLargestBodiesAreAsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../infra/docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string]int{"putCatalogue": 64 << 10, "importKeys": 256 << 10, "reportLeaks": 256 << 10, "publishEvents": 1280 << 10}
	sentence := fmt.Sprintf("of at most %d KB, of %d KB for a catalogue, of %d KB for imported keys and reports of leaks, and of %d KB for published events.",
		route.DefaultMaxBody>>10, bounds["putCatalogue"]>>10, bounds["importKeys"]>>10, bounds["publishEvents"]>>10)
	if !strings.Contains(string(text), sentence) || route.DefaultMaxBody != 16*1024 {
		t.Errorf("the document lacks: %s", sentence)
	}
	for _, r := range route.All() {
		if r.MaxBody != bounds[r.Operation] {
			t.Errorf("%s accepts %d bytes", r.Operation, r.MaxBody)
		}
	}
}

// TestEachRouteIsServedByItsFunction, and by no other function.
func TestEachRouteIsServedByItsFunction(t *testing.T) {
	served := map[string]int{}
	functions := map[string]bool{}
	for _, r := range route.All() {
		functions[r.Function] = true
	}
	for function := range functions {
		for _, r := range route.ServedBy(function) {
			served[r.Name()]++
			if r.Function != function {
				t.Errorf("%s serves %+v", function, r)
			}
		}
	}
	for _, r := range route.All() {
		if served[r.Name()] != 1 {
			t.Errorf("%s is served by %d functions", r.Name(), served[r.Name()])
		}
	}
}

// TestEachRouteAcceptsItsCredential: a request to a route of API keys spends the key's limits, unless it ends something, such as a link. Other routes
// under /v1 accept access tokens, and the rest is public.
func TestEachRouteAcceptsItsCredential(t *testing.T) {
	type access struct {
		takes        principal.Credential
		ends, mayEnd bool // it always ends something; it ends something if the body says so
	}
	ofKeys := map[string]access{}
	for a, routes := range map[access]string{
		{principal.APIKey, false, false}: `POST /app/get, POST /link/create, POST /link/get, POST /link/list, POST /webhook_endpoint/create, POST /webhook_endpoint/get,
			POST /webhook_endpoint/list, POST /webhook_endpoint/test, POST /webhook_event/list, POST /webhook_event/get, POST /webhook_delivery/list,
			POST /webhook_delivery/redeliver`,
		{principal.APIKey, true, false}: `POST /link/revoke, POST /webhook_endpoint/delete`,
		{principal.APIKey, false, true}: `POST /webhook_endpoint/update`,
	} {
		for _, name := range strings.Split(routes, ",") {
			ofKeys[strings.TrimSpace(name)] = a
		}
	}
	public := strings.Fields(`/webhook_verification_key/get /webhook_verification_key/{kid} /.well-known/jwks.json /openapi.yaml /catalogue.json /console /console/config.json
		/console/files/{file} /console/verify /reference /llms.txt /link/claim /key/revoke /key/leaks/github`)
	for _, r := range route.All() {
		want, isOfKeys := ofKeys[r.Name()]
		switch {
		case r.Method == "OPTIONS": // TestPreflightsArePublic
			continue
		case isOfKeys:
			delete(ofKeys, r.Name())
		case slices.Contains(public, r.Pattern):
			want.takes = principal.Public
		case strings.HasPrefix(r.Pattern, "/v1/"):
			want.takes = principal.UserToken
		}
		if found, ok := route.Find(r.Method, r.Pattern); !ok || want.takes == "" || (access{found.Takes, found.Ends, found.MayEnd}) != want {
			t.Errorf("%s: %+v, want %v", r.Name(), found, want)
		}
	}
	if len(ofKeys) != 0 {
		t.Errorf("these routes do not exist: %v", ofKeys)
	}
}

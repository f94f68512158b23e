// Package route is the table of the API's routes. It is data, so that the authorizer can use it without the handlers.
package route

import (
	"net/http"
	"slices"
	"strings"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
)

// Route is one line of the table: its operation, the function that serves it, the credential that it accepts and the roles that may
// use it. To add a route, begin here. The role matrix and the tests of the template and of the OpenAPI document then fail until
// they have the route too.
type Route struct {
	Operation string // operationId in infra/openapi.yaml, and the name of the handler
	Method    string
	Pattern   string // in the form of API Gateway: /v1/orgs/{orgId}
	Function  string // the folder under functions/
	Takes     principal.Credential
	May       Roles    // who may use a UserToken route; NoOrg for other routes
	Right     Right    // the right that a service needs on a UserToken route; People: services may not use it
	PerMember bool     // the handler checks the rights of a service, by the members of the body, instead of Right
	Suspended Openness // whether a UserToken route of an org works while the org is suspended; not for GET
	Query     []string // the names of the query parameters that the route accepts
	MaxBody   int      // of a request, in bytes; 0: DefaultMaxBody
	Ends      bool     // an APIKey route that ends something, so it spends nothing of the key's limits
	MayEnd    bool     // an APIKey route that ends something with some bodies. It spends a request; over the limits the handler refuses the other bodies
}

// DefaultMaxBody is the largest body of a request, in bytes, unless the route accepts a larger one (infra/docs/api.md,
// "Requests and answers").
const DefaultMaxBody = 16 << 10

// Preflight is the operation of every OPTIONS route.
const Preflight = "preflight"

// Name returns the route's name in logs: "GET /v1/orgs/{orgId}".
func (r Route) Name() string { return r.Method + " " + r.Pattern }

// ForConsole reports whether only pages of the console's origins may call the route. No page may call a route of services.
func (r Route) ForConsole() bool {
	return strings.HasPrefix(r.Pattern, "/v1/") && r.May != ServicesOnly
}

// Openness is how a route works while the org is suspended. A GET is never restricted.
type Openness uint8

// The degrees of openness.
const (
	Closed  Openness = iota // the route creates or extends something, so it answers org_suspended
	Narrows                 // the route accepts only changes that extend nothing
	Open                    // the route ends something, or belongs to the owner
)

// Roles is a set of roles.
type Roles uint8

// The sets of roles that routes use.
const (
	NoOrg        Roles = iota // any user, because the route is not about one org
	AnyMember                 // admin, member or viewer
	MayRead                   // admin or member
	AdminsOnly                // admin
	ServicesOnly              // no user, only a service of the owner
)

// List returns the roles of the set, nil for NoOrg and ServicesOnly.
func (r Roles) List() []org.Role {
	switch r {
	case AnyMember:
		return org.AllRoles()
	case MayRead:
		return []org.Role{org.Admin, org.Member}
	case AdminsOnly:
		return []org.Role{org.Admin}
	default:
		return nil
	}
}

// page lists the query parameters of a page.
var page = []string{"limit", "cursor"}

// routes is the whole authorization of the product (infra/docs/contract.md, "Routes";
// infra/docs/api.md, "Routes").
var routes = [...]Route{
	{Operation: "listOrgs", Method: "GET", Pattern: "/v1/orgs", Function: "orgs", Takes: principal.UserToken, Right: OrgsRead, Query: []string{"limit", "cursor", "externalId"}},
	{Operation: "createOrg", Method: "POST", Pattern: "/v1/orgs", Function: "orgs", Takes: principal.UserToken, Right: OrgsWrite},
	{Operation: "getOrg", Method: "GET", Pattern: "/v1/orgs/{orgId}", Function: "orgs", Takes: principal.UserToken, Right: OrgsRead, May: AnyMember},
	{Operation: "updateOrg", Method: "PATCH", Pattern: "/v1/orgs/{orgId}", Function: "orgs", Takes: principal.UserToken, Right: OrgsWrite, May: AdminsOnly, Suspended: Open, PerMember: true},
	{Operation: "deleteOrg", Method: "DELETE", Pattern: "/v1/orgs/{orgId}", Function: "deleteorg", Takes: principal.UserToken, Right: OrgsEnd, May: AdminsOnly, Suspended: Open},
	{Operation: "suspendOrg", Method: "POST", Pattern: "/v1/orgs/{orgId}/suspension", Function: "orgs", Takes: principal.UserToken, Right: OrgsSuspend, May: ServicesOnly, Suspended: Open},
	{Operation: "resumeOrg", Method: "DELETE", Pattern: "/v1/orgs/{orgId}/suspension", Function: "orgs", Takes: principal.UserToken, Right: OrgsResume, May: ServicesOnly, Suspended: Open},
	{Operation: "listAudit", Method: "GET", Pattern: "/v1/orgs/{orgId}/audit", Function: "orgs", Takes: principal.UserToken, Right: AuditRead, May: AdminsOnly, Query: []string{"actor", "action", "target", "from", "to", "limit", "cursor"}},

	{Operation: "listMembers", Method: "GET", Pattern: "/v1/orgs/{orgId}/members", Function: "members", Takes: principal.UserToken, Right: MembersRead, May: MayRead, Query: page},
	{Operation: "addMember", Method: "POST", Pattern: "/v1/orgs/{orgId}/members", Function: "members", Takes: principal.UserToken, Right: MembersWrite, May: AdminsOnly},
	{Operation: "updateMember", Method: "PATCH", Pattern: "/v1/orgs/{orgId}/members/{userId}", Function: "members", Takes: principal.UserToken, Right: MembersWrite, May: AdminsOnly, Suspended: Narrows},
	{Operation: "removeMember", Method: "DELETE", Pattern: "/v1/orgs/{orgId}/members/{userId}", Function: "members", Takes: principal.UserToken, Right: MembersEnd, May: AdminsOnly, Suspended: Open},
	{Operation: "leaveOrg", Method: "POST", Pattern: "/v1/orgs/{orgId}/leave", Function: "members", Takes: principal.UserToken, Right: People, May: AnyMember, Suspended: Open},

	{Operation: "findUser", Method: "GET", Pattern: "/v1/users", Function: "users", Takes: principal.UserToken, Right: UsersRead, May: ServicesOnly, Query: []string{"email", "subject"}},
	{Operation: "getUser", Method: "GET", Pattern: "/v1/users/{userId}", Function: "users", Takes: principal.UserToken, Right: UsersRead, May: ServicesOnly},
	{Operation: "eraseUser", Method: "DELETE", Pattern: "/v1/users/{userId}", Function: "users", Takes: principal.UserToken, Right: UsersEnd, May: ServicesOnly},
	{Operation: "stopUser", Method: "POST", Pattern: "/v1/users/{userId}/stop", Function: "users", Takes: principal.UserToken, Right: UsersStop, May: ServicesOnly},
	{Operation: "resumeUser", Method: "DELETE", Pattern: "/v1/users/{userId}/stop", Function: "users", Takes: principal.UserToken, Right: UsersStop, May: ServicesOnly},
	{Operation: "signOutUser", Method: "POST", Pattern: "/v1/users/{userId}/signout", Function: "users", Takes: principal.UserToken, Right: UsersStop, May: ServicesOnly},
	{Operation: "signOutMe", Method: "POST", Pattern: "/v1/me/signout", Function: "users", Takes: principal.UserToken, Right: People},

	{Operation: "listKeys", Method: "GET", Pattern: "/v1/orgs/{orgId}/keys", Function: "keys", Takes: principal.UserToken, Right: KeysRead, May: MayRead, Query: []string{"limit", "cursor", "createdBy"}},
	{Operation: "createKey", Method: "POST", Pattern: "/v1/orgs/{orgId}/keys", Function: "keys", Takes: principal.UserToken, Right: KeysWrite, May: AdminsOnly},
	{Operation: "importKeys", Method: "POST", Pattern: "/v1/orgs/{orgId}/keys/import", Function: "keys", Takes: principal.UserToken, Right: KeysImport, May: ServicesOnly, MaxBody: 256 << 10},
	{Operation: "updateKey", Method: "PATCH", Pattern: "/v1/orgs/{orgId}/keys/{keyId}", Function: "keys", Takes: principal.UserToken, Right: KeysWrite, May: AdminsOnly, Suspended: Narrows},
	{Operation: "revokeKey", Method: "DELETE", Pattern: "/v1/orgs/{orgId}/keys/{keyId}", Function: "keys", Takes: principal.UserToken, Right: KeysRevoke, May: AdminsOnly, Suspended: Open, Query: []string{"endpoints", "links"}},
	{Operation: "revokeKeysOf", Method: "DELETE", Pattern: "/v1/orgs/{orgId}/keys", Function: "keys", Takes: principal.UserToken, Right: KeysRevoke, May: AdminsOnly, Suspended: Open, Query: []string{"createdBy"}},
	{Operation: "rotateKey", Method: "POST", Pattern: "/v1/orgs/{orgId}/keys/{keyId}/rotate", Function: "keys", Takes: principal.UserToken, Right: KeysWrite, May: AdminsOnly},
	{Operation: "getKeyUsage", Method: "GET", Pattern: "/v1/orgs/{orgId}/keys/{keyId}/usage", Function: "keys", Takes: principal.UserToken, Right: UsageRead, May: MayRead, Query: []string{"from", "to"}},
	{Operation: "findKey", Method: "POST", Pattern: "/v1/keys/find", Function: "keys", Takes: principal.UserToken, Right: KeysRead, May: ServicesOnly},
	{Operation: "getUsage", Method: "GET", Pattern: "/v1/orgs/{orgId}/usage", Function: "keys", Takes: principal.UserToken, Right: UsageRead, May: AdminsOnly, Query: []string{"month", "limit", "cursor"}},
	{Operation: "listUsage", Method: "GET", Pattern: "/v1/usage", Function: "keys", Takes: principal.UserToken, Right: UsageRead, May: ServicesOnly, Query: []string{"month", "limit", "cursor"}},

	{Operation: "listApps", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps", Function: "apps", Takes: principal.UserToken, Right: AppsRead, May: MayRead, Query: page},
	{Operation: "createApp", Method: "POST", Pattern: "/v1/orgs/{orgId}/apps", Function: "apps", Takes: principal.UserToken, Right: AppsWrite, May: AdminsOnly},
	{Operation: "updateApp", Method: "PATCH", Pattern: "/v1/orgs/{orgId}/apps/{appId}", Function: "apps", Takes: principal.UserToken, Right: AppsWrite, May: AdminsOnly, Suspended: Open},
	{Operation: "listAppWebhookEndpoints", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksRead, May: AdminsOnly, Query: page},
	{Operation: "createAppWebhookEndpoint", Method: "POST", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksWrite, May: AdminsOnly},
	{Operation: "getAppWebhookEndpoint", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksRead, May: AdminsOnly},
	{Operation: "enableAppWebhookEndpoint", Method: "PATCH", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksWrite, May: AdminsOnly, Suspended: Narrows},
	{Operation: "deleteAppWebhookEndpoint", Method: "DELETE", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksEnd, May: AdminsOnly, Suspended: Open},
	{Operation: "testAppWebhookEndpoint", Method: "POST", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksWrite, May: AdminsOnly},
	{Operation: "listAppWebhookEvents", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_events", Function: "webhooks", Takes: principal.UserToken, Right: EventsRead, May: MayRead, Query: []string{"since", "order", "limit", "cursor"}},
	{Operation: "getAppWebhookEvent", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_events/{eventId}", Function: "webhooks", Takes: principal.UserToken, Right: EventsRead, May: MayRead},
	{Operation: "listAppWebhookDeliveries", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksRead, May: MayRead, Query: []string{"eventId", "endpointId", "since", "status", "order", "limit", "cursor"}},
	{Operation: "redeliverAppWebhooks", Method: "POST", Pattern: "/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver", Function: "webhooks", Takes: principal.UserToken, Right: WebhooksWrite, May: AdminsOnly},
	{Operation: "listAppLinks", Method: "GET", Pattern: "/v1/orgs/{orgId}/apps/{appId}/links", Function: "links", Takes: principal.UserToken, Right: LinksRead, May: MayRead, Query: page},
	{Operation: "revokeAppLink", Method: "DELETE", Pattern: "/v1/orgs/{orgId}/apps/{appId}/links/{linkId}", Function: "links", Takes: principal.UserToken, Right: LinksEnd, May: AdminsOnly, Suspended: Open},
	{Operation: "publishEvents", Method: "POST", Pattern: "/v1/orgs/{orgId}/apps/{appId}/events", Function: "apps", Takes: principal.UserToken, Right: EventsWrite, May: ServicesOnly, MaxBody: 1280 << 10},
	{Operation: "putCatalogue", Method: "PUT", Pattern: "/v1/catalogue", Function: "apps", Takes: principal.UserToken, Right: CatalogueWrite, May: ServicesOnly, MaxBody: 64 << 10},
	{Operation: "getApp", Method: "POST", Pattern: "/app/get", Function: "apps", Takes: principal.APIKey},

	{Operation: "createLink", Method: "POST", Pattern: "/link/create", Function: "links", Takes: principal.APIKey},
	{Operation: "getLink", Method: "POST", Pattern: "/link/get", Function: "links", Takes: principal.APIKey},
	{Operation: "listLinks", Method: "POST", Pattern: "/link/list", Function: "links", Takes: principal.APIKey},
	{Operation: "revokeLink", Method: "POST", Pattern: "/link/revoke", Function: "links", Takes: principal.APIKey, Ends: true},
	{Operation: "createWebhookEndpoint", Method: "POST", Pattern: "/webhook_endpoint/create", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "getWebhookEndpoint", Method: "POST", Pattern: "/webhook_endpoint/get", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "listWebhookEndpoints", Method: "POST", Pattern: "/webhook_endpoint/list", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "updateWebhookEndpoint", Method: "POST", Pattern: "/webhook_endpoint/update", Function: "webhooks", Takes: principal.APIKey, MayEnd: true},
	{Operation: "deleteWebhookEndpoint", Method: "POST", Pattern: "/webhook_endpoint/delete", Function: "webhooks", Takes: principal.APIKey, Ends: true},
	{Operation: "testWebhookEndpoint", Method: "POST", Pattern: "/webhook_endpoint/test", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "listWebhookEvents", Method: "POST", Pattern: "/webhook_event/list", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "getWebhookEvent", Method: "POST", Pattern: "/webhook_event/get", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "listWebhookDeliveries", Method: "POST", Pattern: "/webhook_delivery/list", Function: "webhooks", Takes: principal.APIKey},
	{Operation: "redeliverWebhooks", Method: "POST", Pattern: "/webhook_delivery/redeliver", Function: "webhooks", Takes: principal.APIKey},

	{Operation: "getWebhookVerificationKey", Method: "POST", Pattern: "/webhook_verification_key/get", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "preflight", Method: "OPTIONS", Pattern: "/webhook_verification_key/get", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "readWebhookVerificationKey", Method: "GET", Pattern: "/webhook_verification_key/{kid}", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "readWebhookVerificationKey", Method: "HEAD", Pattern: "/webhook_verification_key/{kid}", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getJWKS", Method: "GET", Pattern: "/.well-known/jwks.json", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getJWKS", Method: "HEAD", Pattern: "/.well-known/jwks.json", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getContract", Method: "GET", Pattern: "/openapi.yaml", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getContract", Method: "HEAD", Pattern: "/openapi.yaml", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getCatalogue", Method: "GET", Pattern: "/catalogue.json", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getCatalogue", Method: "HEAD", Pattern: "/catalogue.json", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "getConsole", Method: "GET", Pattern: "/console", Function: "console", Takes: principal.Public},
	{Operation: "getConsole", Method: "HEAD", Pattern: "/console", Function: "console", Takes: principal.Public},
	{Operation: "getConsoleConfig", Method: "GET", Pattern: "/console/config.json", Function: "console", Takes: principal.Public},
	{Operation: "getConsoleConfig", Method: "HEAD", Pattern: "/console/config.json", Function: "console", Takes: principal.Public},
	{Operation: "getConsoleFile", Method: "GET", Pattern: "/console/files/{file}", Function: "console", Takes: principal.Public},
	{Operation: "getConsoleFile", Method: "HEAD", Pattern: "/console/files/{file}", Function: "console", Takes: principal.Public},
	{Operation: "getVerifyPage", Method: "GET", Pattern: "/console/verify", Function: "console", Takes: principal.Public},
	{Operation: "getVerifyPage", Method: "HEAD", Pattern: "/console/verify", Function: "console", Takes: principal.Public},
	{Operation: "getReference", Method: "GET", Pattern: "/reference", Function: "console", Takes: principal.Public},
	{Operation: "getReference", Method: "HEAD", Pattern: "/reference", Function: "console", Takes: principal.Public},
	{Operation: "getSummary", Method: "GET", Pattern: "/llms.txt", Function: "console", Takes: principal.Public},
	{Operation: "getSummary", Method: "HEAD", Pattern: "/llms.txt", Function: "console", Takes: principal.Public},
	{Operation: "preflight", Method: "OPTIONS", Pattern: "/v1/{proxy+}", Function: "webhookkeys", Takes: principal.Public},
	{Operation: "claimLink", Method: "POST", Pattern: "/link/claim", Function: "links", Takes: principal.Public},
	{Operation: "preflight", Method: "OPTIONS", Pattern: "/link/claim", Function: "links", Takes: principal.Public},
	{Operation: "revokeByText", Method: "POST", Pattern: "/key/revoke", Function: "keys", Takes: principal.Public},
	{Operation: "preflight", Method: "OPTIONS", Pattern: "/key/revoke", Function: "keys", Takes: principal.Public},
	{Operation: "reportLeaks", Method: "POST", Pattern: "/key/leaks/github", Function: "leaks", Takes: principal.Public, MaxBody: 256 << 10},
}

// All returns every route of the API.
func All() []Route { return slices.Clone(routes[:]) }

// ServedBy returns the routes of a function. Each function calls it when it starts.
func ServedBy(function string) (served []Route) {
	for i := range routes {
		if routes[i].Function == function {
			served = append(served, routes[i])
		}
	}
	return served
}

// Methods returns the methods by which pages may call a path, without OPTIONS; nil: no page may call it.
func Methods(path string) (out []string) {
	for _, r := range routes {
		isPublic := r.Takes == principal.Public && r.Pattern == path
		if r.Method != http.MethodOptions && (isPublic || r.ForConsole() && r.matches(path)) {
			out = append(out, r.Method)
		}
	}
	return out
}

// matches reports whether a path fits the route's pattern, segment by segment.
func (r Route) matches(path string) bool {
	return slices.EqualFunc(strings.Split(r.Pattern, "/"), strings.Split(path, "/"), func(pattern, segment string) bool {
		return pattern == segment || strings.HasPrefix(pattern, "{") && segment != ""
	})
}

// Find returns the route with a method and a pattern. ok is false if the table has no such route.
func Find(method, pattern string) (found Route, ok bool) {
	for _, r := range routes {
		if r.Method == method && r.Pattern == pattern {
			return r, true
		}
	}
	return Route{}, false
}

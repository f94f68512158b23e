// Package route is the table of the API's routes. It is data, which the authorizer reads without
// the handlers.
package route

import (
	"net/http"
	"slices"
	"strings"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
)

// Route is one line of the API: its operation, the function that serves it, the credential that
// it takes and the roles that may use it. A new route begins here. The role matrix and the
// tests of the template and of the OpenAPI document compare it with the rest.
type Route struct {
	Operation string // operationId in infra/openapi.yaml, and the name of the handler
	Method    string
	Pattern   string // in the form of API Gateway and net/http: /v1/orgs/{orgId}
	Function  string // the folder under functions/
	Takes     principal.Credential
	May       Roles // UserToken routes under an org only
}

// Preflight is the operation of every OPTIONS route.
const Preflight = "preflight"

// Name returns the route's name in logs: "GET /v1/orgs/{orgId}".
func (r Route) Name() string { return r.Method + " " + r.Pattern }

// ForConsole reports whether only pages of the console's origins may call the route.
func (r Route) ForConsole() bool { return strings.HasPrefix(r.Pattern, "/v1/") }

// Query returns the names of the query parameters that the route takes.
func (r Route) Query() []string {
	switch r.Operation {
	case "listOrgs", "listAudit", "listMembers", "listApps", "listAppWebhookEndpoints":
		return []string{"limit", "cursor"}
	case "listKeys":
		return []string{"limit", "cursor", "createdBy"}
	case "revokeKey":
		return []string{"endpoints", "links"}
	default:
		return nil
	}
}

// Roles is a set of roles.
type Roles uint8

// The sets of roles that routes use.
const (
	NoOrg      Roles = iota // the route is not about one org: any user
	AnyMember               // admin, member or viewer
	MayRead                 // admin or member
	AdminsOnly              // admin
)

// List returns the roles of the set, nil for NoOrg.
func (r Roles) List() []org.Role {
	switch r {
	case AnyMember:
		return []org.Role{org.Admin, org.Member, org.Viewer}
	case MayRead:
		return []org.Role{org.Admin, org.Member}
	case AdminsOnly:
		return []org.Role{org.Admin}
	default:
		return nil
	}
}

// routes is the whole authorization of the product (infra/docs/contract.md, "Routes";
// infra/docs/api.md, "Routes").
var routes = [...]Route{
	{"listOrgs", "GET", "/v1/orgs", "orgs", principal.UserToken, NoOrg},
	{"createOrg", "POST", "/v1/orgs", "orgs", principal.UserToken, NoOrg},
	{"getOrg", "GET", "/v1/orgs/{orgId}", "orgs", principal.UserToken, AnyMember},
	{"updateOrg", "PATCH", "/v1/orgs/{orgId}", "orgs", principal.UserToken, AdminsOnly},
	{"deleteOrg", "DELETE", "/v1/orgs/{orgId}", "deleteorg", principal.UserToken, AdminsOnly},
	{"listAudit", "GET", "/v1/orgs/{orgId}/audit", "orgs", principal.UserToken, AdminsOnly},

	{"listMembers", "GET", "/v1/orgs/{orgId}/members", "members", principal.UserToken, MayRead},
	{"addMember", "POST", "/v1/orgs/{orgId}/members", "members", principal.UserToken, AdminsOnly},
	{"updateMember", "PATCH", "/v1/orgs/{orgId}/members/{userId}", "members", principal.UserToken, AdminsOnly},
	{"removeMember", "DELETE", "/v1/orgs/{orgId}/members/{userId}", "members", principal.UserToken, AdminsOnly},
	{"leaveOrg", "POST", "/v1/orgs/{orgId}/leave", "members", principal.UserToken, AnyMember},

	{"listKeys", "GET", "/v1/orgs/{orgId}/keys", "keys", principal.UserToken, MayRead},
	{"createKey", "POST", "/v1/orgs/{orgId}/keys", "keys", principal.UserToken, AdminsOnly},
	{"updateKey", "PATCH", "/v1/orgs/{orgId}/keys/{keyId}", "keys", principal.UserToken, AdminsOnly},
	{"revokeKey", "DELETE", "/v1/orgs/{orgId}/keys/{keyId}", "keys", principal.UserToken, AdminsOnly},
	{"rotateKey", "POST", "/v1/orgs/{orgId}/keys/{keyId}/rotate", "keys", principal.UserToken, AdminsOnly},

	{"listApps", "GET", "/v1/orgs/{orgId}/apps", "apps", principal.UserToken, MayRead},
	{"createApp", "POST", "/v1/orgs/{orgId}/apps", "apps", principal.UserToken, AdminsOnly},
	{"updateApp", "PATCH", "/v1/orgs/{orgId}/apps/{appId}", "apps", principal.UserToken, AdminsOnly},
	{"listAppWebhookEndpoints", "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "apps", principal.UserToken, AdminsOnly},
	{"enableAppWebhookEndpoint", "PATCH", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", "apps", principal.UserToken, AdminsOnly},
	{"getApp", "POST", "/app/get", "apps", principal.APIKey, NoOrg},

	{"createLink", "POST", "/link/create", "links", principal.APIKey, NoOrg},
	{"getLink", "POST", "/link/get", "links", principal.APIKey, NoOrg},
	{"listLinks", "POST", "/link/list", "links", principal.APIKey, NoOrg},
	{"revokeLink", "POST", "/link/revoke", "links", principal.APIKey, NoOrg},
	{"createWebhookEndpoint", "POST", "/webhook_endpoint/create", "webhooks", principal.APIKey, NoOrg},
	{"getWebhookEndpoint", "POST", "/webhook_endpoint/get", "webhooks", principal.APIKey, NoOrg},
	{"listWebhookEndpoints", "POST", "/webhook_endpoint/list", "webhooks", principal.APIKey, NoOrg},
	{"updateWebhookEndpoint", "POST", "/webhook_endpoint/update", "webhooks", principal.APIKey, NoOrg},
	{"deleteWebhookEndpoint", "POST", "/webhook_endpoint/delete", "webhooks", principal.APIKey, NoOrg},
	{"testWebhookEndpoint", "POST", "/webhook_endpoint/test", "webhooks", principal.APIKey, NoOrg},
	{"listWebhookEvents", "POST", "/webhook_event/list", "webhooks", principal.APIKey, NoOrg},
	{"getWebhookEvent", "POST", "/webhook_event/get", "webhooks", principal.APIKey, NoOrg},
	{"listWebhookDeliveries", "POST", "/webhook_delivery/list", "webhooks", principal.APIKey, NoOrg},
	{"redeliverWebhooks", "POST", "/webhook_delivery/redeliver", "webhooks", principal.APIKey, NoOrg},

	{"getWebhookVerificationKey", "POST", "/webhook_verification_key/get", "webhookkeys", principal.Public, NoOrg},
	{"preflight", "OPTIONS", "/webhook_verification_key/get", "webhookkeys", principal.Public, NoOrg},
	{"readWebhookVerificationKey", "GET", "/webhook_verification_key/{kid}", "webhookkeys", principal.Public, NoOrg},
	{"readWebhookVerificationKey", "HEAD", "/webhook_verification_key/{kid}", "webhookkeys", principal.Public, NoOrg},
	{"getJWKS", "GET", "/.well-known/jwks.json", "webhookkeys", principal.Public, NoOrg},
	{"getJWKS", "HEAD", "/.well-known/jwks.json", "webhookkeys", principal.Public, NoOrg},
	{"getContract", "GET", "/openapi.yaml", "webhookkeys", principal.Public, NoOrg},
	{"getContract", "HEAD", "/openapi.yaml", "webhookkeys", principal.Public, NoOrg},
	{"claimLink", "POST", "/link/claim", "links", principal.Public, NoOrg},
	{"preflight", "OPTIONS", "/link/claim", "links", principal.Public, NoOrg},
}

// All returns every route of the API: those of the table, and the preflights of the routes that
// the console may call. One function answers all those preflights.
func All() []Route {
	all := slices.Clone(routes[:])
	seen := map[string]bool{}
	for _, r := range routes {
		if r.ForConsole() && !seen[r.Pattern] {
			seen[r.Pattern] = true
			all = append(all, Route{Preflight, http.MethodOptions, r.Pattern, "webhookkeys", principal.Public, NoOrg})
		}
	}
	return all
}

// Methods returns the methods of a path, without OPTIONS.
func Methods(pattern string) []string {
	var out []string
	for _, r := range routes {
		if r.Pattern == pattern && r.Method != http.MethodOptions {
			out = append(out, r.Method)
		}
	}
	return out
}

// CredentialOf returns the credential that a route takes. ok is false for a route that is not in
// the table.
func CredentialOf(method, pattern string) (takes principal.Credential, ok bool) {
	for _, r := range routes {
		if r.Method == method && r.Pattern == pattern {
			return r.Takes, true
		}
	}
	return "", false
}

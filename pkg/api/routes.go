// Package api is the HTTP surface: the table of routes, strict decoding of
// requests, rendering of answers, and one file a group of routes.
package api

import (
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
)

// Route is one line of the API: what it is, which function serves it, which
// credential it takes and which roles may use it. A new route begins here; the
// role matrix, the template's tests and the OpenAPI's tests hold it against the
// rest.
type Route struct {
	Method   string
	Pattern  string // as in API Gateway and net/http: /v1/orgs/{orgId}
	Function string // the folder under functions/
	Takes    principal.Credential
	May      Roles // UserToken routes under an org only
}

// Name is the route as handlers and logs name it: "GET /v1/orgs/{orgId}".
func (r Route) Name() string { return r.Method + " " + r.Pattern }

// Query gives the names of the query parameters that the route takes.
func (r Route) Query() []string {
	switch r.Name() {
	case "GET /v1/orgs", "GET /v1/orgs/{orgId}/audit", "GET /v1/orgs/{orgId}/members", "GET /v1/orgs/{orgId}/keys",
		"GET /v1/orgs/{orgId}/apps", "GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":
		return []string{"limit", "cursor"}
	case "DELETE /v1/orgs/{orgId}/keys/{keyId}":
		return []string{"endpoints"}
	default:
		return nil
	}
}

// Roles is a set of roles, strongest first.
type Roles uint8

// The sets of roles that routes use.
const (
	NoOrg      Roles = iota // the route is not about one org: any user
	AnyMember               // admin, member or viewer
	MayRead                 // admin or member
	AdminsOnly              // admin
)

// List gives the roles of the set, nil for NoOrg.
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

// routes is the whole authorization of the product (spec section 4; the README's
// "The API").
var routes = [...]Route{
	{"GET", "/v1/orgs", "orgs", principal.UserToken, NoOrg},
	{"POST", "/v1/orgs", "orgs", principal.UserToken, NoOrg},
	{"GET", "/v1/orgs/{orgId}", "orgs", principal.UserToken, AnyMember},
	{"PATCH", "/v1/orgs/{orgId}", "orgs", principal.UserToken, AdminsOnly},
	{"DELETE", "/v1/orgs/{orgId}", "deleteorg", principal.UserToken, AdminsOnly},
	{"GET", "/v1/orgs/{orgId}/audit", "orgs", principal.UserToken, AdminsOnly},

	{"GET", "/v1/orgs/{orgId}/members", "members", principal.UserToken, MayRead},
	{"POST", "/v1/orgs/{orgId}/members", "members", principal.UserToken, AdminsOnly},
	{"PATCH", "/v1/orgs/{orgId}/members/{userId}", "members", principal.UserToken, AdminsOnly},
	{"DELETE", "/v1/orgs/{orgId}/members/{userId}", "members", principal.UserToken, AdminsOnly},
	{"POST", "/v1/orgs/{orgId}/leave", "members", principal.UserToken, AnyMember},

	{"GET", "/v1/orgs/{orgId}/keys", "keys", principal.UserToken, MayRead},
	{"POST", "/v1/orgs/{orgId}/keys", "keys", principal.UserToken, AdminsOnly},
	{"DELETE", "/v1/orgs/{orgId}/keys/{keyId}", "keys", principal.UserToken, AdminsOnly},
	{"POST", "/v1/orgs/{orgId}/keys/{keyId}/rotate", "keys", principal.UserToken, AdminsOnly},

	{"GET", "/v1/orgs/{orgId}/apps", "apps", principal.UserToken, MayRead},
	{"POST", "/v1/orgs/{orgId}/apps", "apps", principal.UserToken, AdminsOnly},
	{"PATCH", "/v1/orgs/{orgId}/apps/{appId}", "apps", principal.UserToken, AdminsOnly},
	{"GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "apps", principal.UserToken, AdminsOnly},
	{"PATCH", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", "apps", principal.UserToken, AdminsOnly},
	{"POST", "/app/get", "apps", principal.APIKey, NoOrg},

	{"POST", "/link/create", "links", principal.APIKey, NoOrg},
	{"POST", "/link/get", "links", principal.APIKey, NoOrg},
	{"POST", "/link/list", "links", principal.APIKey, NoOrg},
	{"POST", "/link/revoke", "links", principal.APIKey, NoOrg},
	{"POST", "/webhook_endpoint/create", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_endpoint/get", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_endpoint/list", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_endpoint/update", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_endpoint/delete", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_endpoint/test", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_event/list", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_event/get", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_delivery/list", "webhooks", principal.APIKey, NoOrg},
	{"POST", "/webhook_delivery/redeliver", "webhooks", principal.APIKey, NoOrg},

	{"POST", "/webhook_verification_key/get", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/webhook_verification_key/get", "webhookkeys", principal.Public, NoOrg},
	{"GET", "/webhook_verification_key/{kid}", "webhookkeys", principal.Public, NoOrg},
	{"HEAD", "/webhook_verification_key/{kid}", "webhookkeys", principal.Public, NoOrg},
	{"GET", "/.well-known/jwks.json", "webhookkeys", principal.Public, NoOrg},
	{"HEAD", "/.well-known/jwks.json", "webhookkeys", principal.Public, NoOrg},
	{"GET", "/openapi.yaml", "webhookkeys", principal.Public, NoOrg},
	{"HEAD", "/openapi.yaml", "webhookkeys", principal.Public, NoOrg},
	{"POST", "/link/claim", "links", principal.Public, NoOrg},
	{"OPTIONS", "/link/claim", "links", principal.Public, NoOrg},

	// What a browser asks before a page of ConsoleOrigins calls the path (cors.go).
	{"OPTIONS", "/v1/orgs", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/audit", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/members", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/members/{userId}", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/leave", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/keys", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/keys/{keyId}", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/keys/{keyId}/rotate", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/apps", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/apps/{appId}", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "webhookkeys", principal.Public, NoOrg},
	{"OPTIONS", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", "webhookkeys", principal.Public, NoOrg},
}

// Routes lists every route of the API.
func Routes() []Route { return routes[:] }

// CredentialOf tells which credential a route takes; ok is false for a route
// that is not in the table.
func CredentialOf(method, pattern string) (takes principal.Credential, ok bool) {
	for _, r := range routes {
		if r.Method == method && r.Pattern == pattern {
			return r.Takes, true
		}
	}
	return "", false
}

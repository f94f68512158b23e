package template

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"latchkey/pkg/principal"
	"latchkey/pkg/route"
)

// eventNames has the names of events that are not made by the rule (eventName), by operation, or by path for preflights. A
// permission's logical id has the name: with another, a deployment would add each permission before it deletes the old one.
var eventNames = map[string]string{
	"redeliverWebhooks": "Redeliver", "redeliverAppWebhooks": "RedeliverApp", "getJWKS": "ListVerificationKeys",
	"getConsole": "GetPage", "getConsoleConfig": "GetConfig", "getConsoleFile": "GetFile", "getVerifyPage": "GetVerify",

	"/link/claim": "ClaimLink", "/webhook_verification_key/get": "VerificationKey",
	"/v1/orgs": "Orgs", "/v1/orgs/{orgId}": "Org", "/v1/orgs/{orgId}/audit": "Audit", "/v1/orgs/{orgId}/leave": "Leave",
	"/v1/orgs/{orgId}/members": "Members", "/v1/orgs/{orgId}/members/{userId}": "Member",
	"/v1/orgs/{orgId}/keys": "Keys", "/v1/orgs/{orgId}/keys/{keyId}": "Key", "/v1/orgs/{orgId}/keys/{keyId}/rotate": "Rotate",
	"/v1/orgs/{orgId}/keys/{keyId}/usage": "KeyUsage", "/v1/orgs/{orgId}/usage": "Usage",
	"/v1/orgs/{orgId}/apps": "Apps", "/v1/orgs/{orgId}/apps/{appId}": "App",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                   "AppEndpoints",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":      "AppEndpoint",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test": "AppEndpointTest",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_events":                      "AppEvents",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_events/{eventId}":            "AppEvent",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries":                  "AppDeliveries",
	"/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver":        "AppRedeliver",
	"/v1/orgs/{orgId}/apps/{appId}/links":                               "AppLinks",
	"/v1/orgs/{orgId}/apps/{appId}/links/{linkId}":                      "AppLink",
}

// verb matches the beginning of an event's name that HEAD replaces.
var verb = regexp.MustCompile(`^(Get|List|Read)`)

// notInAName matches what a path has and a name may not have.
var notInAName = regexp.MustCompile(`\W|_`)

// eventName returns the name of a route's event: of createWebhookEndpoint it is CreateEndpoint.
func eventName(r route.Route) string {
	name, ok := eventNames[r.Operation]
	if !ok {
		name = strings.Replace(strings.ToUpper(r.Operation[:1])+r.Operation[1:], "Webhook", "", 1)
	}
	switch r.Method {
	case http.MethodHead:
		name = verb.ReplaceAllString(name, "Head")
	case http.MethodOptions:
		if name, ok = eventNames[r.Pattern]; !ok {
			name = notInAName.ReplaceAllString(r.Pattern, "")
		}
		name += "Preflight"
	}
	return name
}

// events prints the routes of a function, which is given by its folder. SAM local serves all methods of a path and function
// by one authorizer, so the preflights of /v1 belong to a function without another route there.
func events(folder string) string {
	var out strings.Builder
	for _, r := range route.ServedBy(folder) {
		authorizer := ", Auth: { Authorizer: Credentials }"
		if r.Takes == principal.Public {
			authorizer = ""
		}
		fmt.Fprintf(&out, "%s: { Type: Api, Properties: { RestApiId: !Ref Api, Method: %s, Path: '%s'%s } }\n", eventName(r), r.Method, r.Pattern, authorizer)
	}
	return out.String()
}

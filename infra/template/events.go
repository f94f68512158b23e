package template

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"latchkey/pkg/principal"
	"latchkey/pkg/route"
)

// verb matches the beginning of an event's name that HEAD replaces.
var verb = regexp.MustCompile(`^(Get|List|Read)`)

// notInAName matches what a path has and a name may not have.
var notInAName = regexp.MustCompile(`\W|_`)

// eventName returns the name of a route's event: of createWebhookEndpoint it is CreateEndpoint.
func eventName(r route.Route) string {
	name := strings.Replace(strings.ToUpper(r.Operation[:1])+r.Operation[1:], "Webhook", "", 1)
	switch r.Method {
	case http.MethodHead:
		name = verb.ReplaceAllString(name, "Head")
	case http.MethodOptions:
		name = notInAName.ReplaceAllString(r.Pattern, "") + "Preflight"
	}
	return name
}

// events prints the routes of a function, which is given by its folder.
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

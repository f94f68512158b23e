package template

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"latchkey/pkg/principal"
	"latchkey/pkg/route"
)

// verb matches the verb in the name of a GET route's event. The event of a HEAD route has Head in its place.
var verb = regexp.MustCompile(`^(Get|List|Read)`)

// notInAName matches the characters of a path that a name may not have.
var notInAName = regexp.MustCompile(`\W|_`)

// eventName returns the name of a route's event, such as CreateEndpoint for the operation createWebhookEndpoint.
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

// events prints the routes of the function with this folder.
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

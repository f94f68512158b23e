package template_test

import (
	"fmt"
	"regexp"
	"testing"
)

// TestConsoleOriginsTakeOnlyOrigins applies the pattern to the whole value, as CloudFormation does.
func TestConsoleOriginsTakeOnlyOrigins(t *testing.T) {
	tpl := template(t)
	pattern := fmt.Sprint(object(object(tpl.Raw["Parameters"])["ConsoleOrigins"])["AllowedPattern"])
	whole := regexp.MustCompile("^(?:" + pattern + ")$")
	for value, good := range map[string]bool{
		"": true, "https://console.example.com": true, "http://localhost:5173": true, "https://a.example,https://b.example": true,
		"https://a.example, https://b.example:8443": true, "*": false, "null": false, "https://*": false, "console.example.com": false,
		"https://a.example/": false, "https://A.example": false, "https://a.example,": false, "https://a.example;https://b.example": false,
		"https://a.example:": false, "ftp://a.example": false, "https://user@a.example": false,
	} {
		if whole.MatchString(value) != good {
			t.Errorf("%q is taken: %v", value, !good)
		}
	}
}

// TestWebhooksReachOnlyThisMachine tests WebhookAllowCidrs. Other networks have a parameter of
// their own, so that a value copied from a laptop opens none on AWS.
func TestWebhooksReachOnlyThisMachine(t *testing.T) {
	tpl := template(t)
	pattern := fmt.Sprint(object(object(tpl.Raw["Parameters"])["WebhookAllowCidrs"])["AllowedPattern"])
	whole := regexp.MustCompile("^(?:" + pattern + ")$")
	for value, good := range map[string]bool{
		"": true, "127.0.0.0/8": true, "127.0.0.1/32": true, "127.0.0.0/8,::1/128": true, "127.0.0.0/8, 127.1.0.0/16": true,
		"10.0.0.0/8": false, "127.0.0.0/1": false, "127.0.0.0/7": false, "0.0.0.0/0": false, "::/0": false, "127.0.0.0/8,10.0.0.0/8": false,
	} {
		if whole.MatchString(value) != good {
			t.Errorf("%q is taken: %v", value, !good)
		}
	}
}

// consolePreflights returns the throttles of preflights under /v1, in the template's order.
func consolePreflights() (all string) {
	for _, path := range []string{
		"~1v1~1orgs",
		"~1v1~1orgs~1{orgId}",
		"~1v1~1orgs~1{orgId}~1audit",
		"~1v1~1orgs~1{orgId}~1members",
		"~1v1~1orgs~1{orgId}~1members~1{userId}",
		"~1v1~1orgs~1{orgId}~1leave",
		"~1v1~1orgs~1{orgId}~1keys",
		"~1v1~1orgs~1{orgId}~1keys~1{keyId}",
		"~1v1~1orgs~1{orgId}~1keys~1{keyId}~1rotate",
		"~1v1~1orgs~1{orgId}~1apps",
		"~1v1~1orgs~1{orgId}~1apps~1{appId}",
		"~1v1~1orgs~1{orgId}~1apps~1{appId}~1webhook_endpoints",
		"~1v1~1orgs~1{orgId}~1apps~1{appId}~1webhook_endpoints~1{endpointId}",
	} {
		all += `,{"HttpMethod":"OPTIONS","ResourcePath":"/` + path + `",` + throttlePublic
	}
	return all
}

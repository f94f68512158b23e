package template_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"latchkey/infra/lab/translated"
)

// policies are the security policies of a regional API that accept TLS 1.2, and refuse TLS 1.1 and
// every cipher without forward secrecy (developer guide, "Supported security policies").
var policies = []string{"SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09", "SecurityPolicy_TLS13_1_2_FIPS_PFS_PQ_2025_09"}

// TestEveryAddressWantsTLS12WithForwardSecrecy reads the policies of AWS's address and the owner's.
// API Gateway applies the API's policy to both.
func TestEveryAddressWantsTLS12WithForwardSecrecy(t *testing.T) {
	tpl := given(t, map[string]string{"DomainName": "api.example.com"})
	for _, name := range []string{"Api", "Domain"} {
		p := tpl.Resources[name].Properties
		policy, _ := p["SecurityPolicy"].(string)
		if !slices.Contains(policies, policy) || policy != tpl.Resources["Api"].Properties["SecurityPolicy"] {
			t.Errorf("%s: %q", name, policy)
		}
		// STRICT refuses a connection that a browser opened for another API's name and reuses. A
		// change back to BASIC takes the API down for a quarter of an hour.
		if p["EndpointAccessMode"] != "BASIC" {
			t.Errorf("%s: access mode %v", name, p["EndpointAccessMode"])
		}
	}
}

// TestClosingAWSsAddressChangesTheStage wants a new deployment of the stage, without which the
// address stays open (developer guide, "Disable the default endpoint for REST APIs").
func TestClosingAWSsAddressChangesTheStage(t *testing.T) {
	open := given(t, map[string]string{"DomainName": "api.example.com"}).Resources["ApiliveStage"]
	closed := given(t, map[string]string{"DomainName": "api.example.com", "DisableExecuteApi": "true"}).Resources["ApiliveStage"]
	if text(t, open.Properties) == text(t, closed.Properties) {
		t.Errorf("the stage is %s", text(t, open.Properties))
	}
}

// TestTheAPIsDefinitionHasNoServerWithoutAURL prevents a warning of API Gateway, by which every
// deployment would fail (FailOnWarnings).
func TestTheAPIsDefinitionHasNoServerWithoutAURL(t *testing.T) { holds(t, servers) }

func servers(tpl *translated.Template) (wrong []string) {
	body := object(tpl.Resources["Api"].Properties["Body"])
	for _, s := range list(body["servers"]) {
		if url, _ := object(s)["url"].(string); url == "" {
			wrong = append(wrong, fmt.Sprintf("%v has no url", s))
		}
	}
	if len(object(body["paths"])) == 0 {
		wrong = append(wrong, fmt.Sprintf("the definition has only %v", slices.Sorted(maps.Keys(body))))
	}
	return wrong
}

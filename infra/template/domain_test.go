package template_test

import (
	"fmt"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

// given returns the template with these parameters, besides those of options.
func given(t *testing.T, parameters map[string]string) *translated.Template {
	t.Helper()
	o := options()
	for name, value := range parameters {
		o.Parameters[name] = value
	}
	out, err := template(t).Resolve(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestADomainIsTheBaseOfAllURLs checks that the API's URL has the domain, and so has the issuer of webhooks unless another one is
// given. AWS's address stays open unless DisableExecuteApi is true.
func TestADomainIsTheBaseOfAllURLs(t *testing.T) {
	const execute = "https://local.execute-api.us-east-1.amazonaws.com/live"
	own := map[string]string{"DomainName": "api.example.com", "CertificateArn": "arn:aws:acm:us-east-1:000000000000:certificate/c"}
	closed := map[string]string{"DomainName": "api.example.com", "DisableExecuteApi": "true"}
	for what, c := range map[string]struct {
		parameters  map[string]string
		url, issuer string // of the API; of webhooks
		domain      bool   // the stack has a domain
		disabled    string // "true": AWS's address is closed
	}{
		"none":                               {nil, execute, execute, false, "false"},
		"a domain":                           {own, "https://api.example.com", "https://api.example.com", true, "false"},
		"a domain, and AWS's address closed": {closed, "https://api.example.com", "https://api.example.com", true, "true"},
		"another issuer":                     {map[string]string{"WebhookIssuer": "https://hooks.example.com"}, execute, "https://hooks.example.com", false, "false"},
		"no domain to close for":             {map[string]string{"DisableExecuteApi": "true"}, execute, execute, false, "false"},
	} {
		tpl := given(t, c.parameters)
		functions, err := tpl.Functions()
		if err != nil {
			t.Fatal(err)
		}
		if got := functions["DeliverFunction"].Env["WEBHOOK_ISSUER"]; got != c.issuer {
			t.Errorf("%s: webhooks of %s, want %s", what, got, c.issuer)
		}
		if got := tpl.Outputs["ApiUrl"]; got != c.url {
			t.Errorf("%s: ApiUrl %s, want %s", what, got, c.url)
		}
		executeURL := execute
		if c.disabled == "true" {
			executeURL = ""
		}
		if got := tpl.Outputs["ExecuteApiUrl"]; got != executeURL {
			t.Errorf("%s: ExecuteApiUrl %q", what, got)
		}
		_, domain := tpl.Resources["Domain"]
		mapping := tpl.Resources["DomainMapping"].Properties
		// The mapping must have the resource Domain, the API local and its stage ApiliveStage.
		isMapped := fmt.Sprint(mapping["DomainName"], mapping["RestApiId"], mapping["Stage"]) == "DomainlocalApiliveStage"
		if domain != c.domain || domain && !isMapped {
			t.Errorf("%s: the stack has a domain: %v, %v", what, domain, mapping)
		}
		if p := tpl.Resources["Domain"].Properties; domain && (p["DomainName"] != "api.example.com" || p["RegionalCertificateArn"] != c.parameters["CertificateArn"]) {
			t.Errorf("%s: %v", what, p)
		}
		body := fmt.Sprint(tpl.Resources["Api"].Properties["Body"])
		if !strings.Contains(body, "disableExecuteApiEndpoint:"+c.disabled) {
			t.Errorf("%s: want disableExecuteApiEndpoint:%s", what, c.disabled)
		}
	}
}

// TestTheFirewallFollowsItsParameters also checks that the first rule of our firewall counts only calls of public routes.
func TestTheFirewallFollowsItsParameters(t *testing.T) {
	const own = "arn:aws:wafv2:us-east-1:000000000000:regional/webacl/own/1"
	for what, c := range map[string]struct {
		parameters map[string]string
		acl        string // the end of its ARN; "": no firewall
		ours       bool   // the firewall is the template's
	}{
		"none":        {nil, "", false},
		"ours":        {map[string]string{"WebAcl": "rate-limited"}, "/webacl/PublicRates/local", true},
		"the owner's": {map[string]string{"WebAclArn": own}, own, false},
		"both given":  {map[string]string{"WebAcl": "rate-limited", "WebAclArn": own}, own, false},
	} {
		tpl := given(t, c.parameters)
		wall := tpl.Resources["Wall"].Properties
		acl, _ := wall["WebACLArn"].(string)
		if acl != "" && c.acl == "" || !strings.HasSuffix(acl, c.acl) {
			t.Errorf("%s: %q, want %q", what, acl, c.acl)
		}
		if wall != nil && wall["ResourceArn"] != "arn:aws:apigateway:us-east-1::/restapis/local/stages/ApiliveStage" {
			t.Errorf("%s: the firewall is in front of %v", what, wall["ResourceArn"])
		}
		rules := list(tpl.Resources["PublicRates"].Properties["Rules"])
		if hasRules := len(rules) > 0; hasRules != c.ours {
			t.Fatalf("%s: %v", what, rules)
		}
		if !c.ours {
			continue
		}
		rate := object(object(object(rules[0])["Statement"])["RateBasedStatement"])
		blocks := fmt.Sprint(object(rules[0])["Action"]) == "map[Block:map[]]"
		limits := fmt.Sprint("priority ", object(rules[0])["Priority"], ", ", rate["Limit"], " in ", rate["EvaluationWindowSec"], " s")
		if len(rules) != 3 || !blocks || rate["AggregateKeyType"] != "IP" || limits != "priority 0, 1000 in 300 s" {
			t.Errorf("%s: %v", what, rules)
		}
		for _, path := range publicPaths(t, tpl) {
			counted := false
			for _, s := range list(object(object(rate["ScopeDownStatement"])["OrStatement"])["Statements"]) {
				match := object(object(s)["ByteMatchStatement"])
				part, _ := match["SearchString"].(string)
				wanted := fmt.Sprintf(`{"FieldToMatch":{"UriPath":{}},"PositionalConstraint":"CONTAINS","SearchString":%q,"TextTransformations":[{"Priority":0,"Type":"URL_DECODE"}]}`, part)
				counted = counted || text(t, match) == wanted && strings.Contains("/live"+path, part)
			}
			// The rule does not count paths under /v1: only their preflights are public.
			if counted == strings.HasPrefix(path, "/v1/") {
				t.Errorf("%s: %s is counted: %v", what, path, counted)
			}
		}
	}
}

// TestTheFirewallCountsEachAddressAndEachCredential checks that the second and third rule apply to every path: a refused request
// to any route costs the owner money, and uses up the route's throttle.
func TestTheFirewallCountsEachAddressAndEachCredential(t *testing.T) {
	tpl := given(t, map[string]string{"WebAcl": "rate-limited"})
	var got []string
	for _, rule := range list(tpl.Resources["PublicRates"].Properties["Rules"])[1:] {
		r := object(rule)
		got = append(got, fmt.Sprint(r["Priority"], " ", text(t, object(r["Action"])), " ", text(t, object(r["Statement"]))))
	}
	want := []string{
		`1 {"Block":{}} {"RateBasedStatement":{"AggregateKeyType":"IP","EvaluationWindowSec":60,"Limit":20000}}`,
		`2 {"Block":{}} {"RateBasedStatement":{"AggregateKeyType":"CUSTOM_KEYS","CustomKeys":[{"Header":{"Name":"authorization",` +
			`"TextTransformations":[{"Priority":0,"Type":"NONE"}]}}],"EvaluationWindowSec":60,"Limit":10000}}`,
	}
	if all := strings.Join(got, "\n"); all != strings.Join(want, "\n") {
		t.Errorf("%s, want\n%s", all, strings.Join(want, "\n"))
	}
}

// TestTheFirewallKeepsNoRequest checks that the firewall takes no samples: a sample has every header of a request, and so
// credentials.
func TestTheFirewallKeepsNoRequest(t *testing.T) {
	acl := given(t, map[string]string{"WebAcl": "rate-limited"}).Resources["PublicRates"].Properties
	configs := []any{acl["VisibilityConfig"]}
	for _, rule := range list(acl["Rules"]) {
		configs = append(configs, object(rule)["VisibilityConfig"])
	}
	for _, v := range configs {
		if sampled, ok := object(v)["SampledRequestsEnabled"]; !ok || fmt.Sprint(sampled) != "false" {
			t.Errorf("%v: want SampledRequestsEnabled false", v)
		}
		if o := object(v); fmt.Sprint(o["CloudWatchMetricsEnabled"]) != "true" || o["MetricName"] == nil { // WAF requires both
			t.Errorf("%v: want a metric", v)
		}
	}
	if got := text(t, acl["DefaultAction"]); got != `{"Allow":{}}` || acl["Scope"] != "REGIONAL" {
		t.Errorf("the scope %v; requests that no rule blocks: %s", acl["Scope"], got)
	}
}

// publicPaths returns the paths that need no credential, including preflights.
func publicPaths(t *testing.T, tpl *translated.Template) (paths []string) {
	t.Helper()
	a, err := tpl.API()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Routes {
		if r.Authorizer == "" {
			paths = append(paths, r.Path)
		}
	}
	if len(paths) < 10 {
		t.Fatalf("public paths: %v", paths)
	}
	return paths
}

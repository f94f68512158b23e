package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
)

func TestTheDoorsAreOpenToThoseWhomTheirParametersName(t *testing.T) { holds(t, doors) }

func TestADoorNotesNothingButALastUse(t *testing.T) { holds(t, lastUses) }

// doorPermissions has every permission of the owner's doors: who may call which function. SAM
// makes the two of the function URL, which AWS wants since October 2025.
var doorPermissions = map[string]string{
	"KeyAuthorizerOfThisAccount": `{"Action":"lambda:InvokeFunction","FunctionName":{"Fn::GetAtt":["KeyAuthorizerFunction","Arn"]},"Principal":"apigateway.amazonaws.com",` +
		`"SourceArn":{"Fn::Sub":"arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:*/authorizers/*"}}`,
	"KeyAuthorizerOfOtherAccounts": `{"Action":"lambda:InvokeFunction","FunctionName":{"Fn::GetAtt":["KeyAuthorizerFunction","Arn"]},"Principal":"*",` +
		`"PrincipalOrgID":{"Ref":"ConsumerOrganizationId"}}`,
	"MemberAuthorizerOfThisAccount": `{"Action":"lambda:InvokeFunction","FunctionName":{"Fn::GetAtt":["MemberAuthorizerFunction","Arn"]},"Principal":"apigateway.amazonaws.com",` +
		`"SourceArn":{"Fn::Sub":"arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:*/authorizers/*"}}`,
	"MemberAuthorizerOfOtherAccounts": `{"Action":"lambda:InvokeFunction","FunctionName":{"Fn::GetAtt":["MemberAuthorizerFunction","Arn"]},"Principal":"*",` +
		`"PrincipalOrgID":{"Ref":"ConsumerOrganizationId"}}`,
	"ForwardAuthFunctionUrlPublicPermissions":       `{"Action":"lambda:InvokeFunctionUrl","FunctionName":{"Ref":"ForwardAuthFunction"},"FunctionUrlAuthType":"NONE","Principal":"*"}`,
	"ForwardAuthFunctionURLInvokeAllowPublicAccess": `{"Action":"lambda:InvokeFunction","FunctionName":{"Ref":"ForwardAuthFunction"},"InvokedViaFunctionUrl":true,"Principal":"*"}`,
}

// doors wants exactly these permissions, one function URL, and the parameters that name the shared
// authorizers to other stacks.
func doors(tpl *translated.Template) (wrong []string) {
	got := map[string]string{}
	for _, name := range tpl.Named("AWS::Lambda::Permission") {
		p := rawProperties(tpl, name)
		for _, door := range []string{"KeyAuthorizer", "MemberAuthorizer", "ForwardAuth"} {
			if strings.Contains(quoted(p["FunctionName"]), `"`+door+"Function") || p["Principal"] == "*" {
				got[name] = without(p)
			}
		}
	}
	wrong = differences("permission", got, doorPermissions)
	if urls := tpl.Named("AWS::Lambda::Url"); !slices.Equal(urls, []string{"ForwardAuthFunctionUrl"}) {
		wrong = append(wrong, fmt.Sprintf("function URLs %v", urls))
	}
	const url = `{"AuthType":"NONE","TargetFunctionArn":{"Ref":"ForwardAuthFunction"}}` // no Cors: no page of a browser asks
	if got := without(rawProperties(tpl, "ForwardAuthFunctionUrl")); got != url {
		wrong = append(wrong, fmt.Sprintf("ForwardAuthFunctionUrl is %s, want %s", got, url))
	}
	for name, want := range map[string]string{"KeyAuthorizer": "/latchkey/${AWS::StackName}/key-authorizer-arn", "MemberAuthorizer": "/latchkey/${AWS::StackName}/member-authorizer-arn"} {
		wanted := `{"Name":{"Fn::Sub":"` + want + `"},"Type":"String","Value":{"Fn::GetAtt":["` + name + `Function","Arn"]}}`
		if got := without(rawProperties(tpl, name+"Arn")); got != wanted {
			wrong = append(wrong, fmt.Sprintf("%sArn is %s, want %s", name, got, wanted))
		}
	}
	return wrong
}

// lastUses wants whatever notes a last use to name the attributes of a last use only. With those of the index due it
// could stop the sweep for all orgs.
func lastUses(tpl *translated.Template) (wrong []string) {
	all, wrong := statements(tpl)
	noting := 0
	for _, s := range all {
		if _, alone := single[s.String()]; !alone || !slices.Contains(s.values("ForAllValues:StringLike", "dynamodb:LeadingKeys"), "USED#*") {
			continue
		}
		noting++
		if got := s.values("ForAllValues:StringEquals", "dynamodb:Attributes"); !slices.Equal(got, []string{"PK", "SK", "lastUsedAt", "purgeAt"}) {
			wrong = append(wrong, fmt.Sprintf("%s writes the attributes %q", s, got))
		}
	}
	if noting != 4 {
		wrong = append(wrong, fmt.Sprintf("%d statements note a last use", noting))
	}
	return wrong
}

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

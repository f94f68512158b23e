package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

func TestOnlyListedCallersReachTheDoors(t *testing.T) { assertNone(t, checkDoors) }

// doorPermissions has every permission to call the owner's doors, which are the functions that the owner's other
// programs call directly: the two shared authorizers and forwardauth. SAM makes the two permissions of the function
// URL. AWS requires both since October 2025.
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

// checkDoors checks for exactly these permissions, one function URL, and the SSM parameters where other stacks find the ARNs of the
// shared authorizers.
func checkDoors(tpl *translated.Template) (faults []string) {
	got := map[string]string{}
	for _, name := range tpl.Named("AWS::Lambda::Permission") {
		p := rawProperties(tpl, name)
		for _, door := range []string{"KeyAuthorizer", "MemberAuthorizer", "ForwardAuth"} {
			if strings.Contains(asJSON(p["FunctionName"]), `"`+door+"Function") || p["Principal"] == "*" {
				got[name] = asJSON(p)
			}
		}
	}
	faults = differences("permission", got, doorPermissions)
	if urls := tpl.Named("AWS::Lambda::Url"); !slices.Equal(urls, []string{"ForwardAuthFunctionUrl"}) {
		faults = append(faults, fmt.Sprintf("function URLs %v", urls))
	}
	const url = `{"AuthType":"NONE","TargetFunctionArn":{"Ref":"ForwardAuthFunction"}}` // no Cors: no browser calls it
	if got := asJSON(rawProperties(tpl, "ForwardAuthFunctionUrl")); got != url {
		faults = append(faults, fmt.Sprintf("ForwardAuthFunctionUrl is %s, want %s", got, url))
	}
	for name, want := range map[string]string{"KeyAuthorizer": "/latchkey/${AWS::StackName}/key-authorizer-arn", "MemberAuthorizer": "/latchkey/${AWS::StackName}/member-authorizer-arn"} {
		wanted := `{"Name":{"Fn::Sub":"` + want + `"},"Type":"String","Value":{"Fn::GetAtt":["` + name + `Function","Arn"]}}`
		if got := asJSON(rawProperties(tpl, name+"Arn")); got != wanted {
			faults = append(faults, fmt.Sprintf("%sArn is %s, want %s", name, got, wanted))
		}
	}
	return faults
}

// TestTheAPIsDefinitionHasNoServerWithoutAURL prevents a warning of API Gateway. With FailOnWarnings the warning would make every
// deployment fail.
func TestTheAPIsDefinitionHasNoServerWithoutAURL(t *testing.T) { assertNone(t, checkServers) }

func checkServers(tpl *translated.Template) (faults []string) {
	body := object(tpl.Resources["Api"].Properties["Body"])
	for _, s := range list(body["servers"]) {
		if url, _ := object(s)["url"].(string); url == "" {
			faults = append(faults, fmt.Sprintf("%v has no url", s))
		}
	}
	if len(object(body["paths"])) == 0 {
		faults = append(faults, fmt.Sprintf("the definition has only %v", slices.Sorted(maps.Keys(body))))
	}
	return faults
}

package template_test

import (
	"fmt"
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

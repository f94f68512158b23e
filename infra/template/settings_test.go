package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

func TestTheAccessLogAndTheProtocolsAreFixed(t *testing.T) { assertNone(t, checkSettings) }

func TestFunctionsHaveNoOtherProperties(t *testing.T) { assertNone(t, checkFunctionProperties) }

func TestTheTemplateHasNoOtherTypesOfResource(t *testing.T) { assertNone(t, checkTypes) }

// accessLine is the line of a request in the access log. Of the texts that the client sends it has only the method. It has no
// credential.
const accessLine = `{"requestId":"$context.requestId","extendedRequestId":"$context.extendedRequestId","time":"$context.requestTimeEpoch",` +
	`"sourceIp":"$context.identity.sourceIp","method":"$context.httpMethod","route":"$context.resourcePath","status":"$context.status",` +
	`"error":"$context.error.responseType","latencyMs":"$context.responseLatency","caller":"$context.authorizer.principalId",` +
	`"waf":"$context.wafResponseCode"}`

// checkSettings checks that the access log has this line, and that both names of the API speak only the protocols of this policy.
//
// The access mode is BASIC. STRICT would refuse a connection that a browser opened for another API's name and uses again, and a
// change from STRICT to BASIC takes the API down for a quarter of an hour.
func checkSettings(tpl *translated.Template) (faults []string) {
	log := object(list(object(rawProperties(tpl, "ApiliveStage")["AccessLogSetting"])["Fn::If"])[1])["Format"]
	if log != accessLine {
		faults = append(faults, fmt.Sprintf("the access log has the line %v", log))
	}
	for _, name := range []string{"Api", "Domain"} {
		p := rawProperties(tpl, name)
		if p["SecurityPolicy"] != "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09" || p["EndpointAccessMode"] != "BASIC" {
			faults = append(faults, fmt.Sprintf("%s has the policy %v and the mode %v", name, p["SecurityPolicy"], p["EndpointAccessMode"]))
		}
	}
	return faults
}

// checkFunctionProperties checks that functions have only these properties, and properties that other checks read. Two functions reserve
// concurrency: the function with the URL, which has no other limit, and the authorizer. With the parameter 0 the authorizer must have
// no such property, because a reservation of 0 switches a function off. The deliver function queues its own next message; Lambda
// drops such messages after 16 rounds unless RecursiveLoop is Allow.
func checkFunctionProperties(tpl *translated.Template) (faults []string) {
	const common = `{"Handler":"bootstrap","LoggingConfig":{"ApplicationLogLevel":"INFO","LogFormat":"JSON","SystemLogLevel":{"Ref":"SystemLogLevel"}},` +
		`"Runtime":"provided.al2023","Tags":[{"Key":"lambda:createdBy","Value":"SAM"}]}`
	for _, name := range tpl.Named("AWS::Lambda::Function") {
		got := without(rawProperties(tpl, name), "Architectures", "Code", "Environment", "LogGroup", "MemorySize", "Role", "Timeout")
		wanted := common
		if name == "DeliverFunction" {
			wanted = strings.Replace(common, `"Runtime"`, `"RecursiveLoop":"Allow","Runtime"`, 1)
		}
		if name == "AuthorizerFunction" {
			const reserved = `"ReservedConcurrentExecutions":{"Fn::If":["ReserveForAuthorizer",{"Ref":"AuthorizerConcurrency"},{"Ref":"AWS::NoValue"}]},"Runtime"`
			wanted = strings.Replace(common, `"Runtime"`, reserved, 1)
		}
		if name == "ForwardAuthFunction" {
			wanted = strings.Replace(common, `"Runtime"`, `"ReservedConcurrentExecutions":{"Ref":"ForwardAuthConcurrency"},"Runtime"`, 1)
		}
		if got != wanted {
			faults = append(faults, fmt.Sprintf("%s has %s, want %s", name, got, wanted))
		}
	}
	return faults
}

// conditional has the condition of each resource, or type of resource, that has one.
var conditional = map[string]string{
	"AccessLogs":             "AccessLog",
	"AWS::CloudWatch::Alarm": "Alarms", "AWS::CloudWatch::Dashboard": "Alarms",
	"AWS::ApiGateway::DomainName": "OwnDomain", "AWS::ApiGateway::BasePathMapping": "OwnDomain",
	"KeyAuthorizerOfOtherAccounts": "OtherAccounts", "MemberAuthorizerOfOtherAccounts": "OtherAccounts",
	"CheckConsumersFunction": "Alarms", "CheckConsumersRole": "Alarms", "CheckConsumersLogs": "Alarms", "CheckConsumersFunctionDaily": "Alarms",
	"CheckConsumersFunctionDailyPermission": "Alarms", "CheckConsumersFunctionEventInvokeConfig": "Alarms",
	"TapFunction": "Tap", "TapFunctionNewRows": "Tap", "TapRole": "Tap", "TapLogs": "Tap", "TapRule": "Tap", "TapAgeAlarm": "TapAlarms",
	"ForwardAuthFunction": "ForwardAuthOn", "ForwardAuthRole": "ForwardAuthOn", "ForwardAuthLogs": "ForwardAuthOn",
	"AWS::Lambda::Url": "ForwardAuthOn", "ForwardAuthFunctionUrlPublicPermissions": "ForwardAuthOn",
	"ForwardAuthFunctionURLInvokeAllowPublicAccess": "ForwardAuthOn",
	"AWS::WAFv2::WebACL":                            "RateLimited", "AWS::WAFv2::WebACLAssociation": "Firewall",
}

// checkTypes checks that the template has only types of resource that the checks read, each under its condition.
func checkTypes(tpl *translated.Template) (faults []string) {
	known := []string{
		"AWS::ApiGateway::Deployment", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage",
		"AWS::DynamoDB::Table", "AWS::Events::Rule", "AWS::IAM::ManagedPolicy", "AWS::IAM::Role", "AWS::KMS::Key", "AWS::Lambda::EventInvokeConfig",
		"AWS::Lambda::EventSourceMapping", "AWS::Lambda::Function", "AWS::Lambda::Permission", "AWS::Logs::LogGroup", "AWS::SQS::Queue", "AWS::SSM::Parameter",
	}
	for name, r := range object(tpl.Raw["Resources"]) {
		typ := fmt.Sprint(object(r)["Type"])
		want, has := conditional[name]
		if !has {
			want, has = conditional[typ]
		}
		if !has && !slices.Contains(known, typ) {
			faults = append(faults, name+" is a "+typ)
		}
		if condition, _ := object(r)["Condition"].(string); condition != want {
			faults = append(faults, fmt.Sprintf("%s has the condition %q, want %q", name, condition, want))
		}
	}
	return faults
}

// rawProperties returns a resource's properties as CloudFormation gets them, with references.
func rawProperties(tpl *translated.Template, name string) map[string]any {
	return object(object(object(tpl.Raw["Resources"])[name])["Properties"])
}

// without returns a value as JSON with sorted names. It leaves out members with these names at any depth.
func without(v any, names ...string) string { return asJSON(pruned(v, names)) }

func pruned(v any, names []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			if !slices.Contains(names, name) {
				out[name] = pruned(e, names)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = pruned(e, names)
		}
		return out
	}
	return v
}

// asJSON returns a value as JSON. Every value of a template has a JSON form.
func asJSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// differences returns a line for each difference of two maps. kind names their entries.
func differences(kind string, got, want map[string]string) (faults []string) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got[name] != want[name] {
			faults = append(faults, fmt.Sprintf("%s %s is %q, want %q", kind, name, got[name], want[name]))
		}
	}
	return faults
}

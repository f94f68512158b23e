package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
)

func TestParametersHaveTheirDefaults(t *testing.T) { holds(t, defaults) }

func TestVariablesHaveTheirSources(t *testing.T) { holds(t, variables) }

func TestQueuesAlarmsAndTheStageHaveTheseSettings(t *testing.T) { holds(t, settings) }

func TestFunctionsHaveNoOtherProperties(t *testing.T) { holds(t, functionProperties) }

func TestTheTemplateHasNoOtherTypesOfResource(t *testing.T) { holds(t, types) }

// overTLS is the pattern of an issuer's URLs: anyone could replace a key on its way in plain text.
// Only URLs on this machine may be in plain text.
const overTLS = `https://.+|http://(localhost|127[.]0[.]0[.]1)(:[0-9]+)?(/.*)?`

// parameterList has every parameter, without its description.
var parameterList = map[string]string{
	"TableStreamArn":           `{"AllowedPattern":"(arn:[a-z-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[^/]+/stream/[^/]+)?","Default":"","Type":"String"}`,
	"TableKeyArn":              `{"AllowedPattern":"(arn:[a-z-]+:kms:.+)?","Default":"","Type":"String"}`,
	"ApiAccessLog":             `{"AllowedValues":["true","false"],"Default":"false","Type":"String"}`,
	"CertificateArn":           `{"AllowedPattern":"(arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+)?","Default":"","Type":"String"}`,
	"DisableExecuteApi":        `{"AllowedValues":["true","false"],"Default":"false","Type":"String"}`,
	"DomainName":               `{"AllowedPattern":"([a-z0-9-]+[.])*[a-z0-9-]*","Default":"","Type":"String"}`,
	"WebAcl":                   `{"AllowedValues":["none","rate-limited"],"Default":"none","Type":"String"}`,
	"WebAclAddressLimit":       `{"Default":20000,"MaxValue":2000000000,"MinValue":10,"Type":"Number"}`,
	"WebAclCredentialLimit":    `{"Default":10000,"MaxValue":2000000000,"MinValue":10,"Type":"Number"}`,
	"WebAclArn":                `{"AllowedPattern":"(arn:[a-z-]+:wafv2:.+)?","Default":"","Type":"String"}`,
	"AlarmTopicArn":            `{"AllowedPattern":"(arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:.+)?","Default":"","Type":"String"}`,
	"AllowForSeconds":          `{"Default":0,"MaxValue":300,"MinValue":0,"Type":"Number"}`,
	"AllowUnmarkedTokens":      `{"AllowedValues":["true","false"],"Default":"false","Type":"String"}`,
	"Architecture":             `{"AllowedValues":["arm64","x86_64"],"Default":"arm64","Type":"String"}`,
	"Audience":                 `{"Default":"","Type":"String"}`,
	"AuthorizerConcurrency":    `{"Default":0,"MinValue":0,"Type":"Number"}`,
	"ClientIds":                `{"Default":"","Type":"String"}`,
	"ConsumerOrganizationId":   `{"AllowedPattern":"(o-[a-z0-9]{10,32})?","Default":"","Type":"String"}`,
	"ForwardAuth":              `{"AllowedValues":["true","false"],"Default":"false","Type":"String"}`,
	"ForwardAuthConcurrency":   `{"Default":50,"MinValue":1,"Type":"Number"}`,
	"ForwardAuthSecret":        `{"AllowedPattern":"([A-Za-z0-9_-]{32,128})?","Default":"","NoEcho":true,"Type":"String"}`,
	"ForwardAuthOldSecret":     `{"AllowedPattern":"([A-Za-z0-9_-]{32,128})?","Default":"","NoEcho":true,"Type":"String"}`,
	"MaxAuthAge":               `{"Default":0,"MinValue":0,"Type":"Number"}`,
	"MemberOrgParameter":       `{"AllowedPattern":"[A-Za-z0-9._-]+","Default":"orgId","Type":"String"}`,
	"OwnerOrgId":               `{"AllowedPattern":"(org_[0-9a-hjkmnp-tv-z]{26})?","Default":"","Type":"String"}`,
	"ConsoleOrigins":           `{"AllowedPattern":"(https?://[a-z0-9.-]+(:[0-9]+)?(, ?https?://[a-z0-9.-]+(:[0-9]+)?)*)?","Default":"","Type":"String"}`,
	"DeliveriesBurst":          `{"Default":2000,"MaxValue":100000,"MinValue":20,"Type":"Number"}`,
	"DeliveriesPerSecond":      `{"Default":100,"MaxValue":1000,"MinValue":1,"Type":"Number"}`,
	"OrgDeliveriesBurst":       `{"Default":6000,"MaxValue":1000000,"MinValue":20,"Type":"Number"}`,
	"OrgDeliveriesPerSecond":   `{"Default":300,"MaxValue":10000,"MinValue":1,"Type":"Number"}`,
	"DeliverConcurrency":       `{"Default":10,"MaxValue":1000,"MinValue":2,"Type":"Number"}`,
	"EmailClaim":               `{"Default":"email","Type":"String"}`,
	"EmailVerifiedClaim":       `{"Default":"email_verified","Type":"String"}`,
	"EmailsAreVerified":        `{"AllowedValues":["true","false"],"Default":"false","Type":"String"}`,
	"EndpointDynamoDB":         `{"Default":"","Type":"String"}`,
	"EndpointKMS":              `{"Default":"","Type":"String"}`,
	"EndpointSQS":              `{"Default":"","Type":"String"}`,
	"Issuer":                   `{"AllowedPattern":"` + overTLS + `","Type":"String"}`,
	"JwksUrl":                  `{"AllowedPattern":"(` + overTLS + `)?","Default":"","Type":"String"}`,
	"KeyTagNames":              `{"AllowedPattern":"([A-Za-z0-9_.:/=+@-]{1,128}(,[A-Za-z0-9_.:/=+@-]{1,128})*)?","Default":"","Type":"String"}`,
	"KeyTagValues":             `{"AllowedPattern":"([A-Za-z0-9_.:/=+@-]{1,256}(,[A-Za-z0-9_.:/=+@-]{1,256})*)?","Default":"","Type":"String"}`,
	"KeyPrefix":                `{"AllowedPattern":"[a-z][a-z0-9]{0,15}","Default":"lk","Type":"String"}`,
	"LogRetentionDays":         `{"AllowedValues":[1,3,5,7,14,30,60,90,120,150,180,365,400],"Default":30,"Type":"Number"}`,
	"NameClaim":                `{"Default":"name","Type":"String"}`,
	"PublicThrottleBurst":      `{"Default":200,"Type":"Number"}`,
	"PublicThrottleRate":       `{"Default":200,"Type":"Number"}`,
	"RequiredScope":            `{"AllowedPattern":"[!#-\\[\\]-~]*","Default":"","Type":"String"}`,
	"RotationDays":             `{"Default":90,"MinValue":0,"Type":"Number"}`,
	"ThrottleBurst":            `{"Default":500,"Type":"Number"}`,
	"ThrottleRate":             `{"Default":1000,"Type":"Number"}`,
	"TryTimeout":               `{"Default":700,"MaxValue":5000,"MinValue":100,"Type":"Number"}`,
	"UserinfoUrl":              `{"AllowedPattern":"(` + overTLS + `)?","Default":"","Type":"String"}`,
	"WebhookAllowCidrs":        `{"AllowedPattern":"((127[.][0-9]+[.][0-9]+[.][0-9]+/([89]|[12][0-9]|3[0-2])|::1/128)(, ?|$))*","Default":"","Type":"String"}`,
	"WebhookAllowPrivateCidrs": `{"AllowedPattern":"((([0-9]|[1-9][0-9]|1[0-578][0-9]|16[0-8]|19[0-9]|2[0-5][0-9])([.][0-9]{1,3}){3}/([89]|[12][0-9]|3[0-2])|([0-9a-d][0-9a-f]{0,3}|f[cd][0-9a-f]{2}):[0-9a-f:]*/([89]|[1-9][0-9]|1[01][0-9]|12[0-8]))(, ?|$))*","Default":"","Type":"String"}`,
	"WebhookIssuer":            `{"Default":"","Type":"String"}`,
}

// conditionList has every condition.
var conditionList = map[string]string{
	"ExecuteApi":           `{"Fn::Not":[{"Condition":"OnlyOwnDomain"}]}`,
	"ForwardAuthOn":        `{"Fn::Equals":[{"Ref":"ForwardAuth"},"true"]}`,
	"OtherAccounts":        `{"Fn::Not":[{"Fn::Equals":[{"Ref":"ConsumerOrganizationId"},""]}]}`,
	"KeyTags":              `{"Fn::Not":[{"Fn::Equals":[{"Ref":"KeyTagNames"},""]}]}`,
	"Restored":             `{"Fn::Not":[{"Fn::Equals":[{"Ref":"TableStreamArn"},""]}]}`,
	"OwnTableKey":          `{"Fn::Not":[{"Fn::Equals":[{"Ref":"TableKeyArn"},""]}]}`,
	"AccessLog":            `{"Fn::Equals":[{"Ref":"ApiAccessLog"},"true"]}`,
	"Alarms":               `{"Fn::Not":[{"Fn::Equals":[{"Ref":"AlarmTopicArn"},""]}]}`,
	"Firewall":             `{"Fn::Or":[{"Condition":"RateLimited"},{"Fn::Not":[{"Fn::Equals":[{"Ref":"WebAclArn"},""]}]}]}`,
	"OnlyOwnDomain":        `{"Fn::And":[{"Condition":"OwnDomain"},{"Fn::Equals":[{"Ref":"DisableExecuteApi"},"true"]}]}`,
	"OwnDomain":            `{"Fn::Not":[{"Fn::Equals":[{"Ref":"DomainName"},""]}]}`,
	"OwnIssuer":            `{"Fn::Not":[{"Fn::Equals":[{"Ref":"WebhookIssuer"},""]}]}`,
	"RateLimited":          `{"Fn::And":[{"Fn::Equals":[{"Ref":"WebAcl"},"rate-limited"]},{"Fn::Equals":[{"Ref":"WebAclArn"},""]}]}`,
	"ReserveForAuthorizer": `{"Fn::Not":[{"Fn::Equals":[{"Ref":"AuthorizerConcurrency"},"0"]}]}`,
}

func defaults(tpl *translated.Template) (wrong []string) {
	got := map[string]string{}
	for name, p := range object(tpl.Raw["Parameters"]) {
		got[name] = without(p, "Description")
	}
	wrong = differences("parameter", got, parameterList)
	conditions := map[string]string{}
	for name, c := range object(tpl.Raw["Conditions"]) {
		conditions[name] = without(c)
	}
	return append(wrong, differences("condition", conditions, conditionList)...)
}

// variableList has the source of each variable, which is the same in every function that has the variable.
var variableList = map[string]string{
	"API_GATEWAY":               `{"Fn::Sub":"https://apigateway.${AWS::Region}.${AWS::URLSuffix}"}`,
	"KEY_AUTHORIZER":            `{"Fn::GetAtt":["KeyAuthorizerFunction","Arn"]}`,
	"MEMBER_AUTHORIZER":         `{"Fn::GetAtt":["MemberAuthorizerFunction","Arn"]}`,
	"AUDIENCE":                  `{"Ref":"Audience"}`,
	"AWS_ENDPOINT_URL_DYNAMODB": `{"Ref":"EndpointDynamoDB"}`,
	"AWS_TRY_TIMEOUT_MS":        `{"Ref":"TryTimeout"}`,
	"AWS_ENDPOINT_URL_KMS":      `{"Ref":"EndpointKMS"}`,
	"AWS_ENDPOINT_URL_SQS":      `{"Ref":"EndpointSQS"}`,
	"DELIVERIES_BURST":          `{"Ref":"DeliveriesBurst"}`,
	"DELIVERIES_PER_SECOND":     `{"Ref":"DeliveriesPerSecond"}`,
	"ORG_DELIVERIES_BURST":      `{"Ref":"OrgDeliveriesBurst"}`,
	"ORG_DELIVERIES_PER_SECOND": `{"Ref":"OrgDeliveriesPerSecond"}`,
	"CLIENT_IDS":                `{"Ref":"ClientIds"}`,
	"ALLOW_FOR_SECONDS":         `{"Ref":"AllowForSeconds"}`,
	"ALLOW_UNMARKED_TOKENS":     `{"Ref":"AllowUnmarkedTokens"}`,
	"CONSOLE_ORIGINS":           `{"Ref":"ConsoleOrigins"}`,
	"EMAILS_ARE_VERIFIED":       `{"Ref":"EmailsAreVerified"}`,
	"EMAIL_CLAIM":               `{"Ref":"EmailClaim"}`,
	"EMAIL_VERIFIED_CLAIM":      `{"Ref":"EmailVerifiedClaim"}`,
	"GOGC":                      `"200"`,
	"ISSUER":                    `{"Ref":"Issuer"}`,
	"JWKS_URL":                  `{"Ref":"JwksUrl"}`,
	"KEY_TAG_NAMES":             `{"Ref":"KeyTagNames"}`,
	"KEY_TAG_VALUES":            `{"Ref":"KeyTagValues"}`,
	"KEY_PREFIX":                `{"Ref":"KeyPrefix"}`,
	"MAX_AUTH_AGE":              `{"Ref":"MaxAuthAge"}`,
	"NAME_CLAIM":                `{"Ref":"NameClaim"}`,
	"ORG_PARAMETER":             `{"Ref":"MemberOrgParameter"}`,
	"OWNER_ORG_ID":              `{"Ref":"OwnerOrgId"}`,
	"SECRET":                    `{"Ref":"ForwardAuthSecret"}`,
	"OLD_SECRET":                `{"Ref":"ForwardAuthOldSecret"}`,
	"QUEUE_URL":                 `{"Ref":"DeliveryQueue"}`,
	"REQUIRED_SCOPE":            `{"Ref":"RequiredScope"}`,
	"ROTATION_DAYS":             `{"Ref":"RotationDays"}`,
	"SIGNING_KEY_ARN":           `{"Fn::GetAtt":["SigningKey","Arn"]}`,
	"STACK":                     `{"Ref":"AWS::StackName"}`,
	"TABLE":                     `{"Fn::If":["Restored",{"Fn::Select":[1,{"Fn::Split":["/",{"Ref":"TableStreamArn"}]}]},{"Ref":"Table"}]}`,
	"USERINFO_URL":              `{"Ref":"UserinfoUrl"}`,
	"WEBHOOK_ALLOW_CIDRS":       `{"Fn::Join":[",",[{"Ref":"WebhookAllowCidrs"},{"Ref":"WebhookAllowPrivateCidrs"}]]}`,
	"WEBHOOK_ISSUER": `{"Fn::If":["OwnIssuer",{"Ref":"WebhookIssuer"},` +
		`{"Fn::If":["OwnDomain",{"Fn::Sub":"https://${DomainName}"},{"Fn::Sub":"https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/live"}]}]}`,
}

// variables wants every variable to have its source. The check environments tests which function
// has which variable.
func variables(tpl *translated.Template) (wrong []string) {
	seen := map[string]string{}
	for _, function := range tpl.Named("AWS::Lambda::Function") {
		for name, source := range object(object(rawProperties(tpl, function)["Environment"])["Variables"]) {
			seen[name] = variableList[name]
			if got := without(source); got != variableList[name] {
				wrong = append(wrong, fmt.Sprintf("%s of %s is %s, want %s", name, function, got, variableList[name]))
			}
		}
	}
	return append(wrong, differences("variable", seen, variableList)...)
}

const (
	deadLetterQueue = `{"MessageRetentionPeriod":1209600,"SqsManagedSseEnabled":true}`
	throttleAll     = `"ThrottlingBurstLimit":{"Ref":"ThrottleBurst"},"ThrottlingRateLimit":{"Ref":"ThrottleRate"}}`
	throttleText    = `"ThrottlingBurstLimit":10,"ThrottlingRateLimit":5}`
	throttlePublic  = `"ThrottlingBurstLimit":{"Ref":"PublicThrottleBurst"},"ThrottlingRateLimit":{"Ref":"PublicThrottleRate"}}`
)

// accessLine is the line of a request in the access log. It has no text from the client but the
// method, and no credential.
const accessLine = `{"requestId":"$context.requestId","extendedRequestId":"$context.extendedRequestId","time":"$context.requestTimeEpoch",` +
	`"sourceIp":"$context.identity.sourceIp","method":"$context.httpMethod","route":"$context.resourcePath","status":"$context.status",` +
	`"error":"$context.error.responseType","latencyMs":"$context.responseLatency","caller":"$context.authorizer.principalId",` +
	`"waf":"$context.wafResponseCode"}`

// settingsList has every property of these resources, except texts and the names that SAM makes of
// the API's content. No method has DataTraceEnabled, which would log keys, tokens and people's
// addresses.
func settingsList() map[string]string {
	rule := func(function, rate string) string {
		return `{"ScheduleExpression":"` + rate + `","Targets":[{"Arn":{"Fn::GetAtt":["` + function + `","Arn"]}}]}`
	}
	onlyNow := func(function string) string {
		return `{"DestinationConfig":{},"FunctionName":{"Ref":"` + function + `"},"MaximumEventAgeInSeconds":60,"MaximumRetryAttempts":0,"Qualifier":"$LATEST"}`
	}
	return map[string]string{
		"Api":            `{"EndpointAccessMode":"BASIC","EndpointConfiguration":{"Types":["REGIONAL"]},"FailOnWarnings":true,"Name":{"Ref":"AWS::StackName"},"Parameters":{"endpointConfigurationTypes":"REGIONAL"},"SecurityPolicy":"SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09"}`,
		"the deployment": `{"RestApiId":{"Ref":"Api"}}`,
		"Domain": `{"DomainName":{"Ref":"DomainName"},"EndpointAccessMode":"BASIC","EndpointConfiguration":{"Types":["REGIONAL"]},` +
			`"RegionalCertificateArn":{"Ref":"CertificateArn"},"SecurityPolicy":"SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09"}`,
		"DomainMapping":     `{"DomainName":{"Ref":"Domain"},"RestApiId":{"Ref":"Api"},"Stage":{"Ref":"ApiliveStage"}}`,
		"DeliveryQueue":     `{"MessageRetentionPeriod":86400,"RedrivePolicy":{"deadLetterTargetArn":{"Fn::GetAtt":["DeliveryDeadLetters","Arn"]},"maxReceiveCount":5},"SqsManagedSseEnabled":true,"VisibilityTimeout":180}`,
		"FanoutDeadLetters": deadLetterQueue, "DeliveryDeadLetters": deadLetterQueue,
		"ApiliveStage": `{"AccessLogSetting":{"Fn::If":["AccessLog",{"DestinationArn":{"Fn::GetAtt":["AccessLogs","Arn"]},"Format":` + quoted(accessLine) +
			`},{"Ref":"AWS::NoValue"}]},"MethodSettings":[` +
			`{"HttpMethod":"*","ResourcePath":"/*",` + throttleAll +
			`,{"HttpMethod":"POST","ResourcePath":"/~1webhook_verification_key~1get",` + throttlePublic +
			`,{"HttpMethod":"OPTIONS","ResourcePath":"/~1webhook_verification_key~1get",` + throttlePublic +
			`,{"HttpMethod":"GET","ResourcePath":"/~1webhook_verification_key~1{kid}",` + throttlePublic +
			`,{"HttpMethod":"HEAD","ResourcePath":"/~1webhook_verification_key~1{kid}",` + throttlePublic +
			`,{"HttpMethod":"GET","ResourcePath":"/~1.well-known~1jwks.json",` + throttlePublic +
			`,{"HttpMethod":"HEAD","ResourcePath":"/~1.well-known~1jwks.json",` + throttlePublic +
			`,{"HttpMethod":"GET","ResourcePath":"/~1openapi.yaml",` + throttleText +
			`,{"HttpMethod":"HEAD","ResourcePath":"/~1openapi.yaml",` + throttleText +
			`,{"HttpMethod":"POST","ResourcePath":"/~1link~1claim",` + throttlePublic +
			`,{"HttpMethod":"OPTIONS","ResourcePath":"/~1link~1claim",` + throttlePublic + consolePreflights() +
			`],"RestApiId":{"Ref":"Api"},"StageName":"live","Variables":{"executeApi":{"Fn::If":["OnlyOwnDomain","closed","open"]}}}`,
		"DeliverFunctionWaking": `{"BatchSize":10,"EventSourceArn":{"Fn::GetAtt":["DeliveryQueue","Arn"]},"FunctionName":{"Ref":"DeliverFunction"},` +
			`"FunctionResponseTypes":["ReportBatchItemFailures"],"ScalingConfig":{"MaximumConcurrency":{"Ref":"DeliverConcurrency"}}}`,
		"FanoutFunctionNewEvents": `{"BatchSize":25,"BisectBatchOnFunctionError":true,"DestinationConfig":{"OnFailure":{"Destination":{"Fn::GetAtt":["FanoutDeadLetters","Arn"]}}},` +
			`"EventSourceArn":{"Fn::If":["Restored",{"Ref":"TableStreamArn"},{"Fn::GetAtt":["Table","StreamArn"]}]},"FilterCriteria":{"Filters":[{"Pattern":` + quoted(events) + `}]},"FunctionName":{"Ref":"FanoutFunction"},` +
			`"FunctionResponseTypes":["ReportBatchItemFailures"],"MaximumRetryAttempts":5,"StartingPosition":"TRIM_HORIZON"}`,
		"RotateFunctionEventInvokeConfig": onlyNow("RotateFunction"), "SweepFunctionEventInvokeConfig": onlyNow("SweepFunction"),
		"CheckConsumersFunctionEventInvokeConfig": onlyNow("CheckConsumersFunction"), "CheckConsumersFunctionDaily": rule("CheckConsumersFunction", "rate(1 day)"),
		"RotateFunctionQuarterHourly": rule("RotateFunction", "rate(15 minutes)"),
		"SweepFunctionMinutely":       rule("SweepFunction", "rate(1 minute)"),
	}
}

func settings(tpl *translated.Template) []string {
	got := map[string]string{}
	for _, typ := range []string{
		"AWS::ApiGateway::Deployment", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage", "AWS::ApiGateway::DomainName", "AWS::ApiGateway::BasePathMapping",
		"AWS::Events::Rule", "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::EventSourceMapping", "AWS::SQS::Queue",
	} {
		for _, name := range tpl.Declared(typ) {
			key := name
			if typ == "AWS::ApiGateway::Deployment" {
				key = "the deployment"
			}
			got[key] = without(rawProperties(tpl, name), "Description", "AlarmDescription", "Body", "DeploymentId", "Id")
		}
	}
	return differences("resource", got, settingsList())
}

// functionProperties wants functions to have only these properties and those of other checks. Only
// the authorizer has ReservedConcurrentExecutions, when it is not 0, which would switch the function
// off, and the function behind the URL, which has no other lid. The deliver function queues its own next message, which Lambda drops after 16
// rounds unless RecursiveLoop allows it.
func functionProperties(tpl *translated.Template) (wrong []string) {
	const plain = `{"Handler":"bootstrap","LoggingConfig":{"ApplicationLogLevel":"INFO","LogFormat":"JSON","SystemLogLevel":"WARN"},` +
		`"Runtime":"provided.al2023","Tags":[{"Key":"lambda:createdBy","Value":"SAM"}]}`
	for _, name := range tpl.Named("AWS::Lambda::Function") {
		got := without(rawProperties(tpl, name), "Architectures", "Code", "Environment", "LogGroup", "MemorySize", "Role", "Timeout")
		wanted := plain
		if name == "DeliverFunction" {
			wanted = strings.Replace(plain, `"Runtime"`, `"RecursiveLoop":"Allow","Runtime"`, 1)
		}
		if name == "AuthorizerFunction" {
			const reserved = `"ReservedConcurrentExecutions":{"Fn::If":["ReserveForAuthorizer",{"Ref":"AuthorizerConcurrency"},{"Ref":"AWS::NoValue"}]},"Runtime"`
			wanted = strings.Replace(plain, `"Runtime"`, reserved, 1)
		}
		if name == "ForwardAuthFunction" {
			wanted = strings.Replace(plain, `"Runtime"`, `"ReservedConcurrentExecutions":{"Ref":"ForwardAuthConcurrency"},"Runtime"`, 1)
		}
		if got != wanted {
			wrong = append(wrong, fmt.Sprintf("%s has %s, want %s", name, got, wanted))
		}
	}
	return wrong
}

// conditional are the resources, and types of resource, that are there only if a condition holds.
var conditional = map[string]string{
	"AccessLogs":             "AccessLog",
	"AWS::CloudWatch::Alarm": "Alarms", "AWS::CloudWatch::Dashboard": "Alarms",
	"AWS::ApiGateway::DomainName": "OwnDomain", "AWS::ApiGateway::BasePathMapping": "OwnDomain",
	"KeyAuthorizerOfOtherAccounts": "OtherAccounts", "MemberAuthorizerOfOtherAccounts": "OtherAccounts",
	"CheckConsumersFunction": "Alarms", "CheckConsumersRole": "Alarms", "CheckConsumersLogs": "Alarms", "CheckConsumersFunctionDaily": "Alarms",
	"CheckConsumersFunctionDailyPermission": "Alarms", "CheckConsumersFunctionEventInvokeConfig": "Alarms",
	"ForwardAuthFunction": "ForwardAuthOn", "ForwardAuthRole": "ForwardAuthOn", "ForwardAuthLogs": "ForwardAuthOn",
	"AWS::Lambda::Url": "ForwardAuthOn", "ForwardAuthFunctionUrlPublicPermissions": "ForwardAuthOn",
	"ForwardAuthFunctionURLInvokeAllowPublicAccess": "ForwardAuthOn",
	"AWS::WAFv2::WebACL":                            "RateLimited", "AWS::WAFv2::WebACLAssociation": "Firewall",
}

// types wants only known types of resource: no check reads others.
func types(tpl *translated.Template) (wrong []string) {
	known := []string{
		"AWS::ApiGateway::Deployment", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage",
		"AWS::DynamoDB::Table", "AWS::Events::Rule", "AWS::IAM::ManagedPolicy", "AWS::IAM::Role", "AWS::KMS::Key", "AWS::Lambda::EventInvokeConfig",
		"AWS::Lambda::EventSourceMapping", "AWS::Lambda::Function", "AWS::Lambda::Permission", "AWS::Logs::LogGroup", "AWS::SQS::Queue", "AWS::SSM::Parameter",
	}
	for name, r := range object(tpl.Raw["Resources"]) {
		typ := fmt.Sprint(object(r)["Type"])
		only, has := conditional[name]
		if !has {
			only, has = conditional[typ]
		}
		if !has && !slices.Contains(known, typ) {
			wrong = append(wrong, name+" is a "+typ)
		}
		if condition, _ := object(r)["Condition"].(string); condition != only {
			wrong = append(wrong, fmt.Sprintf("%s is there only if %q, want %q", name, condition, only))
		}
	}
	return wrong
}

func rawProperties(tpl *translated.Template, name string) map[string]any {
	return object(object(object(tpl.Raw["Resources"])[name])["Properties"])
}

// without returns a value as JSON with sorted names, without members of these names at any depth.
func without(v any, names ...string) string { return quoted(pruned(v, names)) }

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

// quoted returns a value as JSON. Every value of a template has a JSON form.
func quoted(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// differences returns a line for each difference of two maps.
func differences(what string, got, want map[string]string) (wrong []string) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got[name] != want[name] {
			wrong = append(wrong, fmt.Sprintf("%s %s is %q, want %q", what, name, got[name], want[name]))
		}
	}
	return wrong
}

package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// random ends a name that CloudFormation makes. AWS chooses it at random.
const random = "1A2B3C4D5E6F"

const (
	keyARN        = "arn:aws:kms:eu-central-1:" + standin.Account + ":key/0f3d6f0e-1a2b-4c5d-8e9f-1a2b3c4d5e6f"
	ownACL        = "arn:aws:wafv2:eu-central-1:" + standin.Account + ":regional/webacl/own/0f3d6f0e-1a2b-4c5d-8e9f-1a2b3c4d5e6f"
	stackARN      = "arn:aws:cloudformation:eu-central-1:" + standin.Account + ":stack/latchkey/0f3d6f0e-1a2b-4c5d-8e9f-1a2b3c4d5e6f"
	serviceLinked = "arn:aws:iam::" + standin.Account + ":role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway"
)

// place has the ARNs that the handlers of a type act on.
type place struct {
	named string   // the property with the physical name; "": CloudFormation makes the name
	arns  []string // {} is the physical name
}

// at returns the place of resources whose ARNs have the region and the account.
func at(named, service string, resources ...string) place {
	p := place{named: named}
	for _, r := range resources {
		p.arns = append(p.arns, "arn:aws:"+service+":eu-central-1:"+standin.Account+":"+r)
	}
	return p
}

// gatewayTags begins the ARN of the tags of a resource of API Gateway. The resource's own ARN ends it, with escapes.
const gatewayTags = "/tags/arn%3Aaws%3Aapigateway%3Aeu-central-1%3A%3A"

// inGateway returns the place of resources of API Gateway. Their ARNs have no account.
func inGateway(paths ...string) place {
	var p place
	for _, s := range paths {
		p.arns = append(p.arns, "arn:aws:apigateway:eu-central-1::"+s)
	}
	return p
}

// places has, for each type of resource, the ARNs that its handlers act on.
var places = map[string]place{
	"AWS::ApiGateway::BasePathMapping": inGateway("/domainnames/api.example.com/basepathmappings", "/domainnames/api.example.com/basepathmappings/(none)"),
	"AWS::ApiGateway::Deployment":      inGateway("/restapis/a1b2c3/deployments", "/restapis/a1b2c3/deployments/d4e5f6"),
	"AWS::ApiGateway::DomainName":      inGateway("/domainnames", "/domainnames/api.example.com", gatewayTags+"%2Fdomainnames%2Fapi.example.com"),
	"AWS::ApiGateway::RestApi":         inGateway("/restapis", "/restapis/a1b2c3", gatewayTags+"%2Frestapis%2Fa1b2c3"),
	"AWS::ApiGateway::Stage":           inGateway("/restapis/a1b2c3/stages", "/restapis/a1b2c3/stages/live", gatewayTags+"%2Frestapis%2Fa1b2c3%2Fstages%2Flive"),
	"AWS::CloudWatch::Alarm":           at("", "cloudwatch", "alarm:{}"),
	"AWS::CloudWatch::Dashboard":       {"DashboardName", []string{"arn:aws:cloudwatch::" + standin.Account + ":dashboard/{}"}},
	"AWS::DynamoDB::Table":             at("", "dynamodb", "table/{}"),
	"AWS::Events::Rule":                at("", "events", "rule/{}", "rule/owner/{}"),
	"AWS::IAM::ManagedPolicy":          {"", []string{"arn:aws:iam::" + standin.Account + ":policy/{}"}},
	"AWS::IAM::Role":                   {"", []string{"arn:aws:iam::" + standin.Account + ":role/{}"}},
	"AWS::KMS::Key":                    {"", []string{keyARN}},
	"AWS::Lambda::EventInvokeConfig":   at("FunctionName", "lambda", "function:{}"),
	"AWS::Lambda::EventSourceMapping":  at("", "lambda", "event-source-mapping:0f3d6f0e-1a2b-4c5d-8e9f-1a2b3c4d5e6f"),
	"AWS::Lambda::Function":            at("", "lambda", "function:{}"),
	"AWS::Lambda::Permission":          at("FunctionName", "lambda", "function:{}"),
	"AWS::Lambda::Url":                 at("TargetFunctionArn", "lambda", "function:{}"),
	"AWS::Logs::LogGroup":              at("LogGroupName", "logs", "log-group:{}", "log-group:{}:*"),
	"AWS::SQS::Queue":                  at("", "sqs", "{}"),
	"AWS::SSM::Parameter":              at("Name", "ssm", "parameter{}"),
	"AWS::WAFv2::WebACL":               at("Name", "wafv2", "regional/webacl/{}/0f3d6f0e-1a2b-4c5d-8e9f-1a2b3c4d5e6f"),
	"AWS::WAFv2::WebACLAssociation":    {"WebACLArn", []string{"{}", "arn:aws:apigateway:eu-central-1::/restapis/a1b2c3/stages/live"}},
}

// elsewhere lists actions that act on another resource than the handler's, with that resource. * means any resource.
var elsewhere = map[string]string{
	"cloudwatch:DescribeAlarms":       "*", // AWS documents the alarm as its resource, but checks *
	"kms:CreateKey":                   "*",
	"lambda:CreateEventSourceMapping": "*",
	"logs:DescribeIndexPolicies":      "*",
	"logs:DescribeLogGroups":          "*",
	"logs:DescribeResourcePolicies":   "*",
	"s3:GetObject":                    "arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1a2b3c/latchkey/0f3d6f0e", // a function's code
	"s3:GetObjectVersion":             "arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1a2b3c/latchkey/0f3d6f0e",
}

// resourcesOf returns the ARNs that an action of a handler of this resource of a stack acts on.
func resourcesOf(stack, name string, r translated.Resource, action string) (arns []string) {
	if arn, ok := elsewhere[action]; ok {
		return []string{arn}
	}
	if action == "iam:PassRole" {
		return []string{"arn:aws:iam::" + standin.Account + ":role/" + stack + "-" + path.Base(fmt.Sprint(r.Properties["Role"])) + "-" + random}
	}
	p := places[r.Type]
	physical := stack + "-" + name + "-" + random
	if p.named != "" {
		physical = fmt.Sprint(r.Properties[p.named])
		if _, function, ok := strings.Cut(physical, ":function:"); ok {
			physical = function
		}
	}
	service, _, _ := strings.Cut(action, ":")
	for _, arn := range p.arns {
		arn = strings.ReplaceAll(arn, "{}", physical)
		if service == "wafv2" || strings.HasPrefix(arn, "arn:aws:"+service+":") { // WAF also acts on the stage that it protects
			arns = append(arns, arn)
		}
	}
	return arns
}

// needsOf returns the rights that an action of a handler of this resource of a stack needs.
func needsOf(stack, name string, r translated.Resource, action string) (needs []iam.Need) {
	context := map[string][]string{}
	if action == "iam:PassRole" {
		context["iam:PassedToService"] = []string{"lambda.amazonaws.com"}
	}
	for _, v := range translated.List(r.Properties["Tags"]) {
		tag := translated.Object(v)
		context[fmt.Sprint("aws:ResourceTag/", tag["Key"])] = []string{fmt.Sprint(tag["Value"])}
	}
	for _, arn := range resourcesOf(stack, name, r, action) {
		needs = append(needs, iam.Need{Action: action, Resource: arn, Context: context})
	}
	return needs
}

// withAllOptions returns the resources of a stack by logical id, with all options on. Wall connects the API to the template's
// firewall; OwnWall is the same resource with a firewall of the owner.
func withAllOptions(t *testing.T, stack string) map[string]translated.Resource {
	t.Helper()
	o := translated.Options{
		StackName: stack, FunctionPrefix: stack + "-",
		Attributes: map[string]string{"PublicRates.Arn": strings.Replace(ownACL, "/own/", "/"+stack+"-public-rates/", 1)},
		Parameters: map[string]string{
			"Issuer": "https://issuer.example", "AlarmTopicArn": "arn:aws:sns:eu-central-1:" + standin.Account + ":operators", "ForwardAuth": "true", "EventBusName": "owner",
			"ConsumerOrganizationId": "o-0123456789", "ApiAccessLog": "true", "WebAcl": "rate-limited", "DomainName": "api.example.com",
			"CertificateArn": "arn:aws:acm:eu-central-1:" + standin.Account + ":certificate/0f3d6f0e", "TableKeyArn": keyARN, "AuthorizerConcurrency": "1",
		},
	}
	tpl, err := translated.Translate(t.Context(), filepath.Join("..", "..", "template.yaml"), o)
	if err != nil {
		t.Fatal(err)
	}
	for name := range translated.Object(tpl.Raw["Resources"]) {
		if tpl.Resources[name].Type == "" {
			t.Errorf("the options of this test do not make %s", name)
		}
	}
	o.Parameters["WebAcl"], o.Parameters["WebAclArn"] = "none", ownACL
	own, err := tpl.Resolve(o)
	if err != nil {
		t.Fatal(err)
	}
	tpl.Resources["OwnWall"] = own.Resources["Wall"]
	return tpl.Resources
}

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// readHandlers returns the rights that CloudFormation's handlers use, by type and by handler: create, read, update, delete, and
// tagging for the stack's tags. testdata/handlers.json is copied from the schemas that CloudFormation published in October 2026.
// This command prints the rights of one type:
//
//	aws cloudformation describe-type --type RESOURCE --type-name AWS::SQS::Queue --query Schema --output text |
//	  jq '.handlers + {tagging} | map_values(.permissions | values) | del(.list)'
func readHandlers(t *testing.T) map[string]map[string][]string {
	t.Helper()
	var lists map[string]map[string][]string
	if err := json.Unmarshal([]byte(readFile(t, "testdata/handlers.json")), &lists); err != nil {
		t.Fatal(err)
	}
	return lists
}

// unneeded lists rights in handlers.json that this template does not need, because its resources do not have certain
// properties. The test fails if a resource has one of the properties in unless. Blanks separate actions and properties.
var unneeded = []struct{ types, actions, unless, why string }{
	{"AWS::ApiGateway::RestApi", "iam:PassRole", "", "API Gateway calls the functions by their permissions, and has no role"},
	{"AWS::ApiGateway::RestApi", "s3:GetObject", "BodyS3Location", "the template has the API's definition"},
	{"AWS::DynamoDB::Table", "dynamodb:ImportTable dynamodb:DescribeImport s3:* logs:*", "ImportSourceSpecification", "nothing is imported"},
	{"AWS::DynamoDB::Table", "dynamodb:EnableKinesis* dynamodb:DisableKinesis* dynamodb:UpdateKinesis* kinesis:*", "KinesisStreamSpecification", "no Kinesis"},
	{"AWS::DynamoDB::Table", "dynamodb:UpdateContributorInsights iam:CreateServiceLinkedRole", "ContributorInsightsSpecification", "no insights"},
	{"AWS::DynamoDB::Table", "dynamodb:PutResourcePolicy dynamodb:DeleteResourcePolicy", "ResourcePolicy", "the table has no policy"},
	{"AWS::DynamoDB::Table", "dynamodb:*TableReplica dynamodb:*Item dynamodb:Query dynamodb:Scan", "", "the table has no replica"},
	{"AWS::DynamoDB::Table", "kms:*", "", "the policy of the owner's key gives them (the runbook, \"Your own key for the table\")"},
	{"AWS::Events::Rule", "iam:PassRole", "RoleArn", "the rules call functions, by the functions' permissions"},
	{"AWS::IAM::*", "iam:Attach* iam:Detach*", "ManagedPolicyArns Groups Roles Users", "the stack attaches no managed policy"},
	{"AWS::IAM::Role", "iam:*PermissionsBoundary", "PermissionsBoundary", "the roles have no boundary"},
	{"AWS::KMS::Key", "kms:EnableKeyRotation kms:DisableKeyRotation", "EnableKeyRotation", "KMS rotates no asymmetric key"},
	{"AWS::Lambda::EventSourceMapping", "kms:*", "KmsKeyArn", "the filters are encrypted by a key of AWS"},
	{"AWS::Lambda::Function", "kms:*", "KmsKeyArn", "the variables are encrypted by a key of AWS"},
	{"AWS::Lambda::Function", "ec2:* elasticfilesystem:* s3files:*", "VpcConfig FileSystemConfigs", "no VPC and no file system"},
	{"AWS::Lambda::Function", "lambda:GetLayerVersion", "Layers", "no layers"},
	{"AWS::Lambda::Function", "lambda:GetCodeSigningConfig", "CodeSigningConfigArn", "no code signing"},
	{"AWS::Lambda::Function", "lambda:PassCapacityProvider", "CapacityProviderConfig", "Lambda's own machines"},
	{"AWS::Logs::LogGroup", "logs:PutDataProtectionPolicy logs:DeleteDataProtectionPolicy logs:CreateLogDelivery s3:* firehose:*", "DataProtectionPolicy", "no line is masked"},
	{"AWS::Logs::LogGroup", "logs:PutResourcePolicy logs:DeleteResourcePolicy", "ResourcePolicyDocument", "the groups have no policy"},
	{"AWS::Logs::LogGroup", "logs:PutIndexPolicy logs:DeleteIndexPolicy", "FieldIndexPolicies", "the groups have no index"},
	{"AWS::Logs::LogGroup", "logs:PutBearerTokenAuthentication", "BearerTokenAuthenticationEnabled", "only the functions write"},
	{"AWS::Logs::LogGroup", "logs:PutLogGroupDeletionProtection", "DeletionProtectionEnabled", "log groups go with the stack"},
	{"AWS::Logs::LogGroup", "logs:AssociateKmsKey logs:DisassociateKmsKey", "KmsKeyId", "the logs are encrypted by a key of AWS"},
	{"AWS::WAFv2::WebACL", "payments:*", "MonetizationConfig", "no rule asks for money"},
	{"AWS::WAFv2::WebACLAssociation", "amplify:* apprunner:* appsync:* bedrock-agentcore:* cognito-idp:* ec2:* elasticloadbalancing:*", "", "the firewall protects an API"},
	{"AWS::WAFv2::WebACLAssociation", "wafv2:*PermissionPolicy", "", "no rule group is shared with another account"},
}

// TestTheOperatorsPolicyAllowsEveryResource checks, for each resource of the template, that the policy allows every right that
// CloudFormation's handlers list, except for the unneeded rights. With the second name, no pattern may have "latchkey" in place of
// the stack's name, or the reverse.
func TestTheOperatorsPolicyAllowsEveryResource(t *testing.T) {
	t.Parallel()
	lists, used := readHandlers(t), map[string]bool{}
	isUnneeded := func(typ, action string) (found bool) {
		for _, s := range unneeded {
			for pattern := range strings.FieldsSeq(s.actions) {
				if translated.Like(s.types, typ) && translated.Like(pattern, action) {
					used[s.types+" "+pattern], found = true, true
				}
			}
		}
		return found
	}
	var resources map[string]translated.Resource
	for _, stack := range []string{"latchkey", "prod"} {
		o := operatorOf(t, stack)
		resources = withAllOptions(t, stack)
		for _, name := range slices.Sorted(maps.Keys(resources)) {
			r := resources[name]
			used[r.Type] = true
			if len(lists[r.Type]) == 0 {
				t.Errorf("%s: testdata/handlers.json has no %s", name, r.Type)
			}
			for handler, actions := range lists[r.Type] {
				for _, action := range actions {
					if isUnneeded(r.Type, action) {
						continue
					}
					needs := needsOf(stack, name, r, action)
					if len(needs) == 0 {
						t.Errorf("%s, %s of %s: the variable places has no resource for %s", name, handler, r.Type, action)
					}
					if err := o.Decide("Operator", needs...); err != nil {
						t.Errorf("stack %s: %s, %s of %s: %v", stack, name, handler, r.Type, err)
					}
				}
			}
		}
	}
	for typ := range lists {
		if !used[typ] {
			t.Errorf("testdata/handlers.json: the template has no %s", typ)
		}
	}
	for _, s := range unneeded {
		for pattern := range strings.FieldsSeq(s.actions) {
			if !used[s.types+" "+pattern] {
				t.Errorf("no handler of %s uses %s: remove it from the variable unneeded", s.types, pattern)
			}
		}
		for name, r := range resources {
			for property := range strings.FieldsSeq(s.unless) {
				if translated.Like(s.types, r.Type) && r.Properties[property] != nil {
					t.Errorf("%s has %s, and may need %s", name, property, s.actions)
				}
			}
		}
	}
}

// TestTheOperatorMayMakeCallsThatNoHandlerLists checks the rights for calls that the preflight, the SAM CLI and API Gateway make.
func TestTheOperatorMayMakeCallsThatNoHandlerLists(t *testing.T) {
	t.Parallel()
	o := readOperator(t)
	for reason, n := range map[string]iam.Need{
		"API Gateway makes its role when an account gets its first domain": {Action: "iam:CreateServiceLinkedRole", Resource: serviceLinked,
			Context: map[string][]string{"iam:AWSServiceName": {"ops.apigateway.amazonaws.com"}}},
		"the preflight reads the certificate":     {Action: "acm:DescribeCertificate", Resource: "arn:aws:acm:eu-central-1:" + standin.Account + ":certificate/0f3d6f0e"},
		"the preflight reads the alarms' topic":   {Action: "sns:GetTopicAttributes", Resource: "arn:aws:sns:eu-central-1:210987654321:operators"},
		"the preflight reads the event bus":       {Action: "events:DescribeEventBus", Resource: "arn:aws:events:eu-central-1:" + standin.Account + ":event-bus/owner"},
		"the preflight reads the role for logs":   {Action: "apigateway:GET", Resource: "arn:aws:apigateway:eu-central-1::/account"},
		"the stack is protected from deletion":    {Action: "cloudformation:UpdateTerminationProtection", Resource: stackARN},
		"the table is protected from replacement": {Action: "cloudformation:SetStackPolicy", Resource: stackARN},
		"the stack policy is read":                {Action: "cloudformation:GetStackPolicy", Resource: stackARN},
		"SAM's translator runs": {Action: "cloudformation:CreateChangeSet",
			Resource: "arn:aws:cloudformation:eu-central-1:aws:transform/Serverless-2016-10-31"},
		"the SAM CLI's bucket has a stack": {Action: "cloudformation:DescribeStacks",
			Resource: strings.Replace(stackARN, "/latchkey/", "/aws-sam-cli-managed-default/", 1)},
		"the functions' code is uploaded": {Action: "s3:PutObject", Resource: elsewhere["s3:GetObject"]},
	} {
		if err := o.Decide("Operator", n); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

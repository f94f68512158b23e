package main

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// managedLimit is IAM's limit for a managed policy, in characters that are not white space.
const managedLimit = 6144

// operator is the policy of operator.yaml.
type operator struct {
	*iam.Authority
	actions []string // of all statements; * is any text
	size    int      // in characters that are not white space
}

// readOperator reads the policy of an operator of the stack latchkey.
func readOperator(t *testing.T) operator { return operatorOf(t, "latchkey") }

// operatorOf reads the policy of an operator of a stack. The YAML package ignores !Sub and !Ref, so operatorOf replaces the
// variables and the parameter in the text first.
func operatorOf(t *testing.T, stack string) operator {
	t.Helper()
	text := strings.NewReplacer("${AWS::AccountId}", standin.Account, "${AWS::Partition}", "aws", "${StackName}", stack, "!Ref StackName", stack).
		Replace(readFile(t, "operator.yaml"))
	var template struct {
		Resources map[string]struct {
			Properties struct {
				ManagedPolicyName string         `yaml:"ManagedPolicyName"`
				PolicyDocument    map[string]any `yaml:"PolicyDocument"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(text), &template); err != nil {
		t.Fatal(err)
	}
	policy := template.Resources["OperatorPolicy"].Properties
	document := policy.PolicyDocument
	if document["Version"] != "2012-10-17" || len(document) != 2 {
		t.Errorf("a policy has Version and Statement, and variables need the version 2012-10-17: %v", document["Version"])
	}
	if name := policy.ManagedPolicyName; name == "" || strings.HasPrefix(name, stack) {
		t.Errorf("the operators of %s may change the policy %q", stack, name)
	}
	json, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	o := operator{size: len(strings.Join(strings.Fields(string(json)), ""))}
	for _, s := range translated.List(document["Statement"]) {
		o.actions = append(o.actions, translated.Words(translated.Object(s)["Action"])...)
		if len(translated.Words(translated.Object(s)["Resource"])) == 0 {
			t.Errorf("a statement without a resource: %v", s)
		}
	}
	const kind = "AWS::IAM::ManagedPolicy"
	o.Authority, err = iam.New(&translated.Template{
		Raw:       map[string]any{"Resources": map[string]any{"Operator": map[string]any{"Type": kind}}},
		Resources: map[string]translated.Resource{"Operator": {Type: kind, Properties: map[string]any{"PolicyDocument": document}}},
	}, "iam:PassedToService", "iam:AWSServiceName")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// may reports whether the policy allows an action on a resource, in a request without condition keys.
func (o operator) may(action, resource string) bool {
	return o.Decide("Operator", iam.Need{Action: action, Resource: resource}) == nil
}

// mentions reports whether a statement allows the action on some resource.
func (o operator) mentions(action string) bool {
	return slices.ContainsFunc(o.actions, func(pattern string) bool {
		return translated.Like(strings.ToLower(pattern), strings.ToLower(action))
	})
}

// TestTheOperatorReadsNoRowsAndSignsNothing checks that the policy has no right to read or write rows, to sign, to receive
// messages or to create users.
func TestTheOperatorReadsNoRowsAndSignsNothing(t *testing.T) {
	t.Parallel()
	o := readOperator(t)
	for _, action := range []string{
		"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:Query", "dynamodb:Scan",
		"dynamodb:GetRecords", "dynamodb:PartiQLSelect", "dynamodb:ExportTableToPointInTime", "dynamodb:RestoreTableToPointInTime",
		"kms:Sign", "kms:Decrypt", "kms:CreateGrant", "sqs:ReceiveMessage", "sqs:SendMessage", "iam:CreateUser", "iam:AttachRolePolicy", "sts:AssumeRole",
	} {
		if o.mentions(action) {
			t.Errorf("operator.yaml allows %s", action)
		}
	}
}

// TestTheOperatorsPolicyFitsIAM checks the size of the policy, also for a stack whose name is three times as long.
func TestTheOperatorsPolicyFitsIAM(t *testing.T) {
	t.Parallel()
	if n := operatorOf(t, strings.Repeat("latchkey", 3)).size; n > managedLimit {
		t.Errorf("the policy has %d characters, and IAM allows %d: split the policy", n, managedLimit)
	}
}

// longest has the limits of names that CloudFormation makes, in characters, by type.
var longest = map[string]int{
	"AWS::CloudWatch::Alarm": 255, "AWS::DynamoDB::Table": 255, "AWS::Events::Rule": 64, "AWS::IAM::ManagedPolicy": 128, "AWS::IAM::Role": 64,
	"AWS::Lambda::Function": 64, "AWS::SQS::Queue": 80,
}

// TestCloudFormationNeverChangesTheStacksNameInOthers checks the names that operator.yaml accepts. The policy allows names that begin
// with the stack's name and a hyphen. AWS shortens the stack's name in a name that would be too long, and makes one hyphen of several.
func TestCloudFormationNeverChangesTheStacksNameInOthers(t *testing.T) {
	t.Parallel()
	var template struct {
		Parameters map[string]struct {
			AllowedPattern string `yaml:"AllowedPattern"`
			MaxLength      int    `yaml:"MaxLength"`
		} `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "operator.yaml")), &template); err != nil {
		t.Fatal(err)
	}
	name := template.Parameters["StackName"]
	for resource, r := range withAllOptions(t, "latchkey") {
		if p := places[r.Type]; p.named != "" || !strings.Contains(strings.Join(p.arns, " "), "{}") {
			continue // it has no name that CloudFormation makes
		}
		most := cmp.Or(name.MaxLength, 128) // CloudFormation's own limit
		if size := most + len("-"+resource+"-"+random); size > longest[r.Type] {
			t.Errorf("%s has a name of %d characters if the stack's name has %d, and %s allows %d", resource, size, most, r.Type, longest[r.Type])
		}
	}
	for stack, isRight := range map[string]bool{"latchkey": true, "Prod-2": true, "a-b-c": true, "a--b": false, "a-": false, "-a": false, "2a": false, "a_b": false} {
		if got := regexp.MustCompile("^(?:" + name.AllowedPattern + ")$").MatchString(stack); got != isRight {
			t.Errorf("StackName=%s: %v", stack, got)
		}
	}
}

// TestTheOperatorActsOnlyOnTheStack checks that the policy has no right to change other keys, roles, APIs and firewalls.
func TestTheOperatorActsOnlyOnTheStack(t *testing.T) {
	t.Parallel()
	o := readOperator(t)
	for action, resource := range map[string]string{
		"kms:ScheduleKeyDeletion":     keyARN,
		"lambda:UpdateFunctionCode":   "arn:aws:lambda:eu-central-1:123456789012:function:other-Function-1A2B3C",
		"iam:PutRolePolicy":           "arn:aws:iam::123456789012:role/other",
		"iam:PassRole":                "arn:aws:iam::123456789012:role/latchkey-OrgsRole-1A2B3C", // without iam:PassedToService: to a service that is not Lambda
		"iam:CreateServiceLinkedRole": serviceLinked,                                             // without iam:AWSServiceName
		"apigateway:PATCH":            "arn:aws:apigateway:eu-central-1::/account",
		"wafv2:UpdateWebACL":          ownACL,
		"wafv2:DeleteWebACL":          ownACL,
		"ssm:PutParameter":            "arn:aws:ssm:eu-central-1:123456789012:parameter/latchkey/other/key-authorizer-arn",
		"logs:DeleteLogGroup":         "arn:aws:logs:eu-central-1:123456789012:log-group:/latchkey/other/authorizer",
		"cloudformation:DeleteStack":  "arn:aws:cloudformation:eu-central-1:123456789012:stack/other/1a2b3c",
	} {
		if o.may(action, resource) {
			t.Errorf("operator.yaml allows %s on %s", action, resource)
		}
	}
}

// mayCall checks that operator.yaml allows each recorded call, on some resource.
func (r *rig) mayCall() {
	r.t.Helper()
	o, calls := readOperator(r.t), r.aws.Calls()
	if len(calls) < 5 { // a deployment makes more calls
		r.t.Errorf("the stand-in recorded only %q", calls)
	}
	for _, call := range calls {
		if !o.mentions(call) {
			r.t.Errorf("operator.yaml does not allow %s", call)
		}
	}
}

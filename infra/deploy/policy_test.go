package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
)

// creates has the right that creates a resource, for each type in the template. The runbook's policy
// also has rights to change and delete each.
var creates = map[string]string{
	"AWS::ApiGateway::Authorizer":      "apigateway:POST",
	"AWS::ApiGateway::Deployment":      "apigateway:POST",
	"AWS::ApiGateway::GatewayResponse": "apigateway:PUT",
	"AWS::ApiGateway::RestApi":         "apigateway:POST",
	"AWS::ApiGateway::Stage":           "apigateway:POST",
	"AWS::ApiGateway::BasePathMapping": "apigateway:POST",
	"AWS::ApiGateway::DomainName":      "apigateway:POST",
	"AWS::CloudWatch::Alarm":           "cloudwatch:PutMetricAlarm",
	"AWS::CloudWatch::Dashboard":       "cloudwatch:PutDashboard",
	"AWS::DynamoDB::Table":             "dynamodb:CreateTable",
	"AWS::Events::Rule":                "events:PutRule",
	"AWS::IAM::ManagedPolicy":          "iam:CreatePolicy",
	"AWS::IAM::Role":                   "iam:CreateRole",
	"AWS::KMS::Key":                    "kms:CreateKey",
	"AWS::Lambda::EventSourceMapping":  "lambda:CreateEventSourceMapping",
	"AWS::Lambda::EventInvokeConfig":   "lambda:PutFunctionEventInvokeConfig",
	"AWS::Lambda::Function":            "lambda:CreateFunction",
	"AWS::Lambda::Permission":          "lambda:AddPermission",
	"AWS::Lambda::Url":                 "lambda:CreateFunctionUrlConfig",
	"AWS::Logs::LogGroup":              "logs:CreateLogGroup",
	"AWS::SQS::Queue":                  "sqs:CreateQueue",
	"AWS::SSM::Parameter":              "ssm:PutParameter",
	"AWS::WAFv2::WebACL":               "wafv2:CreateWebACL",
	"AWS::WAFv2::WebACLAssociation":    "wafv2:AssociateWebACL",
}

// texts is a text or a list of them.
type texts []string

func (l *texts) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*l = texts{""}
		return json.Unmarshal(b, &(*l)[0])
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// match reports whether one of the patterns matches the given text; * matches any text.
func (l texts) match(given string) bool {
	return slices.ContainsFunc(l, func(pattern string) bool {
		return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(given)
	})
}

// statement is a statement of a policy.
type statement struct {
	Effect           string
	Action, Resource texts
	Condition        any
}

// operatorMay returns a function that reports whether the runbook's policy allows an action, on each of
// these resources.
func operatorMay(t *testing.T) func(action string, resources ...string) bool {
	t.Helper()
	_, section, ok := strings.Cut(readFile(t, "../docs/runbook.md"), "\n## An operator's rights\n")
	_, section, fenced := strings.Cut(section, "```json\n")
	text, _, closed := strings.Cut(section, "\n```")
	if !ok || !fenced || !closed {
		t.Fatal("the runbook has no policy of an operator")
	}
	var policy struct {
		Version   string
		Statement []statement
	}
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&policy); err != nil {
		t.Fatal(err)
	}
	for _, s := range policy.Statement {
		if s.Effect != "Allow" || len(s.Resource) == 0 {
			t.Errorf("%+v", s)
		}
	}
	return func(action string, resources ...string) bool {
		return slices.ContainsFunc(policy.Statement, func(s statement) bool {
			return s.Action.match(action) && !slices.ContainsFunc(resources, func(r string) bool { return !s.Resource.match(r) })
		})
	}
}

// TestTheOperatorsPolicyMakesEveryResource wants a right to create each resource of the template, and no right
// to read or write rows, to sign, or to make users.
func TestTheOperatorsPolicyMakesEveryResource(t *testing.T) {
	t.Parallel()
	may := operatorMay(t)
	tpl, err := translated.Translate(t.Context(), filepath.Join("..", "..", "template.yaml"), translated.Options{Parameters: map[string]string{"Issuer": "https://issuer.example"}})
	if err != nil {
		t.Fatal(err)
	}
	resources, _ := tpl.Raw["Resources"].(map[string]any)
	if len(resources) == 0 {
		t.Fatal("no resources")
	}
	for name, r := range resources {
		resource, _ := r.(map[string]any)
		kind, _ := resource["Type"].(string)
		if action, known := creates[kind]; !known || !may(action) {
			t.Errorf("%s: the runbook's policy makes no %s", name, kind)
		}
	}
	for _, action := range []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:Scan", "kms:Sign", "iam:CreateUser", "sqs:ReceiveMessage"} {
		if may(action) {
			t.Errorf("the runbook's policy allows %s", action)
		}
	}
}

// mayCall wants the runbook's policy to allow each call that was made.
func (r *rig) mayCall() {
	r.t.Helper()
	may, calls := operatorMay(r.t), r.aws.Calls()
	if len(calls) < 5 { // a deployment makes more: the stand-in recorded too little
		r.t.Errorf("only %q was called", calls)
	}
	for _, call := range calls {
		if !may(call) {
			r.t.Errorf("the runbook's policy does not allow %s", call)
		}
	}
}

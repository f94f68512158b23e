package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// question is a question for IAM's simulator: which of the actions may each role do on the resource, with this context of a call?
type question struct {
	resource string
	context  map[string]string
	actions  []string
	may      map[string][]string // the permitted actions by role; other roles may do none
}

// functionRoles are the roles in the template, without the roles that parameters add. TestSmokeFindsARoleThatMaySign
// compares them with the template.
var functionRoles = []string{
	"AuthorizerRole", "KeyAuthorizerRole", "MemberAuthorizerRole", "OrgsRole", "MembersRole", "KeysRole", "AppsRole", "LinksRole", "WebhooksRole", "FanoutRole", "DeliverRole",
	"SweepRole", "WebhookKeysRole", "RotateRole", "DeleteOrgRole", "ConsoleRole", "UsersRole", "LeaksRole",
}

// roles returns the roles of the stack, with the roles of the function URL and of the alarms if the stack has these.
func (p awsPlatform) roles(t *testing.T) []string {
	all := slices.Clone(functionRoles)
	if p.find(t, "ForwardAuthUrl") != "" {
		all = append(all, "ForwardAuthRole")
	}
	if p.parameter(t, "AlarmTopicArn") != "" {
		all = append(all, "CheckConsumersRole")
	}
	return all
}

func (p awsPlatform) refusals(t *testing.T) {
	for _, fault := range p.wrongRights(t) {
		t.Error(fault)
	}
}

// wrongRights sends questions to IAM's simulator: what may each function's role do with the table and the signing key? It returns
// the differences from the template. The simulator does not read tags, so the question has them. It does not read key
// policies either, by which the runbook ("Who may sign") limits other signers.
func (p awsPlatform) wrongRights(t *testing.T) (faults []string) {
	var account struct{ Account string }
	p.call(t, "sts", "get_caller_identity", cloud.Params{}, &account)
	here := p.region + ":" + account.Account
	for _, q := range []question{
		{
			resource: "arn:aws:dynamodb:" + here + ":table/" + p.output(t, "TableName"),
			// The context of a transaction in the partition of an org's API keys.
			context: map[string]string{"dynamodb:LeadingKeys": "KEYS#org_1", "dynamodb:EnclosingOperation": "TransactWriteItems"},
			actions: []string{
				"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan",
				"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:DeleteTable",
			},
			may: map[string][]string{
				"AuthorizerRole":    {"dynamodb:GetItem"},
				"KeyAuthorizerRole": {"dynamodb:GetItem"},
				"ForwardAuthRole":   {"dynamodb:GetItem"},
				"SweepRole":         {"dynamodb:GetItem"},
				"AppsRole":          {"dynamodb:BatchGetItem"},
				"UsersRole":         {"dynamodb:GetItem", "dynamodb:BatchGetItem"}, // the keys that a stopped person made
				"FanoutRole":        {"dynamodb:BatchGetItem"},                     // the app of a key whose limit is reached
				"KeysRole":          {"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"},
				"LeaksRole":         {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
				"OrgsRole":          {"dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}, // for an external id that moves beside a plan
				"DeleteOrgRole":     {"dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"},
			},
		},
		{
			resource: p.output(t, "SigningKeyArn"),
			context: map[string]string{
				"aws:ResourceTag/latchkey:stack": p.stack, "kms:KeySpec": "ECC_NIST_P256", "kms:KeyUsage": "SIGN_VERIFY",
				"kms:MessageType": "DIGEST", "kms:SigningAlgorithm": "ECDSA_SHA_256",
			},
			actions: []string{"kms:Sign", "kms:GetPublicKey", "kms:DisableKey", "kms:ScheduleKeyDeletion", "kms:PutKeyPolicy", "kms:CreateGrant"},
			may:     map[string][]string{"DeliverRole": {"kms:Sign"}, "RotateRole": {"kms:GetPublicKey", "kms:DisableKey"}},
		},
	} {
		for _, role := range p.roles(t) {
			allowed := p.simulate(t, "arn:aws:iam::"+account.Account+":role/"+p.physical(t, role), q)
			if want := q.may[role]; !slices.Equal(allowed, want) {
				faults = append(faults, fmt.Sprintf("of %q on %s, %s may do %q; the template allows %q", q.actions, q.resource, role, allowed, want))
			}
		}
	}
	return faults
}

// simulate returns the actions of the question that the role may do.
func (p awsPlatform) simulate(t *testing.T, role string, q question) (allowed []string) {
	var entries []cloud.Params
	for _, key := range slices.Sorted(maps.Keys(q.context)) {
		kind := "string"
		if key == "dynamodb:LeadingKeys" {
			kind = "stringList"
		}
		entries = append(entries, cloud.Params{"ContextKeyName": key, "ContextKeyValues": []string{q.context[key]}, "ContextKeyType": kind})
	}
	var out struct {
		EvaluationResults []struct{ EvalActionName, EvalDecision string }
	}
	p.call(t, "iam", "simulate_principal_policy", cloud.Params{
		"PolicySourceArn": role, "ResourceArns": []string{q.resource}, "ActionNames": q.actions, "ContextEntries": entries,
	}, &out)
	if len(out.EvaluationResults) != len(q.actions) {
		t.Fatalf("%s: %d results", role, len(out.EvaluationResults))
	}
	for _, action := range q.actions {
		for _, r := range out.EvaluationResults {
			if r.EvalActionName == action && r.EvalDecision == "allowed" {
				allowed = append(allowed, action)
			}
		}
	}
	return allowed
}

// TestSmokeFindsARoleThatMaySign answers in place of IAM with the template's policies: unchanged, and with one more right
// for a role.
func TestSmokeFindsARoleThatMaySign(t *testing.T) {
	o := translated.Options{StackName: stack.StackName, Parameters: map[string]string{"Issuer": "https://issuer.example"}}
	tpl, err := translated.Translate(t.Context(), filepath.Join(rootOf(t), "template.yaml"), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Parameters = map[string]string{"Issuer": "https://issuer.example", "ForwardAuth": "true", "AlarmTopicArn": "arn:aws:sns:us-east-1:000000000000:a"}
	withURL, err := tpl.Resolve(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, tpl := range []*translated.Template{tpl, withURL} {
		p := simulated(t, tpl)
		if named := tpl.Named("AWS::IAM::Role"); !slices.Equal(slices.Sorted(slices.Values(p.roles(t))), named) {
			t.Errorf("the template's roles are %q", named)
		}
		if faults := p.wrongRights(t); len(faults) != 0 {
			t.Errorf("the template as it is: %q", faults)
		}
	}
	statements := tpl.Resources["RotateRole"].Properties["Policies"].([]any)[0].(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any)
	for _, s := range statements {
		if s := s.(map[string]any); s["Sid"] == "SigningKeys" {
			s["Action"] = []any{"kms:GetPublicKey", "kms:DisableKey", "kms:Sign"}
		}
	}
	if faults := simulated(t, tpl).wrongRights(t); len(faults) != 1 || !strings.Contains(faults[0], "RotateRole may do [\"kms:Sign\"") {
		t.Errorf("a rotation that may sign: %q", faults)
	}
}

// simulated returns a platform whose AWS answers for a stack of the template. Physical ids are the logical ids.
func simulated(t *testing.T, tpl *translated.Template) awsPlatform {
	t.Helper()
	authority, err := iam.New(tpl)
	if err != nil {
		t.Fatal(err)
	}
	return awsPlatform{stack: stack.StackName, region: backing.Region, aws: simulator{tpl, authority}}
}

// simulator answers in place of AWS with the policies of a template.
type simulator struct {
	tpl       *translated.Template
	authority *iam.Authority
}

func (simulator) Later(string, string, cloud.Params) (func() error, error) {
	return nil, errors.ErrUnsupported
}

func (s simulator) Call(_, operation string, in cloud.Params, out any) error {
	var answer any
	switch operation {
	case "get_caller_identity":
		answer = map[string]string{"Account": translated.AccountID}
	case "describe_stacks":
		var stack described
		for name, value := range s.tpl.Outputs {
			stack.Outputs = append(stack.Outputs, struct{ OutputKey, OutputValue string }{name, value})
		}
		for name, value := range s.tpl.Parameters {
			stack.Parameters = append(stack.Parameters, struct{ ParameterKey, ParameterValue string }{name, value})
		}
		answer = map[string]any{"Stacks": []described{stack}}
	case "describe_stack_resource":
		answer = map[string]any{"StackResourceDetail": map[string]any{"PhysicalResourceId": in["LogicalResourceId"]}}
	default: // simulate_principal_policy
		answer = s.simulate(in)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func (s simulator) simulate(in cloud.Params) any {
	need := iam.Need{Resource: in["ResourceArns"].([]string)[0], Context: map[string][]string{}}
	for _, entry := range in["ContextEntries"].([]cloud.Params) {
		need.Context[entry["ContextKeyName"].(string)] = entry["ContextKeyValues"].([]string)
	}
	_, role, _ := strings.Cut(in["PolicySourceArn"].(string), ":role/")
	var results []map[string]string
	for _, action := range in["ActionNames"].([]string) {
		need.Action = action
		decision := "implicitDeny"
		if s.authority.Decide(strings.TrimSuffix(role, "Role")+"Function", need) == nil {
			decision = "allowed"
		}
		results = append(results, map[string]string{"EvalActionName": action, "EvalDecision": decision})
	}
	return map[string]any{"EvaluationResults": results}
}

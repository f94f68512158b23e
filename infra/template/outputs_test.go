package template_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"latchkey/infra/tools"
	"latchkey/pkg/webhook"
)

// outputs are the outputs that name a resource, with their values.
var outputs = map[string]string{
	"TableName":     `{"Fn::If":["Restored",{"Fn::Select":[1,{"Fn::Split":["/",{"Ref":"TableStreamArn"}]}]},{"Ref":"Table"}]}`,
	"SigningKeyArn": `{"Fn::GetAtt":["SigningKey","Arn"]}`, "RotateFunctionName": `{"Ref":"RotateFunction"}`,
	"AuthorizerFunctionName": `{"Ref":"AuthorizerFunction"}`, "SweepFunctionName": `{"Ref":"SweepFunction"}`, "SweepRuleName": `{"Ref":"SweepFunctionMinutely"}`,
	"DeliverRoleArn": `{"Fn::GetAtt":["DeliverRole","Arn"]}`, "DeliveryQueueUrl": `{"Ref":"DeliveryQueue"}`,
	"DeliveryDeadLettersUrl": `{"Ref":"DeliveryDeadLetters"}`, "FanoutDeadLettersUrl": `{"Ref":"FanoutDeadLetters"}`,
	"KeyAuthorizerArn": `{"Fn::GetAtt":["KeyAuthorizerFunction","Arn"]}`, "MemberAuthorizerArn": `{"Fn::GetAtt":["MemberAuthorizerFunction","Arn"]}`,
	"DomainTarget":   `{"Fn::Sub":"${Domain.RegionalDomainName} ${Domain.RegionalHostedZoneId}"}`,
	"ForwardAuthUrl": `{"Fn::GetAtt":["ForwardAuthFunctionUrl","FunctionUrl"]}`, "GuardPolicyArn": `{"Ref":"GuardPolicy"}`,
}

// otherOutputs are URLs and texts. Other tests read them.
var otherOutputs = []string{"ApiUrl", "ExecuteApiUrl", "LogGroups"}

// onlyIf are the outputs that are there only if a condition holds: what they name may not be there.
var onlyIf = map[string]string{"ExecuteApiUrl": "ExecuteApi", "DomainTarget": "OwnDomain", "ForwardAuthUrl": "ForwardAuthOn"}

func TestOutputsNameWhatAnOperatorNeeds(t *testing.T) {
	tpl := template(t)
	all := object(tpl.Raw["Outputs"])
	for name, o := range all {
		if condition, _ := object(o)["Condition"].(string); condition != onlyIf[name] {
			t.Errorf("%s is there only if %q, want %q", name, condition, onlyIf[name])
		}
	}
	for name, want := range outputs {
		if got := text(t, object(all[name])["Value"]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name := range all {
		if _, ok := outputs[name]; !ok && !slices.Contains(otherOutputs, name) {
			t.Errorf("no test reads %s", name)
		}
	}
}

// TestTheRunbookAsksForOutputsThatThereAre reads the outputs in the runbook's commands.
func TestTheRunbookAsksForOutputsThatThereAre(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	runbook, err := os.ReadFile(filepath.Join(root, "infra", "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	tpl := template(t)
	asked := 0
	for _, m := range regexp.MustCompile(`\$\(output ([A-Za-z]+)\)`).FindAllStringSubmatch(string(runbook), -1) {
		asked++
		if object(tpl.Raw["Outputs"])[m[1]] == nil {
			t.Errorf("the runbook asks for %s, which is no output", m[1])
		}
	}
	if asked < 4 {
		t.Errorf("the runbook asks for %d", asked)
	}
}

// TestExtraTagsOfKeysAreAllowedAndNoMore reads the statements that create and tag keys.
func TestExtraTagsOfKeysAreAllowedAndNoMore(t *testing.T) {
	for names, want := range map[string][]string{"": {webhook.StackTag}, "team,env": {webhook.StackTag, "team", "env"}} {
		all, wrong := statements(given(t, map[string]string{"KeyTagNames": names}))
		if wrong != nil {
			t.Fatal(wrong)
		}
		seen := 0
		for _, s := range all {
			if !slices.Contains(s.actions, "kms:CreateKey") && !slices.Contains(s.actions, "kms:TagResource") {
				continue
			}
			seen++
			if got := s.values("ForAllValues:StringEquals", "aws:TagKeys"); !slices.Equal(got, want) {
				t.Errorf("%s: %q allows the tags %q", s, names, got)
			}
		}
		if seen != 2 {
			t.Errorf("%d statements make or tag keys", seen)
		}
	}
}

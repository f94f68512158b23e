package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/deploy/standin"
)

// first has the variables of a first deployment.
var first = []string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1"}

// deployedOnce returns a rig with a deployed stack. In the next build the table has this property too.
func deployedOnce(t *testing.T, property string) *rig {
	t.Helper()
	r := newRig(t).withSAM()
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	r.write("built/template.yaml", strings.Replace(smallTemplate(t), "DeletionPolicy: Retain\n", "DeletionPolicy: Retain\n    Properties: { "+property+" }\n", 1))
	return r
}

// TestADryRunShowsEachPropertyAndExecutesNothing also checks that the same change set is made and executed without DRY=1.
func TestADryRunShowsEachPropertyAndExecutesNothing(t *testing.T) {
	r := deployedOnce(t, "BillingMode: PROVISIONED")
	before := r.aws.Stack("latchkey")
	out, err := r.deploy("DRY=1")
	succeeded(t, out, err)
	has(t, "the dry run", out, "Modify Table (AWS::DynamoDB::Table)", "Properties.BillingMode: <nil> -> PROVISIONED", "Nothing was deployed")
	if strings.Contains(out, "RotateFunction (") {
		t.Errorf("the dry run shows a function although only the address of its code changed:\n%s", out)
	}
	if now := r.aws.Stack("latchkey"); now.Status != before.Status || now.Template != before.Template || now.Waiting() != 0 {
		t.Errorf("a dry run left the stack %s, with %d change sets", now.Status, now.Waiting())
	}
	out, err = r.deploy("YES=1")
	succeeded(t, out, err)
	if now := r.aws.Stack("latchkey"); now.Status != "UPDATE_COMPLETE" || now.Template == before.Template {
		t.Errorf("after the deployment: %s", now.Status)
	}
}

// TestTemplatesAreComparedWithoutAChangeSet checks that every difference from the deployed template is shown.
func TestTemplatesAreComparedWithoutAChangeSet(t *testing.T) {
	r := newRig(t).withSAM()
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	before := r.aws.Stack("latchkey")
	built := regexp.MustCompile(`CodeUri: s3://\S+`).ReplaceAllString(before.Template, "CodeUri: rotate")
	for _, c := range []struct {
		old, changed string // of the deployed template
		shown        []string
	}{
		{"", "", []string{"0 parts of the template differ"}},
		{"DeletionPolicy: Retain", "DeletionPolicy: Delete", []string{"Modify Table.DeletionPolicy (Resources)", `"Retain" -> "Delete"`, "1 parts"}},
		{"    DeletionPolicy: Retain\n", "", []string{"Remove Table.DeletionPolicy (Resources)", "1 parts"}},
		{"Resources:\n", "Resources:\n  Backdoor:\n    Type: AWS::IAM::User\n", []string{"Add Backdoor (Resources)", "AWS::IAM::User", "1 parts"}},
		{"MaxValue: 3650", "MaxValue: 9999", []string{"Modify MaxKeyDays.MaxValue (Parameters)", "3650 -> 9999", "1 parts"}},
		{"Handler: bootstrap", "Handler: other", []string{"Modify RotateFunction.Properties.Handler (Resources)", "1 parts"}},
		{"Transform: AWS::Serverless-2016-10-31", "Transform: Other", []string{"Modify  (Transform)", "1 parts"}},
	} {
		r.write("built/template.yaml", strings.Replace(built, c.old, c.changed, 1))
		out, err := r.deploy("DRY=templates")
		succeeded(t, out, err)
		has(t, c.changed, out, append(c.shown, "Nothing was deployed")...)
	}
	r.write("built/template.yaml", strings.Replace(built, "  Table:", "  Rows:", 1))
	_, err = r.deploy("DRY=templates")
	refused(t, err, "Table would be removed", "REPLACE=Table")
	if now := r.aws.Stack("latchkey"); now.Waiting() != 0 || now.Template != before.Template || now.Status != before.Status {
		t.Errorf("the stack has %d change sets, and is %s", now.Waiting(), now.Status)
	}
	_, err = r.deploy("DRY=templates", "STACK=second", "ISSUER=https://issuer.example", "AUDIENCE=https://api.example")
	refused(t, err, "there is no stack second")
}

// TestADryRunOfANewStackLeavesNoStack also checks that a dry run needs no terminal.
func TestADryRunOfANewStackLeavesNoStack(t *testing.T) {
	r := newRig(t).withSAM()
	out, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "DRY=1")
	succeeded(t, out, err)
	if left := r.aws.Stack("latchkey"); left != nil {
		t.Errorf("a stack is left: %s", left.Status)
	}
}

// TestProtectedResourcesAreReplacedByNameOnly checks that REPLACE must name a protected resource. After the deployment, even after
// one that failed, the stack policy is the same as before. The stand-in enforces the policy, as CloudFormation does.
func TestProtectedResourcesAreReplacedByNameOnly(t *testing.T) {
	r := deployedOnce(t, "TableName: other")
	before := r.aws.Stack("latchkey")
	for _, variables := range [][]string{{"YES=1"}, {"YES=1", "PROTECT=0"}, {"DRY=1"}, {"YES=1", "REPLACE=Api"}} {
		_, err := r.deploy(variables...)
		refused(t, err, "Table would be replaced", "REPLACE=Table")
		if now := r.aws.Stack("latchkey"); now.Template != before.Template || now.Waiting() != 0 {
			t.Errorf("%q changed the stack", variables)
		}
	}
	r.aws.Set(standin.Faults{Execution: "the quota of tables is reached"})
	_, err := r.deploy("YES=1", "REPLACE=Table")
	refused(t, err, "the quota of tables is reached", "make deploy again")
	checkProtection(t, r, true)
	r.aws.Set(standin.Faults{})
	out, err := r.deploy("YES=1", "REPLACE=Table")
	succeeded(t, out, err)
	checkProtection(t, r, true)
	r.write("built/template.yaml", strings.Replace(smallTemplate(t), "  Table:", "  Rows:", 1))
	_, err = r.deploy("YES=1")
	refused(t, err, "Table would be removed", "REPLACE=Table")
}

// checkProtection checks that the stack has both its policy and termination protection, or neither.
func checkProtection(t *testing.T, r *rig, want bool) {
	t.Helper()
	now := r.aws.Stack("latchkey")
	namesAll := true
	for _, name := range []string{"Api", "DeliveryQueue", "SigningKey", "Table"} {
		namesAll = namesAll && strings.Contains(now.Policy, `"LogicalResourceId/`+name+`"`)
	}
	if now.Protected != want || (now.Policy != "") != want || want && !namesAll {
		t.Errorf("termination protection %v, stack policy %q", now.Protected, now.Policy)
	}
}

// TestADeployedStackIsProtectedUntilItIsUndeployed also tries PROTECT=0, and an undeployment that fails.
func TestADeployedStackIsProtectedUntilItIsUndeployed(t *testing.T) {
	r := newRig(t).withSAM()
	out, err := r.deploy(append(first, "PROTECT=0")...)
	succeeded(t, out, err)
	checkProtection(t, r, false)
	r.aws.Set(standin.Faults{Refuse: map[string]string{"cloudformation:DeleteStack": "no right to delete"}})
	_, err = r.undeploy("YES=1")
	refused(t, err, "sam delete failed")
	checkProtection(t, r, false) // a failed undeployment adds no protection
	r.aws.Set(standin.Faults{})
	out, err = r.deploy(first...) // changes nothing
	succeeded(t, out, err)
	checkProtection(t, r, true)
	r.aws.Set(standin.Faults{Refuse: map[string]string{"cloudformation:DeleteStack": "no right to delete"}})
	_, err = r.undeploy("YES=1")
	refused(t, err, "sam delete failed")
	checkProtection(t, r, true)
	r.aws.Set(standin.Faults{})
	out, err = r.undeploy("YES=1")
	succeeded(t, out, err)
	if r.aws.Stack("latchkey") != nil {
		t.Error("the stack still exists")
	}
}

// TestADeploymentIsFollowedThroughErrors lets AWS refuse the calls for the events for a moment.
func TestADeploymentIsFollowedThroughErrors(t *testing.T) {
	r := newRig(t).withSAM()
	r.aws.Set(standin.Faults{Refuse: map[string]string{"cloudformation:DescribeStackEvents": "Rate exceeded"}})
	go func() {
		for !slices.Contains(r.aws.Calls(), "cloudformation:DescribeStackEvents") && t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		r.aws.Set(standin.Faults{})
	}()
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	checkProtection(t, r, true)
}

// TestADeploymentThatCannotBeFollowedGoesOn lets AWS refuse every call for the events.
func TestADeploymentThatCannotBeFollowedGoesOn(t *testing.T) {
	r := newRig(t).withSAM()
	r.patience = time.Second
	r.aws.Set(standin.Faults{Refuse: map[string]string{"cloudformation:DescribeStackEvents": "Rate exceeded"}})
	_, err := r.deploy(first...)
	refused(t, err, "Rate exceeded", "CloudFormation goes on", "describe-stack-events --region eu-central-1 --stack-name latchkey", "make deploy again")
	if now := r.aws.Stack("latchkey"); now.Status != "CREATE_COMPLETE" {
		t.Error(now.Status)
	}
}

// TestADeploymentEndsWithTheFinalStatusOfItsStack tries an event with each status of CloudFormation.
func TestADeploymentEndsWithTheFinalStatusOfItsStack(t *testing.T) {
	t.Parallel()
	for status, next := range map[string]string{ // next is the advice in the error; "": the deployment succeeded; "-": it has not ended
		"CREATE_IN_PROGRESS": "-", "UPDATE_IN_PROGRESS": "-", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": "-", "ROLLBACK_IN_PROGRESS": "-",
		"UPDATE_ROLLBACK_IN_PROGRESS": "-", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS": "-", "DELETE_IN_PROGRESS": "-",
		"CREATE_COMPLETE": "", "UPDATE_COMPLETE": "",
		"UPDATE_ROLLBACK_COMPLETE": "the stack is as it was", "ROLLBACK_COMPLETE": "make undeploy STACK=s", "ROLLBACK_FAILED": "make undeploy STACK=s",
		"CREATE_FAILED": "make undeploy STACK=s", "DELETE_FAILED": "make undeploy STACK=s", "UPDATE_ROLLBACK_FAILED": "continue-update-rollback --stack-name s",
		"UPDATE_FAILED": "make deploy again", "DELETE_COMPLETE": "make deploy again",
	} {
		printed := ""
		f := follower{token: "t", seen: map[string]bool{}}
		follow := func(e stackEvent) bool {
			e.EventID += e.LogicalResourceID
			return f.follow(e, func(format string, a ...any) { printed += fmt.Sprintf(format, a...) + "\n" })
		}
		for _, e := range []stackEvent{ // of resources, of another deployment, and of a nested stack
			{"1", "id", "Table", "t1", "AWS::DynamoDB::Table", status, "", "t"}, {"2", "id", "s", "id", "AWS::CloudFormation::Stack", status, "", "other"},
			{"3", "id", "Api", "a1", "AWS::ApiGateway::RestApi", "CREATE_FAILED", "the first", "t"}, {"4", "id", "Rule", "r1", "AWS::Events::Rule", "CREATE_FAILED", "the second", "t"},
			{"5", "id", "Nested", "nested", "AWS::CloudFormation::Stack", status, "", "t"},
		} {
			if follow(e) {
				t.Errorf("%s: the deployment ended with %+v", status, e)
			}
		}
		last := stackEvent{"6", "id", "s", "id", "AWS::CloudFormation::Stack", status, "why", "t"}
		if over := follow(last); over != (next != "-") {
			t.Errorf("%s: the deployment has ended: %v", status, over)
			continue
		}
		if follow(last) {
			t.Errorf("%s: an event counts twice", status)
		}
		lines := 1 // of the last event
		if next == "-" {
			lines = 0
		}
		if strings.Count(printed, status+" s why\n") != lines || strings.Count(printed, "the first") != 1 {
			t.Errorf("%s: printed %q", status, printed)
		}
		first := "Api (AWS::ApiGateway::RestApi): the first"
		if strings.HasSuffix(status, "_FAILED") {
			first = "Table (AWS::DynamoDB::Table)"
		}
		if p := (&program{Settings: settings.Settings{Stack: "s"}}); next == "" {
			succeeded(t, status, p.outcome(status, f.failed))
		} else if next != "-" {
			refused(t, p.outcome(status, f.failed), first, next)
			refused(t, p.outcome(status, nil), "undid the deployment. Next", next)
		}
	}
}

// TestAPersonsStackPolicyIsRestored checks that a stack policy which a person wrote is the same after a deployment, also when
// REPLACE names two resources.
func TestAPersonsStackPolicyIsRestored(t *testing.T) {
	const policy = `{"Statement":[{"Effect":"Deny","Action":["Update:Replace"],"Principal":"*","Resource":["LogicalResourceId/Table"]}]}`
	r := deployedOnce(t, "TableName: other")
	out, err := r.run(func(p *program, ctx context.Context) error {
		if err := p.connect(ctx); err != nil {
			return err
		}
		return p.setPolicy(policy)
	}, nil)
	succeeded(t, out, err)
	out, err = r.deploy("YES=1", "PROTECT=0", "REPLACE=Api Table")
	succeeded(t, out, err)
	if now := r.aws.Stack("latchkey").Policy; now != policy {
		t.Errorf("%s, want %s", now, policy)
	}
}

package main

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/template/translated"
)

// TestAFirstDeploymentUsesTheGivenValues runs the whole command. The real SAM CLI also builds.
func TestAFirstDeploymentUsesTheGivenValues(t *testing.T) {
	r := newRig(t).withBuild()
	config := readFile(t, filepath.Join(r.root, "samconfig.toml"))
	r.in, r.issuer = "y\n", answers{} // an issuer that this machine cannot reach is accepted
	out, err := r.deploy("ISSUER=https://issuer.example/?a=b", "AUDIENCE=https://api.example", "ARCH=amd64", "PARAMETERS=ConsoleOrigins=https://a.example,https://b.example ForwardAuth=true EventBusName=owner AlarmTopicArn=arn:aws:sns:eu-central-1:123456789012:alarms")
	succeeded(t, out, err)
	has(t, "output", out, "Stack latchkey: new, for x86_64", "AuthorizerFunction", "Deploy this change set?", "jwks.json: 200", "Deployed. Next: make smoke")
	want := deployedWith(t, "Issuer=https://issuer.example/?a=b", "Architecture=x86_64", "ConsoleOrigins=https://a.example,https://b.example", "ForwardAuth=true", "EventBusName=owner",
		"AlarmTopicArn=arn:aws:sns:eu-central-1:123456789012:alarms")
	if got := r.aws.Stack("latchkey"); got == nil || got.Status != "CREATE_COMPLETE" || !maps.Equal(got.Parameters, want) {
		t.Fatalf("deployed: %+v", got)
	} else {
		checkTranslates(t, got)
	}
	out, err = r.deploy("DRY=templates", "ARCH=amd64")
	succeeded(t, out, err)
	has(t, "the comparison after the deployment", out, "0 parts of the template differ")
	program, err := elf.Open(filepath.Join(r.root, ".local/deploy/latchkey/RotateFunction/bootstrap"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	if program.Machine != elf.EM_X86_64 {
		t.Errorf("built for %v", program.Machine)
	}
	if got := readFile(t, filepath.Join(r.root, "samconfig.toml")); got != config {
		t.Errorf("samconfig.toml was changed:\n%s", got)
	}
}

// TestAValueWithBlanksIsDeployed gives the SAM CLI each parameter whose pattern allows a blank.
func TestAValueWithBlanksIsDeployed(t *testing.T) {
	r := newRig(t).withSAM()
	out, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1",
		`PARAMETERS=ConsoleScope='openid profile api://a/b' ConsoleOrigins="https://a.example, https://b.example" WebhookAllowPrivateCidrs='10.0.0.0/8, 192.168.0.0/16'`+
			` WebhookAllowCidrs='127.0.0.0/8, ::1/128' Services="a=https://a.example#b, c=https://c.example#d"`)
	succeeded(t, out, err)
	want := deployedWith(t, "ConsoleScope=openid profile api://a/b", "ConsoleOrigins=https://a.example, https://b.example", "WebhookAllowPrivateCidrs=10.0.0.0/8, 192.168.0.0/16", "WebhookAllowCidrs=127.0.0.0/8, ::1/128",
		"Services=a=https://a.example#b, c=https://c.example#d")
	if got := r.aws.Stack("latchkey"); got == nil || !maps.Equal(got.Parameters, want) {
		t.Errorf("deployed: %+v", got)
	}
	out, err = r.deploy("YES=1", "TAGS=team=payments") // a parameter that is not given keeps its value
	succeeded(t, out, err)
	if got := r.aws.Stack("latchkey").Parameters["ConsoleScope"]; got != want["ConsoleScope"] {
		t.Errorf("deployed again: %q", got)
	}
	_, err = r.deploy("YES=1", "PARAMETERS=ConsoleScope='openid\tprofile'")
	refused(t, err, "ConsoleScope has a quote")
}

// checkTranslates checks that SAM's translator reads the uploaded template, as CloudFormation would.
func checkTranslates(t *testing.T, s *standin.Stack) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(s.Template), 0o600); err != nil {
		t.Fatal(err)
	}
	tpl, err := translated.Translate(t.Context(), path, translated.Options{Parameters: s.Parameters})
	if err != nil {
		t.Fatal(err)
	}
	declared := strings.Count(s.Template, "Type: AWS::Serverless::Function")
	if n := len(tpl.Named("AWS::Lambda::Function")); n != declared || n < 2 {
		t.Errorf("%d functions were uploaded", n)
	}
}

// TestAParameterThatIsNotGivenKeepsItsValue deploys four times: the second change set is empty, the third is declined, and the
// fourth has one parameter.
func TestAParameterThatIsNotGivenKeepsItsValue(t *testing.T) {
	r := newRig(t).withSAM()
	out, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "PARAMETERS=EmailsAreVerified=true", "YES=1")
	succeeded(t, out, err)
	first := r.aws.Stack("latchkey")
	out, err = r.deploy("YES=1")
	succeeded(t, out, err)
	has(t, "again", out, "No changes to deploy", "Deployed.")
	r.in = "n\n"
	_, err = r.deploy("AUDIENCE=https://other.example")
	refused(t, err, "nothing was deployed: the change set was declined")
	if now := r.aws.Stack("latchkey"); now.Status != first.Status || !maps.Equal(now.Parameters, first.Parameters) || now.Waiting() != 0 {
		t.Errorf("after an empty and a declined change set: %s %v, %d change sets", now.Status, now.Parameters, now.Waiting())
	}
	r.in = "y\n"
	out, err = r.deploy("AUDIENCE=https://other.example")
	succeeded(t, out, err)
	want := deployedWith(t, "EmailsAreVerified=true", "Audience=https://other.example")
	if now := r.aws.Stack("latchkey"); now.Status != "UPDATE_COMPLETE" || !maps.Equal(now.Parameters, want) {
		t.Errorf("after a change: %s %v", now.Status, now.Parameters)
	}
}

const restoredStream = "arn:aws:dynamodb:eu-central-1:123456789012:table/latchkey-Table-1-restored/stream/2026-01-31T12:00:00.000"

// TestARestoredTableStaysInUse deploys with TableStreamArn, then without this parameter, then with an empty one,
// and only the empty one ends the use of the restored table.
func TestARestoredTableStaysInUse(t *testing.T) {
	r := newRig(t).withSAM()
	for _, c := range []struct {
		given []string
		used  string
	}{
		{[]string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "PARAMETERS=TableStreamArn=" + restoredStream}, restoredStream},
		{[]string{"AUDIENCE=https://other.example"}, restoredStream}, {[]string{"PARAMETERS=TableStreamArn="}, ""},
	} {
		out, err := r.deploy(append(c.given, "YES=1")...)
		succeeded(t, out, err)
		if now := r.aws.Stack("latchkey").Parameters["TableStreamArn"]; now != c.used {
			t.Errorf("after %s: %q, want %q", c.given, now, c.used)
		}
	}
}

// TestUndeployNamesARestoredTable checks that the table is named although it does not belong to the stack.
func TestUndeployNamesARestoredTable(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, "TableStreamArn="+restoredStream))
	out, err := r.undeploy("YES=1")
	succeeded(t, out, err)
	has(t, "undeploy", out, "Kept: the table latchkey-Table-1-restored with", "delete-table --region eu-central-1 --table-name latchkey-Table-1-restored")
}

// TestTwoStacksShareNoParameter declines the change set of the first stack, and then deploys it. It deploys a second stack, and
// removes the first with its uploads.
func TestTwoStacksShareNoParameter(t *testing.T) {
	r := newRig(t).withSAM()
	r.in = "n\n"
	_, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example")
	refused(t, err, "nothing was deployed: the change set was declined")
	if left := r.aws.Stack("latchkey"); left != nil {
		t.Errorf("the declined stack still exists: %s", left.Status)
	}
	out, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "PARAMETERS=EmailsAreVerified=true", "YES=1")
	succeeded(t, out, err)
	_, err = r.deploy("STACK=second", "YES=1")
	refused(t, err, "there is no stack second", "ISSUER=")
	r.issuer = goodIssuer("https://second.example")
	out, err = r.deploy("STACK=second", "ISSUER=https://second.example", "AUDIENCE=https://second.example", "YES=1")
	succeeded(t, out, err)
	if got, want := r.aws.Stack("second").Parameters, deployedWith(t, "Issuer=https://second.example", "Audience=https://second.example"); !maps.Equal(got, want) {
		t.Errorf("the second stack: %v", got)
	}
	r.in = "y\n"
	out, err = r.undeploy()
	succeeded(t, out, err)
	has(t, "undeploy", out, "Delete the stack latchkey in eu-central-1 of account "+standin.Account, "Kept: the signing keys", "Key=latchkey:stack,Values=latchkey",
		"aws kms schedule-key-deletion --region eu-central-1", "Kept: the table latchkey-Table-1",
		"--table-name latchkey-Table-1 --no-deletion-protection-enabled", "aws dynamodb delete-table")
	if r.aws.Stack("latchkey") != nil || r.aws.Stack("second") == nil {
		t.Error("the second stack was deleted, or the first was not")
	}
	left := r.aws.Left()
	ofSecond := slices.DeleteFunc(slices.Clone(left), func(thing string) bool { return !strings.Contains(thing, "/second/") })
	if others := slices.DeleteFunc(left, func(thing string) bool {
		return strings.Contains(thing, "second") || strings.Contains(thing, "the delete marker of aws-sam-cli-managed-default-bucket-1/latchkey/") // the bucket keeps versions
	}); len(ofSecond) == 0 || !slices.Equal(others, []string{"the table latchkey-Table-1"}) {
		t.Errorf("the account still has %q, and of the second stack %q", others, ofSecond)
	}
	r.mayCall()
}

// TestABusDeletedMeanwhileFailsTheDeployment: CloudFormation makes no rule on a bus that is not there.
func TestABusDeletedMeanwhileFailsTheDeployment(t *testing.T) {
	r := newRig(t).withSAM()
	_, rule, _ := strings.Cut(readFile(t, "../../template.yaml"), "\n  TapRule:\n")
	rule, _, _ = strings.Cut(rule, "\n\n")
	r.write("built/template.yaml", smallTemplate(t)+"  TapRule:\n"+strings.Replace(rule, "    Condition: Tap\n", "", 1)+"\n")
	for _, isLost := range []bool{true, false} {
		r.aws.Set(standin.Faults{BusLost: isLost})
		out, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1", "PARAMETERS=EventBusName=owner")
		if !isLost {
			succeeded(t, out, err)
			return
		}
		refused(t, err, "TapRule (AWS::Events::Rule): Event bus owner does not exist.")
		if _, err := r.undeploy("YES=1"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnErrorOfAWSIsShown injects a failure at each step of the SAM CLI.
func TestAnErrorOfAWSIsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults standin.Faults
		words  []string // in the error
		shown  string   // in the output before the error
		status string   // of the stack after the failure; "": none
	}{
		"the upload": {
			standin.Faults{Refuse: map[string]string{"s3:PutObject": "no right to upload"}}, []string{"sam deploy failed, for the reason above"}, "no right to upload", "",
		},
		"the change set": {
			standin.Faults{ChangeSet: "Transform failed: Resource Api is invalid"}, []string{"sam deploy failed, for the reason above"}, "Resource Api is invalid", "REVIEW_IN_PROGRESS",
		},
		"the execution": {
			standin.Faults{Refuse: map[string]string{"cloudformation:ExecuteChangeSet": "no right to execute"}}, []string{"cannot be executed", "no right to execute"}, "", "",
		},
		"one resource": {
			standin.Faults{Execution: "the quota of APIs is reached"}, []string{"Api (AWS::ApiGateway::RestApi): the quota of APIs is reached", "make undeploy STACK=latchkey"},
			"CREATE_FAILED Api the quota of APIs is reached", "ROLLBACK_COMPLETE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).withSAM()
			r.aws.Set(c.faults)
			out, err := r.deploy("ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1")
			refused(t, err, c.words...)
			if !strings.Contains(out, c.shown) {
				t.Errorf("no %q in\n%s", c.shown, out)
			}
			status := ""
			if left := r.aws.Stack("latchkey"); left != nil {
				status = left.Status
			}
			if status != c.status {
				t.Errorf("the stack has the status %q instead of %q", status, c.status)
			}
		})
	}
}

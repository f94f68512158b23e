package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/standin"
)

const late = "rotation: operation error KMS: GetPublicKey, api error AccessDeniedException: no identity-based policy allows it"

// TestStackRegionAndProcessorReachEveryStep reads the arguments of the SAM CLI.
func TestStackRegionAndProcessorReachEveryStep(t *testing.T) {
	r := newRig(t)
	r.aws.Put("second", "CREATE_COMPLETE", deployedWith(t))
	out, err := r.deploy("STACK=second", "REGION=eu-west-1", "ARCH=amd64", "AUDIENCE=https://other.example", "PARAMETERS=ClientIds= RotationDays=0", "YES=1")
	succeeded(t, out, err)
	calls := r.calls()
	if len(calls) != 2 {
		t.Fatalf("%q", calls)
	}
	arch := `--parameter-overrides ParameterKey=Architecture,ParameterValue="x86_64"`
	has(t, "build", calls[0], "build ", "/.local/deploy/second --no-cached", arch, "--config-env none")
	has(t, "deploy", calls[1], "deploy ", "/.local/deploy/second/template.yaml", "--stack-name second", "--region eu-west-1", "--s3-prefix second",
		"--no-confirm-changeset", "--no-fail-on-empty-changeset", "--config-env none",
		arch+` ParameterKey=Audience,ParameterValue="https://other.example" ParameterKey=ClientIds,ParameterValue="" ParameterKey=RotationDays,ParameterValue="0"`)
	if strings.Contains(calls[1], "Issuer") {
		t.Errorf("what was not given: %s", calls[1])
	}
	if regions := r.aws.Regions(); len(regions) != 1 || regions[0] != "eu-west-1" {
		t.Errorf("calls went to %q", regions)
	}
	has(t, "the end", out, "make smoke STACK=second AWS_REGION=eu-west-1 BASE_URL="+r.aws.URL+"/api/second")
}

// TestTheProcessorOfADeployedStackStays wants it kept unless another is given.
func TestTheProcessorOfADeployedStackStays(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, "Architecture=x86_64"))
	out, err := r.deploy("YES=1")
	succeeded(t, out, err)
	for _, call := range r.calls() {
		has(t, "call", call, `ParameterKey=Architecture,ParameterValue="x86_64"`)
	}
}

// TestAFailedStepEndsTheDeployment wants the failure to be shown, and no later step to be done.
func TestAFailedStepEndsTheDeployment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		faults standin.Faults
		words  []string
	}{
		"build":     {script: `test $1 = deploy`, words: []string{"sam build failed"}},
		"deploy":    {script: `test $1 = build`, words: []string{"sam deploy failed"}},
		"no rights": {faults: standin.Faults{Refuse: map[string]string{"lambda:InvokeFunction": "not authorized to invoke"}}, words: []string{"no signing key is active", "cannot be called", "not authorized to invoke"}},
		"change sets": {
			faults: standin.Faults{Refuse: map[string]string{"cloudformation:ListChangeSets": "not authorized to list"}}, words: []string{"change sets", "not authorized to list"},
		},
		"rotation": {
			faults: standin.Faults{Rotations: []string{"rotation: the table is away", late}}, words: []string{"no signing key is active", "the rotation failed: rotation: the table is away"},
		},
		"rotation too long": {
			faults: standin.Faults{Rotations: strings.Split(strings.Repeat(late+"|", 50), "|")}, words: []string{"may not use its keys yet", "AccessDeniedException"},
		},
		"no key": {faults: standin.Faults{NoKey: true}, words: []string{"the deployed API is wrong", "jwks.json has no key"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
			r.aws.Set(c.faults)
			r.patience = 200 * time.Millisecond
			if c.script != "" {
				r.script(c.script)
			}
			out, err := r.deploy("YES=1")
			refused(t, err, c.words...)
			if strings.Contains(out, "Deployed.") {
				t.Errorf("it says that it deployed:\n%s", out)
			}
		})
	}
}

// TestAnAPIThatAnswersWronglyIsNoSuccess tries the three routes.
func TestAnAPIThatAnswersWronglyIsNoSuccess(t *testing.T) {
	t.Parallel()
	aws := standin.Start()
	defer aws.Close()
	for path, c := range map[string]struct{ status, instead int }{
		"/.well-known/jwks.json": {503, 200}, "/v1/orgs": {200, 401}, "/no/such/route": {403, 404},
	} {
		aws.Set(standin.Faults{Answers: map[string]int{path: c.status}, KeyAtOnce: true})
		p := &program{given: given{stack: "s"}, out: io.Discard, deployed: &deployedStack{Outputs: []output{{"ApiUrl", aws.URL + "/api/s"}}}}
		refused(t, p.check(t.Context()), "the deployed API is wrong", fmt.Sprintf("%s answers %d instead of %d", path, c.status, c.instead))
	}
}

// TestADomainWithoutDNSYetIsProvedByTheExecuteAddress: the domain's records are made after the deployment, from its output.
func TestADomainWithoutDNSYetIsProvedByTheExecuteAddress(t *testing.T) {
	t.Parallel()
	aws := standin.Start()
	defer aws.Close()
	aws.Set(standin.Faults{KeyAtOnce: true})
	const domain = "http://127.0.0.1:1" // nothing answers there
	for execute, works := range map[string]bool{aws.URL + "/api/s": true, "": false} {
		p := &program{given: given{stack: "s"}, out: io.Discard, deployed: &deployedStack{Outputs: []output{{"ApiUrl", domain}, {"ExecuteApiUrl", execute}}}}
		if err := p.check(t.Context()); (err == nil) != works {
			t.Errorf("the execute address %q: %v", execute, err)
		}
	}
}

// TestATagThatCountsLateIsWaitedFor wants the rotation to be called again.
func TestATagThatCountsLateIsWaitedFor(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	r.aws.Set(standin.Faults{Rotations: []string{late, late}})
	out, err := r.deploy("YES=1")
	succeeded(t, out, err)
	if n := strings.Count(out, "may take five minutes"); n != 2 {
		t.Errorf("it waited %d times:\n%s", n, out)
	}
}

// TestUndeployNeedsAYes also wants stacks of others to be left as they are.
func TestUndeployNeedsAYes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed     string
		variables []string
		status    string // of the stack; "": none
		stack     map[string]string
		words     []string
	}{
		"no":               {"n\n", nil, "CREATE_COMPLETE", deployedWith(t), []string{"nothing was deleted"}},
		"no answer":        {"y", nil, "CREATE_COMPLETE", deployedWith(t), []string{"nothing was deleted"}},
		"no terminal":      {"", nil, "CREATE_COMPLETE", deployedWith(t), []string{"no terminal", "YES=1"}},
		"no stack":         {"", []string{"YES=1"}, "", nil, []string{"there is no stack latchkey in eu-central-1"}},
		"somebody's stack": {"", []string{"YES=1"}, "CREATE_COMPLETE", map[string]string{"Vpc": "1"}, []string{"is not Latchkey's"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.in = c.typed
			if c.status != "" {
				r.aws.Put("latchkey", c.status, c.stack)
			}
			_, err := r.undeploy(c.variables...)
			refused(t, err, c.words...)
			if calls := r.calls(); calls != nil {
				t.Errorf("the SAM CLI was run: %q", calls)
			}
		})
	}
}

// TestUndeployWaitsForThePolicysLastRole wants the command that detaches it, and nothing to be deleted.
func TestUndeployWaitsForThePolicysLastRole(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	r.aws.Set(standin.Faults{PolicyRoles: []string{"invoices"}})
	_, err := r.undeploy("YES=1")
	refused(t, err, "detach-role-policy --role-name invoices --policy-arn arn:aws:iam::123456789012:policy/latchkey-GuardPolicy-1")
	if calls := r.calls(); calls != nil {
		t.Errorf("the SAM CLI was run: %q", calls)
	}
	r.aws.Set(standin.Faults{})
	out, err := r.undeploy("YES=1")
	succeeded(t, out, err)
}

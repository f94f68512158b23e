package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/deploy/standin"
)

// tooEarly is the rotation's error while the tag of a new key has no effect yet. The deployment tries again.
const tooEarly = "rotation: operation error KMS: GetPublicKey, api error AccessDeniedException: no identity-based policy allows it"

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
		"--no-execute-changeset", "--no-fail-on-empty-changeset", "--config-env none",
		arch+` ParameterKey=Audience,ParameterValue="https://other.example" ParameterKey=ClientIds,ParameterValue="" ParameterKey=RotationDays,ParameterValue="0"`)
	if strings.Contains(calls[1], "Issuer") {
		t.Errorf("Issuer was not given, and is passed on: %s", calls[1])
	}
	if regions := r.aws.Regions(); len(regions) != 1 || regions[0] != "eu-west-1" {
		t.Errorf("calls went to %q", regions)
	}
	has(t, "the end", out, "make smoke STACK=second AWS_REGION=eu-west-1 BASE_URL="+r.aws.URL+"/api/second")
}

// TestTheProcessorOfADeployedStackStays deploys without ARCH.
func TestTheProcessorOfADeployedStackStays(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, "Architecture=x86_64"))
	out, err := r.deploy("YES=1")
	succeeded(t, out, err)
	for _, call := range r.calls() {
		has(t, "call", call, `ParameterKey=Architecture,ParameterValue="x86_64"`)
	}
}

// TestAFailedStepEndsTheDeployment checks that the failure is shown, and that no later step is done.
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
		"no result": {script: `true`, words: []string{"the SAM CLI did not report its change set"}},
		"no ARN":    {script: `echo '{"type": "result", "status": "changeset_created", "changeset_id": "other"}'`, words: []string{"did not report its change set", `"other"`}},
		"no end":    {script: `echo '{"type": "info", "managed_s3_bucket": "b"}'`, words: []string{"did not report its change set"}},
		"a status":  {script: `echo '{"type": "result", "status": "success", "changeset_id": "arn:aws:x"}'`, words: []string{"did not report its change set"}},
		"rotation": {
			// The deployment ends after the first error, so the rotation is not called again.
			faults: standin.Faults{Rotations: []string{"rotation: the table is away", tooEarly}}, words: []string{"no signing key is active", "the rotation failed: rotation: the table is away"},
		},
		"rotation too long": {
			faults: standin.Faults{Rotations: slices.Repeat([]string{tooEarly}, 50)}, words: []string{"may not use its keys yet", "AccessDeniedException"},
		},
		"a hidden key": {
			faults: standin.Faults{Rotations: slices.Repeat([]string{"rotation: KMS does not show a new key yet: webhook: KMS knows no such key: arn:aws:kms:x"}, 50)},
			words:  []string{"may not use its keys yet", "does not show a new key"},
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
				t.Errorf("the output says that the stack is deployed:\n%s", out)
			}
		})
	}
}

// withOutputs returns a program whose stack s is deployed. outputs has names and values in turn.
func withOutputs(outputs ...string) *program {
	var deployed cloud.Stack
	for pair := range slices.Chunk(outputs, 2) {
		deployed.Outputs = append(deployed.Outputs, cloud.Output{OutputKey: pair[0], OutputValue: pair[1]})
	}
	parameters := map[string]string{"Issuer": "https://issuer.example", "Audience": "https://api.example", "KeyPrefix": "lk"}
	return &program{Settings: settings.Settings{Stack: "s", Parameters: parameters}, out: io.Discard, deployed: &deployed}
}

// TestAWrongAnswerOfTheAPIFailsTheDeployment gives a wrong answer to each request of the proof. The error explains a 503.
func TestAWrongAnswerOfTheAPIFailsTheDeployment(t *testing.T) {
	t.Parallel()
	aws := standin.Start()
	defer aws.Close()
	for path, c := range map[string]struct {
		status, right int
		reason        string // in the error
	}{
		"/.well-known/jwks.json": {503, 200, "the table cannot be read"}, "/v1/orgs": {200, 401, ""}, "/no/such/route": {403, 404, ""},
		"/v1/orgs with a credential": {503, 401, "cannot read the keys of the issuer https://issuer.example"},
		"/app/get with a credential": {503, 401, "the authorizer cannot read the table"},
	} {
		aws.Set(standin.Faults{Answers: map[string]int{path: c.status}, KeyAtOnce: true})
		p := withOutputs("ApiUrl", aws.URL+"/api/s")
		route, _, _ := strings.Cut(path, " ")
		refused(t, p.check(t.Context()), "the deployed API is wrong", route, fmt.Sprintf("answers %d instead of %d", c.status, c.right), c.reason)
	}
}

// TestADomainWithoutDNSIsProvedByTheExecuteAddress tries a domain at which nothing answers: the owner makes its DNS records after
// the deployment, from the stack's output.
func TestADomainWithoutDNSIsProvedByTheExecuteAddress(t *testing.T) {
	t.Parallel()
	aws := standin.Start()
	defer aws.Close()
	aws.Set(standin.Faults{KeyAtOnce: true})
	const domain = "http://127.0.0.1:1" // nothing answers there
	for execute, works := range map[string]bool{aws.URL + "/api/s": true, "": false} {
		p := withOutputs("ApiUrl", domain, "ExecuteApiUrl", execute)
		if err := p.check(t.Context()); (err == nil) != works {
			t.Errorf("the execute address %q: %v", execute, err)
		}
	}
}

// TestTheTargetOfADomainIsPrinted checks the text that an owner needs while the domain has no DNS record.
func TestTheTargetOfADomainIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := withOutputs("ApiUrl", "https://api.example.com", "ExecuteApiUrl", "https://a1.example/live", "DomainTarget", "d-1.example Z1")
	p.out, p.aws = &out, &cloud.Client{Region: "eu-central-1"}
	p.Parameters["DomainName"] = "api.example.com"
	p.sayNext()
	has(t, "the end", out.String(), "point api.example.com to d-1.example", "the zone Z1", "Until DNS answers, the API is at https://a1.example/live", "BASE_URL=https://a1.example/live")
}

// TestTheRotationIsRepeatedUntilItsTagWorks checks that the rotation is called again after each of two failures.
func TestTheRotationIsRepeatedUntilItsTagWorks(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	r.aws.Set(standin.Faults{Rotations: []string{tooEarly, tooEarly}})
	out, err := r.deploy("YES=1")
	succeeded(t, out, err)
	if n := strings.Count(out, "may take five minutes"); n != 2 {
		t.Errorf("the deployment waited %d times:\n%s", n, out)
	}
}

// TestUndeployNeedsAConfirmation also checks that undeploy refuses a stack of another product.
func TestUndeployNeedsAConfirmation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed     string
		variables []string
		status    string // of the stack; "": none
		stack     map[string]string
		words     []string
	}{
		"no":                 {"n\n", nil, "CREATE_COMPLETE", deployedWith(t), []string{"nothing was deleted"}},
		"no end of the line": {"y", nil, "CREATE_COMPLETE", deployedWith(t), []string{"nothing was deleted"}},
		"no terminal":        {"", nil, "CREATE_COMPLETE", deployedWith(t), []string{"no terminal", "YES=1"}},
		"no stack":           {"", []string{"YES=1"}, "", nil, []string{"there is no stack latchkey in eu-central-1"}},
		"another's stack":    {"", []string{"YES=1"}, "CREATE_COMPLETE", map[string]string{"Vpc": "1"}, []string{"is not Latchkey's"}},
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

// TestUndeployIsRefusedWhileARoleHasThePolicy checks that the refusal has the command that detaches GuardPolicy from the role, and
// that nothing is deleted.
func TestUndeployIsRefusedWhileARoleHasThePolicy(t *testing.T) {
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

// TestMakePassesOnItsVariables runs make once for each target. Each command must get every variable unchanged.
func TestMakePassesOnItsVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// This fake go writes a program to the path after -o. The program prints its name, its arguments and its environment.
	fake := "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\necho \"$0 $@\"; env\\n' >\"$2\" && chmod +x \"$2\"\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	variables := []string{
		"ISSUER=https://issuer.example/?a='b'&c", "AUDIENCE=https://api.example", "STACK=second", "REGION=eu-west-1", "ARCH=amd64", "YES=1",
		"TAGS=team=payments env=prod", "PARAMETERS=ClientIds=a,b RotationDays=0", "DRY=1", "PROTECT=0", "REPLACE=Api Table",
	}
	for target, commands := range map[string][]string{
		"deploy": {"/check ", "/deploy "}, "undeploy": {"/deploy undeploy"}, "check-consumers": {"/deploy check-consumers"},
	} {
		arguments := append([]string{"-u", "MAKEFLAGS", "-u", "MAKELEVEL", "PATH=" + dir + ":" + os.Getenv("PATH"), "make", "-s", target, "BIN=" + dir}, variables...)
		cmd := exec.Command("env", arguments...)
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("make %s: %v\n%s", target, err, out)
		}
		for _, command := range commands {
			if !strings.Contains(string(out), dir+command+"\n") {
				t.Errorf("make %s does not run %s:\n%s", target, command, out)
			}
		}
		for _, v := range variables {
			if strings.Count("\n"+string(out), "\n"+v+"\n") != len(commands) {
				t.Errorf("make %s does not pass on %s", target, v)
			}
		}
	}
}

// TestTagsReachTheStackAndTheRotation checks that a first deployment sets the tags, that they stay when TAGS is not given, and
// that an empty TAGS removes them.
func TestTagsReachTheStackAndTheRotation(t *testing.T) {
	r := newRig(t).withSAM()
	first := []string{"env=prod", "team=payments", "url=https://a.example/b=c"}
	for _, c := range []struct {
		variables     []string
		tags          []string
		names, values string
		words         []string
	}{
		{
			[]string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "TAGS=team=payments env=prod url=https://a.example/b=c"},
			first, "env,team,url", "prod,payments,https://a.example/b=c", nil,
		},
		{nil, first, "env,team,url", "prod,payments,https://a.example/b=c", []string{"No changes to deploy"}},
		{[]string{"TAGS=env=test"}, []string{"env=test"}, "env", "test", nil},
		{[]string{"TAGS="}, nil, "", "", nil},
	} {
		out, err := r.deploy(append(c.variables, "YES=1")...)
		succeeded(t, out, err)
		has(t, "output", out, c.words...)
		now := r.aws.Stack("latchkey")
		tags := now.Tags()
		slices.Sort(tags)
		if got := now.Parameters; !slices.Equal(tags, c.tags) || got["KeyTagNames"] != c.names || got["KeyTagValues"] != c.values {
			t.Errorf("%q: tags %q, %q=%q", c.variables, tags, got["KeyTagNames"], got["KeyTagValues"])
		}
	}
}

// TestBadTagsAreRefusedBeforeABuild tries tags that only Latchkey or AWS may set, and tags that the SAM CLI,
// CloudFormation or AWS's services do not accept.
func TestBadTagsAreRefusedBeforeABuild(t *testing.T) {
	var many []string
	for i := range settings.MaxTags + 1 {
		many = append(many, fmt.Sprintf("t%d=x", i))
	}
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	for _, c := range []struct{ variable, word string }{
		{"TAGS=latchkey:stack=other", "is Latchkey's own"}, {"TAGS=team=a Latchkey:Stack=other", "is Latchkey's own"}, {"TAGS=latchkey:kind=key", "is Latchkey's own"},
		{"TAGS=aws:team=a", "is AWS's own"}, {"TAGS=team", "TAGS: parameter 1"}, {"TAGS=a=b =a", "TAGS: parameter 2"}, {"TAGS=team=", "a value has 1 to 256"},
		{"TAGS=team=a team=b", "each once"}, {"TAGS=team=a,b", "a value has"}, {"TAGS=te\"am=a", "a name has"}, {"TAGS=tëam=a", "a name has"},
		{"TAGS=team=" + strings.Repeat("v", 257), "a value has"}, {"TAGS=" + strings.Repeat("n", 129) + "=a", "a name has"},
		{"TAGS=" + strings.Join(many, " "), "49 are the most"}, {"PARAMETERS=KeyTagNames=team", "give TAGS="}, {"PARAMETERS=KeyTagValues=a", "give TAGS="},
	} {
		_, err := r.deploy("YES=1", c.variable)
		refused(t, err, c.word)
		if calls := r.calls(); calls != nil {
			t.Errorf("%s: the SAM CLI was run: %q", c.variable, calls)
		}
	}
}

// TestTheNameAndTheTagOfATrialGoTogether checks that one without the other is refused before a build: the next trial removes such
// a stack.
func TestTheNameAndTheTagOfATrialGoTogether(t *testing.T) {
	r := newRig(t)
	for _, c := range [][]string{
		{"STACK=latchkey-trial-eu"}, {"STACK=latchkey-trial"}, {"STACK=latchkey-trial-abc234"}, {"STACK=latchkey-trial-eu", "TAGS=team=a"},
		{"TAGS=latchkey-trial=latchkey"}, {"TAGS=Latchkey-Trial=x"}, {"STACK=latchkey-trial-eu", "TAGS=latchkey-trial=latchkey-trial-us"},
		{"STACK=latchkey-trial-eu", "TAGS=Latchkey-Trial=latchkey-trial-eu"},
	} {
		_, err := r.deploy(append(slices.Clone(first), c...)...)
		refused(t, err, "are for trials")
		if calls := r.calls(); calls != nil {
			t.Errorf("%q: the SAM CLI was run: %q", c, calls)
		}
	}
	r.aws.Put("latchkey-trial-abc234", "CREATE_COMPLETE", deployedWith(t))
	out, err := r.deploy(append(slices.Clone(first), "STACK=latchkey-trial-abc234", "TAGS=latchkey-trial=latchkey-trial-abc234")...)
	succeeded(t, out, err)
}

// TestTagsPutByOthersAreKept puts a tag on the stack without make deploy: the next deployment must not remove it.
func TestTagsPutByOthersAreKept(t *testing.T) {
	r := newRig(t).withSAM()
	first := []string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1"}
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	r.aws.Tag("latchkey", "cost centre", "12 a")
	out, err = r.deploy("YES=1", "PARAMETERS=RotationDays=30")
	succeeded(t, out, err)
	if got := r.aws.Stack("latchkey").Tags(); !slices.Equal(got, []string{"cost centre=12 a"}) {
		t.Errorf("tags %q", got)
	}
}

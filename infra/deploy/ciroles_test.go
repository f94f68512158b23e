package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// statement is a statement of a role in ci-roles.yaml. The tags of CloudFormation's functions, such as !Sub, are not read.
type statement struct {
	Sid       string                       `yaml:"Sid"`
	Effect    string                       `yaml:"Effect"`
	Action    []string                     `yaml:"Action"`
	Resource  []string                     `yaml:"Resource"`
	Condition map[string]map[string]string `yaml:"Condition"`
}

type policyDocument struct {
	Statement []statement `yaml:"Statement"`
}

// ciRoles is the part of ci-roles.yaml that the tests read.
type ciRoles struct {
	Parameters map[string]struct {
		AllowedPattern string `yaml:"AllowedPattern"`
	} `yaml:"Parameters"`
	Resources map[string]struct {
		Type       string `yaml:"Type"`
		Properties struct {
			AssumeRolePolicyDocument policyDocument `yaml:"AssumeRolePolicyDocument"`
			ManagedPolicyArns        string         `yaml:"ManagedPolicyArns"`
			Policies                 []struct {
				PolicyDocument policyDocument `yaml:"PolicyDocument"`
			} `yaml:"Policies"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

func readCIRoles(t *testing.T) ciRoles {
	t.Helper()
	var out ciRoles
	if err := yaml.Unmarshal([]byte(readFile(t, "ci-roles.yaml")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEachRoleOfTheWorkflowTrustsOneSubject checks that no subject is a pattern: StringEquals compares * and ? literally, and
// StringLike does not.
func TestEachRoleOfTheWorkflowTrustsOneSubject(t *testing.T) {
	t.Parallel()
	template := readCIRoles(t)
	roles := map[string]string{"ChangesRole": "${SubjectPrefix}:pull_request", "DeployRole": "${SubjectPrefix}:environment:${Environment}"}
	for name, resource := range template.Resources {
		if resource.Type == "AWS::IAM::Role" && roles[name] == "" {
			t.Errorf("this test does not know the role %s", name)
		}
	}
	for name, subject := range roles {
		trust := template.Resources[name].Properties.AssumeRolePolicyDocument.Statement
		if len(trust) != 1 || !slices.Equal(trust[0].Action, []string{"sts:AssumeRoleWithWebIdentity"}) || len(trust[0].Condition) != 1 {
			t.Fatalf("%s: %+v", name, trust)
		}
		const claim = "token.actions.githubusercontent.com:"
		equal := trust[0].Condition["StringEquals"]
		if len(equal) != 2 || equal[claim+"aud"] != "sts.amazonaws.com" || equal[claim+"sub"] != subject {
			t.Errorf("%s trusts %q", name, equal)
		}
	}
	for value, isRight := range map[string]bool{
		"repo:acme/latchkey": true, "repo:acme@123456/latchkey@456789": true, "repo:a-b/c.d_e": true,
		"repo:acme/*": false, "repo:*/latchkey": false, "repo:acme/latchkey:*": false, "repo:acme/latchke?": false, "acme/latchkey": false,
		"repo:acme/latchkey:environment": false, "repo:acme/latchkey@x": false,
	} {
		if got := regexp.MustCompile("^(?:" + template.Parameters["SubjectPrefix"].AllowedPattern + ")$").MatchString(value); got != isRight {
			t.Errorf("SubjectPrefix=%s: %v", value, got)
		}
	}
	for _, name := range []string{"production:x", "*", "a?", ""} {
		if regexp.MustCompile("^(?:" + template.Parameters["Environment"].AllowedPattern + ")$").MatchString(name) {
			t.Errorf("Environment=%s", name)
		}
	}
}

// TestTheRoleOfPullRequestsChangesNothing compares the role's actions with the calls of make deploy DRY=templates, which pull
// requests run.
func TestTheRoleOfPullRequestsChangesNothing(t *testing.T) {
	template := readCIRoles(t)
	if arns := template.Resources["ChangesRole"].Properties.ManagedPolicyArns; arns != "" {
		t.Errorf("the role also has the policies %s", arns)
	}
	var allowed, denied, optional []string
	for _, policy := range template.Resources["ChangesRole"].Properties.Policies {
		for _, s := range policy.PolicyDocument.Statement {
			switch {
			case s.Effect == "Deny":
				denied = append(denied, s.Action...)
				continue
			case s.Sid == "Options": // only for parameters that the rig's stack does not have
				optional = append(optional, s.Action...)
			default:
				allowed = append(allowed, s.Action...)
			}
			for _, action := range s.Action {
				if strings.Contains(action, "*") {
					t.Errorf("%s: %s", s.Sid, action)
				}
			}
		}
	}
	for _, action := range []string{"cloudformation:CreateChangeSet", "cloudformation:ExecuteChangeSet", "cloudformation:UpdateStack", "cloudformation:DeleteChangeSet", "s3:PutObject"} {
		if !slices.ContainsFunc(denied, func(pattern string) bool { return translated.Like(pattern, action) }) {
			t.Errorf("the role is denied %q, but not %s", denied, action)
		}
	}
	for _, action := range slices.Concat(allowed, optional) {
		if !regexp.MustCompile(`:(Get|Describe|GET$)`).MatchString(action) {
			t.Errorf("the role may call %s, which does not only read", action)
		}
	}
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	r.write(".local/deploy/latchkey/template.yaml", smallTemplate(t))
	out, err := r.deploy("DRY=templates")
	succeeded(t, out, err)
	calls := r.aws.Calls()
	allowed = slices.Compact(slices.Sorted(slices.Values(allowed)))
	if !slices.Equal(calls, allowed) {
		t.Errorf("a dry run calls\n%q, and the role may call\n%q", calls, allowed)
	}
}

// TestTheRoleTemplatesPassCfnLint runs cfn-lint on ci-roles.yaml and operator.yaml, as `make lint` does on template.yaml.
func TestTheRoleTemplatesPassCfnLint(t *testing.T) {
	t.Parallel()
	cli, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"ci-roles.yaml", "operator.yaml"} {
		cmd := exec.CommandContext(t.Context(), cli, "validate", "--lint", "--template-file", file, "--config-env", noConfig)
		cmd.Env = tools.SAMEnvironment()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestTheWorkflowFitsItsRoles reads deploy.yml. The role ChangesRole trusts the subject :pull_request, which GitHub gives only to
// a job without an environment.
func TestTheWorkflowFitsItsRoles(t *testing.T) {
	t.Parallel()
	type job struct {
		If, Environment string
		Permissions     map[string]string
		Steps           []struct {
			Run string
			Env map[string]string
		}
	}
	var workflow struct {
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]job
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../../.github/workflows/deploy.yml")), &workflow); err != nil {
		t.Fatal(err)
	}
	if _, ok := workflow.On["pull_request"]; !ok || len(workflow.On) != 2 || len(workflow.Permissions) != 0 || len(workflow.Jobs) != 2 {
		t.Errorf("the workflow starts on %v with %v: %d jobs", workflow.On, workflow.Permissions, len(workflow.Jobs))
	}
	for name, want := range map[string]struct{ when, environment, dry, yes string }{
		"show":   {"github.event.pull_request.head.repo.full_name == github.repository", "", "templates", ""},
		"deploy": {"github.event_name == 'workflow_dispatch'", "${{ inputs.environment }}", "", "1"},
	} {
		j := workflow.Jobs[name]
		if !strings.Contains(j.If, want.when) || j.Environment != want.environment || len(j.Permissions) != 2 || j.Permissions["contents"] != "read" || len(j.Steps) == 0 {
			t.Fatalf("%s: %+v", name, j)
		}
		last := j.Steps[len(j.Steps)-1]
		if last.Run != "make deploy" || last.Env["DRY"] != want.dry || last.Env["YES"] != want.yes {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.yaml.in/yaml/v3"

	"latchkey/pkg/consumers"
)

// deployedStack is the stack as CloudFormation describes it.
type deployedStack struct {
	StackStatus string
	Parameters  []struct{ ParameterKey, ParameterValue string }
	Outputs     []output
	Tags        []tag
}

type output struct{ OutputKey, OutputValue string }

// reviewed is the status of a stack that only has a change set which was never executed. describe returns such a stack.
// A deployment then acts as if there were no stack (lookAtStack), as the SAM CLI does. undeploy removes the stack.
const reviewed = "REVIEW_IN_PROGRESS"

func (s *deployedStack) parameter(name string) (string, bool) {
	for _, p := range s.Parameters {
		if p.ParameterKey == name {
			return p.ParameterValue, true
		}
	}
	return "", false
}

func (s *deployedStack) output(name string) string {
	for _, o := range s.Outputs {
		if o.OutputKey == name {
			return o.OutputValue
		}
	}
	return ""
}

// isOurs reports whether the stack is one of Latchkey's, by parameters that every version has had.
func (s *deployedStack) isOurs() bool {
	_, issuer := s.parameter("Issuer")
	_, prefix := s.parameter("KeyPrefix")
	return issuer && prefix
}

// checkDeployable returns an error when CloudFormation would refuse a deployment of the stack in its status. The status
// reviewed would count as a change in progress: lookAtStack has treated such a stack as none before.
func (s *deployedStack) checkDeployable(name string) error {
	switch status := s.StackStatus; {
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return fmt.Errorf("stack %s is being changed (%s): wait until that is over", name, status)
	case status == "ROLLBACK_COMPLETE", status == "ROLLBACK_FAILED", status == "CREATE_FAILED", status == "DELETE_FAILED":
		return fmt.Errorf("stack %s takes no deployment (%s): remove it with make undeploy STACK=%s, then deploy again", name, status, name)
	case status == "UPDATE_ROLLBACK_FAILED":
		return fmt.Errorf("stack %s takes no deployment (%s): aws cloudformation continue-update-rollback --stack-name %s", name, status, name)
	}
	return nil
}

// describe reads the stack. It returns nil when there is none.
func (p *program) describe() (*deployedStack, error) {
	var out struct{ Stacks []deployedStack }
	err := p.aws.call("cloudformation", "describe_stacks", params{"StackName": p.stack}, &out)
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the stack %s cannot be read: %w", p.stack, err)
	}
	if len(out.Stacks) != 1 {
		return nil, fmt.Errorf("%d stacks are named %s", len(out.Stacks), p.stack)
	}
	return &out.Stacks[0], nil
}

// onStack connects to AWS, and calls do with the deployed stack. When there is no such stack, it returns an error.
func (p *program) onStack(ctx context.Context, do func(context.Context, *deployedStack) error) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	deployed, err := p.describe()
	if err != nil {
		return err
	}
	if deployed == nil {
		return fmt.Errorf("there is no stack %s in %s", p.stack, p.aws.region)
	}
	return do(ctx, deployed)
}

// readTemplate reads the template's parameters and rules, and checks the given values.
func (p *program) readTemplate() error {
	text, err := os.ReadFile(filepath.Join(p.root, "template.yaml"))
	if err != nil {
		return err
	}
	var t struct {
		Parameters map[string]declaration `yaml:"Parameters"`
		Rules      map[string]rule        `yaml:"Rules"`
	}
	if err := yaml.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("template.yaml: %w", err)
	}
	p.declared, p.rules = t.Parameters, t.Rules
	return p.checkGiven()
}

// value returns the parameter's value in the coming deployment: the given one, that of the deployed
// stack, or the template's default.
func (p *program) value(name string) string {
	if v, ok := p.parameters[name]; ok {
		return v
	}
	if p.deployed != nil {
		if v, ok := p.deployed.parameter(name); ok {
			return v
		}
	}
	if d := p.declared[name].Default; d != nil {
		return *d
	}
	return ""
}

// checkConsumers prints each API Gateway authorizer of the account and region that calls one of the stack's authorizer
// functions and could cache the answer, with the commands that mend it. It returns an error if there is any.
func (p *program) checkConsumers(ctx context.Context, deployed *deployedStack) error {
	if deployed.output("KeyAuthorizerArn") == "" || deployed.output("MemberAuthorizerArn") == "" {
		return fmt.Errorf("stack %s has no output KeyAuthorizerArn or MemberAuthorizerArn: give another STACK=, or deploy this version", p.stack)
	}
	var gateway struct {
		URL string
		aws.Credentials
	}
	if err := p.aws.call("apigateway", "", nil, &gateway); err != nil { // without an operation, aws.py returns these
		return err
	}
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return gateway.Credentials, nil })
	s := consumers.Search{
		API:    &consumers.Client{AWS: aws.Config{Region: p.aws.region, Credentials: credentials}, HTTP: &http.Client{}, URL: gateway.URL},
		Region: p.aws.region, Say: p.say, Shared: []string{deployed.output("KeyAuthorizerArn"), deployed.output("MemberAuthorizerArn")},
	}
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("the account's APIs cannot be read: %w", err)
	}
	if org, _ := deployed.parameter("ConsumerOrganizationId"); org != "" {
		p.say("Other accounts of %s are not looked at.", org)
	}
	if s.Wrong > 0 {
		return fmt.Errorf("%d of the above must be mended. Change the API's template too: its next deployment would undo the commands", s.Wrong)
	}
	p.say("Looked at %d authorizers in %s: %d ask %s, and none of these can keep an answer.", s.Seen, p.aws.region, s.Ours, p.stack)
	if s.Unknown > 0 {
		p.say("For %d of the %d authorizers, the function is not known.", s.Unknown, s.Seen)
	}
	return nil
}

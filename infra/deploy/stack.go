package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/pkg/consumers"
)

// deployedStack is the stack as CloudFormation describes it.
type deployedStack struct {
	StackStatus string

	EnableTerminationProtection bool

	Parameters []struct{ ParameterKey, ParameterValue string }
	Outputs    []output
	Tags       []settings.Tag
}

type output struct{ OutputKey, OutputValue string }

// reviewed is the status of a stack that only has a change set which was never executed. describe returns such a stack.
// A deployment then acts as if there were no stack (lookAtStack), as the SAM CLI does. undeploy removes the stack, which the SAM CLI
// cannot.
const reviewed = "REVIEW_IN_PROGRESS"

func (s *deployedStack) parameter(name string) (string, bool) {
	value, ok := s.values()[name]
	return value, ok
}

// values returns the values of all parameters; none when no stack is deployed.
func (s *deployedStack) values() map[string]string {
	all := map[string]string{}
	if s != nil {
		for _, p := range s.Parameters {
			all[p.ParameterKey] = p.ParameterValue
		}
	}
	return all
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
	return !slices.ContainsFunc([]string{"Issuer", "KeyPrefix", "EmailsAreVerified", "WebhookIssuer"}, func(name string) bool {
		_, has := s.parameter(name)
		return !has
	})
}

// checkOurs returns an error unless the stack is one of Latchkey's. A stack that was never deployed has no parameters yet: all of
// its change sets must be Latchkey's.
func (p *program) checkOurs(s *deployedStack) error {
	all, err := []deployedStack{*s}, error(nil)
	if s.StackStatus == reviewed {
		all, err = p.changeSets()
	}
	if err == nil && slices.ContainsFunc(all, func(one deployedStack) bool { return !one.isOurs() }) {
		err = fmt.Errorf("stack %s is not Latchkey's: give another STACK=", p.Stack)
	}
	return err
}

// changeSets reads the stack's change sets, with their parameters.
func (p *program) changeSets() (all []deployedStack, err error) {
	var list struct {
		Summaries []struct{ ChangeSetID string }
	}
	err = p.aws.Call("cloudformation", "list_change_sets", cloud.Params{"StackName": p.Stack}, &list)
	for _, set := range list.Summaries {
		var one deployedStack
		err = join(err, p.aws.Call("cloudformation", "describe_change_set", cloud.Params{"ChangeSetName": set.ChangeSetID, "StackName": p.Stack}, &one))
		all = append(all, one)
	}
	return all, err
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
	err := p.aws.Call("cloudformation", "describe_stacks", cloud.Params{"StackName": p.Stack}, &out)
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the stack %s cannot be read: %w", p.Stack, err)
	}
	if len(out.Stacks) != 1 {
		return nil, fmt.Errorf("%d stacks are named %s", len(out.Stacks), p.Stack)
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
		return fmt.Errorf("there is no stack %s in %s", p.Stack, p.aws.Region)
	}
	return do(ctx, deployed)
}

// readTemplate reads the template's parameters and rules, and checks the given values.
func (p *program) readTemplate() (err error) {
	if p.template, err = settings.ReadTemplate(p.root); err != nil {
		return err
	}
	if err := p.CheckTrial(); err != nil {
		return err
	}
	return p.template.CheckValues(p.Parameters)
}

// value returns the parameter's value in the coming deployment.
func (p *program) value(name string) string {
	return p.template.Value(name, p.Parameters, p.deployed.values())
}

// checkConsumers prints each API Gateway authorizer of the account and region that calls one of the stack's authorizer
// functions and could cache the answer, with the commands that mend it. It returns an error if there is any.
func (p *program) checkConsumers(ctx context.Context, deployed *deployedStack) error {
	if deployed.output("KeyAuthorizerArn") == "" || deployed.output("MemberAuthorizerArn") == "" {
		return fmt.Errorf("stack %s has no output KeyAuthorizerArn or MemberAuthorizerArn: give another STACK=, or deploy this version", p.Stack)
	}
	var gateway struct {
		URL string
		aws.Credentials
	}
	if err := p.aws.Call("apigateway", "", nil, &gateway); err != nil { // without an operation, aws.py returns these
		return err
	}
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return gateway.Credentials, nil })
	s := consumers.Search{
		API:    &consumers.Client{AWS: aws.Config{Region: p.aws.Region, Credentials: credentials}, HTTP: &http.Client{}, URL: gateway.URL},
		Region: p.aws.Region, Say: p.say, Shared: []string{deployed.output("KeyAuthorizerArn"), deployed.output("MemberAuthorizerArn")},
		Limited: deployed.output("KeyAuthorizerArn"),
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
	p.say("Looked at %d authorizers in %s: %d ask %s, and none of these can keep an answer.", s.Seen, p.aws.Region, s.Ours, p.Stack)
	if s.Unknown > 0 {
		p.say("For %d of the %d authorizers, the function is not known.", s.Unknown, s.Seen)
	}
	return nil
}

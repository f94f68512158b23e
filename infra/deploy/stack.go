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

// isOurs reports whether a stack is Latchkey's: it has the parameters that every version of Latchkey has.
func isOurs(s cloud.Stack) bool {
	values := s.Values()
	for _, name := range []string{"Issuer", "KeyPrefix", "EmailsAreVerified", "WebhookIssuer"} {
		if _, has := values[name]; !has {
			return false
		}
	}
	return true
}

// checkOurs returns an error unless the stack is Latchkey's. A stack that was never deployed has no parameters yet: then all its
// change sets must have Latchkey's parameters.
func (p *program) checkOurs(s *cloud.Stack) error {
	all, err := []cloud.Stack{*s}, error(nil)
	if s.StackStatus == cloud.InReview {
		all, err = p.aws.ChangeSets(p.Stack)
	}
	if err == nil && slices.ContainsFunc(all, func(one cloud.Stack) bool { return !isOurs(one) }) {
		err = fmt.Errorf("stack %s is not Latchkey's: give another STACK=", p.Stack)
	}
	return err
}

// checkDeployable returns an error when CloudFormation would refuse a deployment of a stack in a status. A stack that was never
// deployed (cloud.InReview, REVIEW_IN_PROGRESS) does not come here: checkStack treats it as no stack.
func checkDeployable(name, status string) error {
	switch {
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return fmt.Errorf("stack %s is being changed (%s): wait until the change ends", name, status)
	case status == "ROLLBACK_COMPLETE", status == "ROLLBACK_FAILED", status == "CREATE_FAILED", status == "DELETE_FAILED":
		return fmt.Errorf("stack %s cannot be deployed (%s): remove it with make undeploy STACK=%s, then deploy again", name, status, name)
	case status == "UPDATE_ROLLBACK_FAILED":
		return fmt.Errorf("stack %s cannot be deployed (%s): aws cloudformation continue-update-rollback --stack-name %s (runbook, \"Deploying again, rolling back\")", name, status, name)
	}
	return nil
}

// describe reads the stack. It returns nil when there is none. It also returns a stack that has change sets only and was never
// deployed (cloud.InReview). A deployment ignores such a stack (checkStack), as the SAM CLI does; undeploy deletes it.
func (p *program) describe() (*cloud.Stack, error) {
	found, err := p.aws.Stacks(p.Stack)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the stack %s cannot be read: %w", p.Stack, err)
	case len(found) > 1:
		return nil, fmt.Errorf("%d stacks are named %s", len(found), p.Stack)
	case len(found) == 0:
		return nil, nil
	}
	return &found[0], nil
}

// onStack connects to AWS, and calls do with the deployed stack. When there is no such stack, it returns an error.
func (p *program) onStack(ctx context.Context, do func(context.Context, *cloud.Stack) error) error {
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
	return p.template.Value(name, p.Parameters, p.deployed.Values())
}

// checkConsumers prints each API Gateway authorizer of the account and region that calls one of the stack's authorizer
// functions and could cache the answer, with the commands that correct it. It returns an error if there is any.
func (p *program) checkConsumers(ctx context.Context, deployed *cloud.Stack) error {
	if deployed.Output("KeyAuthorizerArn") == "" || deployed.Output("MemberAuthorizerArn") == "" {
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
		Region: p.aws.Region, Say: p.say, Shared: []string{deployed.Output("KeyAuthorizerArn"), deployed.Output("MemberAuthorizerArn")},
		Limited: deployed.Output("KeyAuthorizerArn"), // an API with this authorizer should answer 429 for a key over its limits
	}
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("the account's APIs cannot be read: %w", err)
	}
	if org := deployed.Values()["ConsumerOrganizationId"]; org != "" {
		p.say("Other accounts of %s are not checked.", org)
	}
	if s.Wrong > 0 {
		return fmt.Errorf("%d of the above must be changed. Change the API's template too: its next deployment would undo the commands", s.Wrong)
	}
	p.say("Checked %d authorizers in %s: %d call %s, and none of these can cache an answer.", s.Seen, p.aws.Region, s.Ours, p.Stack)
	if s.Unknown > 0 {
		p.say("For %d of the %d authorizers, the function is not known.", s.Unknown, s.Seen)
	}
	return nil
}

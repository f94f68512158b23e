package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/consumers"
)

// checkConsumers prints each authorizer of the account and region that asks one of the stack's and
// could keep the answer, with the commands that mend it. The error says that there are some.
func (p *program) checkConsumers(ctx context.Context, now *deployedStack) error {
	if now.output("KeyAuthorizerArn") == "" || now.output("MemberAuthorizerArn") == "" {
		return fmt.Errorf("stack %s has no output KeyAuthorizerArn or MemberAuthorizerArn: give another STACK=, or deploy this version", p.stack)
	}
	var gateway struct {
		URL string
		aws.Credentials
	}
	if err := p.aws.call("apigateway", "", nil, &gateway); err != nil {
		return err
	}
	who := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return gateway.Credentials, nil })
	s := consumers.Search{
		API:    &consumers.Client{AWS: aws.Config{Region: p.aws.region, Credentials: who}, HTTP: &http.Client{}, URL: gateway.URL},
		Region: p.aws.region, Say: p.say, Shared: []string{now.output("KeyAuthorizerArn"), now.output("MemberAuthorizerArn")},
	}
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("the account's APIs cannot be read: %w", err)
	}
	if org, _ := now.parameter("ConsumerOrganizationId"); org != "" {
		p.say("Other accounts of %s are not looked at.", org)
	}
	if s.Wrong > 0 {
		return fmt.Errorf("%d of the above must be mended. Change the API's template too: its next deployment would undo the commands", s.Wrong)
	}
	p.say("Looked at %d authorizers in %s: %d ask %s, and none of these can keep an answer.", s.Seen, p.aws.region, s.Ours, p.stack)
	if s.Unknown > 0 {
		p.say("For %d of them, the function is not known.", s.Unknown)
	}
	return nil
}

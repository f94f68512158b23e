package main

import (
	"context"
	"fmt"
	"strings"

	"latchkey/pkg/consumers"
)

// checkConsumers prints each authorizer of the account and region that asks one of the stack's and
// could keep the answer, with the commands that mend it. The error says that there are some.
func (p *program) checkConsumers(ctx context.Context, now *deployedStack) error {
	if now.output("KeyAuthorizerArn") == "" || now.output("MemberAuthorizerArn") == "" {
		return fmt.Errorf("stack %s has no output KeyAuthorizerArn or MemberAuthorizerArn: give another STACK=, or deploy this version", p.stack)
	}
	s := consumers.Search{
		API: apiGateway{p.aws}, Region: p.aws.region, Say: p.say,
		Shared: []string{now.output("KeyAuthorizerArn"), now.output("MemberAuthorizerArn")},
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

// apiGateway reads API Gateway by the operator's client.
type apiGateway struct{ aws *cloud }

// Page reads one page of a list.
func (g apiGateway) Page(_ context.Context, path, token string, out any) error {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	service, operation, in := "apigateway", "get_rest_apis", params{}
	if parts[0] == "v2" {
		service, operation, parts = "apigatewayv2", "get_apis", parts[1:]
	}
	if len(parts) > 1 {
		operation = "get_" + parts[2]
		in[map[string]string{"apigateway": "restApiId", "apigatewayv2": "ApiId"}[service]] = parts[1]
	}
	if token != "" {
		in[map[string]string{"apigateway": "position", "apigatewayv2": "NextToken"}[service]] = token
	}
	return g.aws.call(service, operation, in, out)
}

// Export reads the document of a stage.
func (g apiGateway) Export(_ context.Context, api, stage string) ([]byte, error) {
	var out struct{ Body string }
	err := g.aws.call("apigateway", "get_export", params{
		"restApiId": api, "stageName": stage, "exportType": "oas30", "accepts": "application/json", "parameters": params{"extensions": "authorizers"},
	}, &out)
	return []byte(out.Body), err
}

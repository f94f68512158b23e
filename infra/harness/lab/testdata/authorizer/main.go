// Command authorizer allows every request with an Authorization header.
package main

import (
	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(e events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
		effect := "Deny"
		if e.Headers["Authorization"] != "" {
			effect = "Allow"
		}
		return events.APIGatewayCustomAuthorizerResponse{
			PrincipalID: "someone", Context: map[string]any{"code": "missing_credentials"},
			PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
				Version:   "2012-10-17",
				Statement: []events.IAMPolicyStatement{{Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{e.MethodArn}}},
			},
		}, nil
	})
}

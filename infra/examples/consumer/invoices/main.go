// Command invoices answers GET /invoices for the app of an API key.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(list) }

// list answers with the principal from the authorizer. With scopes, a customer limits one key. A real program also decides what
// the whole customer may do, by the org and its plan.
func list(_ context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	field := func(name string) string { text, _ := e.RequestContext.Authorizer[name].(string); return text }
	scopes := strings.Fields(field("scopes"))
	switch {
	case field("v") != "1" || field("kind") != "key":
		return answer(http.StatusInternalServerError, map[string]any{"title": "The route has no KeyAuthorizer"})
	case field("limited") != "": // an authorizer cannot answer 429
		limited, err := answer(http.StatusTooManyRequests, map[string]any{"title": "The key, or its org, has no requests left for now", "code": "rate_limited"})
		limited.Headers["Retry-After"], limited.Headers["RateLimit"] = field("retryAfter"), field("rateLimit")
		return limited, err
	case !slices.Contains(scopes, "invoices:read"):
		return answer(http.StatusForbidden, map[string]any{"title": "The key needs the scope invoices:read", "code": "insufficient_scope"})
	default:
		return answer(http.StatusOK, map[string]any{
			"orgId": field("orgId"), "appId": field("appId"), "keyId": field("keyId"), "scopes": scopes, "plan": field("plan"),
			"metadata": json.RawMessage(field("metadata")), "invoices": []any{},
		})
	}
}

func answer(status int, body map[string]any) (events.APIGatewayProxyResponse, error) {
	kind := "application/json"
	if status >= http.StatusBadRequest {
		kind = "application/problem+json"
	}
	text, err := json.Marshal(body)
	return events.APIGatewayProxyResponse{StatusCode: status, Headers: map[string]string{"Content-Type": kind}, Body: string(text)}, err
}

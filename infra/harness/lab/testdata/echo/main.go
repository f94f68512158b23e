// Command echo answers an HTTP request with the request's event. With the header x-slow, it waits half a second. The answer's
// header X-Door is the variable DOOR, so that a test sees the value of a reference in the template.
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	// A REST API and a function URL both accept this type of answer. The type for function URLs has the member cookies, and a REST API
	// would answer 502.
	lambda.Start(func(_ context.Context, raw json.RawMessage) (events.APIGatewayProxyResponse, error) {
		var e events.LambdaFunctionURLRequest
		if err := json.Unmarshal(raw, &e); err != nil {
			return events.APIGatewayProxyResponse{}, err
		}
		if e.Headers["x-slow"] != "" {
			time.Sleep(500 * time.Millisecond)
		}
		return events.APIGatewayProxyResponse{StatusCode: 200, Headers: map[string]string{"X-Door": os.Getenv("DOOR")}, Body: string(raw)}, nil
	})
}

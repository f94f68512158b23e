// Command echo answers an HTTP request with the request's event. With the header x-slow it takes half a second. The answer's
// header X-Door is the variable DOOR, which shows a test what a reference in the template became.
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
	// A function URL takes this answer too. One with cookies, which a REST API does not know, would be 502 there.
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

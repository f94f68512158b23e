// Command hello is a function for the tests of the lab. When a schedule calls it, it reads its key from KMS and then writes a
// row, so the row shows that KMS and the table work. It answers an HTTP request with 200 if the row exists, with 404 if it does not,
// and with 503 if the read fails or takes longer than 2 seconds.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

type call struct {
	DetailType string `json:"detail-type"`
}

func main() {
	config := aws.Config{
		Region: os.Getenv("AWS_REGION"), BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{
				AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
			}, nil
		}),
	}
	db, keys := dynamodb.NewFromConfig(config), kms.NewFromConfig(config)
	table, key := os.Getenv("TABLE"), os.Getenv("KEY")
	row := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "tick"}, "SK": &types.AttributeValueMemberS{Value: "tick"}}
	lambda.Start(func(ctx context.Context, raw json.RawMessage) (events.APIGatewayProxyResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		var c call
		if err := json.Unmarshal(raw, &c); err != nil {
			return events.APIGatewayProxyResponse{}, err
		}
		if c.DetailType == "Scheduled Event" {
			if _, err := keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &key}); err != nil {
				return events.APIGatewayProxyResponse{}, err
			}
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: row})
			return events.APIGatewayProxyResponse{}, err
		}
		out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: row, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return events.APIGatewayProxyResponse{StatusCode: http.StatusServiceUnavailable}, nil
		}
		if len(out.Item) == 0 {
			return events.APIGatewayProxyResponse{StatusCode: http.StatusNotFound}, nil
		}
		return events.APIGatewayProxyResponse{StatusCode: http.StatusOK, Body: "ticked"}, nil
	})
}

// Command getitem reads one row COUNT times, each time by a signed call of GetItem with the SDK.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/boot"
)

func main() {
	r := boot.New()
	db := r.DynamoDB(r.AWS())
	table, pk, sk := r.Required("TABLE"), r.Required("PK"), r.Required("SK")
	for range r.Int("COUNT", 1, 1) {
		out, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{
			TableName: &table, ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk}},
		})
		if err != nil || len(out.Item) == 0 {
			log.Fatal(err)
		}
	}
}

package stack

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
)

// Row is a row of the table, or a part of a row, in DynamoDB's format.
type Row = map[string]types.AttributeValue

// Key returns the key of a row.
func Key(pk, sk string) Row { return Row{"PK": Text(pk), "SK": Text(sk)} }

// Text returns a text in DynamoDB's format.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Millis returns a time in the table's format: a number of milliseconds.
func Millis(at time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixMilli(), 10)}
}

// Rows returns the rows of a partition in the order of their sort keys; with pk "", all rows of the table. It does not use the
// product's code.
func (s *Stack) Rows(ctx context.Context, pk string) (rows []Row, err error) {
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	if pk == "" {
		for p := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &s.TableName, ConsistentRead: aws.Bool(true)}); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			rows = append(rows, page.Items...)
		}
		return rows, nil
	}
	for p := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: &s.TableName, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("PK = :pk"), ExpressionAttributeValues: Row{":pk": Text(pk)},
	}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.Items...)
	}
	return rows, nil
}

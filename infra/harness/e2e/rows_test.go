package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
)

// rowKey names a row of the table.
type rowKey struct{ pk, sk string }

func (k rowKey) attributes() map[string]types.AttributeValue { return stack.Key(k.pk, k.sk) }

func text(s string) types.AttributeValue { return stack.Text(s) }

func millis(at time.Time) types.AttributeValue { return stack.Millis(at) }

// deleteRow deletes a row of the table directly.
func deleteRow(t *testing.T, s *stack.Stack, k rowKey) {
	t.Helper()
	in := &dynamodb.DeleteItemInput{TableName: &s.TableName, Key: k.attributes()}
	if _, err := backing.NewDynamoDBClient(s.DataPlane.DynamoDB).DeleteItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// setRow changes a row of the table directly, so that a test need not wait for days. An update must write the attribute
// state as #state, and status as #status: these are reserved words of DynamoDB. An update may have only one of the two.
func setRow(t *testing.T, s *stack.Stack, k rowKey, update string, values map[string]types.AttributeValue) {
	t.Helper()
	in := &dynamodb.UpdateItemInput{
		TableName: &s.TableName, Key: k.attributes(), UpdateExpression: &update, ExpressionAttributeValues: values,
		ConditionExpression: aws.String("attribute_exists(PK)"),
	}
	for _, name := range []string{"state", "status"} {
		if strings.Contains(update, "#"+name+" ") {
			in.ExpressionAttributeNames = map[string]string{"#" + name: name}
		}
	}
	if _, err := backing.NewDynamoDBClient(s.DataPlane.DynamoDB).UpdateItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// getRow returns a row, or nil.
func getRow(t *testing.T, s *stack.Stack, k rowKey) map[string]types.AttributeValue {
	t.Helper()
	out, err := backing.NewDynamoDBClient(s.DataPlane.DynamoDB).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &s.TableName, Key: k.attributes(), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// rowsOf returns the rows of a partition, in the order of their sort keys.
func rowsOf(t *testing.T, s *stack.Stack, pk string) []map[string]types.AttributeValue {
	t.Helper()
	rows, err := s.Rows(t.Context(), pk)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// allRows returns every row of the table.
func allRows(t *testing.T, s *stack.Stack) []map[string]types.AttributeValue { return rowsOf(t, s, "") }

// newestIn returns the sort key of a partition's last row. If sort keys end in ids, this is the newest row.
func newestIn(t *testing.T, s *stack.Stack, pk string) string {
	t.Helper()
	rows := rowsOf(t, s, pk)
	if len(rows) == 0 {
		t.Fatalf("%s has no row", pk)
	}
	sk, _ := rows[len(rows)-1]["SK"].(*types.AttributeValueMemberS)
	return sk.Value
}

package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/lab/backing"
)

const feed = "testdata/feed.yaml"

// call is a line that the function eater prints. Each call of eater prints two lines: at its start PID and Items (the received
// records), at its end Done (the names of the handled records).
type call struct {
	PID      int
	Schedule bool
	Items    []struct{ Name, ID string }
	Done     []string
}

// calls returns the complete lines that a function has printed.
func calls(t *testing.T, s *lab.Stack, function string) []call {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.LogDir, function+".log"))
	if err != nil {
		t.Fatal(err)
	}
	var out []call
	for l := range strings.Lines(string(text)) {
		var c call
		if strings.HasSuffix(l, "\n") && json.Unmarshal([]byte(l), &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

// received returns the names of records or messages that start with prefix: came has the received names by call, and done the
// handled names in order.
func received(t *testing.T, s *lab.Stack, function, prefix string) (came [][]string, done []string) {
	t.Helper()
	for _, c := range calls(t, s, function) {
		var names []string
		for _, i := range c.Items {
			if strings.HasPrefix(i.Name, prefix) {
				names = append(names, i.Name)
			}
		}
		if len(names) > 0 {
			came = append(came, names)
		}
		for _, n := range c.Done {
			if strings.HasPrefix(n, prefix) {
				done = append(done, n)
			}
		}
	}
	return came, done
}

// patience is the longest wait. It is long because the machine may be busy.
const patience = time.Minute

// until waits until a condition is true. what names the condition in the failure.
func until(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !isTrue(); {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// put writes rows in one transaction, so that the stream delivers them in few batches. Each row is "name" or "name=order". The
// function eater obeys the orders once (fail once), poison (always fail) and slow.
func put(t *testing.T, s *lab.Stack, pk string, rows ...string) {
	t.Helper()
	var items []types.TransactWriteItem
	for _, row := range rows {
		name, do, _ := strings.Cut(row, "=")
		items = append(items, types.TransactWriteItem{Put: &types.Put{TableName: aws.String("Table"), Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: name}, "do": &types.AttributeValueMemberS{Value: do},
			"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "x"}}},
		}}})
	}
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	if _, err := db.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
		t.Fatal(err)
	}
}

// send sends a message with a name and an order for the function eater, as in put.
func send(t *testing.T, s *lab.Stack, name, do string) {
	t.Helper()
	url, err := s.QueueURL("Jobs")
	if err != nil {
		t.Fatal(err)
	}
	_, err = backing.NewSQSClient(s.DataPlane.SQS).SendMessage(context.Background(), &sqs.SendMessageInput{
		QueueUrl: &url, MessageGroupId: aws.String("group-" + name), MessageBody: aws.String(fmt.Sprintf(`{"Name":%q,"Do":%q}`, name, do)),
		MessageAttributes: map[string]sqstypes.MessageAttributeValue{"name": {DataType: aws.String("String"), StringValue: &name}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func depth(t *testing.T, s *lab.Stack, queue string) int {
	t.Helper()
	d, err := s.QueueDepth(context.Background(), queue)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

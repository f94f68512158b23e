package storetest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// recorder is a test that records its failures and continues.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// empty is a database that answers every call with an empty object.
type empty struct{}

func (empty) RoundTrip(r *http.Request) (*http.Response, error) {
	return answer(r, http.StatusOK, `{}`), nil
}

func TestAnEventualReadFailsTheTest(t *testing.T) {
	failed := &recorder{TB: t}
	db := client("http://database.test", &http.Client{Transport: newConsistent(failed, empty{})})
	key := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "KEYS#org_1"}}
	table, yes := aws.String("table"), aws.Bool(true)
	get := func(strong *bool) error {
		_, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: strong})
		return err
	}
	query := func(index *string, strong *bool) error {
		_, err := db.Query(context.Background(), &dynamodb.QueryInput{
			TableName: table, IndexName: index, ConsistentRead: strong,
			KeyConditionExpression: aws.String("PK = :pk"), ExpressionAttributeValues: map[string]types.AttributeValue{":pk": key["PK"]},
		})
		return err
	}
	batch := func(strong *bool) error {
		_, err := db.BatchGetItem(context.Background(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			"table": {Keys: []map[string]types.AttributeValue{key}, ConsistentRead: strong},
		}})
		return err
	}
	scan := func() error {
		_, err := db.Scan(context.Background(), &dynamodb.ScanInput{TableName: table, ConsistentRead: yes})
		return err
	}
	for name, c := range map[string]struct {
		read func() error
		want string // of the failure; "": none
	}{
		"strong GetItem":         {func() error { return get(yes) }, ""},
		"strong Query":           {func() error { return query(nil, yes) }, ""},
		"strong BatchGetItem":    {func() error { return batch(yes) }, ""},
		"Query of the index due": {func() error { return query(aws.String("due"), nil) }, ""},
		"eventual GetItem":       {func() error { return get(nil) }, "GetItem without ConsistentRead of {\"PK\":{\"S\":\"KEYS#org_1\"}}"},
		"GetItem with false":     {func() error { return get(aws.Bool(false)) }, "GetItem without"},
		"eventual Query":         {func() error { return query(nil, nil) }, "Query without ConsistentRead of {\":pk\":{\"S\":\"KEYS#org_1\"}}"},
		"eventual BatchGetItem":  {func() error { return batch(nil) }, "BatchGetItem without ConsistentRead of [{\"PK\":{\"S\":\"KEYS#org_1\"}}]"},
		"Query of another index": {func() error { return query(aws.String("byName"), nil) }, "Query of the index byName"},
		"strong Scan":            {scan, "the store must not use Scan"},
	} {
		failed.errors = nil
		if err := c.read(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := strings.Join(failed.errors, "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: the test failed with %q, want %q", name, got, c.want)
		}
	}
}

func TestARunningDatabaseIsUsed(t *testing.T) {
	const endpoint = "http://127.0.0.1:3002"
	t.Setenv("LATCHKEY_DYNAMODB", endpoint)
	if got, err := find(); err != nil || got.Endpoint != endpoint || len(got.Table.Create.KeySchema) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAnEndlessLoopFailsItsTestInAMinute runs itself as another process, with a bound of 100 ms instead of a minute and a
// database that never answers.
func TestAnEndlessLoopFailsItsTestInAMinute(t *testing.T) {
	if os.Getenv("STORETEST_ENDLESS") != "" {
		longest = 100 * time.Millisecond
		New(t)
		return
	}
	if longest > time.Minute {
		t.Errorf("a loop fails its test after %s", longest)
	}
	database, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=30s")
	child.Env = append(os.Environ(), "STORETEST_ENDLESS=1", "LATCHKEY_DYNAMODB=http://"+database.Addr().String())
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), t.Name()+" takes longer than 100ms") || !strings.Contains(string(out), "storetest.New") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestATestThatEndsInTimeIsNotEnded(t *testing.T) {
	was := longest
	defer func() { longest = was }()
	longest = 50 * time.Millisecond
	t.Run("it ends", func(t *testing.T) { bound(t) })
	time.Sleep(2 * longest) // if the timer still ran, it would end the program here
}

package backing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"latchkey/infra/template/translated"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.yaml.in/yaml/v3"
)

// Table is the schema of a template's table.
type Table struct {
	Create     *dynamodb.CreateTableInput     // without the table's name
	TimeToLive *types.TimeToLiveSpecification // nil: no row expires
}

// ReadTable returns the schema of the resource Table in the template at path. It leaves out properties
// that DynamoDB Local does not know (tags, backups, deletion protection). The other properties must have
// literal values: ReadTable evaluates no CloudFormation function, and reads the argument of "!Ref" as a text.
func ReadTable(path string) (*Table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Resources map[string]struct {
			Properties map[string]any `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	return TableOf(doc.Resources["Table"].Properties)
}

// TableOf converts the properties of an AWS::DynamoDB::Table. CloudFormation and the API use the same
// names, so JSON converts them. TableOf leaves out WarmThroughput: DynamoDB Local does not limit the throughput.
func TableOf(properties map[string]any) (*Table, error) {
	out, properties := &Table{Create: &dynamodb.CreateTableInput{}}, maps.Collect(maps.All(properties)) // a copy, also of nil
	given, _ := properties["GlobalSecondaryIndexes"].([]any)
	indexes := slices.Clone(given)
	for i, v := range indexes {
		if index, ok := v.(map[string]any); ok {
			index = maps.Clone(index)
			delete(index, "WarmThroughput")
			indexes[i] = index
		}
	}
	properties["GlobalSecondaryIndexes"] = indexes
	for name, field := range map[string]any{
		"AttributeDefinitions": &out.Create.AttributeDefinitions, "KeySchema": &out.Create.KeySchema,
		"GlobalSecondaryIndexes": &out.Create.GlobalSecondaryIndexes, "BillingMode": &out.Create.BillingMode,
		"StreamSpecification": &out.Create.StreamSpecification, "TimeToLiveSpecification": &out.TimeToLive,
	} {
		b, err := json.Marshal(properties[name])
		if err == nil {
			err = json.Unmarshal(b, field)
		}
		if err != nil {
			return nil, fmt.Errorf("the table's %s: %w", name, err)
		}
	}
	if len(out.Create.KeySchema) == 0 || len(out.Create.AttributeDefinitions) == 0 {
		return nil, errors.New("KeySchema or AttributeDefinitions is missing")
	}
	if s := out.Create.StreamSpecification; s != nil {
		s.StreamEnabled = aws.Bool(true) // the API requires it; CloudFormation has no such property
	}
	return out, nil
}

// CreateIn creates a table with this schema, and waits until the table can be used. It keeps an existing table
// of that name. Error: ErrOtherTable when the key, indexes or stream of the existing table differ.
func (t *Table) CreateIn(ctx context.Context, db *dynamodb.Client, name string) error {
	t.Create.TableName = &name
	var exists *types.ResourceInUseException
	if _, err := db.CreateTable(ctx, t.Create); errors.As(err, &exists) {
		return t.compareWith(ctx, db, name)
	} else if err != nil {
		return fmt.Errorf("creating table %s: %w", name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 20 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, 30*time.Second); err != nil {
		return err
	}
	if t.TimeToLive == nil || !aws.ToBool(t.TimeToLive.Enabled) {
		return nil
	}
	_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &name, TimeToLiveSpecification: t.TimeToLive})
	return err
}

// ErrOtherTable means that another template made the table.
var ErrOtherTable = errors.New("another template made the table")

// compareWith compares the schema with the existing table of that name. Error: ErrOtherTable when they differ.
func (t *Table) compareWith(ctx context.Context, db *dynamodb.Client, name string) error {
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return err
	}
	found := &Table{Create: &dynamodb.CreateTableInput{KeySchema: out.Table.KeySchema, StreamSpecification: out.Table.StreamSpecification}}
	for _, i := range out.Table.GlobalSecondaryIndexes {
		index := types.GlobalSecondaryIndex{IndexName: i.IndexName, KeySchema: i.KeySchema, Projection: i.Projection}
		found.Create.GlobalSecondaryIndexes = append(found.Create.GlobalSecondaryIndexes, index)
	}
	if existing, wanted := found.shape(), t.shape(); existing != wanted {
		return fmt.Errorf("%w %s: it has %s, the template %s", ErrOtherTable, name, existing, wanted)
	}
	return nil
}

// shape returns the table's key, its stream and its indexes as one text, to compare it with another table's.
func (t *Table) shape() string {
	indexes := slices.SortedFunc(slices.Values(t.Create.GlobalSecondaryIndexes), func(a, b types.GlobalSecondaryIndex) int {
		return strings.Compare(aws.ToString(a.IndexName), aws.ToString(b.IndexName))
	})
	text, err := json.Marshal([]any{t.Create.KeySchema, t.Create.StreamSpecification, indexes})
	if err != nil {
		panic(err) // the SDK's types can be marshalled
	}
	return string(text)
}

// CreateQueues creates all queues, and then connects each to its dead letter queue, which must exist.
func CreateQueues(ctx context.Context, client *sqs.Client, queues []translated.Queue) error {
	urls := make(map[string]*string)
	for _, q := range queues {
		out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &q.Name, Attributes: q.Attributes})
		if err != nil {
			return fmt.Errorf("creating queue %s: %w", q.Name, err)
		}
		urls[q.Name] = out.QueueUrl
	}
	for _, q := range queues {
		if q.DeadLetters == "" {
			continue
		}
		policy, err := json.Marshal(map[string]any{"deadLetterTargetArn": q.DeadLetters, "maxReceiveCount": q.MaxReceives})
		if err != nil {
			return err
		}
		in := &sqs.SetQueueAttributesInput{QueueUrl: urls[q.Name], Attributes: map[string]string{"RedrivePolicy": string(policy)}}
		if _, err := client.SetQueueAttributes(ctx, in); err != nil {
			return fmt.Errorf("the dead letters of queue %s: %w", q.Name, err)
		}
	}
	return nil
}

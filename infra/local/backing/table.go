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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.yaml.in/yaml/v3"
)

// tableResource is the logical id of the table in template.yaml.
const tableResource = "Table"

// NewDynamoDBClient returns a client for a DynamoDB Local's endpoint.
func NewDynamoDBClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(anyCredentials),
	})
}

// NewStreamsClient returns a client for the streams of a DynamoDB Local.
func NewStreamsClient(endpoint string) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(anyCredentials),
	})
}

// anyCredentials returns credentials that DynamoDB Local accepts: it accepts any.
func anyCredentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
}

// CreateTable creates a table with the schema of the resource Table in template.yaml, so that tests
// use the deployed schema, and waits until the table can be used. It leaves out properties that
// DynamoDB Local does not know (tags, backups, deletion protection). An existing table of that name
// is kept; when its key, indexes or stream differ, that is an error. The changes make a new table
// differ from the template.
func CreateTable(ctx context.Context, db *dynamodb.Client, templatePath, name string, changes ...func(*dynamodb.CreateTableInput)) error {
	in, err := readTable(templatePath)
	if err != nil {
		return fmt.Errorf("the table of %s: %w", templatePath, err)
	}
	create := in.input(name)
	for _, change := range changes {
		change(create)
	}
	var exists *types.ResourceInUseException
	if _, err := db.CreateTable(ctx, create); errors.As(err, &exists) {
		return in.sameAs(ctx, db, name)
	} else if err != nil {
		return fmt.Errorf("creating table %s: %w", name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 20 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, 30*time.Second); err != nil {
		return err
	}
	return in.enableTTL(ctx, db, name)
}

// tableProperties has the properties that are read of an AWS::DynamoDB::Table. CloudFormation and
// the API use the same names, so JSON converts them.
type tableProperties struct {
	AttributeDefinitions    []types.AttributeDefinition
	KeySchema               []types.KeySchemaElement
	GlobalSecondaryIndexes  []types.GlobalSecondaryIndex
	BillingMode             types.BillingMode
	StreamSpecification     *struct{ StreamViewType types.StreamViewType }
	TimeToLiveSpecification *struct {
		AttributeName string
		Enabled       bool
	}
}

// readTable decodes the table's properties. CloudFormation's functions elsewhere in the template do
// not matter. One inside the table would be lost, so it is an error.
func readTable(path string) (*tableProperties, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Resources map[string]struct {
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	resource, ok := doc.Resources[tableResource]
	if !ok {
		return nil, fmt.Errorf("there is no resource %s", tableResource)
	}
	var literal map[string]any
	if err := resource.Properties.Decode(&literal); err != nil {
		return nil, err
	}
	wanted := make(map[string]any)
	for _, k := range []string{"AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode", "StreamSpecification", "TimeToLiveSpecification"} {
		if v, ok := literal[k]; ok {
			wanted[k] = v
		}
	}
	b, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	var p tableProperties
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, err
	}
	if len(p.KeySchema) == 0 || len(p.AttributeDefinitions) == 0 {
		return nil, errors.New("KeySchema or AttributeDefinitions is missing")
	}
	return &p, nil
}

func (p *tableProperties) input(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: p.BillingMode, KeySchema: p.KeySchema,
		AttributeDefinitions: p.AttributeDefinitions, GlobalSecondaryIndexes: p.GlobalSecondaryIndexes,
	}
	if s := p.StreamSpecification; s != nil {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: s.StreamViewType}
	}
	return in
}

// sameAs returns nil when the existing table serves the same requests.
func (p *tableProperties) sameAs(ctx context.Context, db *dynamodb.Client, name string) error {
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return err
	}
	there := shape(out.Table.KeySchema, nil)
	if s := out.Table.StreamSpecification; s != nil {
		there["(stream)"] = string(s.StreamViewType)
	}
	for _, i := range out.Table.GlobalSecondaryIndexes {
		there[aws.ToString(i.IndexName)] = indexShape(i.KeySchema, i.Projection)
	}
	wanted := shape(p.KeySchema, p.GlobalSecondaryIndexes)
	if s := p.StreamSpecification; s != nil {
		wanted["(stream)"] = string(s.StreamViewType)
	}
	if !maps.Equal(there, wanted) {
		return fmt.Errorf("table %s was made by another template: it has %v, and %v is wanted (make clean-data forgets it)", name, there, wanted)
	}
	return nil
}

// shape returns the key of the table, by "", and the key and attributes of each index, by its name.
func shape(key []types.KeySchemaElement, indexes []types.GlobalSecondaryIndex) map[string]string {
	out := map[string]string{"": keyNames(key)}
	for _, i := range indexes {
		out[aws.ToString(i.IndexName)] = indexShape(i.KeySchema, i.Projection)
	}
	return out
}

// indexShape returns a text of an index's key and the attributes that the index has of a row.
func indexShape(key []types.KeySchemaElement, p *types.Projection) string {
	return keyNames(key) + " with " + strings.Join(append([]string{string(p.ProjectionType)}, p.NonKeyAttributes...), " ")
}

func keyNames(key []types.KeySchemaElement) string {
	var names []string
	for _, k := range key {
		names = append(names, string(k.KeyType)+" "+aws.ToString(k.AttributeName))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (p *tableProperties) enableTTL(ctx context.Context, db *dynamodb.Client, name string) error {
	ttl := p.TimeToLiveSpecification
	if ttl == nil || !ttl.Enabled {
		return nil
	}
	_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &ttl.AttributeName, Enabled: aws.Bool(true)},
	})
	return err
}

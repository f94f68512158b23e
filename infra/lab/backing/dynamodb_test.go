package backing_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/lab/backing"
	"latchkey/infra/tools"
)

const tableTemplate = `
Parameters:
  Prefix: {Type: String}
Resources:
  Other:
    Type: AWS::SNS::Topic
    Properties: {TopicName: !Sub "${Prefix}-x"}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      DeletionProtectionEnabled: true
      AttributeDefinitions:
        - {AttributeName: PK, AttributeType: S}
        - {AttributeName: SK, AttributeType: S}
        - {AttributeName: due, AttributeType: S}
        - {AttributeName: dueAt, AttributeType: N}
      KeySchema:
        - {AttributeName: PK, KeyType: HASH}
        - {AttributeName: SK, KeyType: RANGE}
      GlobalSecondaryIndexes:
        - IndexName: due
          KeySchema: [{AttributeName: due, KeyType: HASH}, {AttributeName: dueAt, KeyType: RANGE}]
          Projection: {ProjectionType: KEYS_ONLY}
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: purgeAt, Enabled: true}
`

func template(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(tableTemplate), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func startDynamoDB(t *testing.T, o backing.Options) (*backing.Process, *dynamodb.Client) {
	t.Helper()
	o.LogPath = filepath.Join(t.TempDir(), "dynamodb.log")
	p, err := backing.StartDynamoDB(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p, backing.NewDynamoDBClient(p.Endpoint)
}

func TestTableHasTheTemplatesSchema(t *testing.T) {
	ctx := context.Background()
	_, db := startDynamoDB(t, backing.Options{})
	path := template(t)
	for range 2 { // the second call keeps the table
		if err := backing.CreateTable(ctx, db, path, "rows"); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(other, []byte(strings.Replace(tableTemplate, "IndexName: due", "IndexName: new", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := backing.CreateTable(ctx, db, other, "rows"); !errors.Is(err, backing.ErrOtherTable) {
		t.Errorf("a table of another shape: %v", err)
	}
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("rows")})
	if err != nil {
		t.Fatal(err)
	}
	table := out.Table
	if len(table.KeySchema) != 2 || aws.ToString(table.KeySchema[1].AttributeName) != "SK" {
		t.Errorf("key schema %+v", table.KeySchema)
	}
	if len(table.GlobalSecondaryIndexes) != 1 || table.GlobalSecondaryIndexes[0].Projection.ProjectionType != types.ProjectionTypeKeysOnly {
		t.Errorf("indexes %+v", table.GlobalSecondaryIndexes)
	}
	if table.StreamSpecification == nil || table.StreamSpecification.StreamViewType != types.StreamViewTypeNewImage {
		t.Errorf("stream %+v", table.StreamSpecification)
	}
}

func TestRowsSurviveARestart(t *testing.T) {
	ctx := context.Background()
	data := t.TempDir()
	p, db := startDynamoDB(t, backing.Options{DataDir: data})
	if err := backing.CreateTable(ctx, db, template(t), "rows"); err != nil {
		t.Fatal(err)
	}
	row := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "a"}, "SK": &types.AttributeValueMemberS{Value: "b"}}
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("rows"), Item: row}); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	_, db = startDynamoDB(t, backing.Options{DataDir: data})
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("rows"), Key: row})
	if err != nil || len(out.Item) == 0 {
		t.Fatalf("the row is lost: %v %v", out, err)
	}
}

func TestPausedDatabaseHangsAndResumes(t *testing.T) {
	p, db := startDynamoDB(t, backing.Options{})
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := db.ListTables(short, nil); err == nil {
		t.Fatal("a paused database answered")
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ListTables(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}

// TestDatabaseListensOnlyOnLoopback keeps others on the network from reaching it.
func TestDatabaseListensOnlyOnLoopback(t *testing.T) {
	p, _ := startDynamoDB(t, backing.Options{})
	assertOnlyLoopback(t, p.Port)
}

// assertOnlyLoopback listens on the port of 127.0.0.2. That fails when the port is in use on every
// interface, and not when it is in use on 127.0.0.1.
func assertOnlyLoopback(t *testing.T, port int) {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: port})
	if err != nil {
		t.Fatalf("port %d is held beyond 127.0.0.1: %v", port, err)
	}
	_ = l.Close()
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = backing.StartDynamoDB(context.Background(), backing.Options{Port: l.Addr().(*net.TCPAddr).Port})
	if err == nil {
		t.Fatal("two on one port")
	}
	t.Log(err)
}

func TestMissingProgramsAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := backing.StartDynamoDB(context.Background(), backing.Options{})
	var m *tools.MissingError
	if !errors.As(err, &m) || len(m.Programs) != 3 {
		t.Fatalf("error %v, want java, javac and mvn named", err)
	}
}

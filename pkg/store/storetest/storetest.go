// Package storetest gives tests a store on a real DynamoDB Local with the
// deployed table's schema, and a fault transport under its SDK.
package storetest

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/local/backing"
	"latchkey/pkg/env"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/store"
)

// Table is a store on a table of its own.
type Table struct {
	*store.Store
	DB     *dynamodb.Client // without the fault transport
	Name   string
	Faults *Faults
}

// running gives the endpoint of the one DynamoDB Local of a test program.
var running = sync.OnceValues(find)

// find gives the endpoint of a database that runs already, which LATCHKEY_DYNAMODB
// names, or starts one, which ends with the program, whose end it sees by itself.
func find() (endpoint string, err error) {
	if endpoint := os.Getenv("LATCHKEY_DYNAMODB"); endpoint != "" {
		return endpoint, nil
	}
	process, err := backing.StartDynamoDB(context.Background(), backing.DynamoDBOptions{})
	if err != nil {
		return "", err
	}
	return process.Endpoint, nil
}

// longTry bounds a call that no test wants to be cut short.
const longTry = time.Minute

// New gives a store on a new, empty table with the schema of template.yaml,
// without its stream. A test without Java and Maven fails, and says that they are
// missing.
func New(t testing.TB) *Table {
	t.Helper()
	endpoint, err := running()
	if err != nil {
		t.Fatal(err)
	}
	root, err := backing.Root()
	if err != nil {
		t.Fatal(err)
	}
	tb := &Table{DB: backing.NewDynamoDBClient(endpoint), Name: "test-" + rand.Text(), Faults: &Faults{}}
	if err := backing.CreateTable(context.Background(), tb.DB, filepath.Join(root, "template.yaml"), tb.Name, withoutStream); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := tb.DB.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &tb.Name}); err != nil {
			t.Logf("the table %s is left: %v", tb.Name, err)
		}
	})
	under := env.NewHTTPClient()
	tb.Faults.Try, under.Timeout = under.Timeout, longTry
	tb.Faults.Next, under.Transport = under.Transport, newConsistent(t, tb.Faults)
	tb.Store = store.New(client(endpoint, under), tb.Name)
	return tb
}

// withoutStream: no test here reads the stream, and DynamoDB Local grows slow with the
// streams of the tables that were dropped.
func withoutStream(in *dynamodb.CreateTableInput) { in.StreamSpecification = nil }

// client is the product's own client, on another transport.
func client(endpoint string, h *http.Client) *dynamodb.Client {
	cfg := env.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, h)
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = aws.String(endpoint) })
}

// NewUser makes a user with a verified email, by signing them in for the first
// time.
func (tb *Table) NewUser(t testing.TB, email string) id.User {
	t.Helper()
	folded, ok := org.FoldEmail(email)
	if !ok {
		t.Fatalf("%q is no email", email)
	}
	u, err := tb.SignIn(context.Background(), store.Identity{}, false, store.Seen{
		Issuer: "https://issuer.test", Subject: "sub-" + email, Email: email, Folded: folded, Verified: true,
		Name: org.NameFor("", email), IssuedAt: time.Now().Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// NewOrg makes an org whose admin is the user.
func (tb *Table) NewOrg(t testing.TB, admin id.User) id.Org {
	t.Helper()
	o, err := tb.CreateOrg(context.Background(), admin, "Acme", store.Once[store.Org]{})
	if err != nil {
		t.Fatal(err)
	}
	return o.Made.ID
}

// Rows gives every row of the table: what a thief of the whole table would have.
func (tb *Table) Rows(t testing.TB) []map[string]types.AttributeValue {
	t.Helper()
	var rows []map[string]types.AttributeValue
	in := &dynamodb.ScanInput{TableName: &tb.Name, ConsistentRead: aws.Bool(true)}
	for {
		out, err := tb.DB.Scan(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, out.Items...)
		if out.LastEvaluatedKey == nil {
			return rows
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

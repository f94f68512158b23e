// Package storetest has stores for tests, on a real DynamoDB Local with the schema of the
// deployed table. Under the SDK there are a transport that makes faults, and one that fails a
// test at every eventually consistent read.
package storetest

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/boot"
	"latchkey/pkg/email"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
)

// Table is a store on a new table.
type Table struct {
	*store.Store
	DB     *dynamodb.Client // without the fault transport
	Name   string
	Faults *Faults
}

// database is a running database, and the schema of the table in template.yaml.
type database struct {
	Endpoint string
	Table    struct {
		Create     dynamodb.CreateTableInput // without the table's name
		TimeToLive *types.TimeToLiveSpecification
	}
}

// running returns the DynamoDB Local of the test program: all its tests share it.
var running = sync.OnceValues(find)

// find returns the running database that LATCHKEY_DYNAMODB names. Without it, find starts one, which
// ends when the program ends.
func find() (d database, err error) {
	service, err := servicetest.Start("-database="+os.Getenv("LATCHKEY_DYNAMODB"), "serve-db")
	if err != nil {
		return d, err
	}
	return d, service.Read(&d)
}

// longTry bounds a call that does not hang by a fault (Faults.Try).
const longTry = time.Minute

// New returns a store on a new, empty table with the schema of template.yaml, without its stream. Without
// Java and Maven the test fails, and names the missing program. After this call, the test must end within
// the time of bound.
func New(t testing.TB) *Table {
	t.Helper()
	bound(t)
	d, err := running()
	if err != nil {
		t.Fatal(err)
	}
	tb := &Table{DB: client(d.Endpoint, &http.Client{}), Name: "test-" + rand.Text(), Faults: &Faults{}}
	if err := tb.create(d); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := tb.DB.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &tb.Name}); err != nil {
			t.Logf("the table %s is left: %v", tb.Name, err)
		}
	})
	// The calls of the product's HTTP client go through newConsistent, then Faults, then the client's transport.
	h := boot.NewHTTPClient()
	tb.Faults.Try, h.Timeout = h.Timeout, longTry
	tb.Faults.Next, h.Transport = h.Transport, newConsistent(t, tb.Faults)
	tb.Store = store.New(client(d.Endpoint, h), tb.Name)
	return tb
}

// create creates the table without its stream: no test here reads it, and DynamoDB Local becomes slow
// with the streams of deleted tables.
func (tb *Table) create(d database) error {
	in := d.Table.Create
	in.TableName, in.StreamSpecification = &tb.Name, nil
	if _, err := tb.DB.CreateTable(context.Background(), &in); err != nil {
		return err
	}
	_, err := tb.DB.UpdateTimeToLive(context.Background(), &dynamodb.UpdateTimeToLiveInput{TableName: &tb.Name, TimeToLiveSpecification: d.Table.TimeToLive})
	return err
}

// client returns a DynamoDB client that is configured as the product's, on an HTTP client.
func client(endpoint string, h *http.Client) *dynamodb.Client {
	cfg := boot.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, h)
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = aws.String(endpoint) })
}

// NewUser creates a user with a verified email, by a first sign-in.
func (tb *Table) NewUser(t testing.TB, address string) id.User {
	t.Helper()
	folded, ok := email.Fold(address)
	if !ok {
		t.Fatalf("%q cannot be used", address)
	}
	u, err := tb.SignIn(context.Background(), store.Identity{}, false, store.Seen{
		Issuer: "https://issuer.test", Subject: "sub-" + address, Email: address, Folded: folded, Verified: true,
		Name: org.NameFor("", address), IssuedAt: time.Now().Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// NewOrg creates an org whose admin is the user.
func (tb *Table) NewOrg(t testing.TB, admin id.User) id.Org {
	t.Helper()
	o, err := tb.CreateOrg(context.Background(), admin, "Acme", store.Once[store.Org]{})
	if err != nil {
		t.Fatal(err)
	}
	return o.Made.ID
}

// Rows returns every row of the table: everything that a thief of the whole table has.
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

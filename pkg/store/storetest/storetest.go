// Package storetest gives tests a store on a real DynamoDB Local with the
// deployed table's schema, and a fault transport under its SDK.
package storetest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

var tables atomic.Int64

// New gives a store on a new, empty table.
func New(t testing.TB) *Table {
	t.Helper()
	endpoint := "http://127.0.0.1:3999"
	plain := client(endpoint, &http.Client{Timeout: 10 * time.Second})
	name := fmt.Sprintf("test-%d-%d", time.Now().UnixNano(), tables.Add(1))
	_, err := plain.CreateTable(context.Background(), &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: "HASH"}, {AttributeName: aws.String("SK"), KeyType: "RANGE"}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: "S"}, {AttributeName: aws.String("SK"), AttributeType: "S"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	faults := &Faults{Next: http.DefaultTransport}
	under := env.NewHTTPClient()
	faults.Next = under.Transport
	under.Transport = faults
	db := client(endpoint, under)
	return &Table{Store: store.New(db, name), DB: plain, Name: name, Faults: faults}
}

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
	o := tb.Draft("Acme")
	if _, err := tb.CreateOrg(context.Background(), admin, o, store.Once{}); err != nil {
		t.Fatal(err)
	}
	return o.ID
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

// Package table reads and writes one DynamoDB table whose key is PK and SK, both texts. It reads
// rows, changes them on conditions, and runs transactions. Each attribute is declared once, with
// the type of its values. The methods of an attribute make the conditions and the changes.
//
// Every read is strongly consistent, except a read of the index. Nothing is cached.
package table

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Key is the key of a row.
type Key struct{ PK, SK string }

// Row is a row in DynamoDB's format, with its key. A row that does not exist is nil.
type Row map[string]types.AttributeValue

// Key returns the key of a row.
func (r Row) Key() Key {
	pk, _ := textFormat[string]{}.decode(r["PK"])
	sk, _ := textFormat[string]{}.decode(r["SK"])
	return Key{pk, sk}
}

func (k Key) attributes() Row { return Row{"PK": text(k.PK), "SK": text(k.SK)} }

// Rules are the choices of the program that uses a table.
type Rules struct {
	// Fault turns an error of a call into the caller's error. The error wraps ErrMalformed or
	// ErrBusy, or comes from DynamoDB, the network or the context.
	Fault func(error) error

	// First reports whether the error of a Refusal wins over the errors of earlier operations
	// of its transaction.
	First func(refused error) bool

	// Index is the table's only index.
	Index Index

	// TTL names the attribute with the time when DynamoDB deletes a row.
	TTL string
}

// Table is one table. Make it with New. It is safe for concurrent use.
type Table struct {
	db    *DB
	name  *string
	rules Rules
}

// DB is the SDK's client.
type DB = dynamodb.Client

// New returns a table.
func New(db *DB, name string, rules Rules) *Table {
	return &Table{db, aws.String(name), rules}
}

var (
	// ErrMalformed means that the database does not accept the form of a request. That is a
	// mistake of the program.
	ErrMalformed = errors.New("table: a malformed request")

	// ErrBusy means that each try lost a race for the same rows, or was throttled. Nothing was
	// done.
	ErrBusy = errors.New("table: others were writing the same rows")

	// ErrRefused means that DynamoDB has not carried out a write of Take.
	ErrRefused = errors.New("table: the write was refused")

	// ErrRaced is the error of a Refusal when a row has changed since it was read. Retry then
	// runs the use case again.
	ErrRaced = errors.New("table: a row has changed since it was read")
)

// fault turns an error of a call into the caller's error.
func (t *Table) fault(err error) error {
	var answer interface{ ErrorCode() string } // the SDK's type of an error that DynamoDB answered
	if errors.As(err, &answer) {
		switch answer.ErrorCode() {
		case "ValidationException", "SerializationException", "IdempotentParameterMismatchException":
			err = errors.Join(ErrMalformed, err)
		}
	}
	return t.rules.Fault(err)
}

// Get reads one row. It returns nil when there is no row.
func (t *Table) Get(ctx context.Context, k Key) (Row, error) {
	out, err := t.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: t.name, Key: k.attributes(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, t.fault(err)
	}
	return out.Item, nil
}

const (
	batchSize  = 100 // rows in one BatchGetItem
	batchTries = 5   // calls for one batch: DynamoDB may leave some of its keys unprocessed
)

// Batch reads rows, and returns them by key. Missing rows are absent. The keys must differ from
// each other.
func (t *Table) Batch(ctx context.Context, keys ...Key) (map[Key]Row, error) {
	rows := make(map[Key]Row, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), batchSize)
		if err := t.batch(ctx, keys[:n], rows); err != nil {
			return nil, t.fault(err)
		}
		keys = keys[n:]
	}
	return rows, nil
}

// batch adds the rows of at most batchSize keys to a map. Keys that DynamoDB left unprocessed are
// requested again.
func (t *Table) batch(ctx context.Context, keys []Key, into map[Key]Row) error {
	wanted := make([]map[string]types.AttributeValue, len(keys))
	for i, k := range keys {
		wanted[i] = k.attributes()
	}
	request := map[string]types.KeysAndAttributes{*t.name: {Keys: wanted, ConsistentRead: aws.Bool(true)}}
	for try := range batchTries {
		if err := pause(ctx, try); err != nil {
			return err
		}
		out, err := t.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: request})
		if err != nil {
			return err
		}
		for _, row := range out.Responses[*t.name] {
			into[Row(row).Key()] = row
		}
		if len(out.UnprocessedKeys) == 0 {
			return nil
		}
		request = out.UnprocessedKeys
	}
	return errors.New("table: keys left unprocessed")
}

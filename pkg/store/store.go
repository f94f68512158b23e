// Package store is the table: every key, every condition, every transaction.
//
// A method is a use case (CreateOrg, RevokeKey). It decides, in the transaction that writes,
// whether the caller may do it. Its comment names the problem codes that a caller can see. Each
// method can also return unavailable, when the database cannot be reached, does not answer, or
// keeps reporting conflicts.
//
// Every read that decides about access is strongly consistent and on the base table. Nothing
// here is cached, and nothing may be: a cache between a request and a key's row would outlive a
// revocation.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

// Limits are the bounds of the contract that the store enforces (infra/docs/api.md, "Limits").
type Limits struct {
	ActiveKeys  int // active API keys of an org: not revoked, expired or rotated
	Apps        int // apps of an org
	Members     int // members of an org
	OrgsCreated int // orgs that one user created
	Endpoints   int // webhook endpoints of an app
	Held        int // deliveries of an endpoint that heldCount counts
	Queued      int // deliveries that one run of the sweep queues: as many as are sent in a minute
	Redelivered int // deliveries that one call sends again
	Budget      Budget
}

// DefaultLimits returns the limits of the contract.
func DefaultLimits() Limits {
	return Limits{
		ActiveKeys: 200, Apps: 20, Members: 500, OrgsCreated: 20, Endpoints: 20,
		Held: 1000, Queued: 5000, Redelivered: 500,
		Budget: Budget{PerSecond: 100, Burst: 2000},
	}
}

// Store is the table. Make it with New; it is safe for concurrent use.
type Store struct {
	db     *dynamodb.Client
	table  *string
	Now    func() time.Time // the clock; tests set it
	Rand   io.Reader        // randomness of ids, keys, salts and nonces; nil: crypto/rand
	Limits Limits
}

// New returns the store on one table.
func New(db *dynamodb.Client, table string) *Store {
	return &Store{db: db, table: aws.String(table), Now: time.Now, Limits: DefaultLimits()}
}

// ids returns the source of ids, with the store's randomness.
func (s *Store) ids() id.Source { return id.Source{Rand: s.Rand} }

// now returns the time in milliseconds since the epoch, the unit of every time in the table but
// purgeAt and iat.
func (s *Store) now() int64 { return s.Now().UnixMilli() }

// unavailable turns an error of the database into the caller's 503. A request that the database
// calls malformed is our own mistake, and becomes a 500. The cause is kept for the log.
func unavailable(err error) error {
	var answered interface{ ErrorCode() string }
	if errors.As(err, &answered) {
		switch answered.ErrorCode() {
		case "ValidationException", "SerializationException", "IdempotentParameterMismatchException":
			return fmt.Errorf("store: a malformed request: %w", err)
		}
	}
	return problem.Wrap(problem.Unavailable, "The service cannot answer right now. Try again.", err)
}

// get reads one row, strongly consistent. It returns nil when there is no row.
func (s *Store) get(ctx context.Context, k key) (item, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: s.table, Key: k.attributes(), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return out.Item, nil
}

const (
	batchSize  = 100 // rows in one BatchGetItem
	batchTries = 5   // for keys that DynamoDB leaves unprocessed
)

// getMany reads rows, strongly consistent, and returns them by key. Missing rows are absent. The
// keys must differ from each other.
func (s *Store) getMany(ctx context.Context, keys ...key) (map[key]item, error) {
	rows := make(map[key]item, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), batchSize)
		if err := s.getBatch(ctx, keys[:n], rows); err != nil {
			return nil, err
		}
		keys = keys[n:]
	}
	return rows, nil
}

func (s *Store) getBatch(ctx context.Context, keys []key, into map[key]item) error {
	wanted := make([]map[string]types.AttributeValue, len(keys))
	for i, k := range keys {
		wanted[i] = k.attributes()
	}
	request := map[string]types.KeysAndAttributes{*s.table: {Keys: wanted, ConsistentRead: aws.Bool(true)}}
	for try := range batchTries {
		if err := pause(ctx, try); err != nil {
			return unavailable(err)
		}
		out, err := s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: request})
		if err != nil {
			return unavailable(err)
		}
		for _, row := range out.Responses[*s.table] {
			r := item(row)
			into[key{r.str(attrPK), r.str(attrSK)}] = r
		}
		if len(out.UnprocessedKeys) == 0 {
			return nil
		}
		request = out.UnprocessedKeys
	}
	return unavailable(errors.New("store: keys left unprocessed"))
}

// span is a range of one partition: the rows whose sort key begins with prefix, after the sort
// key `after` (in reverse: before it) when that is not "". With from or until, in place of a
// prefix, it is the rows from `from` on, up to but not including `until`.
type span struct {
	pk, prefix  string
	from, until string
	after       string
	reverse     bool
	limit       int // the largest number of rows
}

// condition returns the key condition of a query, and its values.
func (sp span) condition() (string, item) {
	values := item{":pk": str(sp.pk)}
	switch {
	case sp.prefix != "":
		values[":sk"] = str(sp.prefix)
		return "PK = :pk AND begins_with(SK, :sk)", values
	case sp.from != "" && sp.until != "": // BETWEEN includes its upper end, which is no row's id
		values[":from"], values[":until"] = str(sp.from), str(sp.until)
		return "PK = :pk AND SK BETWEEN :from AND :until", values
	case sp.from != "":
		values[":from"] = str(sp.from)
		return "PK = :pk AND SK >= :from", values
	case sp.until != "":
		values[":until"] = str(sp.until)
		return "PK = :pk AND SK < :until", values
	default:
		return "PK = :pk", values
	}
}

// query reads a span, strongly consistent, and reports whether more rows follow.
func (s *Store) query(ctx context.Context, sp span) (rows []item, more bool, err error) {
	when, values := sp.condition()
	in := &dynamodb.QueryInput{
		TableName: s.table, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!sp.reverse),
		KeyConditionExpression: aws.String(when), ExpressionAttributeValues: values,
	}
	if sp.after != "" {
		in.ExclusiveStartKey = key{sp.pk, sp.after}.attributes()
	}
	for {
		// One row more than the limit shows that there is a next page.
		in.Limit = aws.Int32(int32(sp.limit + 1 - len(rows))) //nolint:gosec // limit is at most 1,000
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return nil, false, unavailable(err)
		}
		for _, row := range out.Items {
			rows = append(rows, row)
		}
		if len(rows) > sp.limit {
			return rows[:sp.limit], true, nil
		}
		if out.LastEvaluatedKey == nil {
			return rows, false, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

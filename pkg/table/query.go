package table

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Span is a range of one partition. DynamoDB accepts one condition on the sort key, so only the
// first of Prefix, From and Until that is not "" counts.
type Span struct {
	PK     string
	Prefix string // the beginning of the sort keys
	From   string // this sort key and later ones
	Until  string // sort keys before this one

	Filter Condition // on other attributes than the keys: DynamoDB leaves rows out after it has read them; nil: none

	After   string // only rows with a later sort key (in reverse: an earlier one); "": all
	Reverse bool   // from the last sort key to the first
	Limit   int    // the largest number of rows
}

// condition returns the key condition of a query, and its values.
func (s Span) condition() (string, Row) {
	values := Row{":pk": text(s.PK)}
	switch {
	case s.Prefix != "":
		values[":sk"] = text(s.Prefix)
		return "PK = :pk AND begins_with(SK, :sk)", values
	case s.From != "":
		values[":from"] = text(s.From)
		return "PK = :pk AND SK >= :from", values
	case s.Until != "":
		values[":until"] = text(s.Until)
		return "PK = :pk AND SK < :until", values
	default:
		return "PK = :pk", values
	}
}

// Query reads a span, and reports whether more rows follow.
func (t *Table) Query(ctx context.Context, s Span) (rows []Row, more bool, err error) {
	in, err := t.query(s)
	if err != nil {
		return nil, false, err
	}
	// One row more than the limit shows that there is a next page.
	rows, err = t.rows(ctx, in, s.Limit+1, s.Limit+1, nil)
	if err != nil || len(rows) <= s.Limit {
		return rows, false, err
	}
	return rows[:s.Limit], true, nil
}

// Part reads the beginning of a span by one call. It reads at most s.Limit rows, including rows that the filter leaves out. end is the
// sort key of the last row that it has read, "" when no more follow.
func (t *Table) Part(ctx context.Context, s Span) (rows []Row, end string, err error) {
	in, err := t.query(s)
	if err != nil {
		return nil, "", err
	}
	in.Limit = aws.Int32(int32(s.Limit)) //nolint:gosec // at most some thousands
	out, err := t.db.Query(ctx, in)
	if err != nil {
		return nil, "", t.fault(err)
	}
	for _, row := range out.Items {
		rows = append(rows, row)
	}
	if out.LastEvaluatedKey != nil {
		end = Row(out.LastEvaluatedKey).Key().SK
	}
	return rows, end, nil
}

// query returns the call that reads a span.
func (t *Table) query(s Span) (*dynamodb.QueryInput, error) {
	when, values := s.condition()
	in := &dynamodb.QueryInput{
		TableName: t.name, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!s.Reverse),
		KeyConditionExpression: aws.String(when), ExpressionAttributeValues: values,
	}
	if s.Filter != nil {
		e := render(s.Filter)
		if e.err != nil {
			return nil, e.err
		}
		in.FilterExpression, in.ExpressionAttributeNames = e.condition(), e.names
		maps.Copy(values, e.values)
	}
	if s.After != "" {
		in.ExclusiveStartKey = Key{s.PK, s.After}.attributes()
	}
	return in, nil
}

// rows reads a query until limit rows count, at most page rows with each call. Rows for which counts is
// false are returned too (nil: all rows count). It also stops at 2*limit rows in all, so that rows that do
// not count cannot make it read endlessly. With an error, it returns the rows that it has read before.
func (t *Table) rows(ctx context.Context, in *dynamodb.QueryInput, limit, page int, counts func(Row) bool) (rows []Row, err error) {
	for counted := 0; counted < limit && len(rows) < 2*limit; {
		in.Limit = aws.Int32(int32(min(limit-counted, page))) //nolint:gosec // a page is at most some thousands
		out, err := t.db.Query(ctx, in)
		if err != nil {
			return rows, t.fault(err)
		}
		for _, row := range out.Items {
			rows = append(rows, row)
			if counts == nil || counts(row) {
				counted++
			}
		}
		if out.LastEvaluatedKey == nil {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	return rows, nil
}

// Index is a sparse index: it has the rows with both attributes.
type Index struct {
	Name string
	PK   Text[string]
	SK   Int
}

// indexPage bounds the rows that one call for the index returns, so that decoding the answer needs little
// memory.
const indexPage = 1000

// Index reads rows of one partition of the index with sort keys between two numbers, both included. It
// stops when limit rows count, or at 2*limit rows in all. Rows for which counts is false are returned too.
// The index is a little late: it may lack the last changes of the table. With an error, Index returns the
// rows that it has read before.
func (t *Table) Index(ctx context.Context, partition string, from, to int64, limit int, counts func(Row) bool) ([]Row, error) {
	i := t.rules.Index
	return t.rows(ctx, &dynamodb.QueryInput{
		TableName: t.name, IndexName: aws.String(i.Name),
		KeyConditionExpression:    aws.String(string(i.PK) + " = :pk AND " + string(i.SK) + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: Row{":pk": text(partition), ":from": number(from), ":to": number(to)},
	}, limit, indexPage, counts)
}

package table

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Mark changes one row, and reports whether the condition held. The SDK may send an update again
// when the answer was lost. An update that then finds its own proof (Attribute.Prove) is done. When
// the condition did not hold, Mark returns the error of refuse, or nil when refuse is nil.
func (t *Table) Mark(ctx context.Context, k Key, when Condition, refuse Refusal, changes ...Change) (done bool, err error) {
	e := render(when, changes...)
	found, done, err := t.change(ctx, k, e, types.ReturnValueNone)
	if err != nil {
		return false, err
	}
	if done || t.hasProof(found, e.proof) {
		return true, nil
	}
	if refuse != nil {
		err = refuse(found)
	}
	return false, err
}

// Edit changes one row, and reports whether the condition held. If it did, row has the changes. If
// not, row is the row that failed the condition, nil when there was none.
func (t *Table) Edit(ctx context.Context, k Key, when Condition, changes ...Change) (row Row, done bool, err error) {
	return t.change(ctx, k, render(when, changes...), types.ReturnValueAllNew)
}

// change makes an update, and makes it again after a conflict. When done is false and err is nil, the
// condition failed on row.
func (t *Table) change(ctx context.Context, k Key, e *Expression, returns types.ReturnValue) (row Row, done bool, err error) {
	if e.err != nil {
		return nil, false, e.err
	}
	in := t.update(k, e)
	in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = returns, oldRow
	err = t.try(ctx, conflictTries, func() (again bool, answer error) {
		out, err := t.db.UpdateItem(ctx, in)
		var refused *types.ConditionalCheckFailedException
		switch {
		case err == nil:
			row, done = out.Attributes, true
			return false, nil
		case errors.As(err, &refused):
			row = foundRow(refused.Item)
			return false, nil
		case isConflict(err):
			return true, err
		}
		return false, t.fault(err)
	})
	return row, done, err
}

// Create writes a row whose key was made for it. It is one write, which costs half as much as a
// transaction that has only this write. As with Txn.Create, the whole row is the proof for a later try,
// so each change must be a Set.
func (t *Table) Create(ctx context.Context, k Key, changes ...Change) error {
	asProof := func(e *Expression) { e.proof, e.err = e.row, e.onlySets() }
	_, err := t.Mark(ctx, k, Absent, func(Row) error { return errTaken }, Changes(changes...), asProof)
	return err
}

// Put writes a row, and replaces an earlier row. It may be sent again: the last write counts. Each change must be a Set.
func (t *Table) Put(ctx context.Context, k Key, changes ...Change) error {
	e := render(nil, changes...)
	if err := e.onlySets(); err != nil {
		return err
	}
	row := k.attributes()
	maps.Copy(row, e.row)
	_, err := t.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: t.name, Item: row})
	if err != nil {
		return t.fault(err)
	}
	return nil
}

var errTaken = errors.New("table: the key of a new row is taken")

// Note changes one row in a single try: the SDK does not try again either. It is for a change that may be
// lost, and must not make the caller wait.
func (t *Table) Note(ctx context.Context, k Key, when Condition, changes ...Change) error {
	e := render(when, changes...)
	if e.err != nil {
		return e.err
	}
	_, err := t.db.UpdateItem(ctx, t.update(k, e), func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	return err
}

// Take changes one row, and returns the changed row. With done false, it returns the row that failed the condition. The change must
// not be made twice, so the SDK does not send it again: when the answer is lost, it is not known whether the row has changed. Take
// tries again only after a throttled request or a conflict. The error wraps ErrRefused when the row has surely not changed.
func (t *Table) Take(ctx context.Context, k Key, when Condition, changes ...Change) (row Row, done bool, err error) {
	e := render(when, changes...)
	if e.err != nil {
		return nil, false, e.err
	}
	in := t.update(k, e)
	in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = types.ReturnValueAllNew, oldRow
	err = t.try(ctx, conflictTries, func() (again bool, answer error) {
		out, err := t.db.UpdateItem(ctx, in, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		var failed *types.ConditionalCheckFailedException
		switch {
		case err == nil:
			row, done = out.Attributes, true
			return false, nil
		case errors.As(err, &failed):
			row = foundRow(failed.Item)
			return false, nil
		case isSlowed(err), isConflict(err):
			return true, errors.Join(ErrRefused, err)
		case isRefused(err):
			err = errors.Join(ErrRefused, err)
		}
		return false, t.fault(err)
	})
	return row, done, err
}

// isRefused reports whether DynamoDB has answered that it does not carry out a request.
func isRefused(err error) bool {
	var answer interface{ HTTPStatusCode() int } // the SDK's type of an answer that is an error
	return errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 4
}

// isSlowed reports whether a request was throttled.
func isSlowed(err error) bool {
	return retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err).Bool()
}

func (t *Table) update(k Key, e *Expression) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: t.name, Key: k.attributes(), UpdateExpression: e.update(), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}
}

package table

import (
	"context"
	"errors"

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
	if done || t.holds(found, e.proof) {
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
// transaction with this write alone. As with Txn.Create, the whole row is the proof for a later try,
// so each change must be a Set.
func (t *Table) Create(ctx context.Context, k Key, changes ...Change) error {
	asProof := func(e *Expression) { e.proof, e.err = e.row, e.onlySets() }
	_, err := t.Mark(ctx, k, Absent, func(Row) error { return errTaken }, Changes(changes...), asProof)
	return err
}

var errTaken = errors.New("table: the key of a new row is taken")

// Note changes one row in a single try, also of the SDK: for a change that may be lost, and must not
// make the caller wait.
func (t *Table) Note(ctx context.Context, k Key, when Condition, changes ...Change) error {
	e := render(when, changes...)
	if e.err != nil {
		return e.err
	}
	_, err := t.db.UpdateItem(ctx, t.update(k, e), func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	return err
}

func (t *Table) update(k Key, e *Expression) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: t.name, Key: k.attributes(), UpdateExpression: e.update(), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}
}

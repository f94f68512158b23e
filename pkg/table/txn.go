package table

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Refusal turns a failed condition into the caller's error. found is the row that failed it, nil
// when there was none.
type Refusal func(found Row) error

// Raced is the refusal of a condition on a row that was read before. It returns ErrRaced.
func Raced(Row) error { return ErrRaced }

// Txn is one transaction. Make it with Begin, and end it with Commit. It names a row only once.
// When the conditions of several operations fail, the caller gets the error of the operation that
// was added first (but see Rules.First).
//
// The database can carry out a try after the caller has stopped waiting for its answer. The next
// try then fails on the rows that the earlier try has written. The client token prevents this only
// if the database already knows the token of the earlier try. So an operation can prove that the
// transaction was carried out: Create by its whole row, any other operation by Attribute.Prove.
// When a later try finds the proof, the transaction is done, even if other conditions fail by then.
type Txn struct {
	// GiveWay makes Commit return ErrRaced after the first conflict, in place of another try. It is
	// for a row that many requests try to write and only the first one writes: the others only need to
	// read it. While an earlier try may still be carried out, Commit does not give way: the caller would
	// make other ids, and so do the same thing twice.
	GiveWay bool

	// Within bounds the time of Commit, unless it is 0. Error then: a fault.
	Within time.Duration

	table      *Table
	operations []operation
	err        error
}

type operation struct {
	key    Key
	write  types.TransactWriteItem
	refuse Refusal // nil: the condition never fails, or its failure is an internal error
	proof  Row     // a row with these attributes proves that the transaction was carried out; or nil
}

// Begin begins a transaction.
func (t *Table) Begin() *Txn { return &Txn{table: t} }

// Fail makes Commit return an error, and send nothing.
func (t *Txn) Fail(err error) { t.err = errors.Join(t.err, err) }

func (t *Txn) add(k Key, write types.TransactWriteItem, e *Expression, refuse Refusal) {
	if slices.ContainsFunc(t.operations, func(o operation) bool { return o.key == k }) {
		t.Fail(fmt.Errorf("table: a transaction names the row %s %s twice", k.PK, k.SK))
	}
	t.Fail(e.err)
	t.operations = append(t.operations, operation{k, write, refuse, e.proof})
}

// oldRow makes DynamoDB return the row that failed a condition, for the Refusal and for the proof.
const oldRow = types.ReturnValuesOnConditionCheckFailureAllOld

// Check adds a condition on a row that the transaction does not write.
func (t *Txn) Check(k Key, when Condition, refuse Refusal) {
	e := render(when)
	t.add(k, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: t.table.name, Key: k.attributes(), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: oldRow,
	}}, e, refuse)
}

// Put writes a whole row, with the attributes that the changes set.
func (t *Txn) Put(k Key, when Condition, refuse Refusal, changes ...Change) {
	// A put has the attributes as a row and not as an expression, so only the condition's names and values are sent.
	e, set := render(when), render(nil, changes...)
	t.Fail(set.onlySets())
	row := k.attributes()
	maps.Copy(row, set.row)
	e.proof = set.proof
	t.add(k, types.TransactWriteItem{Put: &types.Put{
		TableName: t.table.name, Item: row, ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: oldRow,
	}}, e, refuse)
}

// Create puts a row whose key was made for this transaction. No other transaction writes this row,
// so the whole row is the proof.
func (t *Txn) Create(k Key, changes ...Change) {
	t.Put(k, Absent, nil, changes...)
	last := &t.operations[len(t.operations)-1]
	last.proof = last.write.Put.Item
}

// Update changes a row.
func (t *Txn) Update(k Key, when Condition, refuse Refusal, changes ...Change) {
	e := render(when, changes...)
	t.add(k, types.TransactWriteItem{Update: &types.Update{
		TableName: t.table.name, Key: k.attributes(), UpdateExpression: e.update(), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: oldRow,
	}}, e, refuse)
}

// Delete deletes a row.
func (t *Txn) Delete(k Key, when Condition, refuse Refusal) {
	e := render(when)
	t.add(k, types.TransactWriteItem{Delete: &types.Delete{
		TableName: t.table.name, Key: k.attributes(), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: oldRow,
	}}, e, refuse)
}

// Commit runs the transaction, if it has an operation. It tries again after a conflict, which the SDK never does. Each try
// has the same client token, so that a transaction whose answer was lost is not done twice.
//
// For a failed condition Commit returns the error of its Refusal, but nil when the condition failed
// on a row that this transaction has written itself. When an earlier try had no answer, that try may
// still be carried out, so the refusal is not sure: Commit then returns a fault that wraps it. A use
// case that knows the refusal to be final finds it with errors.Is.
func (t *Txn) Commit(ctx context.Context) error {
	if t.err != nil || len(t.operations) == 0 {
		return t.err
	}
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(rand.Text())}
	for _, o := range t.operations {
		in.TransactItems = append(in.TransactItems, o.write)
	}
	if t.Within != 0 {
		within, end := context.WithTimeout(ctx, t.Within)
		defer end()
		ctx = within
	}
	var tries watchedTries
	return t.table.try(ctx, conflictTries, func() (again bool, answer error) {
		_, err := t.table.db.TransactWriteItems(ctx, in, tries.watch)
		if err == nil {
			return false, nil
		}
		again, answer = t.outcome(err, tries.unanswered)
		if again && t.GiveWay && !tries.unanswered && !inProgress(err) {
			return false, ErrRaced
		}
		return again, answer
	})
}

// watchedTries notes whether any try of a call, also one that the SDK repeats by itself, had no answer of
// the database, or an answer that does not show whether the call was carried out.
type watchedTries struct{ unanswered bool }

// watch is an option of a call. The SDK shows the error of each try to the call's Retryer, so watch wraps that.
func (w *watchedTries) watch(o *dynamodb.Options) { o.Retryer = &watchingRetryer{o.Retryer, w} }

type watchingRetryer struct {
	aws.Retryer
	tries *watchedTries
}

// IsErrorRetryable notes the error of a try, and leaves the decision to the wrapped Retryer.
func (w *watchingRetryer) IsErrorRetryable(err error) bool {
	var answer interface{ HTTPStatusCode() int }
	// After a 5xx, the database may have carried out the call nevertheless.
	isClear := errors.As(err, &answer) &&
		answer.HTTPStatusCode() >= http.StatusOK && answer.HTTPStatusCode() < http.StatusInternalServerError
	if !isClear {
		w.tries.unanswered = true
	}
	return w.Retryer.IsErrorRetryable(err)
}

// outcome reports whether to try again after a failed try. If so, answer is the cause. If not,
// answer is the result of the transaction: nil when an earlier try was carried out. unanswered means
// that some try had no answer, so that it may still be carried out.
func (t *Txn) outcome(err error, unanswered bool) (again bool, answer error) {
	if isConflict(err) {
		return true, err
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false, t.table.fault(err)
	}
	if t.foundProof(cancelled.CancellationReasons) {
		return false, nil
	}
	// DynamoDB does not evaluate the condition of an operation that met a conflict or was throttled. The
	// refusal of this operation could win over the known refusals, so try again.
	for _, r := range cancelled.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			return true, err
		}
	}
	answer = t.refused(cancelled)
	if unanswered {
		answer = t.table.fault(errors.Join(errUnanswered, answer))
	}
	return false, answer
}

var errUnanswered = errors.New("table: an earlier try of a refused transaction had no answer")

// foundProof reports whether a condition failed on a row that proves that the transaction is done.
func (t *Txn) foundProof(reasons []types.CancellationReason) bool {
	for i, r := range reasons {
		if failed(r) && i < len(t.operations) && t.table.hasProof(r.Item, t.operations[i].proof) {
			return true
		}
	}
	return false
}

func failed(r types.CancellationReason) bool { return aws.ToString(r.Code) == "ConditionalCheckFailed" }

// refused returns the error of a transaction that was cancelled because conditions failed: the error of
// the first failed condition. An error that Rules.First selects wins.
func (t *Txn) refused(err *types.TransactionCanceledException) (answer error) {
	for i, r := range err.CancellationReasons {
		if !failed(r) || i >= len(t.operations) { // a reason beyond the operations is a mistake of the database
			continue
		}
		refused := fmt.Errorf("table: condition %d of a transaction failed: %w", i, err)
		if refuse := t.operations[i].refuse; refuse != nil {
			refused = refuse(foundRow(r.Item))
		}
		if t.table.rules.First(refused) {
			return refused
		}
		if answer == nil {
			answer = refused
		}
	}
	if answer == nil {
		return fmt.Errorf("table: transaction cancelled: %w", err) // not by a condition: a mistake of the program
	}
	return answer
}

// foundRow returns the row that failed a condition, nil when there was none: the SDK may give an
// empty row then.
func foundRow(row Row) Row {
	if len(row) == 0 {
		return nil
	}
	return row
}

// hasProof reports whether a row has the attributes of a proof. The attributes of the index and the TTL are not
// compared: another process may change them soon after the row was written.
func (t *Table) hasProof(row, proof Row) bool {
	if proof == nil || len(row) == 0 {
		return false
	}
	for name, value := range proof {
		mayChange := name == string(t.rules.Index.PK) || name == string(t.rules.Index.SK) || name == t.rules.TTL
		if !mayChange && !reflect.DeepEqual(row[name], value) {
			return false
		}
	}
	return true
}

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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Refusal turns a failed condition into the caller's error. found is the row that failed it, nil
// when there was none.
type Refusal func(found Row) error

// Raced is the refusal of a condition on a row that was read before. It returns ErrRaced.
func Raced(Row) error { return ErrRaced }

// Txn is one transaction. Operations are added in the order in which their refusals are
// returned. A transaction names a row only once. Make it with Begin, and end it with Commit.
//
// A try of a transaction can be carried out after its caller has stopped waiting, and the next
// try then fails on the rows that the first has written. The client token covers this only where
// the database already knows it. So an operation can prove that the transaction was carried out:
// Create by its whole row, and any other by Attribute.Prove. When a later try finds the proof,
// the transaction is done, whichever other conditions fail by then.
type Txn struct {
	// GiveWay makes a conflict return ErrRaced at once, and the transaction is not sent again.
	// It is for a row that many requests want and the first one gets: the others need only read.
	GiveWay bool

	table      *Table
	operations []operation
	err        error
}

type operation struct {
	key    Key
	write  types.TransactWriteItem
	refuse Refusal
	proof  Row // nil: none
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
	e, set := render(when), render(nil, changes...)
	t.Fail(set.put())
	row := k.attributes()
	maps.Copy(row, set.row)
	e.proof = set.proof
	t.add(k, types.TransactWriteItem{Put: &types.Put{
		TableName: t.table.name, Item: row, ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: oldRow,
	}}, e, refuse)
}

// Create puts a row whose key was made for this transaction.
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

// Commit runs the transaction. It tries again after a conflict, which the SDK never does, with
// the same client token, so that a transaction whose answer was lost is not done twice. For a
// failed condition it returns the error of its refusal, unless the transaction met its own
// writes: then it is done. When an earlier try had no answer, it may still arrive and be carried out: then a
// refusal is a fault. Its cause is the refusal, for a use case that knows it to be final (errors.Is).
func (t *Txn) Commit(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(rand.Text())}
	for _, o := range t.operations {
		in.TransactItems = append(in.TransactItems, o.write)
	}
	var tries unanswered
	return t.table.try(ctx, conflictTries, func() (again bool, answer error) {
		_, err := t.table.db.TransactWriteItems(ctx, in, tries.watch)
		if err == nil {
			return false, nil
		}
		again, answer = t.outcome(err, tries.any)
		if again && t.GiveWay {
			return false, ErrRaced
		}
		return again, answer
	})
}

// unanswered notes whether a try of a call had no answer of the database.
type unanswered struct{ any bool }

// watch is an option of a call, by which each of the SDK's tries is noted.
func (u *unanswered) watch(o *dynamodb.Options) { o.Retryer = &watchedRetries{o.Retryer, u} }

// watchedRetries asks the retries of the call, which see the error of each try.
type watchedRetries struct {
	aws.Retryer
	tries *unanswered
}

// IsErrorRetryable notes an error that is no answer of the database, or one that does not say what was done.
func (w *watchedRetries) IsErrorRetryable(err error) bool {
	var answered interface{ HTTPStatusCode() int }
	if !errors.As(err, &answered) || answered.HTTPStatusCode() < http.StatusOK || answered.HTTPStatusCode() >= http.StatusInternalServerError {
		w.tries.any = true
	}
	return w.Retryer.IsErrorRetryable(err)
}

// outcome reports whether to try again after a failed try. If so, answer is the cause. If not,
// answer is the result of the transaction: nil when an earlier try was carried out. onItsWay means that
// an earlier try had no answer.
func (t *Txn) outcome(err error, onItsWay bool) (again bool, answer error) {
	if isConflict(err) {
		return true, err
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false, t.table.fault(err)
	}
	if t.metItself(cancelled.CancellationReasons) {
		return false, nil
	}
	// A conflict hides conditions that were not evaluated. An answer now could be of lower rank
	// than theirs, so try again.
	for _, r := range cancelled.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			return true, err
		}
	}
	answer = t.refused(cancelled)
	if onItsWay {
		answer = t.table.fault(errors.Join(errOnItsWay, answer))
	}
	return false, answer
}

var errOnItsWay = errors.New("table: an earlier try of a refused transaction had no answer")

// metItself reports whether a condition failed on a row that proves that the transaction is done.
func (t *Txn) metItself(reasons []types.CancellationReason) bool {
	for i, r := range reasons {
		if failed(r) && i < len(t.operations) && t.table.holds(r.Item, t.operations[i].proof) {
			return true
		}
	}
	return false
}

func failed(r types.CancellationReason) bool { return aws.ToString(r.Code) == "ConditionalCheckFailed" }

// refused returns the error of a transaction that was cancelled because a condition failed: the error of the first
// failed condition. An error that Rules.First selects wins.
func (t *Txn) refused(err *types.TransactionCanceledException) (answer error) {
	for i, r := range err.CancellationReasons {
		if !failed(r) || i >= len(t.operations) {
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
		return fmt.Errorf("table: transaction cancelled: %w", err) // malformed: a mistake of the program
	}
	return answer
}

// foundRow returns the row that failed a condition, nil when there was none.
func foundRow(row Row) Row {
	if len(row) == 0 {
		return nil
	}
	return row
}

// holds reports whether a row has the attributes of a proof. Those of the index do not count: a
// row leaves the index when its time has come.
func (t *Table) holds(row, proof Row) bool {
	for name, value := range proof {
		ofIndex := name == string(t.rules.Index.PK) || name == string(t.rules.Index.SK)
		if !ofIndex && !reflect.DeepEqual(row[name], value) {
			return false
		}
	}
	return proof != nil && len(row) > 0
}

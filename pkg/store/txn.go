package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/problem"
)

// refusal turns a failed condition into the caller's error. found is the row that failed it, nil
// when there was none.
type refusal func(found item) error

// txn is one transaction. Operations are added in the order in which their refusals are
// returned: caller, idempotency, existence, state, limit. A transaction may name a row only
// once.
type txn struct {
	ops      []types.TransactWriteItem
	refusals []refusal
	proofs   []item // by operation; nil: its row proves nothing (own)

	// reread makes a conflict return errRaced at once, and the transaction is not sent again. It
	// is for a row that many requests want and the first one gets: the others need only read.
	reread bool
}

// expr is a condition or an update, or both, with its values. names has the names of the form
// "#role".
type expr struct {
	update string
	when   string
	names  map[string]string
	values item
}

func (e expr) valuesOrNil() item {
	if len(e.values) == 0 {
		return nil
	}
	return e.values
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

const oldRow = types.ReturnValuesOnConditionCheckFailureAllOld

func (t *txn) add(op types.TransactWriteItem, no refusal) {
	t.ops = append(t.ops, op)
	t.refusals = append(t.refusals, no)
	t.proofs = append(t.proofs, nil)
}

// check adds a condition on a row that the transaction does not write.
func (t *txn) check(table *string, k key, e expr, no refusal) {
	t.add(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: table, Key: k.attributes(), ConditionExpression: aws.String(e.when),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: oldRow,
	}}, no)
}

// put writes a whole row. With e.when "" it has no condition.
func (t *txn) put(table *string, k key, attrs item, e expr, no refusal) {
	t.add(types.TransactWriteItem{Put: &types.Put{
		TableName: table, Item: k.with(attrs), ConditionExpression: textOrNil(e.when),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: oldRow,
	}}, no)
}

// update changes a row.
func (t *txn) update(table *string, k key, e expr, no refusal) {
	t.add(types.TransactWriteItem{Update: &types.Update{
		TableName: table, Key: k.attributes(), UpdateExpression: aws.String(e.update), ConditionExpression: textOrNil(e.when),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: oldRow,
	}}, no)
}

// remove deletes a row.
func (t *txn) remove(table *string, k key, e expr, no refusal) {
	t.add(types.TransactWriteItem{Delete: &types.Delete{
		TableName: table, Key: k.attributes(), ConditionExpression: textOrNil(e.when),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.valuesOrNil(),
		ReturnValuesOnConditionCheckFailure: oldRow,
	}}, no)
}

// ifAbsent is the condition that there is no row yet.
const ifAbsent = "attribute_not_exists(PK)"

// commit runs the transaction. It tries again after a conflict, which the SDK never does, with
// the same client token, so that a transaction whose answer was lost is not done twice. For a
// failed condition it returns the error of its refusal, unless the transaction met its own
// writes (own): then it is done.
func (s *Store) commit(ctx context.Context, t *txn) error {
	token, err := clientToken()
	if err != nil {
		return unavailable(err)
	}
	in := &dynamodb.TransactWriteItemsInput{TransactItems: t.ops, ClientRequestToken: aws.String(token)}
	var last error
	for try := range conflictTries {
		if err := pause(ctx, try); err != nil {
			return unavailable(errors.Join(err, last))
		}
		_, err := s.db.TransactWriteItems(ctx, in)
		if err == nil {
			return nil
		}
		again, refused := t.outcome(err)
		if !again {
			return refused
		}
		if t.reread {
			return errRaced
		}
		last = err
	}
	return unavailable(errors.Join(errBusy, last))
}

// outcome reports whether to try again after a failed try. If not, answer is the result of the
// transaction: nil when an earlier try was carried out.
func (t *txn) outcome(err error) (again bool, answer error) {
	var busy *types.TransactionInProgressException
	var conflict *types.TransactionConflictException
	if errors.As(err, &busy) || errors.As(err, &conflict) {
		return true, nil
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false, unavailable(err)
	}
	if t.metItself(cancelled.CancellationReasons) {
		return false, nil
	}
	// A conflict hides conditions that were not evaluated. An answer now could
	// be of lower rank (an existence error to a stranger), so try again.
	for _, r := range cancelled.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			return true, nil
		}
	}
	return false, t.refused(cancelled)
}

// refused returns the error of a transaction that was cancelled for another reason than a
// conflict: that of the first condition that failed, but org_not_found before all others.
func (t *txn) refused(err *types.TransactionCanceledException) (answer error) {
	for i, r := range err.CancellationReasons {
		if aws.ToString(r.Code) != "ConditionalCheckFailed" || i >= len(t.refusals) {
			continue
		}
		refused := fmt.Errorf("store: condition %d of a transaction failed: %w", i, err)
		if t.refusals[i] != nil {
			var found item
			if len(r.Item) > 0 {
				found = r.Item
			}
			refused = t.refusals[i](found)
		}
		if problem.Is(refused, problem.OrgNotFound) {
			return refused
		}
		if answer == nil {
			answer = refused
		}
	}
	if answer == nil {
		return fmt.Errorf("store: transaction cancelled: %w", err) // malformed: our own mistake
	}
	return answer
}

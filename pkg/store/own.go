package store

import (
	"crypto/rand"
	"maps"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A try of a transaction can be carried out after its caller has stopped waiting, and the next
// try then fails on the rows that the first has written. The client token covers this only where
// the database already knows it. So a transaction has a row that only it can have written. When
// the next try finds this row, the transaction is done, whichever other conditions fail by then.

// attrWrittenBy is a random text of the transaction that changed the row last. It is for rows on
// which nothing else distinguishes two transactions.
const attrWrittenBy = "writtenBy"

// own makes the row of the last operation a proof: a row with these attributes was written by
// this transaction and no other.
func (t *txn) own(attrs item) { t.proofs[len(t.proofs)-1] = attrs }

// create puts a row whose key was minted for this transaction.
func (t *txn) create(table *string, k key, attrs item) {
	t.put(table, k, attrs, expr{when: ifAbsent}, nil)
	t.own(attrs)
}

// updateOwn changes a row, and marks the row as changed by this transaction. The update begins
// with SET.
func (t *txn) updateOwn(table *string, k key, e expr, no refusal) {
	mark := item{attrWrittenBy: str(rand.Text())}
	e.update = "SET writtenBy = :writtenBy, " + strings.TrimPrefix(e.update, "SET ")
	e.values = maps.Clone(e.values)
	e.values[":writtenBy"] = mark[attrWrittenBy]
	t.update(table, k, e, no)
	t.own(mark)
}

// metItself reports whether a condition failed on a row that proves that the transaction is done.
func (t *txn) metItself(reasons []types.CancellationReason) bool {
	for i, r := range reasons {
		failed := aws.ToString(r.Code) == "ConditionalCheckFailed"
		if failed && i < len(t.proofs) && t.proofs[i] != nil && item(r.Item).holds(t.proofs[i]) {
			return true
		}
	}
	return false
}

// holds reports whether a row has the attributes. Those of the index due do not count: a row
// leaves the index when its time has come.
func (i item) holds(attrs item) bool {
	for name, value := range attrs {
		if name != attrDue && name != attrDueAt && !reflect.DeepEqual(i[name], value) {
			return false
		}
	}
	return len(i) > 0
}

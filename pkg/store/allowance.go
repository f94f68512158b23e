package store

import (
	"context"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
)

// Allowance is a limit of all API keys of an org together, which only services set. The row of each key has a copy, so that a check
// of the key reads no other row. The org's row has it to be shown, and to be copied to a new key. The row of the active keys has it
// so that the transaction of a new key, which changes that row anyway, checks that it copied the present one.
type Allowance struct {
	Text    string // of limit.Rules.Text; "": none
	Version int64  // one more with each change; 0: the org never had one
}

func allowanceFrom(r *table.Reading) Allowance {
	return Allowance{attrAllowance.OrZero(r), attrAllowanceVersion.OrZero(r)}
}

// set writes an allowance into a row.
func (w Allowance) set() table.Change {
	return table.Changes(attrAllowance.SetOrRemove(w.Text), attrAllowanceVersion.SetOrRemove(w.Version))
}

// isCurrent returns the condition, on the row of the active keys, that an org still has this allowance and that its deletion has not
// begun. The refusal returns org_not_found, table.ErrRaced for another allowance, and otherwise the error of another condition on the row.
func (w Allowance) isCurrent(otherwise error) (table.Condition, table.Refusal) {
	return table.All(keysOpen(), attrAllowanceVersion.IsOrAbsent(w.Version)), func(found table.Row) error {
		is, err := table.Decode(found, allowanceFrom)
		switch {
		case keysClosed(found):
			return errOrgNotFound
		case err == nil && is.Version != w.Version:
			return table.ErrRaced
		}
		return otherwise
	}
}

// setAllowance adds a new allowance to a transaction that writes the org's row itself.
func (t *txn) setAllowance(o id.Org, w Allowance) {
	t.Update(activeKeysRow(o), keysOpen(), unless(keysClosed, table.Raced), w.set())
}

// spreadAllowance copies an org's allowance to the rows of its keys that may be good. A key that is made later has it already. When
// it fails, a repeated change goes on: rows that have this version, or a later one, are left out. DynamoDB leaves out those of
// dead keys, which are many where keys live for a day.
func (s *Store) spreadAllowance(ctx context.Context, o id.Org, w Allowance) error {
	if w.Version == 0 {
		return nil
	}
	behind := table.Any(attrAllowanceVersion.Absent(), attrAllowanceVersion.Under(w.Version))
	mayBeGood := table.All(attrRevokedAt.Absent(), table.Any(attrExpiresAt.Absent(), attrExpiresAt.Over(s.now()-lateExpiry.Milliseconds())))
	keys := table.Span{PK: pkKeys + string(o), Prefix: skKey, Filter: table.All(mayBeGood, behind)}
	return eachPage(ctx, s, keys, apiKeyFrom, func(keys []APIKey) error {
		return inParts(ctx, s, keys, actionsAtOnce, func(t *txn, k APIKey) {
			t.Update(apiKeyRow(o, k.ID), table.All(table.Exists, behind), table.Raced, w.set())
		})
	})
}

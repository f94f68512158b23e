package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// OrgState has settings that services make for an org. Each key of the org has a copy, because a check of a key reads no other row.
// The row of the active keys has the version. The transaction of a new key changes that row, and checks there that it has copied the
// present state.
//
// The suspension of the org is copied too, in another form: the hash of the key's text is in attrHeld in place of attrHash. An older
// program that does not know attrHeld cannot decode such a row: it answers 503, and lets no one in (ADR 49).
type OrgState struct {
	Allowance string // a limit of all API keys of the org together, of limit.Rules.Text; "": none
	Plan      string // the owner's name of the plan that the org has bought, see org.ValidPlan; "": none
	Version   int64  // one more with each change of the state or of the suspension; 0: no change yet
}

func orgStateFrom(r *table.Reading) OrgState {
	return OrgState{attrAllowance.OrZero(r), attrPlan.OrZero(r), attrStateVersion.OrZero(r)}
}

// set writes a state into a row.
func (w OrgState) set() table.Change {
	return table.Changes(attrAllowance.SetOrRemove(w.Allowance), attrPlan.SetOrRemove(w.Plan), attrStateVersion.SetOrRemove(w.Version))
}

// isCurrent returns the condition, on the row of the active keys, that an org still has this state and that its deletion has not
// begun. The refusal is org_not_found, table.ErrRaced for another state, or else the error otherwise.
func (w OrgState) isCurrent(otherwise error) (table.Condition, table.Refusal) {
	return table.All(keysOpen(), attrStateVersion.IsOrAbsent(w.Version)), func(found table.Row) error {
		is, err := table.Decode(found, attrStateVersion.OrZero)
		switch {
		case keysClosed(found):
			return errOrgNotFound
		case err == nil && is != w.Version:
			return table.ErrRaced
		}
		return otherwise
	}
}

// setState writes the state and the suspension into the org's row. It also marks there that the state must be copied to all keys.
func (o Org) setState() table.Change {
	return table.Changes(o.State.set(), attrSuspendedAt.SetOrRemove(o.SuspendedAt), attrSpreadAfter.Set(""))
}

// moveHash returns the change that moves the hash of a key to the attribute for a suspended org (attrHeld), or for any other org
// (attrHash). asRead is the condition that the hash is where it was read.
func (k APIKey) moveHash(suspended bool) (asRead table.Condition, move table.Change) {
	from, to := attrHash, attrHeld
	if k.Held {
		from, to = attrHeld, attrHash
	}
	switch {
	case k.unhashed: // no text matches the row, and this stays so
		return table.All(attrHash.Absent(), attrHeld.Absent()), nil
	case k.Held == suspended:
		return from.Is(k.Hash[:]), nil
	default:
		return from.Is(k.Hash[:]), table.Changes(to.Set(k.Hash[:]), from.Remove())
	}
}

// spreadWithin is the time for which a call copies the state of an org to its keys. It leaves the function time to write its position.
const spreadWithin = 4 * time.Second

// spreadState copies the state of an org to the rows of its keys that may be good, if not all have it yet. A key that is made later has
// it already. If the state changes meanwhile, spreadState continues with the later state. When it returns nil, all keys have the
// caller's state or a later one. When its time (spreadWithin) is over, it writes the last key that it has read, and returns
// unavailable: the next call continues after this key.
func (s *Store) spreadState(ctx context.Context, of Org) error {
	stop := time.Now().Add(s.spreadWithin)
	for of.spreading {
		end, err := s.spread(ctx, of, stop)
		if err != nil {
			return err
		}
		when, change := table.All(attrStateVersion.Is(of.State.Version), attrSpreadAfter.Present()), attrSpreadAfter.Remove()
		if end != "" {
			when, change = table.All(when, attrSpreadAfter.Under(end)), attrSpreadAfter.Set(end)
		}
		t := s.begin()
		t.Update(orgRow(of.ID), when, table.Raced, change)
		err = t.Commit(ctx)
		if end != "" && (err == nil || errors.Is(err, table.ErrRaced)) {
			return problem.New(problem.Unavailable, "The change is stored, but it does not apply to all API keys yet. Send the request again.")
		}
		if !errors.Is(err, table.ErrRaced) {
			return err
		}
		if of, err = find(ctx, s, orgRow(of.ID), orgFrom, errOrgNotFound); err != nil { // the state has changed, or another call has ended
			return err
		}
	}
	return nil
}

// spread copies the state of an org to the rows of its keys, after the key at which an earlier call has stopped. It returns "" when
// all keys have the state, or the last key that it has read when the time is over. The rows of dead keys do not change. DynamoDB
// filters them out, because an org whose keys live for a day has many.
func (s *Store) spread(ctx context.Context, of Org, stop time.Time) (end id.Key, err error) {
	older := table.Any(attrStateVersion.Absent(), attrStateVersion.Under(of.State.Version))
	return s.walkKeys(ctx, of.ID, table.All(s.mayBeGood(), older), of.spreadAfter, stop, func(found []APIKey) (id.Key, error) {
		return "", inParts(ctx, s, found, actionsAtOnce, func(t *txn, k APIKey) {
			asRead, move := k.moveHash(of.SuspendedAt != 0)
			t.Update(apiKeyRow(of.ID, k.ID), table.All(table.Exists, older, asRead), table.Raced, of.State.set(), move)
		})
	})
}

// walkKeys calls do with the keys of an org that pass the filter and that come after the key after. It reads the rows in parts, and
// calls do for each part. It returns "" at the end. When the time is over, it returns the last key that it has read. If do has stopped
// before, it returns the key at which do stopped. When do returns table.ErrRaced, walkKeys reads the part again.
func (s *Store) walkKeys(ctx context.Context, o id.Org, filter table.Condition, after id.Key, stop time.Time, do func([]APIKey) (stopped id.Key, err error)) (end id.Key, err error) {
	keys := table.Span{PK: pkKeys + string(o), Prefix: skKey, Filter: filter, Limit: s.closingPage}
	for end = after; ; {
		if end != "" {
			keys.After = skKey + string(end)
		}
		var stopped id.Key
		err := s.db.Retry(ctx, func() error {
			rows, last, err := s.db.Part(ctx, keys)
			if err != nil {
				return err
			}
			found, err := table.DecodeAll(rows, apiKeyFrom)
			if err != nil {
				return err
			}
			end = id.Key(strings.TrimPrefix(last, skKey))
			stopped, err = do(found)
			return err
		})
		switch {
		case err != nil:
			return "", err
		case stopped != "":
			return stopped, nil
		case end == "" || time.Now().After(stop):
			return end, nil
		}
	}
}

// Suspended reads whether an org is suspended, with one strong read. An unknown org is not suspended.
func (s *Store) Suspended(ctx context.Context, o id.Org) (bool, error) {
	at, _, err := lookup(ctx, s, orgRow(o), attrSuspendedAt.OrZero)
	return at != 0, err
}

// mayBeGood returns the condition, on a key's row, that it is neither revoked nor surely expired.
func (s *Store) mayBeGood() table.Condition {
	return table.All(attrRevokedAt.Absent(), table.Any(attrExpiresAt.Absent(), attrExpiresAt.Over(s.now()-lateExpiry.Milliseconds())))
}

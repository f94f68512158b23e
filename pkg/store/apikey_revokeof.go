package store

import (
	"context"
	"errors"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// positionFor is the time for which the position of RevokeKeysOf is kept for the next call.
const positionFor = 24 * time.Hour

// RevokeKeysOf revokes the keys of an org that the user by created or made by a rotation, unless they surely have ended. It revokes
// each as RevokeKey does. When its time (spreadWithin) is over, it writes the id of the last key that it has read, and returns
// unavailable: the next call continues after this key. No key is skipped, because a later key has a greater id, and a dead key never
// becomes good. A key that is made during the call may stay good. Errors: org_not_found, insufficient_role.
func (s *Store) RevokeKeysOf(ctx context.Context, a Actor, o id.Org, by id.User) error {
	stop, position := time.Now().Add(s.spreadWithin), positionRow(o, by)
	rows, err := s.readAs(ctx, a, o, position)
	if err != nil || by == id.NoUser { // no key has this creator: the bits of NoUser are zero
		return err
	}
	var begin id.Key
	if row := rows[position]; row != nil {
		if begin, err = table.Decode(row, attrRevokedUpTo.OrZero); err != nil {
			return err
		}
	}
	end, err := s.revokeOf(ctx, a, o, by, begin, stop)
	if err != nil || begin == "" && end == "" {
		return err
	}
	when, change := attrRevokedUpTo.Present(), attrRevokedUpTo.Remove()
	if end != "" {
		when = table.Any(attrRevokedUpTo.Absent(), attrRevokedUpTo.Under(end))
		change = table.Changes(attrRevokedUpTo.Set(end), attrPurgeAt.Set(s.Now().Add(positionFor).Unix()))
	}
	t := s.begin()
	t.Update(position, when, table.Raced, change)
	if err = ignoreRaced(t.Commit(ctx)); err == nil && end != "" { // raced: another call has come further, or has ended
		err = problem.New(problem.Unavailable, "Not all keys are revoked yet. Send the request again.")
	}
	return err
}

// revokeOf revokes the keys of RevokeKeysOf with ids after a key. It returns "" at the end, or the last key that it has read when
// the time is over. It reads at least one page or revokes at least one key.
func (s *Store) revokeOf(ctx context.Context, a Actor, o id.Org, by id.User, after id.Key, stop time.Time) (end id.Key, err error) {
	return s.walkKeys(ctx, o, table.All(attrCreatedBy.Is(by.Short()), s.mayBeGood()), after, stop, func(found []APIKey) (stopped id.Key, err error) {
		for i, k := range found {
			if err := s.revokeRead(ctx, a, k); err != nil && !errors.Is(err, errKeyNotFound) { // its row may be deleted by now
				return "", err
			}
			if i < len(found)-1 && time.Now().After(stop) {
				return k.ID, nil
			}
		}
		return "", nil
	})
}

package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

const (
	// actionsAtOnce bounds the actions for a list of items in one transaction. DynamoDB accepts 100 actions:
	// the rest is for other actions.
	actionsAtOnce = 90

	// closingPage is the number of rows of a deleted org that are read at once to be deleted or changed.
	closingPage = 1000

	// closingWithin is the time for which a call revokes the keys of a deleted org. The function has 28 seconds:
	// the rest is for the members.
	closingWithin = 20 * time.Second

	// deletesWithin is the longest time that the request which deletes an org may take. API
	// Gateway waits 29 seconds.
	deletesWithin = time.Minute

	// lateExpiry is the time after its expiry for which a key still counts as usable when an org is
	// deleted, because the clocks of the authorizers differ.
	lateExpiry = time.Minute
)

// The deletion of an org begins with one transaction. It marks the org's row by attrDeletedAt, and the row of the org's active
// keys by attrClosed. A user's change in the org has a condition on one of these rows: notDeleted on the org's row, or keysOpen on
// the row of the active keys. A change that only ends something, such as the deletion of an endpoint, needs no condition. A change
// by an API key has no condition (see inFlight).

// notDeleted is the condition that there is a row, and that it is not deleted. It is for the rows of orgs
// and of endpoints.
func notDeleted() table.Condition { return table.All(table.Exists, attrDeletedAt.Absent()) }

// keysOpen is the condition, on the row of the active keys, that the org's deletion has not begun.
func keysOpen() table.Condition { return table.All(attrLive.Present(), attrClosed.Absent()) }

// orgGone reports whether an org has no row, or its deletion has begun, by the org's row.
func orgGone(meta table.Row) bool { return meta == nil || attrDeletedAt.IsIn(meta) }

// keysClosed is like orgGone, by the row of the org's active keys.
func keysClosed(active table.Row) bool { return active == nil || attrClosed.IsIn(active) }

// unless returns a refusal: org_not_found if the found row shows that the org is gone, or else the error of
// otherwise.
func unless(gone func(table.Row) bool, otherwise table.Refusal) table.Refusal {
	return func(found table.Row) error {
		if gone(found) {
			return errOrgNotFound
		}
		return otherwise(found)
	}
}

// orgIsOpen returns the condition, on an org's row, that the org's deletion has not begun. Unless the actor may act in a suspended org,
// the org must also not be suspended. The refusal is org_not_found, org_suspended, or else the error of otherwise.
func (a Actor) orgIsOpen(otherwise table.Refusal) (table.Condition, table.Refusal) {
	when := notDeleted()
	if !a.WhileSuspended {
		when = table.All(when, attrSuspendedAt.Absent())
	}
	return when, unless(orgGone, func(found table.Row) error {
		if !a.WhileSuspended && attrSuspendedAt.IsIn(found) {
			return errOrgSuspended
		}
		return otherwise(found)
	})
}

// checkOrg makes a transaction fail when the org's deletion has begun, or it is suspended. It is for a transaction that does not
// write the org's row.
func (t *txn) checkOrg(a Actor, o id.Org) {
	when, refusal := a.orgIsOpen(table.Raced)
	t.Check(orgRow(o), when, refusal)
}

// DeleteOrg deletes an org. First it writes that the deletion has begun, then it revokes every
// key, then it removes every member, the caller last, and with the caller it writes that the keys
// have ended. When it returns without an error, each check of the org's keys that begins later refuses
// the key. Each step can be repeated: after an error, any admin who is left can call DeleteOrg again. The
// sweep deletes the rest (EndOrg).
//
// Errors: org_not_found, insufficient_role, a.OldSignIn.
func (s *Store) DeleteOrg(ctx context.Context, a Actor, o id.Org) error {
	var closed Org
	closeOrg := func(mapped bool) error {
		return s.db.Retry(ctx, func() (err error) {
			closed, err = s.closeOrg(ctx, a, o, mapped)
			return err
		})
	}
	err := closeOrg(true)
	if errors.Is(err, errNoMap) { // not even a missing map of the creator's deleted orgs may prevent a deletion
		err = closeOrg(false)
	}
	if err != nil {
		return err
	}
	if err := s.revokeKeys(ctx, closed); err != nil {
		return err
	}
	if err := s.removeMembers(ctx, o, a.User); err != nil {
		return err
	}
	err = s.endKeys(ctx, o, a.User, closed.ExternalID)
	if errors.Is(err, errFreed) { // by another request for the same deletion
		err = s.endKeys(ctx, o, a.User, "")
	}
	return err
}

// errFreed is the refusal to free an external id that the org has no longer.
var errFreed = errors.New("store: the org has this external id no longer")

// endKeys writes that every key of an org is refused, removes the last member ("": a service deletes the org), and frees the
// external id ("": none). It also sets when DynamoDB deletes the org's row of the directory: when its usage is deleted. The sweep
// deletes the rest of an org only after endKeys.
func (s *Store) endKeys(ctx context.Context, o id.Org, last id.User, externalID string) error {
	t := s.begin()
	if last != "" {
		t.removeMembership(o, last)
	}
	if externalID != "" {
		t.Delete(externalRow(externalID), attrOrgID.Is(o), refuse(errFreed))
	}
	now := s.Now()
	t.Update(orgRow(o), attrDeletedAt.Present(), nil, attrKeysEndedAt.SetIfAbsent(now.UnixMilli()))
	t.Update(directoryRow(o), nil, nil, attrPurgeAt.SetIfAbsent(now.Add(usageAfterEnd).Unix()))
	return t.Commit(ctx)
}

// removeMembership deletes both rows of a membership.
func (t *txn) removeMembership(o id.Org, u id.User) {
	t.Delete(memberRow(o, u), nil, nil)
	t.Delete(userOrgRow(u, o), nil, nil)
}

// closeOrg writes that the deletion of an org has begun. From then on no one creates or changes anything in
// the org. The org still counts in its creator's limit for a day, by an entry of the creator's map of deleted
// orgs. Without mapped, for a creator without this map, it stops counting at once. It returns the org. Errors: errNoMap, and
// the errors of DeleteOrg.
func (s *Store) closeOrg(ctx context.Context, a Actor, o id.Org, mapped bool) (Org, error) {
	found, err := s.Org(ctx, a, o)
	if err = cmp.Or(err, a.OldSignIn); err != nil || found.deleted {
		return found, err
	}
	now := s.now()
	t := s.begin()
	t.authorizeMember(a, o)
	t.Update(orgRow(o), table.All(notDeleted(), found.asRead()), table.Raced,
		attrDeletedAt.Set(now), dueAt(DueOrg, orgRow(o), now+deletesWithin.Milliseconds()))
	t.Update(activeKeysRow(o), nil, nil, attrClosed.Set(now), attrPurgeAt.Set(purgeAfter(now)))
	if creator := found.creator.Long(); creator != "" { // the creator's row exists: it stays when the user is erased
		hasMap, count := attrEnded.Present(), table.Entry(attrEnded, string(o)).Set(now)
		if !mapped {
			hasMap, count = nil, table.Add(attrOrgsCreated, -1)
		}
		t.Update(userRow(creator), hasMap, refuse(errNoMap), count)
	}
	t.audit(ctx, entry{
		org: o, at: now, action: "org.deleted", actor: a.id(), target: string(o),
		changes: Changes{"name": {From: found.Name}},
	})
	return found, t.Commit(ctx)
}

// revokeKeys revokes every key of a closed org that may be good. It reads the rows of all keys strongly, because the map of active
// keys lacks keys in their grace. DynamoDB filters out the dead ones. It writes no events and no audit entries for the keys: the entry
// of the deletion is enough. When its time (closingWithin) is over, it writes the last key that it has read, and returns unavailable:
// the next call continues after this key. No key is skipped, because a closed org gets no new key, and a dead key never becomes good.
func (s *Store) revokeKeys(ctx context.Context, of Org) error {
	stop := time.Now().Add(s.closingWithin)
	end, err := s.walkKeys(ctx, of.ID, s.mayBeGood(), of.revokedUpTo, stop, func(good []APIKey) (id.Key, error) {
		return "", inParts(ctx, s, good, actionsAtOnce/2, func(t *txn, k APIKey) {
			now := s.now()
			t.revokeKey(of.ID, k.ID, now, table.Raced)
			t.purgeUse(of.ID, k.ID, now)
		})
	})
	if err != nil || end == "" {
		return err
	}
	isLess := table.Any(attrRevokedUpTo.Absent(), attrRevokedUpTo.Under(end))
	t := s.begin()
	t.Update(orgRow(of.ID), table.All(attrDeletedAt.Present(), isLess), table.Raced, attrRevokedUpTo.Set(end))
	if err := ignoreRaced(t.Commit(ctx)); err != nil { // raced: another call has come further
		return err
	}
	return problem.New(problem.Unavailable, "The deletion of the org has begun, but some of its API keys may still work. Send the request again.")
}

// removeMembers removes every member of a closed org except one, who can repeat the deletion when it fails.
func (s *Store) removeMembers(ctx context.Context, o id.Org, except id.User) error {
	userOf := func(r *table.Reading) id.User { return id.User(r.SK(skMember)) }
	return eachPage(ctx, s, table.Span{PK: pkOrg + string(o), Prefix: skMember}, userOf, func(users []id.User) error {
		others := slices.DeleteFunc(users, func(u id.User) bool { return u == except })
		return inParts(ctx, s, others, actionsAtOnce/2, func(t *txn, u id.User) { t.removeMembership(o, u) })
	})
}

// eachPage calls do with all rows of a span, a page at a time. When do returns table.ErrRaced, because a
// row has changed since it was read, eachPage reads the page again.
func eachPage[T any](ctx context.Context, s *Store, page table.Span, from func(*table.Reading) T, do func([]T) error) error {
	page.Limit = s.closingPage
	for {
		var next string
		err := s.db.Retry(ctx, func() error {
			found, after, err := list(ctx, s, page, from)
			if err != nil || len(found) == 0 {
				return err
			}
			next = after
			return do(found)
		})
		if err != nil || next == "" {
			return err
		}
		page.After = page.Prefix + next
	}
}

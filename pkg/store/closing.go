package store

import (
	"context"
	"slices"
	"time"

	"latchkey/pkg/id"
)

// The attributes of the deletion of an org. deletedAt marks the org's row, closed marks the row
// of its active keys. One transaction sets both.
const (
	attrClosed    = "closed"    // milliseconds
	attrEmptiedAt = "emptiedAt" // when the sweep first found the org without members

	// notDeleted is the condition, on the org's row, of every change in an org.
	notDeleted = "attribute_exists(PK) AND attribute_not_exists(deletedAt)"

	// keysOpen is the same on the row of the org's active keys.
	keysOpen = "attribute_exists(live) AND attribute_not_exists(closed)"

	// actionsAtOnce bounds a transaction. DynamoDB takes 100 actions.
	actionsAtOnce = 90

	// closingPage is how many rows are read at once to be deleted or changed.
	closingPage = 1000

	// deletesWithin is the longest time that the request which deletes an org may take. API
	// Gateway waits 29 seconds.
	deletesWithin = time.Minute

	// lateExpiry is how long after its expiry a key still counts as usable when an org is
	// deleted: the clocks of the authorizers differ.
	lateExpiry = time.Minute
)

// orgGone reports whether an org has no row, or its deletion has begun.
func orgGone(meta item) bool { return meta == nil || meta.num(attrDeletedAt) != 0 }

// unlessGone returns a refusal: org_not_found when the org is gone by its row, or else that of no.
func unlessGone(no refusal) refusal {
	return func(meta item) error {
		if orgGone(meta) {
			return errOrgNotFound()
		}
		return no(meta)
	}
}

// unlessClosed is unlessGone for the row of the org's active keys.
func unlessClosed(no refusal) refusal {
	return func(live item) error {
		if live == nil || live.num(attrClosed) != 0 {
			return errOrgNotFound()
		}
		return no(live)
	}
}

// checkNotDeleted makes a transaction fail when the org's deletion has begun. It does not write the
// org's row.
func (t *txn) checkNotDeleted(table *string, o id.Org) {
	t.check(table, orgKey(o), expr{when: notDeleted}, unlessGone(raced))
}

// DeleteOrg deletes an org. First it writes that the deletion has begun, then it revokes every
// key, then it removes every member, the caller last. When it returns without an error, no check
// of the org's keys that begins later accepts one. Each step can be repeated: after an error,
// any admin who is left can call it again. The sweep deletes the rest (EndOrg).
//
// Errors: org_not_found, insufficient_role.
func (s *Store) DeleteOrg(ctx context.Context, a Actor, o id.Org) error {
	if err := retryRaced(ctx, func() error { return s.closeOrg(ctx, a, o) }); err != nil {
		return err
	}
	if err := s.revokeKeys(ctx, o); err != nil {
		return err
	}
	return s.removeMembers(ctx, o, a.User)
}

// closeOrg writes that the deletion of an org has begun. From then on nothing in the org is
// created or changed.
func (s *Store) closeOrg(ctx context.Context, a Actor, o id.Org) error {
	found, err := s.Org(ctx, a, o)
	if err != nil || found.deleted {
		return err
	}
	now := s.now()
	due := dueAttrs(DueOrg, orgKey(o), now+deletesWithin.Milliseconds())
	t := &txn{}
	t.admit(s.table, a, o)
	t.update(s.table, orgKey(o), expr{
		update: "SET deletedAt = :now, due = :due, dueAt = :dueAt", when: notDeleted + " AND #name = :name",
		names:  map[string]string{"#name": attrName},
		values: item{":now": num(now), ":name": str(found.Name), ":due": due[attrDue], ":dueAt": due[attrDueAt]},
	}, raced)
	t.update(s.table, liveKeysKey(o), expr{
		update: "SET closed = :now, purgeAt = :purge", values: item{":now": num(now), ":purge": num(purgeAfter(now))},
	}, nil)
	if found.creator != "" { // the creator may create another org now; users are never deleted
		t.update(s.table, userKey(found.creator), expr{update: "ADD orgsCreated :less", values: item{":less": num(-1)}}, nil)
	}
	s.audit(ctx, t, entry{
		org: o, at: now, action: "org.deleted", actor: a.User, target: string(o),
		changes: Changes{"name": {From: found.Name}},
	})
	return s.commit(ctx, t)
}

// revokeKeys revokes every key of a closed org that may be good. It reads all rows strongly,
// because the map of active keys lacks keys in their grace. A key has no event or audit entry of
// its own here: the entry of the deletion is enough.
func (s *Store) revokeKeys(ctx context.Context, o id.Org) error {
	return s.eachPage(ctx, span{pk: pkKeys + string(o), prefix: skKey}, func(rows []item) error {
		late := s.now() - lateExpiry.Milliseconds()
		good := slices.DeleteFunc(rows, func(row item) bool {
			k := apiKeyFrom(row)
			return k.RevokedAt != 0 || k.ExpiresAt != 0 && k.ExpiresAt < late
		})
		for keys := range slices.Chunk(good, actionsAtOnce/2) {
			now := s.now()
			t := &txn{}
			for _, row := range keys {
				k := apiKeyFrom(row).ID
				t.update(s.table, apiKeyKey(o, k), revokedAt(now), raced)
				t.purgeUse(s.table, o, k, now)
			}
			if err := s.commit(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeMembers removes every member of a closed org, with both rows. The user last comes last,
// and can repeat the deletion when this fails.
func (s *Store) removeMembers(ctx context.Context, o id.Org, last id.User) error {
	remove := func(users ...id.User) error {
		t := &txn{}
		for _, u := range users {
			t.remove(s.table, memberKey(o, u), expr{}, nil)
			t.remove(s.table, userOrgKey(u, o), expr{}, nil)
		}
		return s.commit(ctx, t)
	}
	err := s.eachPage(ctx, span{pk: pkOrg + string(o), prefix: skMember}, func(rows []item) error {
		var users []id.User
		for _, row := range rows {
			if u := id.User(trimmed(row.str(attrSK), skMember)); u != last {
				users = append(users, u)
			}
		}
		for some := range slices.Chunk(users, actionsAtOnce/2) {
			if err := remove(some...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return remove(last)
}

// eachPage calls do with all rows of a span, a page at a time. It reads a page again when rows
// of it have changed since they were read.
func (s *Store) eachPage(ctx context.Context, sp span, do func(rows []item) error) error {
	sp.limit = closingPage
	for {
		var last string
		var more bool
		err := retryRaced(ctx, func() error {
			rows, left, err := s.query(ctx, sp)
			if err != nil || len(rows) == 0 {
				return err
			}
			last, more = rows[len(rows)-1].str(attrSK), left
			return do(rows)
		})
		if err != nil || !more {
			return err
		}
		sp.after = last
	}
}

package store

import (
	"context"
	"errors"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/table"
)

// The bar row of a revoked key marks that its endpoints or its links ended with it. The bar is a separate row,
// because a check on the key's row would conflict with the key's revocation and delay it.
//
// A key that has a bar row cannot change endpoints. When an admin disables the endpoints of a key, an earlier
// request of the key may still be running. Without the bar, that request could create or change an endpoint
// after the admin's request has listed them.
//
// The mark attrLinksBarredAt on the row also ends the key's pending links. It counts at once, and the sweep
// revokes the rows of the links afterwards.

// checkNotBarred makes a transaction that changes an endpoint fail when the key is barred.
func (t *txn) checkNotBarred(a id.App, k id.Key) {
	t.Check(barredRow(a, k), table.Absent, refuse(errKeyBarred))
}

// linksBarred reports whether the bar row of a key, nil for none, has the mark that no link of the key can be
// claimed.
func linksBarred(bar table.Row) bool { return attrLinksBarredAt.IsIn(bar) }

// bar writes the bar row of a revoked key. To disable the key's endpoints, call bar first and list them afterwards:
// the list has every change that the key made before, and later changes are refused.
//
// mark, if it is not nil, returns the condition that a mark on the row is not set yet, and the change that sets the
// mark; it may add operations to the transaction. Errors: errMarkedAlready, and the errors of Actor.right.
func (s *Store) bar(ctx context.Context, a Actor, k APIKey, mark func(t *txn, now int64) (table.Condition, table.Change)) error {
	now := s.now()
	t := s.begin()
	t.Check(a.right(k.OrgID))
	var notMarked table.Condition
	var setMark table.Change
	if mark != nil {
		notMarked, setMark = mark(t, now)
	}
	t.Update(barredRow(k.AppID, k.ID), notMarked, refuse(errMarkedAlready),
		attrOrgID.Set(k.OrgID), attrCreatedAt.SetIfAbsent(now), attrPurgeAt.Set(purgeAfter(now)), setMark)
	return t.Commit(ctx)
}

// errMarkedAlready is the refusal of a mark that an earlier request has set.
var errMarkedAlready = errors.New("store: the key's bar row has the mark")

// RevokeLinksOf revokes the pending links that a revoked key made: a claim of such a link is refused if it
// begins after RevokeLinksOf has returned. It writes one mark. The sweep revokes the rows of the links
// afterwards (CleanLinks), without an event for each. Errors: org_not_found, insufficient_role, key_not_found.
func (s *Store) RevokeLinksOf(ctx context.Context, a Actor, o id.Org, k id.Key) error {
	revoked, err := s.keyFor(ctx, a, o, k)
	if err != nil {
		return err
	}
	err = s.bar(ctx, a, revoked, func(t *txn, now int64) (table.Condition, table.Change) {
		t.audit(ctx, entry{org: o, at: now, action: "key.links_revoked", actor: a.id(), target: string(k), changes: Changes{}})
		return attrLinksBarredAt.Absent(), table.Changes(
			attrLinksBarredAt.Set(now), attrCleanFrom.Set(""), dueAt(DueBar, barredRow(revoked.AppID, k), now))
	})
	if errors.Is(err, errMarkedAlready) {
		return nil
	}
	return err
}

// CleanLinks reads one page of the links of an app, and revokes those that a barred key made and that are
// pending. more means that another page follows. The bar row keeps the position in attrCleanFrom.
//
// The sweep goes through all links of the app twice. A request that was running when the mark was set may
// still create a link, which the first pass can miss. No such request is left when inFlight has passed since the
// mark was set. So the end of the first pass makes the row due again at that time. The second pass begins at the
// first link again. After the second pass the row leaves the index.
func (s *Store) CleanLinks(ctx context.Context, a id.App, k id.Key) (more bool, err error) {
	row, err := s.db.Get(ctx, barredRow(a, k))
	if err != nil || !attrDue.IsIn(row) {
		return false, err
	}
	r := table.Read(row)
	marked, due, from := attrLinksBarredAt.From(&r), attrDueAt.From(&r), attrCleanFrom.From(&r)
	if r.Err() != nil || due > s.now() {
		return false, r.Err()
	}
	var next string
	err = s.db.Retry(ctx, func() error {
		links, after, err := s.Links(ctx, a, Page{Limit: actionsAtOnce, After: string(from)})
		if err != nil {
			return err
		}
		next = after
		return s.revokeLinks(ctx, slices.DeleteFunc(links, func(l link.Link) bool { return l.CreatedByKey != k }))
	})
	if err != nil {
		return false, err
	}
	progress := attrCleanFrom.Set(id.Link(next))
	secondPass := marked + inFlight.Milliseconds()
	switch {
	case next != "": // the pass continues: the row stays due
	case due < secondPass: // the first pass has ended, and next is "", the first link
		progress = table.Changes(progress, attrDueAt.Set(secondPass))
	default: // the second pass has ended
		progress = table.Changes(attrCleanFrom.Remove(), notDue())
	}
	// nil: when another run has changed the row since it was read, the progress of that run stays.
	_, err = s.db.Mark(ctx, barredRow(a, k), table.All(attrCleanFrom.Is(from), attrDueAt.Is(due)), nil, progress)
	return next != "", err
}

// revokeLinks revokes those links that are pending, without events.
func (s *Store) revokeLinks(ctx context.Context, links []link.Link) error {
	now := s.now()
	pending := slices.DeleteFunc(links, func(l link.Link) bool { return l.Status(now) != link.Pending })
	return inParts(ctx, s, pending, actionsAtOnce, func(t *txn, l link.Link) {
		t.Update(linkRow(l.AppID, l.ID), pendingLink(now), table.Raced, attrRevokedAt.Set(now), attrPurgeAt.Set(endedLinkPurge(now)), notDue())
	})
}

package store

import (
	"context"
	"errors"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/table"
)

// The bar row of a revoked key says what of the key is dead too. It is a row of its own, because a check
// on the row of the key would conflict with the key's revocation and delay it. Its marks count at once.
// What is dead by a mark is cleaned afterwards, by the sweep.
//
// A key whose endpoints were disabled is barred: one of its requests may have been let in before the
// revocation, and could create or change an endpoint after the endpoints were listed.

// unbarred makes a change of an endpoint fail when the key is barred.
func (t *txn) unbarred(a id.App, k id.Key) {
	t.Check(barredRow(a, k), table.Absent, refuse(errKeyBarred))
}

// linksBarred reports whether no link of a key can be claimed any more, by the key's bar row.
func linksBarred(bar table.Row) bool { return attrLinksBarredAt.IsIn(bar) }

// bar writes the bar row of a revoked key. A caller who disables the key's endpoints lists them after the
// row is written: the list then has every change that the key made before, and later changes are refused.
// mark adds what else is dead.
func (s *Store) bar(ctx context.Context, a Actor, k APIKey, mark func(t *txn, now int64) (table.Condition, table.Change)) error {
	now := s.now()
	t := s.begin()
	t.authorize(a, k.OrgID)
	var first table.Condition
	var dead table.Change
	if mark != nil {
		first, dead = mark(t, now)
	}
	t.Update(barredRow(k.AppID, k.ID), first, refuse(errMarkedAlready),
		attrOrgID.Set(k.OrgID), attrCreatedAt.SetIfAbsent(now), attrPurgeAt.Set(purgeAfter(now)), dead)
	return t.Commit(ctx)
}

// errMarkedAlready is the refusal of a mark that another request has made before.
var errMarkedAlready = errors.New("store: the key's bar row has the mark")

// RevokeLinksOf revokes the pending links that a revoked key made: no claim that begins after it has
// returned succeeds. It writes one mark. The sweep revokes the rows afterwards (CleanLinks), without an
// event for each. Errors: org_not_found, insufficient_role, key_not_found.
func (s *Store) RevokeLinksOf(ctx context.Context, a Actor, o id.Org, k id.Key) error {
	revoked, err := s.keyFor(ctx, a, o, k)
	if err != nil {
		return err
	}
	err = s.bar(ctx, a, revoked, func(t *txn, now int64) (table.Condition, table.Change) {
		t.audit(ctx, entry{org: o, at: now, action: "key.links_revoked", actor: a.User, target: string(k), changes: Changes{}})
		return attrLinksBarredAt.Absent(), table.Changes(
			attrLinksBarredAt.Set(now), attrCleanFrom.Set(""), dueAt(DueBar, barredRow(revoked.AppID, k), now))
	})
	if errors.Is(err, errMarkedAlready) {
		return nil
	}
	return err
}

// CleanLinks revokes pending links of a barred key, of one page of its app's links. more reports that
// another page follows.
//
// A request that was already running at the mark may add a link behind the first pass. So a second pass
// begins at the first link, inFlight after the mark: at the end of the first pass, which is due before
// that, the row becomes due again. At the end of the second pass it is no longer due.
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
		links, behind, err := s.Links(ctx, a, Page{Limit: actionsAtOnce, After: string(from)})
		if next = behind; err != nil {
			return err
		}
		return s.revokeLinks(ctx, slices.DeleteFunc(links, func(l link.Link) bool { return l.CreatedByKey != k }))
	})
	if err != nil {
		return false, err
	}
	position := attrCleanFrom.Set(id.Link(next))
	secondPass := marked + inFlight.Milliseconds()
	switch {
	case next != "": // the next page
	case due < secondPass:
		position = table.Changes(position, attrDueAt.Set(secondPass))
	default:
		position = table.Changes(attrCleanFrom.Remove(), notDue())
	}
	_, err = s.db.Mark(ctx, barredRow(a, k), table.All(attrCleanFrom.Is(from), attrDueAt.Is(due)), nil, position)
	return next != "", err
}

// revokeLinks revokes those links that are pending, without events, actionsAtOnce in a transaction.
func (s *Store) revokeLinks(ctx context.Context, links []link.Link) error {
	now := s.now()
	pending := slices.DeleteFunc(links, func(l link.Link) bool { return l.Status(now) != link.Pending })
	return inParts(ctx, s, pending, actionsAtOnce, func(t *txn, l link.Link) {
		t.Update(linkRow(l.AppID, l.ID), pendingLink(now), table.Raced, attrRevokedAt.Set(now), attrPurgeAt.Set(endedLinkPurge(now)), notDue())
	})
}

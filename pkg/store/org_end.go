package store

import (
	"context"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// inFlight is how long a request may still write after the keys of its org were revoked, with
// much time to spare. A write by an API key has no condition on the org, because all requests of
// the org's apps would then compete for the org's row.
const inFlight = 2 * time.Minute

// EndOrg deletes the rest of a deleted org, once it has no members. It deletes the endpoints, so
// that their deliveries are cancelled, and revokes the pending links. A pass that begins
// inFlight after the first one has seen everything: it deletes the apps too, and then the org is
// no longer due. EndOrg writes no key. cutShort reports that the org still has members: the
// request that deletes it failed, and an admin must repeat it.
func (s *Store) EndOrg(ctx context.Context, o id.Org) (cutShort bool, err error) {
	row, err := s.db.Get(ctx, orgRow(o))
	if err != nil || !attrDeletedAt.IsIn(row) || !attrDue.IsIn(row) {
		return false, err
	}
	meta := table.Read(row)
	deletedAt, emptied := attrDeletedAt.From(&meta), attrEmptiedAt.OrZero(&meta)
	if meta.Err() != nil {
		return false, meta.Err()
	}
	members, _, err := s.db.Query(ctx, table.Span{PK: pkOrg + string(o), Prefix: skMember, Limit: 1})
	if err != nil || len(members) > 0 {
		return len(members) > 0, err
	}
	now := s.now()
	if emptied == 0 {
		emptied = now
		if err := s.noteEmpty(ctx, o, now); err != nil {
			return false, err
		}
	}
	apps, _, err := list(ctx, s, table.Span{PK: pkOrg + string(o), Prefix: skApp, Limit: closingPage}, appFrom)
	if err != nil {
		return false, err
	}
	for _, end := range []func(context.Context, id.App) error{s.endEndpoints, s.endLinks} {
		for _, app := range apps {
			if err := end(ctx, app.ID); err != nil {
				return false, err
			}
		}
	}
	if now < emptied+inFlight.Milliseconds() {
		return false, nil
	}
	return false, s.forgetApps(ctx, o, deletedAt, apps)
}

// noteEmpty writes when an org was first found without members. The org is due again when all
// requests in flight have ended.
func (s *Store) noteEmpty(ctx context.Context, o id.Org, now int64) error {
	t := s.begin()
	t.Update(orgRow(o), table.All(attrDue.Present(), attrEmptiedAt.Absent()), table.Raced,
		attrEmptiedAt.Set(now), attrDueAt.Set(now+inFlight.Milliseconds()))
	return ignoreRaced(t.Commit(ctx))
}

// endEndpoints deletes the endpoints of an app. The sweep cancels the deliveries that wait for
// them.
func (s *Store) endEndpoints(ctx context.Context, a id.App) error {
	endpoints, _, err := s.Endpoints(ctx, a, Page{})
	if err != nil {
		return err
	}
	for _, h := range endpoints {
		t := s.begin()
		t.deleteEndpoint(a, h.ID, s.now(), notDeleted(), refuse(errEndpointNotFound))
		if err := t.Commit(ctx); err != nil && !problem.Is(err, problem.EndpointNotFound) {
			return err
		}
	}
	return nil
}

// endLinks revokes the pending links of an app, and takes expired ones off the index. It writes
// no event: the endpoints are deleted too.
func (s *Store) endLinks(ctx context.Context, a id.App) error {
	type dueLink struct {
		link.Link
		due bool
	}
	from := func(r *table.Reading) dueLink { return dueLink{linkFrom(r), attrDue.IsIn(r.Row)} }
	return eachPage(ctx, s, table.Span{PK: pkLinks + string(a), Prefix: skLink}, from, func(links []dueLink) error {
		waiting := slices.DeleteFunc(links, func(l dueLink) bool { return !l.due })
		return inParts(ctx, s, waiting, actionsAtOnce, func(t *txn, l dueLink) {
			now := s.now()
			end := table.Changes(attrRevokedAt.Set(now), attrPurgeAt.Set(endedLinkPurge(now)))
			if l.ExpiresAt <= now {
				end = attrLapsedAt.Set(now)
			}
			t.Update(linkRow(a, l.ID), attrDue.Present(), table.Raced, end, notDue())
		})
	})
}

// forgetApps deletes the apps of an org, and ends the org's deletion. The org's row is kept as
// long as its audit log.
func (s *Store) forgetApps(ctx context.Context, o id.Org, deletedAt int64, apps []App) error {
	err := inParts(ctx, s, apps, actionsAtOnce/2, func(t *txn, a App) {
		t.Delete(appRow(o, a.ID), nil, nil)
		t.Delete(budgetRow(a.ID), nil, nil)
	})
	if err != nil {
		return err
	}
	t := s.begin()
	t.Update(orgRow(o), attrDue.Present(), table.Raced, attrPurgeAt.Set(time.UnixMilli(deletedAt).Add(auditFor).Unix()), notDue())
	return ignoreRaced(t.Commit(ctx))
}

package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// inFlight is how long a request by an API key may still write after the key was revoked, with much
// time to spare. Such a write has no condition on the org, because all requests of the org's apps
// would then compete for the org's row.
const inFlight = 2 * time.Minute

// EndOrg deletes the rest of a deleted org, once the org has no members. Each call deletes the endpoints
// of one app that has some, and the sweep cancels the deliveries that wait for them. A request in flight
// may still create an endpoint. So only a call that begins inFlight after the first call, and finds no
// endpoint, deletes the apps too. Then the org is no longer due.
//
// EndOrg writes no key and no link: a link of a deleted org cannot be claimed, and ends without an event
// (ExpireLink).
//
// more reports that there is more to delete now. cutShort reports that the org still has members: the
// request that deletes the org has failed, and an admin must repeat it.
func (s *Store) EndOrg(ctx context.Context, o id.Org) (more, cutShort bool, err error) {
	row, err := s.db.Get(ctx, orgRow(o))
	if err != nil || !attrDeletedAt.IsIn(row) || !attrDue.IsIn(row) {
		return false, false, err
	}
	meta := table.Read(row)
	deletedAt, emptied := attrDeletedAt.From(&meta), attrEmptiedAt.OrZero(&meta)
	if meta.Err() != nil {
		return false, false, meta.Err()
	}
	members, _, err := s.db.Query(ctx, table.Span{PK: pkOrg + string(o), Prefix: skMember, Limit: 1})
	if err != nil || len(members) > 0 {
		return false, len(members) > 0, err
	}
	now := s.now()
	if emptied == 0 {
		emptied = now
		if err := s.noteEmpty(ctx, o, now); err != nil {
			return false, false, err
		}
	}
	apps, err := whole(ctx, s, table.Span{PK: pkOrg + string(o), Prefix: skApp, Limit: s.closingPage}, appFrom)
	if err != nil {
		return false, false, err
	}
	for _, app := range apps {
		ended, err := s.endEndpoints(ctx, app.ID)
		if err != nil || ended > 0 {
			return err == nil, false, err
		}
	}
	if now < emptied+inFlight.Milliseconds() {
		return false, false, nil
	}
	return false, false, s.forgetApps(ctx, o, deletedAt, apps)
}

// noteEmpty writes when an org was first found without members. The org is due again inFlight later.
func (s *Store) noteEmpty(ctx context.Context, o id.Org, now int64) error {
	t := s.begin()
	t.Update(orgRow(o), table.All(attrDue.Present(), attrEmptiedAt.Absent()), table.Raced,
		attrEmptiedAt.Set(now), attrDueAt.Set(now+inFlight.Milliseconds()))
	return ignoreRaced(t.Commit(ctx))
}

// endEndpoints deletes the endpoints of an app, and returns how many there were. The sweep cancels
// the deliveries that wait for them.
func (s *Store) endEndpoints(ctx context.Context, a id.App) (ended int, err error) {
	endpoints, _, err := s.Endpoints(ctx, a, Page{})
	if err != nil {
		return 0, err
	}
	for _, h := range endpoints {
		t := s.begin()
		t.deleteEndpoint(h, s.now(), notDeleted(), refuse(errEndpointNotFound))
		if err := t.Commit(ctx); err != nil && !problem.Is(err, problem.EndpointNotFound) {
			return 0, err
		}
	}
	return len(endpoints), nil
}

// forgetApps deletes the apps of an org, lets the budgets of the apps and of the org expire, and ends the
// org's deletion. The org's row is kept as long as its audit log.
func (s *Store) forgetApps(ctx context.Context, o id.Org, deletedAt int64, apps []App) error {
	ended := table.Changes(attrDeletedAt.Set(deletedAt), attrPurgeAt.Set(time.UnixMilli(deletedAt).Add(eventsFor).Unix()))
	err := inParts(ctx, s, apps, actionsAtOnce/2, func(t *txn, a App) {
		t.Delete(appRow(o, a.ID), nil, nil)
		t.Update(budgetRow(a.ID), nil, nil, ended) // not deleted yet: LookedAt still counts deleted endpoints down
	})
	if err != nil {
		return err
	}
	t := s.begin()
	t.Update(orgBudgetRow(o), nil, nil, ended)
	t.Update(orgRow(o), attrDue.Present(), table.Raced, attrPurgeAt.Set(time.UnixMilli(deletedAt).Add(auditFor).Unix()), notDue())
	return ignoreRaced(t.Commit(ctx))
}

package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// inFlight is more than the time for which a request by an API key may still write after the key was
// revoked. Such a write has no condition on the org, because all requests of the org's apps would then
// compete for the org's row.
const inFlight = 2 * time.Minute

// EndOrg deletes the rest of a deleted org, once its keys have ended. Each call deletes the endpoints
// of one app that has some, and the sweep cancels the deliveries that wait for them. A request in flight may still
// create an endpoint. So only a call that begins inFlight after the end of the keys, and finds no
// endpoint, deletes the apps too. Then the org is due again at usageAfterEnd: each call deletes a page of
// its use.
//
// EndOrg writes no key and no link: a link of a deleted org cannot be claimed, and ends without an event
// (ExpireLink).
//
// more reports that there is more to delete now. cutShort reports that the keys have not ended: the
// request that deletes the org has failed, and must be repeated.
func (s *Store) EndOrg(ctx context.Context, o id.Org) (more, cutShort bool, err error) {
	row, err := s.db.Get(ctx, orgRow(o))
	if err != nil || !attrDeletedAt.IsIn(row) || !attrDue.IsIn(row) {
		return false, false, err
	}
	meta := table.Read(row)
	deletedAt, keysEnded := attrDeletedAt.From(&meta), attrKeysEndedAt.OrZero(&meta)
	if meta.Err() != nil || keysEnded == 0 {
		return false, keysEnded == 0, meta.Err()
	}
	usageEnds := keysEnded + usageAfterEnd.Milliseconds()
	if s.now() < usageEnds && attrDueAt.OrZero(&meta) == usageEnds {
		return false, false, nil // the org is not due: the index is a little late
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
	if s.now() < keysEnded+inFlight.Milliseconds() {
		return false, false, nil
	}
	if err := s.forgetApps(ctx, o, deletedAt, apps); err != nil {
		return false, false, err
	}
	if s.now() < usageEnds {
		return false, false, s.keepUsage(ctx, o, deletedAt, usageEnds)
	}
	if more, err = s.forgetUsage(ctx, o); err != nil || more {
		return more, false, err
	}
	return false, false, s.forgetOrg(ctx, o, deletedAt)
}

// endEndpoints deletes the endpoints of an app, and returns how many there were. The sweep cancels
// the deliveries that wait for them.
func (s *Store) endEndpoints(ctx context.Context, a id.App) (ended int, err error) {
	endpoints, _, err := s.Endpoints(ctx, a, Page{})
	if err != nil {
		return 0, err
	}
	for _, endpoint := range endpoints {
		t := s.begin()
		t.deleteEndpoint(endpoint, s.now(), notDeleted(), refuse(errEndpointNotFound))
		if err := t.Commit(ctx); err != nil && !problem.Is(err, problem.EndpointNotFound) {
			return 0, err
		}
	}
	return len(endpoints), nil
}

// endedBudget returns the change after which DynamoDB deletes the budget of a deleted app or org.
func endedBudget(deletedAt int64) table.Change {
	return table.Changes(attrDeletedAt.Set(deletedAt), attrPurgeAt.Set(time.UnixMilli(deletedAt).Add(eventsFor).Unix()))
}

// forgetApps deletes the apps of an org, and lets their budgets expire.
func (s *Store) forgetApps(ctx context.Context, o id.Org, deletedAt int64, apps []App) error {
	return inParts(ctx, s, apps, actionsAtOnce/2, func(t *txn, a App) {
		t.Delete(appRow(o, a.ID), nil, nil)
		t.Update(budgetRow(a.ID), nil, nil, endedBudget(deletedAt)) // the row stays for a while, because LookedAt still changes its count of endpoints
	})
}

// forgetUsage deletes a page of the use of an org's keys. more reports that there may be another page.
func (s *Store) forgetUsage(ctx context.Context, o id.Org) (more bool, err error) {
	rows, more, err := s.db.Query(ctx, table.Span{PK: pkUsage + string(o), Limit: actionsAtOnce}) // a small page, because other orgs wait
	if err != nil {
		return false, err
	}
	return more, inParts(ctx, s, rows, actionsAtOnce, func(t *txn, row table.Row) { t.Delete(row.Key(), nil, nil) })
}

// keepUsage lets the budget of an org expire, and makes the rest of the org due at a later time.
func (s *Store) keepUsage(ctx context.Context, o id.Org, deletedAt, until int64) error {
	t := s.begin()
	t.Update(orgBudgetRow(o), nil, nil, endedBudget(deletedAt))
	t.Update(orgRow(o), attrDue.Present(), table.Raced, dueAt(DueOrg, orgRow(o), until))
	return ignoreRaced(t.Commit(ctx))
}

// forgetOrg ends the org's deletion. The org's row is kept as long as its audit log.
func (s *Store) forgetOrg(ctx context.Context, o id.Org, deletedAt int64) error {
	t := s.begin()
	t.Update(orgRow(o), attrDue.Present(), table.Raced, attrPurgeAt.Set(time.UnixMilli(deletedAt).Add(auditFor).Unix()), notDue())
	return ignoreRaced(t.Commit(ctx))
}

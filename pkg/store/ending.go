package store

import (
	"context"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
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
	meta, err := s.get(ctx, orgKey(o))
	if err != nil || meta.num(attrDeletedAt) == 0 || meta[attrDue] == nil {
		return false, err
	}
	members, _, err := s.query(ctx, span{pk: pkOrg + string(o), prefix: skMember, limit: 1})
	if err != nil || len(members) > 0 {
		return len(members) > 0, err
	}
	now, emptied := s.now(), meta.num(attrEmptiedAt)
	if emptied == 0 {
		emptied = now
		if err := s.noteEmpty(ctx, o, now); err != nil {
			return false, err
		}
	}
	apps, _, err := s.query(ctx, span{pk: pkOrg + string(o), prefix: skApp, limit: closingPage})
	if err != nil {
		return false, err
	}
	for _, end := range []func(context.Context, id.App) error{s.endEndpoints, s.endLinks} {
		for _, row := range apps {
			if err := end(ctx, id.App(trimmed(row.str(attrSK), skApp))); err != nil {
				return false, err
			}
		}
	}
	if now < emptied+inFlight.Milliseconds() {
		return false, nil
	}
	return false, s.forgetApps(ctx, o, meta.num(attrDeletedAt), apps)
}

// noteEmpty writes when an org was first found without members. The org is due again when all
// requests in flight have ended.
func (s *Store) noteEmpty(ctx context.Context, o id.Org, now int64) error {
	t := &txn{}
	t.update(s.table, orgKey(o), expr{
		update: "SET emptiedAt = :now, dueAt = :next", when: "attribute_exists(due) AND attribute_not_exists(emptiedAt)",
		values: item{":now": num(now), ":next": num(now + inFlight.Milliseconds())},
	}, raced)
	return ignoreRaced(s.commit(ctx, t))
}

// endEndpoints deletes the endpoints of an app. The sweep cancels the deliveries that wait for
// them.
func (s *Store) endEndpoints(ctx context.Context, a id.App) error {
	endpoints, _, err := s.Endpoints(ctx, a, Page{})
	if err != nil {
		return err
	}
	for _, h := range endpoints {
		t := &txn{}
		there := expr{when: "attribute_exists(PK) AND attribute_not_exists(deletedAt)"}
		s.deleteEndpoint(t, a, h.ID, s.now(), there, func(item) error { return errEndpointNotFound() })
		if err := s.commit(ctx, t); err != nil && !problem.Is(err, problem.EndpointNotFound) {
			return err
		}
	}
	return nil
}

// endLinks revokes the pending links of an app, and takes expired ones off the index. It writes
// no event: the endpoints are deleted too.
func (s *Store) endLinks(ctx context.Context, a id.App) error {
	return s.eachPage(ctx, span{pk: pkLinks + string(a), prefix: skLink}, func(rows []item) error {
		waiting := slices.DeleteFunc(rows, func(row item) bool { return row[attrDue] == nil })
		for links := range slices.Chunk(waiting, actionsAtOnce) {
			now := s.now()
			t := &txn{}
			for _, row := range links {
				e := expr{
					update: "SET revokedAt = :now, purgeAt = :purge REMOVE due, dueAt", when: "attribute_exists(due)",
					values: item{":now": num(now), ":purge": num(endedLinkPurge(now))},
				}
				if row.num(attrExpiresAt) <= now {
					e.update, e.values = "SET lapsedAt = :now REMOVE due, dueAt", item{":now": num(now)}
				}
				t.update(s.table, key{row.str(attrPK), row.str(attrSK)}, e, raced)
			}
			if err := s.commit(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetApps deletes the apps of an org, and ends the org's deletion. The org's row is kept as
// long as its audit log.
func (s *Store) forgetApps(ctx context.Context, o id.Org, deletedAt int64, apps []item) error {
	for some := range slices.Chunk(apps, actionsAtOnce/2) {
		t := &txn{}
		for _, row := range some {
			a := id.App(trimmed(row.str(attrSK), skApp))
			t.remove(s.table, appKey(o, a), expr{}, nil)
			t.remove(s.table, budgetKey(a), expr{}, nil)
		}
		if err := s.commit(ctx, t); err != nil {
			return err
		}
	}
	t := &txn{}
	t.update(s.table, orgKey(o), expr{
		update: "SET purgeAt = :purge REMOVE due, dueAt", when: "attribute_exists(due)",
		values: item{":purge": num(time.UnixMilli(deletedAt).Add(auditFor).Unix())},
	}, raced)
	return ignoreRaced(s.commit(ctx, t))
}

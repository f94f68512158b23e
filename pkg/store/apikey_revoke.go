package store

import (
	"context"
	"errors"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// RevokeKey revokes a key: no check that begins after RevokeKey has returned accepts it. A key
// that is revoked already does not change. Errors: org_not_found, insufficient_role,
// key_not_found.
func (s *Store) RevokeKey(ctx context.Context, a Actor, o id.Org, k id.Key) error {
	found, err := s.keyFor(ctx, a, o, k)
	if err != nil {
		return err
	}
	if found.RevokedAt != 0 {
		return nil
	}
	return s.revokeRead(ctx, a, found)
}

// revokeRead revokes a key that was read. Another request may have revoked it since. Errors: those of RevokeKey.
func (s *Store) revokeRead(ctx context.Context, a Actor, found APIKey) error {
	err := s.revoke(ctx, a, found, true)
	if errors.Is(err, errNoMap) { // not even a missing map of active keys may prevent a revocation
		err = s.revoke(ctx, a, found, false)
	}
	if errors.Is(err, errRevokedAlready) {
		return nil
	}
	return err
}

// keyFor reads a key for a caller who has one of the roles of a. Errors: org_not_found,
// insufficient_role, key_not_found.
func (s *Store) keyFor(ctx context.Context, a Actor, o id.Org, k id.Key) (APIKey, error) {
	rows, err := s.readAs(ctx, a, o, apiKeyRow(o, k))
	if err != nil {
		return APIKey{}, err
	}
	return decode(rows[apiKeyRow(o, k)], apiKeyFrom, errKeyNotFound)
}

var (
	// errRevokedAlready refuses to revoke a key that another request has revoked since it was read.
	errRevokedAlready = errors.New("store: the key was revoked before")

	// errNoMap is the refusal of a write to a map that its row lacks: the map of an org's active keys, or of a
	// user's deleted orgs. DynamoDB would call a write of an entry of such a map malformed.
	errNoMap = errors.New("store: the row has no such map")
)

// revoke revokes a key, also in an org whose deletion has begun. With mapped, it removes the key from
// the map of active keys too. Errors: errNoMap, errRevokedAlready, and those of RevokeKey.
func (s *Store) revoke(ctx context.Context, a Actor, revoked APIKey, mapped bool) error {
	now := s.now()
	t := s.begin()
	o, k := revoked.OrgID, revoked.ID
	revoked.RevokedAt = now
	t.Check(a.right(o))
	t.revokeKey(o, k, now, func(found table.Row) error {
		if found == nil {
			return errKeyNotFound
		}
		return errRevokedAlready
	})
	if mapped {
		t.Update(activeKeysRow(o), attrLive.Present(), refuse(errNoMap), table.Entry(attrLive, string(k)).Remove())
	}
	t.purgeUse(o, k, now)
	t.audit(ctx, entry{
		org: o, at: now, action: "key.revoked", actor: a.id(), target: string(k),
		changes: Changes{"revokedAt": {To: now}},
	})
	t.event(newEvent{org: o, app: revoked.AppID, kind: webhook.KeyRevoked, at: now, data: revoked.data()})
	return t.Commit(ctx)
}

// revokeKey adds the revocation of a key to a transaction. The refusal is for a key that has no row or is
// revoked already: the time of its revocation never changes.
func (t *txn) revokeKey(o id.Org, k id.Key, now int64, refusal table.Refusal) {
	t.Update(apiKeyRow(o, k), table.All(table.Exists, attrRevokedAt.Absent()), refusal, attrRevokedAt.Set(now), attrPurgeAt.Set(purgeAfter(now)))
}

// purgeUse has the row of a key's last use deleted together with the key's own row. died is when the key ended. The row
// leaves the index, where announce made it due, so that the key's expiry is not announced.
func (t *txn) purgeUse(o id.Org, k id.Key, died int64) {
	t.Update(usedRow(o, k), nil, nil, attrPurgeAt.Set(purgeAfter(died)), notDue())
}

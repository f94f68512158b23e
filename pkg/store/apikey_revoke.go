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

// Holder is the actor of an audit entry who has the text of a key, and is otherwise unknown.
const Holder = "holder"

// RevokeByHolder revokes a key that was read, as RevokeKey does, for a caller who has the key's text. source is where the text was found,
// for the audit log; "": not known. A key that is revoked, or that expired more than a minute ago (lateExpiry), does not change. A
// key without a row is not an error.
func (s *Store) RevokeByHolder(ctx context.Context, found APIKey, source string) error {
	if found.RevokedAt != 0 || found.ExpiresAt != 0 && found.ExpiresAt < s.now()-lateExpiry.Milliseconds() {
		return nil
	}
	err := s.revokeBy(ctx, found, entry{actor: Holder, source: source}, func(*txn) {})
	if errors.Is(err, errKeyNotFound) {
		return nil
	}
	return err
}

// revokeRead revokes a key that was read. Another request may have revoked it since. It returns the errors of RevokeKey.
func (s *Store) revokeRead(ctx context.Context, a Actor, found APIKey) error {
	return s.revokeBy(ctx, found, entry{actor: a.id()}, func(t *txn) { t.Check(a.right(found.OrgID)) })
}

// revokeBy is revokeRead with the actor and the source of the audit entry, and the check of the caller. Error: key_not_found.
func (s *Store) revokeBy(ctx context.Context, found APIKey, audited entry, check func(*txn)) error {
	err := s.revoke(ctx, found, audited, check, true)
	if errors.Is(err, errNoMap) { // not even a missing map of active keys may prevent a revocation
		err = s.revoke(ctx, found, audited, check, false)
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
// the map of active keys too. Errors: errNoMap, errRevokedAlready, key_not_found, and the errors of check.
func (s *Store) revoke(ctx context.Context, revoked APIKey, audited entry, check func(*txn), mapped bool) error {
	now := s.now()
	t := s.begin()
	o, k := revoked.OrgID, revoked.ID
	revoked.RevokedAt = now
	check(t)
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
	audited.org, audited.at, audited.action, audited.target, audited.changes = o, now, "key.revoked", string(k), Changes{"revokedAt": {To: now}}
	t.audit(ctx, audited)
	t.event(newEvent{org: o, app: revoked.AppID, kind: webhook.KeyRevoked, at: now, data: revoked.data()})
	return t.Commit(ctx)
}

// revokeKey adds the revocation of a key to a transaction. The refusal is for a key that has no row or is
// revoked already: the time of its revocation never changes.
func (t *txn) revokeKey(o id.Org, k id.Key, now int64, refusal table.Refusal) {
	t.Update(apiKeyRow(o, k), table.All(table.Exists, attrRevokedAt.Absent()), refusal, attrRevokedAt.Set(now), attrPurgeAt.Set(purgeAfter(now)))
}

// purgeUse has the row of a key's last use deleted together with the key's own row. died is when the key ended. The row
// leaves the index, so that the key's expiry is not announced.
func (t *txn) purgeUse(o id.Org, k id.Key, died int64) {
	t.Update(usedRow(o, k), nil, nil, attrPurgeAt.Set(purgeAfter(died)), notDue())
}

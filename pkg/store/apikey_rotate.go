package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// Rotation replaces a key by a new one. The old key stays good for a while.
type Rotation struct {
	Old       id.Key
	Grace     time.Duration // the longest life of the old key from now on; a rotation never prolongs it
	ExpiresIn time.Duration // the new key's life; 0 keeps the old key's lifetime
	Prefix    string        // of the new key's text; see apikey.ValidPrefix

	fresh           MintedKey // the new key, before the old one is read
	predecessorDied bool      // the predecessor of the old key was found revoked
}

// RotateKey replaces a key. A key rotates once. Its rotation ends the grace of its own predecessor.
//
// Errors: org_not_found, insufficient_role, idempotency_key_reused,
// key_not_found, key_not_active.
func (s *Store) RotateKey(ctx context.Context, a Actor, o id.Org, r Rotation, once Once[MintedKey]) (made Created[MintedKey], err error) {
	if r.fresh, err = s.mint(o, NewKey{Prefix: r.Prefix}); err != nil {
		return made, err
	}
	err = s.db.Retry(ctx, func() error {
		made, err = s.rotateKey(ctx, a, o, &r, once)
		return err
	})
	return made.committed(err)
}

func (s *Store) rotateKey(ctx context.Context, a Actor, o id.Org, r *Rotation, once Once[MintedKey]) (made Created[MintedKey], err error) {
	rows, err := s.readToChange(ctx, a, o, once.Request.reads(apiKeyRow(o, r.Old))...)
	if err != nil {
		return made, err
	}
	now := s.now()
	if err := once.Request.kept(rows[once.Request.row()], now); err != nil {
		return made, err
	}
	old, err := decode(rows[apiKeyRow(o, r.Old)], apiKeyFrom, errKeyNotFound)
	if err != nil {
		return made, err
	}
	if !old.ActiveAt(now) {
		return made, errKeyNotActive
	}
	fresh := r.fresh
	fresh.AppID, fresh.Name, fresh.CreatedAt, fresh.ExpiresAt = old.AppID, old.Name, now, old.SuccessorEnds(now, r.ExpiresIn)
	if made, err = once.render(fresh); err != nil {
		return made, err
	}
	t := s.begin()
	t.authorize(a, o)
	t.once(once.Request, made.Answer)
	t.replace(a, o, old, fresh, old.GraceEnds(now, r.Grace), now)
	if old.predecessor != "" && old.predecessorEnds > now && !r.predecessorDied {
		t.endPredecessor(o, old.predecessor, now, &r.predecessorDied)
	}
	t.announce(o, fresh)
	t.audit(ctx, entry{
		org: o, at: now, action: "key.rotated", actor: a.User, target: string(old.ID),
		changes: Changes{
			"rotatedTo": {To: fresh.ID},
			"expiresAt": {From: webhook.OrNull(old.ExpiresAt), To: old.GraceEnds(now, r.Grace)},
		},
	})
	return made, t.Commit(ctx)
}

// replace adds the writes of a rotation to a transaction. The old key's grace ends at ends.
func (t *txn) replace(a Actor, o id.Org, old APIKey, fresh MintedKey, ends, now int64) {
	active := table.All(
		table.Exists, attrRevokedAt.Absent(), attrRotatedTo.Absent(), table.Any(attrExpiresAt.Absent(), attrExpiresAt.Over(now)),
	)
	t.Update(apiKeyRow(o, old.ID), active, refuse(errKeyNotActive),
		attrExpiresAt.Set(ends), attrRotatedTo.Set(fresh.ID), attrPurgeAt.Set(purgeAfter(ends)))
	t.purgeUse(o, old.ID, ends)
	t.Create(apiKeyRow(o, fresh.ID), fresh.attributes(a.User), attrPredecessor.Set(old.ID), attrPredecessorEnds.Set(ends))
	t.Update(activeKeysRow(o), keysOpen(), unless(keysClosed, table.Raced),
		table.Entry(attrLive, string(fresh.ID)).Set(fresh.ExpiresAt), table.Entry(attrLive, string(old.ID)).Remove())
}

// endPredecessor ends the grace of the rotated key's predecessor. A predecessor that was revoked
// meanwhile has ended already: then died becomes true, and the rotation begins again without it.
func (t *txn) endPredecessor(o id.Org, k id.Key, now int64, died *bool) {
	t.Update(apiKeyRow(o, k), table.All(table.Exists, attrRevokedAt.Absent()), func(table.Row) error {
		*died = true
		return table.ErrRaced
	}, attrExpiresAt.Set(now), attrPurgeAt.Set(purgeAfter(now)))
	t.purgeUse(o, k, now)
}

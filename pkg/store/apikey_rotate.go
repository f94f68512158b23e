package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// Rotation replaces a key by a new one. The old key stays good for a while, its grace.
type Rotation struct {
	Old       id.Key
	Grace     time.Duration // the longest life of the old key from now on; a rotation never prolongs it
	ExpiresIn time.Duration // the new key's life; 0 keeps the old key's lifetime
	Prefix    string        // of the new key's text, unless its app has another; see apikey.ValidPrefix
	KeyChange               // values of the new key that replace the old key's values
}

// errPredecessorDied means that the predecessor of the rotated key was revoked meanwhile.
var errPredecessorDied = fmt.Errorf("%w: the predecessor was revoked", table.ErrRaced)

// RotateKey replaces a key. A key can be rotated only once. The rotation ends the grace of the key's
// own predecessor. The new key has the name, scopes and metadata that the old key has at the moment of
// the write, with the changes of r.
//
// Errors: org_not_found, insufficient_role, a.OldSignIn, idempotency_key_reused, org_suspended, key_not_found, key_not_active.
func (s *Store) RotateKey(ctx context.Context, a Actor, o id.Org, r Rotation, once Once[MintedKey]) (made Created[MintedKey], err error) {
	fresh := s.identify(o, NewKey{Prefix: r.Prefix}) // the id is the same at each try
	predecessorDied := false
	err = s.db.Retry(ctx, func() error {
		made, err = s.rotateKey(ctx, a, o, r, fresh, predecessorDied, once)
		predecessorDied = predecessorDied || errors.Is(err, errPredecessorDied)
		return err
	})
	return made.committed(err)
}

// rotateKey is one try of RotateKey. fresh is the new key without its text.
func (s *Store) rotateKey(ctx context.Context, a Actor, o id.Org, r Rotation, fresh MintedKey, predecessorDied bool, once Once[MintedKey]) (made Created[MintedKey], err error) {
	rows, err := s.readToChange(ctx, a, o, once.Request.reads(apiKeyRow(o, r.Old))...)
	if err = cmp.Or(err, a.OldSignIn); err != nil {
		return made, err
	}
	now := s.now()
	if err := once.Request.kept(rows[once.Request.row()], now); err != nil {
		return made, err
	}
	of, err := table.Decode(rows[orgRow(o)], orgFrom)
	if err != nil {
		return made, err
	}
	old, err := decode(rows[apiKeyRow(o, r.Old)], apiKeyFrom, errKeyNotFound)
	if err == nil && of.SuspendedAt != 0 {
		err = s.unlessKept(ctx, once.Request, errOrgSuspended)
	}
	if err != nil {
		return made, err
	}
	if !old.ActiveAt(now) { // perhaps because this same request has rotated the key, after its record was read
		return made, s.unlessKept(ctx, once.Request, errKeyNotActive)
	}
	heir := r.apply(old) // the old key with the changes of r
	fresh.AppID, fresh.CreatedAt, fresh.ExpiresAt = old.AppID, now, old.SuccessorEnds(now, r.ExpiresIn)
	fresh.Name, fresh.Carried = heir.Name, heir.Carried
	fresh.org = &of
	if err := s.readAndMint(ctx, o, &fresh); err != nil {
		return made, err
	}
	if made, err = once.render(fresh); err != nil {
		return made, err
	}
	graceEnds := old.GraceEnds(now, r.Grace)
	t := s.begin()
	t.Check(a.right(o))
	t.once(once.Request, made.Answer)
	t.replace(a, o, old, fresh, graceEnds, now)
	if old.Limited() != fresh.Limited() {
		t.markPartial(o, old.LimitID(), now, graceEnds)
	}
	predecessorLives := old.predecessor != (id.ShortKey{}) && old.predecessorEnds > now && !predecessorDied
	if predecessorLives {
		t.endPredecessor(o, old.predecessor.Long(), now)
	}
	changes := old.changes(heir)
	changes["rotatedTo"], changes["expiresAt"] = Change{To: fresh.ID}, Change{webhook.OrNull(old.ExpiresAt), graceEnds}
	t.audit(ctx, entry{org: o, at: now, action: "key.rotated", actor: a.id(), target: string(old.ID), changes: changes})
	return made, t.Commit(ctx)
}

// readAndMint reads the prefix of a key's app, and makes the key's text.
func (s *Store) readAndMint(ctx context.Context, o id.Org, k *MintedKey) error {
	own, _, err := lookup(ctx, s, appRow(o, k.AppID), attrKeysBeginWith.OrZero)
	if err != nil {
		return err
	}
	return k.mint(o, own, s.Rand)
}

// replace adds the writes of a rotation to a transaction. When the old key has changed since it was
// read, the rotation begins again, so that a change that narrows the old key narrows the new key too.
func (t *txn) replace(a Actor, o id.Org, old APIKey, fresh MintedKey, graceEnds, now int64) {
	t.Update(apiKeyRow(o, old.ID), table.All(goodKey(now), attrRotatedTo.Absent(), old.asRead()), table.Raced,
		attrExpiresAt.Set(graceEnds), attrRotatedTo.Set(fresh.ID.Short()), attrPurgeAt.Set(purgeAfter(graceEnds)))
	t.purgeUse(o, old.ID, graceEnds)
	t.putKey(a, o, fresh, attrPredecessor.Set(old.ID.Short()), attrPredecessorEnds.Set(graceEnds),
		attrLimitID.Set(old.LimitID().Short()))
	isCurrent, refusal := fresh.org.State.isCurrent(table.ErrRaced)
	t.Update(activeKeysRow(o), isCurrent, refusal,
		table.Entry(attrLive, string(fresh.ID)).Set(fresh.ExpiresAt), table.Entry(attrLive, string(old.ID)).Remove())
}

// endPredecessor ends the grace of the predecessor k of the rotated key. If k was revoked meanwhile, it
// has ended already: the refusal is errPredecessorDied, and the rotation begins again and does not change k.
func (t *txn) endPredecessor(o id.Org, k id.Key, now int64) {
	t.Update(apiKeyRow(o, k), table.All(table.Exists, attrRevokedAt.Absent()), refuse(errPredecessorDied),
		attrExpiresAt.Set(now), attrPurgeAt.Set(purgeAfter(now)))
	t.purgeUse(o, k, now)
}

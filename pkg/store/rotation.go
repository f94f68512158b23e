package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
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
	err = retryRaced(ctx, func() error {
		made, err = s.rotateKey(ctx, a, o, &r, once)
		return err
	})
	return made.committed(err)
}

func (s *Store) rotateKey(ctx context.Context, a Actor, o id.Org, r *Rotation, once Once[MintedKey]) (made Created[MintedKey], err error) {
	own, meta, k := memberKey(o, a.User), orgKey(o), apiKeyKey(o, r.Old)
	wanted := []key{own, meta, k}
	if once.Request.keyed() {
		wanted = append(wanted, once.Request.rowKey())
	}
	rows, err := s.getMany(ctx, wanted...)
	if err != nil {
		return made, err
	}
	now := s.now()
	if err := a.admitTo(rows[own], rows[meta]); err != nil {
		return made, err
	}
	if err := once.Request.kept(rows[once.Request.rowKey()], now); err != nil {
		return made, err
	}
	if rows[k] == nil {
		return made, errKeyNotFound()
	}
	old := apiKeyFrom(rows[k])
	if !old.activeAt(now) {
		return made, errKeyNotActive(nil)
	}
	fresh := r.successor(old, now)
	if made, err = once.render(fresh); err != nil {
		return made, err
	}
	t := &txn{}
	t.admit(s.table, a, o)
	if err := t.once(s, once.Request, made.Answer); err != nil {
		return made, err
	}
	s.replace(t, a, o, old, fresh, r.Grace, now)
	if old.predecessor != "" && old.predecessorEnds > now && !r.predecessorDied {
		s.endPredecessor(t, o, old.predecessor, now, &r.predecessorDied)
	}
	if err := s.announce(t, o, fresh); err != nil {
		return made, err
	}
	s.audit(ctx, t, entry{
		org: o, at: now, action: "key.rotated", actor: a.User, target: string(old.ID),
		changes: Changes{
			"rotatedTo": {To: fresh.ID},
			"expiresAt": {From: orNil(old.ExpiresAt), To: old.graceEnds(now, r.Grace)},
		},
	})
	return made, s.commit(ctx, t)
}

// activeAt reports whether a key is not revoked, expired or rotated.
func (k APIKey) activeAt(now int64) bool {
	return k.RevokedAt == 0 && k.RotatedTo == "" && (k.ExpiresAt == 0 || now < k.ExpiresAt)
}

// graceEnds returns when a rotated key ends: never later than it would have expired.
func (k APIKey) graceEnds(now int64, grace time.Duration) int64 {
	ends := now + grace.Milliseconds()
	if k.ExpiresAt != 0 {
		ends = min(ends, k.ExpiresAt)
	}
	return ends
}

// successor returns the key that replaces old.
func (r *Rotation) successor(old APIKey, now int64) MintedKey {
	fresh := r.fresh
	fresh.AppID, fresh.Name, fresh.CreatedAt, fresh.ExpiresAt = old.AppID, old.Name, now, 0
	switch {
	case r.ExpiresIn != 0:
		fresh.ExpiresAt = now + r.ExpiresIn.Milliseconds()
	case old.ExpiresAt != 0:
		fresh.ExpiresAt = now + old.ExpiresAt - old.CreatedAt
	}
	return fresh
}

func errKeyNotActive(item) error {
	return problem.New(problem.KeyNotActive, "The API key is revoked, expired or rotated already.")
}

// replace adds the writes of a rotation to a transaction.
func (s *Store) replace(t *txn, a Actor, o id.Org, old APIKey, fresh MintedKey, grace time.Duration, now int64) {
	ends := old.graceEnds(now, grace)
	t.update(s.table, apiKeyKey(o, old.ID), expr{
		update: "SET expiresAt = :ends, rotatedTo = :fresh, purgeAt = :purge",
		when: "attribute_exists(PK) AND attribute_not_exists(revokedAt) AND attribute_not_exists(rotatedTo)" +
			" AND (attribute_not_exists(expiresAt) OR expiresAt > :now)",
		values: item{
			":ends": num(ends), ":fresh": str(string(fresh.ID)), ":purge": num(purgeAfter(ends)), ":now": num(now),
		},
	}, errKeyNotActive)
	t.purgeUse(s.table, o, old.ID, ends)
	attrs := fresh.attrs(a.User)
	attrs[attrPredecessor], attrs[attrPredecessorEnds] = str(string(old.ID)), num(ends)
	t.create(s.table, apiKeyKey(o, fresh.ID), attrs)
	t.update(s.table, liveKeysKey(o), expr{
		update: "SET live.#fresh = :expires REMOVE live.#old", when: keysOpen,
		names:  map[string]string{"#fresh": string(fresh.ID), "#old": string(old.ID)},
		values: item{":expires": num(fresh.ExpiresAt)},
	}, unlessClosed(raced))
}

// endPredecessor ends the grace of the rotated key's predecessor. A predecessor that was revoked
// meanwhile has ended already: then died becomes true, and the rotation begins again without it.
func (s *Store) endPredecessor(t *txn, o id.Org, k id.Key, now int64, died *bool) {
	t.update(s.table, apiKeyKey(o, k), expr{
		update: "SET expiresAt = :now, purgeAt = :purge", when: "attribute_exists(PK) AND attribute_not_exists(revokedAt)",
		values: item{":now": num(now), ":purge": num(purgeAfter(now))},
	}, func(item) error {
		*died = true
		return errRaced
	})
	t.purgeUse(s.table, o, k, now)
}

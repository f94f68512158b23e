package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

// Rotation replaces a key by a new one, and lets the old one live for a while.
type Rotation struct {
	Old   id.Key
	Grace time.Duration // the old key's life from now on, at most; it is never made longer
	Key   NewKey        // ID and Minted are the new key's; the rest is taken from the old one
	// ExpiresIn is the new key's life; 0 keeps the old key's lifetime.
	ExpiresIn time.Duration
	// Answer renders the answer, once the new key's expiry is known.
	Answer func(NewKey) ([]byte, error)

	predecessorDied bool // the key that the old one replaced was found revoked
}

// RotateKey replaces a key. A key rotates once; rotating it ends the grace of
// the key that it replaced itself. When once was used before, it returns the
// kept answer and rotates nothing.
//
// Errors: org_not_found, insufficient_role, idempotency_key_reused,
// key_not_found, key_not_active.
func (s *Store) RotateKey(ctx context.Context, a Actor, o id.Org, r Rotation, once Once) (answer, kept []byte, err error) {
	err = retryRaced(ctx, func() error {
		answer, err = s.rotateKey(ctx, a, o, &r, once)
		return err
	})
	kept, err = settle(err)
	return answer, kept, err
}

func (s *Store) rotateKey(ctx context.Context, a Actor, o id.Org, r *Rotation, once Once) ([]byte, error) {
	own, meta, k := memberKey(o, a.User), orgKey(o), apiKeyKey(o, r.Old)
	wanted := []key{own, meta, k}
	if once.asked() {
		wanted = append(wanted, once.rowKey())
	}
	rows, err := s.getMany(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if err := a.admitTo(rows[own], rows[meta]); err != nil {
		return nil, err
	}
	if once.asked() {
		if err := once.kept(rows[once.rowKey()], now); err != nil {
			return nil, err
		}
	}
	if rows[k] == nil {
		return nil, errKeyNotFound()
	}
	old := apiKeyFrom(rows[k])
	if !old.activeAt(now) {
		return nil, errKeyNotActive(nil)
	}
	fresh := r.successor(old, now)
	if once.Answer, err = r.Answer(fresh); err != nil {
		return nil, err
	}
	t := &txn{}
	t.admit(s.table, a, o)
	if err := t.once(s, once); err != nil {
		return nil, err
	}
	s.replace(t, a, o, old, fresh, r.Grace, now)
	if old.predecessor != "" && old.predecessorEnds > now && !r.predecessorDied {
		s.endPredecessor(t, o, old.predecessor, now, &r.predecessorDied)
	}
	if err := s.announce(t, o, fresh); err != nil {
		return nil, err
	}
	s.audit(ctx, t, entry{
		org: o, at: now, action: "key.rotated", actor: a.User, target: string(old.ID),
		changes: Changes{
			"rotatedTo": {To: fresh.ID},
			"expiresAt": {From: orNil(old.ExpiresAt), To: old.graceEnds(now, r.Grace)},
		},
	})
	return once.Answer, s.commit(ctx, t)
}

// activeAt reports whether a key is neither revoked, expired nor rotated.
func (k APIKey) activeAt(now int64) bool {
	return k.RevokedAt == 0 && k.RotatedTo == "" && (k.ExpiresAt == 0 || now < k.ExpiresAt)
}

// graceEnds is when a rotated key ends: never later than it would have.
func (k APIKey) graceEnds(now int64, grace time.Duration) int64 {
	ends := now + grace.Milliseconds()
	if k.ExpiresAt != 0 {
		ends = min(ends, k.ExpiresAt)
	}
	return ends
}

// successor is the key that replaces old.
func (r *Rotation) successor(old APIKey, now int64) NewKey {
	fresh := r.Key
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

// replace adds the writes of a rotation.
func (s *Store) replace(t *txn, a Actor, o id.Org, old APIKey, fresh NewKey, grace time.Duration, now int64) {
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

// endPredecessor ends the grace of the key that the rotated one replaced. One that
// was revoked meanwhile has ended already: died then says so, and the rotation
// begins again without it.
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

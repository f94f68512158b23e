package store

import (
	"context"
	"errors"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// maxWholeKeys is how many keys GET …/keys returns without a page.
const maxWholeKeys = 1000

func errKeyNotFound() error {
	return problem.New(problem.KeyNotFound, "The org has no such API key.")
}

func errKeyLimit(item) error {
	return problem.New(problem.LimitReached, "The org has as many active API keys as one may have. Revoke one first.")
}

// Keys lists an org's API keys, newest first. Errors: org_not_found,
// insufficient_role.
func (s *Store) Keys(ctx context.Context, a Actor, o id.Org, p Page) (keys []APIKey, next string, err error) {
	own, err := s.get(ctx, memberKey(o, a.User))
	if err != nil {
		return nil, "", err
	}
	if err := a.admit(own); err != nil {
		return nil, "", err
	}
	sp := span{pk: pkKeys + string(o), prefix: skKey, reverse: true, limit: p.Limit}
	if p.Limit == 0 {
		sp.limit = maxWholeKeys
	}
	if p.After != "" {
		sp.after = skKey + p.After
	}
	rows, more, err := s.query(ctx, sp)
	if err != nil {
		return nil, "", err
	}
	keys = make([]APIKey, len(rows))
	uses := make([]key, len(rows))
	for i, row := range rows {
		keys[i] = apiKeyFrom(row)
		uses[i] = usedKey(o, keys[i].ID)
	}
	used, err := s.getMany(ctx, uses...)
	if err != nil {
		return nil, "", err
	}
	for i := range keys {
		keys[i].LastUsedAt = used[uses[i]].num(attrLastUsed)
	}
	if more {
		next = string(keys[len(keys)-1].ID)
	}
	return keys, next, nil
}

// NewKey describes an API key to create.
type NewKey struct {
	AppID     id.App // "": the org's default app
	Name      string
	ExpiresIn time.Duration // 0: the key never expires
	Prefix    string        // of the key's text; see apikey.ValidPrefix
}

// MintedKey is a new API key. Its text is shown once.
type MintedKey struct {
	ID        id.Key
	AppID     id.App
	Name      string
	CreatedAt int64 // milliseconds
	ExpiresAt int64 // milliseconds; 0: never
	Minted    apikey.Minted
}

// mint makes the id, the times and the text of a key.
func (s *Store) mint(o id.Org, k NewKey) (m MintedKey, err error) {
	now := s.Now()
	m = MintedKey{ID: s.ids().NewKey(now), AppID: k.AppID, Name: k.Name, CreatedAt: now.UnixMilli()}
	if m.AppID == "" {
		m.AppID = id.DefaultApp(o)
	}
	if k.ExpiresIn != 0 {
		m.ExpiresAt = now.Add(k.ExpiresIn).UnixMilli()
	}
	m.Minted, err = apikey.Mint(k.Prefix, o, m.ID, s.Rand)
	return m, err
}

// CreateKey creates an API key.
//
// Errors: org_not_found, insufficient_role, idempotency_key_reused,
// app_not_found, limit_reached.
func (s *Store) CreateKey(ctx context.Context, a Actor, o id.Org, wanted NewKey, once Once[MintedKey]) (Created[MintedKey], error) {
	var made Created[MintedKey]
	k, err := s.mint(o, wanted)
	if err != nil {
		return made, err
	}
	if made, err = once.render(k); err != nil {
		return made, err
	}
	create := func() error {
		t := &txn{}
		t.admit(s.table, a, o)
		if err := t.once(s, once.Request, made.Answer); err != nil {
			return err
		}
		if k.AppID != id.DefaultApp(o) { // the default app exists as long as the org
			t.check(s.table, appKey(o, k.AppID), expr{when: "attribute_exists(PK)"}, errAppNotFound)
		}
		t.create(s.table, apiKeyKey(o, k.ID), k.attrs(a.User))
		t.update(s.table, liveKeysKey(o), expr{
			update: "SET live.#key = :expires", when: keysOpen + " AND size(live) < :max", names: map[string]string{"#key": string(k.ID)},
			values: item{":expires": num(k.ExpiresAt), ":max": num(int64(s.Limits.ActiveKeys))},
		}, unlessClosed(errKeyLimit))
		if err := s.announce(t, o, k); err != nil {
			return err
		}
		s.audit(ctx, t, entry{
			org: o, at: k.CreatedAt, action: "key.created", actor: a.User, target: string(k.ID),
			changes: Changes{"name": {To: k.Name}, "appId": {To: k.AppID}, "expiresAt": {To: orNil(k.ExpiresAt)}},
		})
		return s.commit(ctx, t)
	}
	err = create()
	if problem.Is(err, problem.LimitReached) {
		// The map may still have expired keys: remove them and try once more.
		dropped, dropErr := s.dropExpired(ctx, o)
		if dropErr != nil {
			return made, dropErr
		}
		if dropped {
			err = create()
		}
	}
	return made.committed(err)
}

func (k MintedKey) attrs(by id.User) item {
	row := item{
		attrHash: bin(k.Minted.Hash[:]), attrPrefix: str(k.Minted.Prefix), attrAppID: str(string(k.AppID)),
		attrName: str(k.Name), attrCreatedAt: num(k.CreatedAt), attrCreatedBy: str(string(by)),
	}
	if k.ExpiresAt != 0 {
		row[attrExpiresAt] = num(k.ExpiresAt)
		row[attrPurgeAt] = num(purgeAfter(k.ExpiresAt))
	}
	return row
}

// purgeAfter returns when the row of a key that ended at a time (milliseconds) may be deleted,
// in seconds.
func purgeAfter(died int64) int64 { return time.UnixMilli(died).Add(deadKeysFor).Unix() }

// orNil returns nil for a time that is not set.
func orNil(at int64) any {
	if at == 0 {
		return nil
	}
	return at
}

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
	err = s.revoke(ctx, a, found, true)
	if errors.Is(err, errNoMap) { // nothing may prevent a revocation
		err = s.revoke(ctx, a, found, false)
	}
	if errors.Is(err, errRevokedAlready) {
		return nil
	}
	return err
}

// keyFor reads a key for a caller who has one of the roles. Errors: org_not_found,
// insufficient_role, key_not_found.
func (s *Store) keyFor(ctx context.Context, a Actor, o id.Org, k id.Key) (APIKey, error) {
	own, row := memberKey(o, a.User), apiKeyKey(o, k)
	rows, err := s.getMany(ctx, own, row)
	if err != nil {
		return APIKey{}, err
	}
	if err := a.admit(rows[own]); err != nil {
		return APIKey{}, err
	}
	if rows[row] == nil {
		return APIKey{}, errKeyNotFound()
	}
	return apiKeyFrom(rows[row]), nil
}

var (
	// errRevokedAlready is the refusal of a revocation that was made by another request meanwhile.
	errRevokedAlready = errors.New("store: the key was revoked before")

	// errNoMap is the refusal of a revocation in an org that has no map of active keys.
	errNoMap = errors.New("store: the org has no map of active keys")
)

// revoke revokes a key, also in an org whose deletion has begun. With mapped, the key is removed
// from the map of active keys too.
func (s *Store) revoke(ctx context.Context, a Actor, revoked APIKey, mapped bool) error {
	now := s.now()
	t := &txn{}
	o, k := revoked.OrgID, revoked.ID
	revoked.RevokedAt = now
	t.admit(s.table, a, o)
	t.update(s.table, apiKeyKey(o, k), revokedAt(now), func(found item) error {
		if found == nil {
			return errKeyNotFound()
		}
		return errRevokedAlready
	})
	if mapped {
		t.update(s.table, liveKeysKey(o), expr{
			update: "REMOVE live.#key", when: "attribute_exists(live)", names: map[string]string{"#key": string(k)},
		}, func(item) error { return errNoMap })
	}
	t.purgeUse(s.table, o, k, now)
	s.audit(ctx, t, entry{
		org: o, at: now, action: "key.revoked", actor: a.User, target: string(k),
		changes: Changes{"revokedAt": {To: now}},
	})
	if _, err := s.event(t, happening{app: revoked.AppID, kind: webhook.KeyRevoked, at: now, data: revoked.view()}); err != nil {
		return err
	}
	return s.commit(ctx, t)
}

// revokedAt returns the update that revokes a key at a time. It never changes the time of a
// revocation.
func revokedAt(now int64) expr {
	return expr{
		update: "SET revokedAt = :now, purgeAt = :purge", when: "attribute_exists(PK) AND attribute_not_exists(revokedAt)",
		values: item{":now": num(now), ":purge": num(purgeAfter(now))},
	}
}

// purgeUse lets the row of a key's last use expire with the key. The key is no longer announced
// as expiring.
func (t *txn) purgeUse(table *string, o id.Org, k id.Key, died int64) {
	t.update(table, usedKey(o, k), expr{
		update: "SET purgeAt = :purge REMOVE due, dueAt", values: item{":purge": num(purgeAfter(died))},
	}, nil)
}

// The times of the announcement that a key expires.
const (
	warnAhead   = 7 * 24 * time.Hour
	warnOfLives = 14 * 24 * time.Hour // shorter lives are rotated by machines
)

// announce adds the event key.created, and makes a key with a long life due for key.expiring.
// The row of the key's last use is the one that is due, so that no pipeline writes the row of a
// credential.
func (s *Store) announce(t *txn, o id.Org, k MintedKey) error {
	if k.ExpiresAt-k.CreatedAt > warnOfLives.Milliseconds() {
		row := usedKey(o, k.ID)
		due := dueAttrs(DueKey, row, k.ExpiresAt-warnAhead.Milliseconds())
		t.update(s.table, row, expr{
			update: "SET due = :due, dueAt = :dueAt, purgeAt = :purge",
			values: item{":due": due[attrDue], ":dueAt": due[attrDueAt], ":purge": num(purgeAfter(k.ExpiresAt))},
		}, nil)
	}
	_, err := s.event(t, happening{app: k.AppID, kind: webhook.KeyCreated, at: k.CreatedAt, data: keyView{
		KeyID: k.ID, KeyPrefix: k.Minted.Prefix, Name: k.Name, AppID: k.AppID, ExpiresAt: orNull(k.ExpiresAt),
	}})
	return err
}

package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

const (
	deadKeysFor = 90 * 24 * time.Hour // how long the row of a revoked or expired key is kept
	noteEvery   = time.Hour           // see NoteUse
	noteTimeout = 200 * time.Millisecond

	// dropAtOnce is how many entries of a map one update removes at most: DynamoDB accepts expressions
	// of up to 4 KB.
	dropAtOnce = 50
)

// APIKey is a key's row.
type APIKey struct {
	apikey.State
	ID         id.Key
	OrgID      id.Org
	AppID      id.App
	Hash       apikey.Hash // of the key's text; zero: the row has none, and no text matches
	Prefix     string      // the public part of the key
	Name       string
	LastUsedAt int64        // milliseconds; filled in lists and by UpdateKey only; 0: never
	LeakedAt   int64        // filled likewise: when ReportLeak last wrote that the text was found in public
	CreatedBy  id.ShortUser // the user who created it, or rotated its predecessor; zero: a service
	Carried
	OrgState OrgState // the copy of the org's state

	limitID  id.ShortKey // the first key of the rotations; zero: this one
	unhashed bool        // the row has neither hash nor held

	// A key from a rotation has the id of its predecessor, and when the predecessor's grace ends.
	predecessor     id.ShortKey
	predecessorEnds int64
	purgeAt         int64 // seconds
}

// Carried has the values that a key hands on to its successor in a rotation, in addition to its name and its app.
type Carried struct {
	Scopes   string            // of apikey.JoinScopes
	Metadata map[string]string // nil: none
	Limits   string            // of limit.Rules.Text
	Ceilings string            // in the same form; only services set them. Limits and ceilings apply together
}

func carriedFrom(r *table.Reading) Carried {
	return Carried{attrScopes.OrZero(r), attrMetadata.OrZero(r), attrLimits.OrZero(r), attrCeilings.OrZero(r)}
}

// set writes the carried values into a key's row.
func (c Carried) set() table.Change {
	return table.Changes(attrScopes.SetOrRemove(c.Scopes), attrMetadata.SetOrRemove(c.Metadata), attrLimits.SetOrRemove(c.Limits),
		attrCeilings.SetOrRemove(c.Ceilings))
}

func apiKeyFrom(r *table.Reading) APIKey {
	k := APIKey{
		State: apikey.State{
			CreatedAt: attrCreatedAt.From(r), ExpiresAt: attrExpiresAt.OrZero(r), RevokedAt: attrRevokedAt.OrZero(r), RotatedTo: attrRotatedTo.OrZero(r), Held: attrHeld.IsIn(r.Row),
		},
		ID: id.Key(r.SK(skKey)), OrgID: id.Org(r.PK(pkKeys)), AppID: attrAppID.From(r), Prefix: attrPrefix.From(r), Name: attrName.From(r),
		Carried: carriedFrom(r), OrgState: orgStateFrom(r), CreatedBy: attrCreatedBy.OrZero(r), limitID: attrLimitID.OrZero(r),
		predecessor: attrPredecessor.OrZero(r), predecessorEnds: attrPredecessorEnds.OrZero(r), purgeAt: attrPurgeAt.OrZero(r),
	}
	hash := attrHash
	if k.Held {
		hash = attrHeld
	}
	k.unhashed = !hash.IsIn(r.Row)
	copy(k.Hash[:], hash.OrZero(r))
	return k
}

// Matches reports whether a text with this hash is the key's. A row without a hash matches no text.
func (k APIKey) Matches(h apikey.Hash) bool { return k.Hash != (apikey.Hash{}) && k.Hash.Equal(h) }

// LimitID returns the first key of the chain of rotations. The use of all keys of the chain is counted under its id.
func (k APIKey) LimitID() id.Key { return cmp.Or(k.limitID.Long(), k.ID) }

// APIKey reads a key's row with one strong read on the base table. Only this row decides whether the
// key is good. ok is false when there is no row.
func (s *Store) APIKey(ctx context.Context, o id.Org, k id.Key) (found APIKey, ok bool, err error) {
	row, err := s.db.Get(ctx, apiKeyRow(o, k))
	if err != nil || row == nil {
		return APIKey{}, false, err
	}
	r := table.Read(row)
	return apiKeyFrom(&r), r.Err() == nil, r.Err()
}

// NoteUse writes when a key was used (at, in milliseconds), at most once in each hour of the clock, because a process also tries once in
// each of them: so the note of a key in use is never older than an hour. It writes a row of its own, because the key's row decides about
// access. It makes one try of 200 ms and ignores a failure, because no request may fail or wait for this note.
func (s *Store) NoteUse(ctx context.Context, k APIKey, at int64) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	err := s.db.Note(ctx, usedRow(k.OrgID, k.ID), table.Any(attrLastUsed.Absent(), attrLastUsed.Under(at-at%noteEvery.Milliseconds())),
		attrLastUsed.Set(at),
		// The row is deleted with the key's row. A revocation or rotation since k was read may have set
		// another purgeAt: that value stays.
		table.If(k.purgeAt != 0, attrPurgeAt.SetIfAbsent(k.purgeAt)),
	)
	_ = err // the last note is of this hour, or the database is slow: both are fine
}

// NewKey describes an API key to create.
type NewKey struct {
	AppID     id.App // "": the org's default app
	Name      string
	ExpiresIn time.Duration // 0: the key never expires
	Prefix    string        // of the key's text, unless its app has another; see apikey.ValidPrefix
	Carried
}

// MintedKey is a new API key. Its text is shown once.
type MintedKey struct {
	ID        id.Key
	AppID     id.App
	Name      string
	CreatedAt int64 // milliseconds
	ExpiresAt int64 // milliseconds; 0: never
	Minted    apikey.Minted
	Carried

	prefix string // of NewKey; "": the text was made elsewhere
	org    *Org   // nil: not read yet
}

// identify makes the id and the times of a key, which has no text yet.
func (s *Store) identify(o id.Org, k NewKey) MintedKey {
	now := s.Now()
	m := MintedKey{ID: s.ids().NewKey(now), AppID: k.AppID, Name: k.Name, CreatedAt: now.UnixMilli(), Carried: k.Carried, prefix: k.Prefix}
	m.Metadata = someMetadata(m.Metadata)
	if m.AppID == "" {
		m.AppID = id.DefaultApp(o)
	}
	if k.ExpiresIn != 0 {
		m.ExpiresAt = now.Add(k.ExpiresIn).UnixMilli()
	}
	return m
}

// mint makes the text of a key. own is the prefix of its app, "" for none. The caller reads own with a strong read in the request
// that makes the key. So a new key never begins with a prefix that was changed before the request began.
func (k *MintedKey) mint(o id.Org, own string, random io.Reader) (err error) {
	k.Minted, err = apikey.Mint(cmp.Or(own, k.prefix), o, k.ID, random)
	return err
}

// CreateKey creates an API key.
//
// Errors: org_not_found, insufficient_role, a.OldSignIn, idempotency_key_reused, org_suspended, app_not_found, limit_reached.
func (s *Store) CreateKey(ctx context.Context, a Actor, o id.Org, wanted NewKey, once Once[MintedKey]) (Created[MintedKey], error) {
	return s.addKey(ctx, a, o, s.identify(o, wanted), once, "key.created", func(*txn) {})
}

// addKey writes a new key. It reads the org if k.org is nil, and again when the org's state changes before the transaction.
// also adds other writes to the transaction. Errors: the errors of CreateKey, and of also.
func (s *Store) addKey(ctx context.Context, a Actor, o id.Org, k MintedKey, once Once[MintedKey], action string, also func(*txn)) (made Created[MintedKey], err error) {
	err = s.db.Retry(ctx, func() (err error) {
		if k.org == nil {
			if err := s.readOrgAndMint(ctx, a, o, &k); err != nil {
				return err
			}
		}
		if made, err = once.render(k); err != nil {
			return err
		}
		if k.org.SuspendedAt != 0 {
			return s.unlessKept(ctx, once.Request, errOrgSuspended)
		}
		t := s.begin()
		t.Check(a.right(o))
		t.once(once.Request, made.Answer)
		if k.AppID != id.DefaultApp(o) { // the default app exists as long as the org
			t.Check(appRow(o, k.AppID), table.Exists, refuse(errAppNotFound))
		}
		also(t)
		isCurrent, refusal := k.org.State.isCurrent(errKeyLimit)
		t.Update(activeKeysRow(o), table.All(isCurrent, table.Shorter(attrLive, s.Limits.ActiveKeys)), refusal,
			table.Entry(attrLive, string(k.ID)).Set(k.ExpiresAt))
		t.putKey(a, o, k)
		changes := APIKey{}.changes(APIKey{Carried: k.Carried}) // from an empty key
		changes["name"], changes["appId"], changes["expiresAt"] = Change{To: k.Name}, Change{To: k.AppID}, Change{To: webhook.OrNull(k.ExpiresAt)}
		t.audit(ctx, entry{org: o, at: k.CreatedAt, action: action, actor: a.id(), target: string(k.ID), changes: changes})
		err = t.Commit(ctx)
		switch {
		case errors.Is(err, table.ErrRaced):
			k.org = nil
		case problem.Is(err, problem.LimitReached):
			return s.dropExpired(ctx, o, err)
		}
		return err
	})
	return made.committed(err)
}

// readOrgAndMint reads the org of a new key, and the key's app with it. It makes the text of the key, unless that was made elsewhere.
func (s *Store) readOrgAndMint(ctx context.Context, a Actor, o id.Org, k *MintedKey) error {
	rows, err := s.readToChange(ctx, a, o, appRow(o, k.AppID))
	if err = cmp.Or(err, a.OldSignIn); err != nil {
		return err
	}
	found, err := table.Decode(rows[orgRow(o)], orgFrom)
	if err != nil {
		return err
	}
	own, err := table.Decode(rows[appRow(o, k.AppID)], attrKeysBeginWith.OrZero)
	if err == nil && k.prefix != "" {
		err = k.mint(o, own, s.Rand)
	}
	k.org = &found
	return err
}

// purgeAfter returns when the row of a key that ended at a time (milliseconds) may be deleted, in
// seconds, as attrPurgeAt has it.
func purgeAfter(died int64) int64 { return time.UnixMilli(died).Add(deadKeysFor).Unix() }

// dropExpired removes the expired keys from the map of active keys. It returns table.ErrRaced when there were any, so that the use case
// tries again, and full when there were none.
func (s *Store) dropExpired(ctx context.Context, o id.Org, full error) error {
	live, _, err := lookup(ctx, s, activeKeysRow(o), attrLive.OrZero)
	if err != nil {
		return err
	}
	now := s.now()
	drops, unchanged := dropsOf(attrLive, live, func(at int64) bool { return at != 0 && at <= now })
	if drops == nil {
		return full
	}
	t := s.begin()
	t.Update(activeKeysRow(o), table.All(unchanged...), table.Raced, drops...)
	// An entry that has changed since the read was removed by another request: that made room too.
	return cmp.Or(t.Commit(ctx), table.ErrRaced)
}

// putKey writes the row of a new key with the attributes more, and the event key.created. It makes a key with a long life due for
// key.expiring. The attributes of the index are in the row of the last use, so that the sweep never writes a key's row.
func (t *txn) putKey(a Actor, o id.Org, k MintedKey, more ...table.Change) {
	t.Create(apiKeyRow(o, k.ID),
		attrHash.Set(k.Minted.Hash[:]), attrPrefix.Set(k.Minted.Prefix), attrAppID.Set(k.AppID),
		attrName.Set(k.Name), attrCreatedAt.Set(k.CreatedAt), attrCreatedBy.SetOrRemove(a.User.Short()), k.set(), k.org.State.set(),
		table.If(k.ExpiresAt != 0, table.Changes(attrExpiresAt.Set(k.ExpiresAt), attrPurgeAt.Set(purgeAfter(k.ExpiresAt)))), table.Changes(more...),
	)
	if at := (apikey.State{CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt}).WarnAt(); at != 0 {
		row := usedRow(o, k.ID)
		t.Update(row, nil, nil, dueAt(DueKey, row, at), attrPurgeAt.Set(purgeAfter(k.ExpiresAt)))
	}
	t.event(newEvent{org: o, app: k.AppID, kind: webhook.KeyCreated, at: k.CreatedAt, data: webhook.KeyData{
		KeyID: k.ID, KeyPrefix: k.Minted.Prefix, Name: k.Name, AppID: k.AppID, ExpiresAt: webhook.OrNull(k.ExpiresAt),
	}})
}

// WarnOfKey writes key.expiring, once, for a key that is still active. Active or not, the key is no
// longer due: the row of its last use leaves the index. The key's own row does not change.
func (s *Store) WarnOfKey(ctx context.Context, o id.Org, k id.Key) error {
	found, ok, err := s.APIKey(ctx, o, k)
	if err != nil {
		return err
	}
	now := s.now()
	t := s.begin()
	t.Update(usedRow(o, k), attrDue.Present(), table.Raced, notDue())
	if ok && found.ActiveAt(now) {
		t.event(newEvent{org: o, app: found.AppID, kind: webhook.KeyExpiring, at: now, data: found.data()})
	}
	return ignoreRaced(t.Commit(ctx))
}

// data returns the data of the events of a key.
func (k APIKey) data() webhook.KeyData {
	return webhook.KeyData{
		KeyID: k.ID, KeyPrefix: k.Prefix, Name: k.Name, AppID: k.AppID,
		ExpiresAt: webhook.OrNull(k.ExpiresAt), RevokedAt: webhook.OrNull(k.RevokedAt),
	}
}

package store

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"time"

	"latchkey/pkg/webhook"
)

// The attributes of the row STATE, which says which signing key is active.
const (
	attrKid        = "kid"
	attrMade       = "made" // ARN of a key that KMS has created and no row has yet
	attrLeaseOwner = "leaseOwner"
	attrLeaseUntil = "leaseUntil"
)

// The errors of a change of the signing keys. No caller of the API sees them.
var (
	ErrLeaseHeld = errors.New("store: another rotation is at work")
	ErrLeaseLost = errors.New("store: another rotation has taken over")
	ErrOvertaken = errors.New("store: the signing keys have changed since they were read")
)

// Lease is the right to change the signing keys, until its time is over and another run takes
// it. Every change checks the lease in its transaction, so that a run that has lost it changes
// nothing.
type Lease struct{ owner string }

// SigningKeys is the state of the signing keys in the table at one moment.
type SigningKeys struct {
	ActiveKid string // of the active key; "" before the first
	Made      string // ARN of a key that KMS has created and that has no row yet
	Keys      []webhook.SigningKey
}

// Active returns the active key. ok is false before the first one, and when it was revoked.
func (k SigningKeys) Active() (key webhook.SigningKey, ok bool) {
	key, ok = k.Find(k.ActiveKid)
	return key, ok && key.State == webhook.SigningActive
}

// Next returns the next key. ok is false when there is none.
func (k SigningKeys) Next() (key webhook.SigningKey, ok bool) {
	for _, key := range k.Keys {
		if key.State == webhook.SigningNext {
			return key, true
		}
	}
	return webhook.SigningKey{}, false
}

// Find returns a key by its kid. ok is false when there is none.
func (k SigningKeys) Find(kid string) (key webhook.SigningKey, ok bool) {
	for _, key := range k.Keys {
		if key.Kid == kid {
			return key, true
		}
	}
	return webhook.SigningKey{}, false
}

// SigningKeys reads the signing keys, and which one is active, in strong reads of one partition.
func (s *Store) SigningKeys(ctx context.Context) (SigningKeys, error) {
	rows, err := s.whole(ctx, span{pk: pkVerify, limit: verificationPage})
	if err != nil {
		return SigningKeys{}, err
	}
	var out SigningKeys
	for _, row := range rows {
		if row.str(attrSK) == skState {
			out.ActiveKid, out.Made = row.str(attrKid), row.str(attrMade)
			continue
		}
		out.Keys = append(out.Keys, keyFrom(row))
	}
	return out, nil
}

// LeaseSigningKeys takes the right to change the signing keys for a time. Error: ErrLeaseHeld.
func (s *Store) LeaseSigningKeys(ctx context.Context, during time.Duration) (Lease, error) {
	l := Lease{rand.Text()}
	now := s.Now()
	t := &txn{}
	t.update(s.table, signingStateKey(), expr{
		update: "SET leaseOwner = :me, leaseUntil = :until", when: "attribute_not_exists(leaseUntil) OR leaseUntil <= :now",
		values: item{":me": str(l.owner), ":now": num(now.UnixMilli()), ":until": num(now.Add(during).UnixMilli())},
	}, func(item) error { return ErrLeaseHeld })
	t.own(item{attrLeaseOwner: str(l.owner)})
	return l, s.commit(ctx, t)
}

// ReleaseSigningKeys gives the lease back before its time. It is no error when the lease was lost.
func (s *Store) ReleaseSigningKeys(ctx context.Context, l Lease) error {
	t := &txn{}
	t.leased(s.table, l, expr{update: "REMOVE leaseOwner, leaseUntil"})
	if err := s.commit(ctx, t); !errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// leased changes the row STATE, or only checks it when e.update is "". The conditions are the
// lease and e.when. A transaction under a lease begins with this operation.
func (t *txn) leased(table *string, l Lease, e expr) {
	if e.when != "" {
		e.when = " AND " + e.when
	}
	e.when = "leaseOwner = :me" + e.when
	e.values = maps.Clone(e.values)
	if e.values == nil {
		e.values = item{}
	}
	e.values[":me"] = str(l.owner)
	refuse := func(found item) error {
		if found.str(attrLeaseOwner) != l.owner {
			return ErrLeaseLost
		}
		return ErrOvertaken
	}
	if e.update == "" {
		t.check(table, signingStateKey(), e, refuse)
		return
	}
	t.update(table, signingStateKey(), e, refuse)
}

func overtaken(item) error { return ErrOvertaken }

// KeepMadeKey writes the ARN of a key that KMS has just created, before any other call about the
// key. If a later call fails, the next rotation continues with this key. Error: ErrLeaseLost.
func (s *Store) KeepMadeKey(ctx context.Context, l Lease, arn string) error {
	t := &txn{}
	t.leased(s.table, l, expr{update: "SET made = :arn", values: item{":arn": str(arn)}})
	return s.commit(ctx, t)
}

// PublishSigningKey registers a key as the next one. Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) PublishSigningKey(ctx context.Context, l Lease, jwk webhook.JWK, arn string) error {
	t := &txn{}
	t.leased(s.table, l, expr{update: "REMOVE made"})
	t.register(s, jwk, arn, item{attrState: str(string(webhook.SigningNext))})
	return s.commit(ctx, t)
}

// register writes the row of a new key. Its x, y and ARN never change.
func (t *txn) register(s *Store, jwk webhook.JWK, arn string, attrs item) {
	attrs[attrX], attrs[attrY], attrs[attrARN] = str(jwk.X), str(jwk.Y), str(arn)
	attrs[attrCreatedAt] = num(s.now())
	t.put(s.table, verificationKeyKey(jwk.Kid), attrs, expr{when: ifAbsent}, overtaken)
}

// ActivateSigningKey makes a key the active one: the next key, or one that has no row yet. The
// key that was active before is retired, and expires when no process can sign with it any more.
// Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) ActivateSigningKey(ctx context.Context, l Lease, was SigningKeys, jwk webhook.JWK, arn string) error {
	now := s.Now()
	t := &txn{}
	state := expr{
		update: "SET kid = :kid, arn = :arn", when: "attribute_not_exists(kid)",
		values: item{":kid": str(jwk.Kid), ":arn": str(arn)},
	}
	if was.ActiveKid != "" {
		state.when, state.values[":was"] = "kid = :was", str(was.ActiveKid)
	}
	if was.Made == arn {
		state.update += " REMOVE made"
	}
	t.leased(s.table, l, state)
	active := item{":active": str(string(webhook.SigningActive)), ":now": num(now.UnixMilli())}
	if _, known := was.Find(jwk.Kid); known {
		active[":next"] = str(string(webhook.SigningNext))
		t.update(s.table, verificationKeyKey(jwk.Kid), expr{
			update: "SET #state = :active, activatedAt = :now", when: "#state = :next", names: stateName(), values: active,
		}, overtaken)
	} else {
		t.register(s, jwk, arn, item{attrState: active[":active"], attrActivatedAt: active[":now"]})
	}
	if old, ok := was.Active(); ok {
		t.retire(s.table, old.Kid, webhook.SigningActive, now, now.Add(webhook.KeyOverlap))
	}
	return s.commit(ctx, t)
}

// retire makes a key retired, if it is in the state from.
func (t *txn) retire(table *string, kid string, from webhook.SigningState, now, expires time.Time) {
	t.update(table, verificationKeyKey(kid), expr{
		update: "SET #state = :retired, retiredAt = :now, expiredAt = :expires", when: "#state = :from", names: stateName(),
		values: item{
			":retired": str(string(webhook.SigningRetired)), ":from": str(string(from)),
			":now": num(now.UnixMilli()), ":expires": num(expires.UnixMilli()),
		},
	}, overtaken)
}

// DropNextKey retires a next key that has never signed. Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) DropNextKey(ctx context.Context, l Lease, kid string) error {
	t := &txn{}
	t.leased(s.table, l, expr{})
	t.retire(s.table, kid, webhook.SigningNext, s.Now(), s.Now())
	return s.commit(ctx, t)
}

// NoteDisabledKey writes that a key is disabled in KMS. Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) NoteDisabledKey(ctx context.Context, l Lease, kid string) error {
	t := &txn{}
	t.leased(s.table, l, expr{})
	t.update(s.table, verificationKeyKey(kid), expr{
		update: "SET disabledAt = :now", when: "attribute_exists(PK) AND attribute_not_exists(disabledAt)",
		values: item{":now": num(s.now())},
	}, overtaken)
	return s.commit(ctx, t)
}

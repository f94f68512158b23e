package store

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"time"

	"latchkey/pkg/signing"
)

// Attributes of the row that says which signing key is active.
const (
	attrKid        = "kid"
	attrMade       = "made" // ARN of a key that KMS made and no row has yet
	attrLeaseOwner = "leaseOwner"
	attrLeaseUntil = "leaseUntil"
)

// What a change of the signing keys can meet. None reaches a caller of the API.
var (
	ErrLeaseHeld = errors.New("store: another rotation is at work")
	ErrLeaseLost = errors.New("store: another rotation has taken over")
	ErrOvertaken = errors.New("store: the signing keys have changed since they were read")
)

// Lease is the right to change the signing keys, until another takes it. Every
// change checks it in its transaction, so that one who lost it changes nothing.
type Lease struct{ owner string }

// SigningKeys is what the table says of the signing keys at one moment.
type SigningKeys struct {
	ActiveKid string // of the key that signs; "" before the first
	Made      string // ARN of a key that KMS made and that is not registered yet
	Keys      []signing.Key
}

// Active gives the key that signs; ok is false before the first, and when it was
// revoked.
func (k SigningKeys) Active() (key signing.Key, ok bool) {
	key, ok = k.Find(k.ActiveKid)
	return key, ok && key.State == signing.Active
}

// Next gives the key that is published and does not sign yet.
func (k SigningKeys) Next() (key signing.Key, ok bool) {
	for _, key := range k.Keys {
		if key.State == signing.Next {
			return key, true
		}
	}
	return signing.Key{}, false
}

// Find gives a key by its kid.
func (k SigningKeys) Find(kid string) (key signing.Key, ok bool) {
	for _, key := range k.Keys {
		if key.Kid == kid {
			return key, true
		}
	}
	return signing.Key{}, false
}

// SigningKeys reads the signing keys and which is active, in one strong read.
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

// LeaseSigningKeys gives the right to change the signing keys for a while. Error:
// ErrLeaseHeld.
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

// ReleaseSigningKeys gives the lease back before its time; one that was lost is
// nothing to give back.
func (s *Store) ReleaseSigningKeys(ctx context.Context, l Lease) error {
	t := &txn{}
	t.leased(s.table, l, expr{update: "REMOVE leaseOwner, leaseUntil"})
	if err := s.commit(ctx, t); !errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// leased changes the STATE row, or with e.update "" only checks it, under the
// lease and e.when. A transaction under a lease begins with it.
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

// KeepMadeKey remembers a key that KMS just made, before anything else is asked
// of it: should that fail, the next rotation goes on with it. Error:
// ErrLeaseLost.
func (s *Store) KeepMadeKey(ctx context.Context, l Lease, arn string) error {
	t := &txn{}
	t.leased(s.table, l, expr{update: "SET made = :arn", values: item{":arn": str(arn)}})
	return s.commit(ctx, t)
}

// PublishSigningKey registers a key as the next to sign. Errors: ErrLeaseLost,
// ErrOvertaken.
func (s *Store) PublishSigningKey(ctx context.Context, l Lease, jwk signing.JWK, arn string) error {
	t := &txn{}
	t.leased(s.table, l, expr{update: "REMOVE made"})
	t.register(s, jwk, arn, item{attrState: str(string(signing.Next))})
	return s.commit(ctx, t)
}

// register writes the row of a new key; x, y and the ARN never change after.
func (t *txn) register(s *Store, jwk signing.JWK, arn string, attrs item) {
	attrs[attrX], attrs[attrY], attrs[attrARN] = str(jwk.X), str(jwk.Y), str(arn)
	attrs[attrCreatedAt] = num(s.now())
	t.put(s.table, verificationKeyKey(jwk.Kid), attrs, expr{when: ifAbsent}, overtaken)
}

// ActivateSigningKey makes a key the one that signs: the next one, or one that
// has no row yet. The key that signed until now, by was, is retired and expires
// when nobody can be signing with it any more. Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) ActivateSigningKey(ctx context.Context, l Lease, was SigningKeys, jwk signing.JWK, arn string) error {
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
	active := item{":active": str(string(signing.Active)), ":now": num(now.UnixMilli())}
	if _, known := was.Find(jwk.Kid); known {
		active[":next"] = str(string(signing.Next))
		t.update(s.table, verificationKeyKey(jwk.Kid), expr{
			update: "SET #state = :active, activatedAt = :now", when: "#state = :next", names: stateName(), values: active,
		}, overtaken)
	} else {
		t.register(s, jwk, arn, item{attrState: active[":active"], attrActivatedAt: active[":now"]})
	}
	if old, ok := was.Active(); ok {
		t.retire(s.table, old.Kid, signing.Active, now, now.Add(signing.Overlap))
	}
	return s.commit(ctx, t)
}

// retire ends the life of a key in a state.
func (t *txn) retire(table *string, kid string, from signing.State, now, expires time.Time) {
	t.update(table, verificationKeyKey(kid), expr{
		update: "SET #state = :retired, retiredAt = :now, expiredAt = :expires", when: "#state = :from", names: stateName(),
		values: item{
			":retired": str(string(signing.Retired)), ":from": str(string(from)),
			":now": num(now.UnixMilli()), ":expires": num(expires.UnixMilli()),
		},
	}, overtaken)
}

// DropNextKey retires a next key that never signed. Errors: ErrLeaseLost,
// ErrOvertaken.
func (s *Store) DropNextKey(ctx context.Context, l Lease, kid string) error {
	t := &txn{}
	t.leased(s.table, l, expr{})
	t.retire(s.table, kid, signing.Next, s.Now(), s.Now())
	return s.commit(ctx, t)
}

// NoteDisabledKey remembers that KMS signs with a key no more. Errors:
// ErrLeaseLost, ErrOvertaken.
func (s *Store) NoteDisabledKey(ctx context.Context, l Lease, kid string) error {
	t := &txn{}
	t.leased(s.table, l, expr{})
	t.update(s.table, verificationKeyKey(kid), expr{
		update: "SET disabledAt = :now", when: "attribute_exists(PK) AND attribute_not_exists(disabledAt)",
		values: item{":now": num(s.now())},
	}, overtaken)
	return s.commit(ctx, t)
}

package store

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// signingPage is the number of rows that one query of the keys reads. With a new key every 90 days, one
// query reads all keys of a century.
const signingPage = 500

func signingKeyFrom(r *table.Reading) webhook.SigningKey {
	return webhook.SigningKey{
		JWK: webhook.JWK{Kid: r.SK(skKey), X: attrX.From(r), Y: attrY.From(r)}, ARN: attrARN.From(r), State: attrState.From(r),
		CreatedAt: attrCreatedAt.From(r), ActivatedAt: attrActivatedAt.OrZero(r), RetiredAt: attrRetiredAt.OrZero(r),
		ExpiredAt: attrExpiredAt.OrZero(r), RevokedAt: attrRevokedAt.OrZero(r), DisabledAt: attrDisabledAt.OrZero(r),
	}
}

// VerificationKey returns a verification key in any state, also a revoked one, in one strong
// read. Error: unknown_kid.
func (s *Store) VerificationKey(ctx context.Context, kid string) (webhook.SigningKey, error) {
	return find(ctx, s, signingKeyRow(kid), signingKeyFrom, errUnknownKid)
}

// SigningKey is the signing key that was activated last.
type SigningKey struct{ Kid, ARN string }

// ActiveSigningKey returns the active key, in one strong read, also when it was revoked since. ok is false before the first
// rotation.
func (s *Store) ActiveSigningKey(ctx context.Context) (k SigningKey, ok bool, err error) {
	k, _, err = lookup(ctx, s, signingStateRow(), func(r *table.Reading) SigningKey {
		return SigningKey{attrKid.OrZero(r), attrARN.OrZero(r)}
	})
	return k, k.Kid != "", err
}

// VerificationKeys returns all verification keys, also retired and revoked ones, by kid.
func (s *Store) VerificationKeys(ctx context.Context) ([]webhook.SigningKey, error) {
	return whole(ctx, s, table.Span{PK: pkVerify, Prefix: skKey, Limit: signingPage}, signingKeyFrom)
}

// RevokeVerificationKey revokes a key, so that its signatures are not trusted from now on: its lookup
// answers 410, the key set leaves it out, and the next rotation disables it in KMS and, when it was
// active, replaces it. A revocation cannot be undone. Error: unknown_kid.
//
// An operator does this by hand, in an emergency. No route calls it. The AWS CLI does the same, where now
// is in milliseconds:
//
//	aws dynamodb update-item --table-name "$TABLE" \
//	  --key '{"PK":{"S":"VKEYS"},"SK":{"S":"KEY#<kid>"}}' \
//	  --condition-expression 'attribute_exists(PK) AND #state <> :revoked' \
//	  --update-expression 'SET #state = :revoked, revokedAt = :now' \
//	  --expression-attribute-names '{"#state":"state"}' \
//	  --expression-attribute-values '{":revoked":{"S":"revoked"},":now":{"N":"<now>"}}'
func (s *Store) RevokeVerificationKey(ctx context.Context, kid string) error {
	t := s.begin()
	t.Update(signingKeyRow(kid), table.All(table.Exists, attrState.Not(webhook.SigningRevoked)), func(found table.Row) error {
		if found == nil {
			return errUnknownKid
		}
		return errRevokedAlready
	}, attrState.Set(webhook.SigningRevoked), attrRevokedAt.Set(s.now()))
	if err := t.Commit(ctx); !errors.Is(err, errRevokedAlready) {
		return err
	}
	return nil
}

// The errors of a change of the signing keys. No caller of the API sees them.
var (
	ErrLeaseHeld = errors.New("store: another rotation is at work")
	ErrLeaseLost = errors.New("store: another rotation has taken over")
	ErrOvertaken = errors.New("store: the signing keys have changed since they were read") // by an operator's revocation
)

// Lease is the right to change the signing keys. It lasts until its time is over and another run of the
// rotation gets the lease. Every change checks the lease in its transaction, so that a run that has lost
// the lease changes nothing.
type Lease struct{ owner string }

// SigningKeys is the state of the signing keys in the table, as it was read.
type SigningKeys struct {
	ActiveKid string // of the active key, also when it was revoked since; "" before the first
	Made      string // ARN of a key that KMS has created and that has no row yet
	MadeAt    int64  // when Made was created, in milliseconds since the epoch; 0: an earlier version wrote Made
	Keys      []webhook.SigningKey
}

// Active returns the active key. ok is false before the first one, and when the active key was revoked.
func (k SigningKeys) Active() (key webhook.SigningKey, ok bool) {
	key, ok = k.Find(k.ActiveKid)
	return key, ok && key.State == webhook.SigningActive
}

// Next returns the next key. ok is false when there is no next key.
func (k SigningKeys) Next() (key webhook.SigningKey, ok bool) {
	return k.first(func(key webhook.SigningKey) bool { return key.State == webhook.SigningNext })
}

// Find returns a key by its kid. ok is false when there is no such key.
func (k SigningKeys) Find(kid string) (key webhook.SigningKey, ok bool) {
	return k.first(func(key webhook.SigningKey) bool { return key.Kid == kid })
}

// first returns the first key for which is returns true.
func (k SigningKeys) first(is func(webhook.SigningKey) bool) (key webhook.SigningKey, ok bool) {
	if i := slices.IndexFunc(k.Keys, is); i >= 0 {
		return k.Keys[i], true
	}
	return key, false
}

// SigningKeys reads the signing keys, and which one is active, in strong reads of one partition.
func (s *Store) SigningKeys(ctx context.Context) (SigningKeys, error) {
	var out SigningKeys
	// The partition also has the row STATE: for this row, from returns an empty key.
	from := func(r *table.Reading) (none webhook.SigningKey) {
		if r.Row.Key() == signingStateRow() {
			out.ActiveKid, out.Made, out.MadeAt = attrKid.OrZero(r), attrMade.OrZero(r), attrMadeAt.OrZero(r)
			return none
		}
		return signingKeyFrom(r)
	}
	all, err := whole(ctx, s, table.Span{PK: pkVerify, Limit: signingPage}, from)
	out.Keys = slices.DeleteFunc(all, func(k webhook.SigningKey) bool { return k.Kid == "" })
	return out, err
}

// LeaseSigningKeys gets the right to change the signing keys for a time. Error: ErrLeaseHeld.
func (s *Store) LeaseSigningKeys(ctx context.Context, during time.Duration) (Lease, error) {
	l := Lease{rand.Text()}
	now := s.Now()
	t := s.begin()
	t.Update(signingStateRow(), table.Any(attrLeaseUntil.Absent(), attrLeaseUntil.AtMost(now.UnixMilli())), refuse(ErrLeaseHeld),
		attrLeaseOwner.Prove(l.owner), attrLeaseUntil.Set(now.Add(during).UnixMilli()))
	return l, t.Commit(ctx)
}

// ReleaseSigningKeys gives the lease back before its time. It returns no error when the lease was lost.
func (s *Store) ReleaseSigningKeys(ctx context.Context, l Lease) error {
	t := s.begin()
	t.checkLease(l, nil, attrLeaseOwner.Remove(), attrLeaseUntil.Remove())
	if err := t.Commit(ctx); !errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// checkLease adds two conditions on the row STATE to a transaction: the lease l is not lost, and the condition unchanged, if it is
// not nil. It also adds changes of this row. Call it first, so that ErrLeaseLost comes before all other refusals.
func (t *txn) checkLease(l Lease, unchanged table.Condition, changes ...table.Change) {
	held := table.All(attrLeaseOwner.Is(l.owner), unchanged)
	refusal := func(found table.Row) error {
		r := table.Read(found)
		if attrLeaseOwner.OrZero(&r) != l.owner {
			return ErrLeaseLost
		}
		return ErrOvertaken
	}
	if len(changes) == 0 {
		t.Check(signingStateRow(), held, refusal)
		return
	}
	t.Update(signingStateRow(), held, refusal, changes...)
}

// KeepMadeKey writes the ARN of a key that KMS has just created, and the time, before any other call about the
// key. If a later call fails, the next rotation continues with this key. Error: ErrLeaseLost.
func (s *Store) KeepMadeKey(ctx context.Context, l Lease, arn string) error {
	t := s.begin()
	t.checkLease(l, nil, attrMade.Set(arn), attrMadeAt.Set(s.now()))
	return t.Commit(ctx)
}

// PublishSigningKey registers a key as the next one. Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) PublishSigningKey(ctx context.Context, l Lease, jwk webhook.JWK, arn string) error {
	t := s.begin()
	t.checkLease(l, nil, attrMade.Remove(), attrMadeAt.Remove())
	t.register(jwk, arn, attrState.Set(webhook.SigningNext))
	return t.Commit(ctx)
}

// register writes the row of a new key, with its state. The x, y and ARN of a key never change.
func (t *txn) register(jwk webhook.JWK, arn string, state table.Change) {
	t.Put(signingKeyRow(jwk.Kid), table.Absent, refuse(ErrOvertaken),
		attrX.Set(jwk.X), attrY.Set(jwk.Y), attrARN.Set(arn), attrCreatedAt.Set(t.s.now()), state)
}

// ActivateSigningKey makes a key the active one: the next key, or one that has no row yet. The
// key that was active before is retired, and expires when no process can sign with it any more.
// Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) ActivateSigningKey(ctx context.Context, l Lease, was SigningKeys, jwk webhook.JWK, arn string) error {
	now := s.Now()
	t := s.begin()
	// A key that KMS has just made gets its row in this transaction, so Made need not remember it.
	t.checkLease(l, attrKid.IsOrAbsent(was.ActiveKid), attrKid.Set(jwk.Kid), attrARN.Set(arn),
		table.If(was.Made == arn, table.Changes(attrMade.Remove(), attrMadeAt.Remove())))
	active := table.Changes(attrState.Set(webhook.SigningActive), attrActivatedAt.Set(now.UnixMilli()))
	if _, known := was.Find(jwk.Kid); known {
		t.Update(signingKeyRow(jwk.Kid), attrState.Is(webhook.SigningNext), refuse(ErrOvertaken), active)
	} else {
		t.register(jwk, arn, active)
	}
	if old, ok := was.Active(); ok {
		t.retire(old.Kid, webhook.SigningActive, now, now.Add(webhook.KeyOverlap))
	}
	return t.Commit(ctx)
}

// retire makes a key retired, if it is in the state from. Signatures of the key are not trusted after
// expires.
func (t *txn) retire(kid string, from webhook.SigningState, now, expires time.Time) {
	t.Update(signingKeyRow(kid), attrState.Is(from), refuse(ErrOvertaken),
		attrState.Set(webhook.SigningRetired), attrRetiredAt.Set(now.UnixMilli()), attrExpiredAt.Set(expires.UnixMilli()))
}

// DropNextKey retires a next key that has never signed, so it expires at once. Errors: ErrLeaseLost,
// ErrOvertaken.
func (s *Store) DropNextKey(ctx context.Context, l Lease, kid string) error {
	t := s.begin()
	t.checkLease(l, nil)
	t.retire(kid, webhook.SigningNext, s.Now(), s.Now())
	return t.Commit(ctx)
}

// NoteDisabledKey writes that a key is disabled in KMS. Errors: ErrLeaseLost, ErrOvertaken.
func (s *Store) NoteDisabledKey(ctx context.Context, l Lease, kid string) error {
	t := s.begin()
	t.checkLease(l, nil)
	t.Update(signingKeyRow(kid), table.All(table.Exists, attrDisabledAt.Absent()), refuse(ErrOvertaken), attrDisabledAt.Set(s.now()))
	return t.Commit(ctx)
}

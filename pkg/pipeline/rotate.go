// Package pipeline does the work that no request does: it fans out the events of the table's
// stream, makes the attempts of the queue, and runs the scheduled sweep and the rotation of
// signing keys. It does not depend on Lambda.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const (
	// leaseFor is longer than a rotation takes. It is short enough for the next run: if a run dies, the next one
	// can wait for the end of its lease within the function's time.
	leaseFor  = 30 * time.Second
	leasePoll = 500 * time.Millisecond // between two tries to get the lease

	// maxSteps limits one rotation. A rotation needs far fewer steps: at most replace, publish and
	// disable.
	maxSteps = 20

	releaseTimeout = 2 * time.Second

	// newFor is the age up to which a key that KMS does not show may still appear. KMS shows a new key after seconds or minutes.
	newFor = time.Hour
)

// SigningKMS is the part of KMS that the rotation uses. signing.Keys implements it. For a key that
// does not exist, or that KMS does not show yet, the error is webhook.ErrNoKey; any other error may be temporary.
type SigningKMS interface {
	Public(ctx context.Context, arn string) (webhook.JWK, error)
	Create(ctx context.Context) (arn string, err error)
	Disable(ctx context.Context, arn string) error
}

// Rotation creates, activates and retires the webhook signing keys (infra/adr/0009-signing-keys.md). One key is active. When
// it is old enough, the next key is published. A day later the next key becomes active, and the old key is retired. Later
// the old key is disabled.
//
// A run reads the rows, does one step, and reads them again. After any failure, the next run
// continues from the rows, so Run may be called at any time, also twice at once.
type Rotation struct {
	Store *store.Store // the rotation uses its clock
	KMS   SigningKMS

	// FirstARN is the key that the template creates. It is the first key that signs.
	FirstARN string

	// Every is how long a key signs before the next key is created; 0: keys are never replaced because of their age.
	Every time.Duration

	// Sleep waits for the lease of another run; nil: the real time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// rotation is one run with its lease.
type rotation struct {
	*Rotation
	lease store.Lease
	known map[string]*webhook.JWK // public keys that KMS returned in this run, by ARN; nil: KMS shows no such key
}

// Run does everything that is due. Errors: store.ErrLeaseHeld when another run held the lease
// until ctx ended, store.ErrLeaseLost when this run took too long, webhook.ErrNoKey while KMS does not
// show a new key, and every fault of KMS and the table. The next run continues where this one failed.
func (r *Rotation) Run(ctx context.Context) error {
	lease, err := r.takeLease(ctx)
	if err != nil {
		return fmt.Errorf("rotation: %w", err)
	}
	defer r.release(ctx, lease)
	run := &rotation{r, lease, map[string]*webhook.JWK{}}
	for range maxSteps {
		acted, err := run.step(ctx)
		if errors.Is(err, store.ErrOvertaken) {
			continue // the keys have changed since this step read them; the next step reads them again
		}
		if err != nil {
			return fmt.Errorf("rotation: %w", err)
		}
		if !acted {
			return nil
		}
	}
	return fmt.Errorf("rotation: the keys still change after %d steps", maxSteps)
}

// takeLease waits until no other run holds the lease. This run then does the remaining work itself: so a run that ends
// without an error has done everything that was due.
func (r *Rotation) takeLease(ctx context.Context) (store.Lease, error) {
	for {
		lease, err := r.Store.LeaseSigningKeys(ctx, leaseFor)
		if !errors.Is(err, store.ErrLeaseHeld) {
			return lease, err
		}
		if wait := r.sleep(ctx, leasePoll); wait != nil {
			return lease, errors.Join(err, wait)
		}
	}
}

func (r *Rotation) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// release gives the lease back, even when ctx has ended. A lease that is not given back ends by itself after leaseFor.
func (r *Rotation) release(ctx context.Context, lease store.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := r.Store.ReleaseSigningKeys(ctx, lease); err != nil {
		slog.WarnContext(ctx, "the rotation's lease is left to lapse", "error", err)
	}
}

// step does the first thing that is due, and reports whether there was one.
func (r *rotation) step(ctx context.Context) (acted bool, err error) {
	keys, err := r.Store.SigningKeys(ctx)
	if err != nil {
		return false, err
	}
	active, ok := keys.Active()
	if ok {
		jwk, err := r.public(ctx, active.ARN)
		if err != nil {
			return false, err
		}
		ok = jwk != nil // KMS may have lost the active key, or not show it yet
	}
	if !ok {
		return true, r.replace(ctx, keys)
	}
	next, waiting := keys.Next()
	switch {
	case waiting && r.since(next.CreatedAt) >= webhook.KeyPublishedFor:
		return true, r.promote(ctx, keys, next)
	case !waiting && r.Every > 0 && r.since(active.ActivatedAt) >= r.Every:
		return true, r.publish(ctx, keys)
	}
	return r.disable(ctx, keys)
}

// since returns how long ago at was. at is in milliseconds since the epoch.
func (r *rotation) since(at int64) time.Duration {
	return r.Store.Now().Sub(time.UnixMilli(at))
}

// mayAppear returns webhook.ErrNoKey for a key that KMS does not show, while the key is so new that KMS may still show it. at
// is when the key was made or registered, in milliseconds since the epoch; 0: long ago.
func (r *rotation) mayAppear(arn string, at int64) error {
	if r.since(at) >= newFor {
		return nil
	}
	return fmt.Errorf("KMS does not show a new key yet: %w: %s", webhook.ErrNoKey, arn)
}

// public returns the public half of a key. It reads each key from KMS once in a run. It returns nil when KMS shows no
// such key.
func (r *rotation) public(ctx context.Context, arn string) (*webhook.JWK, error) {
	if arn == "" {
		return nil, nil //nolint:nilnil // no key is a valid result
	}
	if jwk, known := r.known[arn]; known {
		return jwk, nil
	}
	jwk, err := r.KMS.Public(ctx, arn)
	switch {
	case errors.Is(err, webhook.ErrNoKey):
		r.known[arn] = nil
	case err != nil:
		return nil, err
	default:
		r.known[arn] = &jwk
	}
	return r.known[arn], nil
}

// replace activates a key when no key can sign: there is no active key yet, it was revoked, or
// KMS has lost it. The new key need not have been published before, because no other key can
// sign.
func (r *rotation) replace(ctx context.Context, keys store.SigningKeys) error {
	if next, ok := keys.Next(); ok {
		return r.promote(ctx, keys, next)
	}
	for _, arn := range []string{keys.Made, r.FirstARN} {
		// A key that has signed before never signs again. This check comes first, because KMS may
		// refuse to describe a disabled key.
		if slices.ContainsFunc(keys.Keys, func(k webhook.SigningKey) bool { return k.ARN == arn }) {
			continue
		}
		jwk, err := r.public(ctx, arn)
		if err != nil {
			return err
		}
		if jwk == nil {
			continue
		}
		if _, had := keys.Find(jwk.Kid); had {
			continue // a key that has signed before never signs again
		}
		return r.activate(ctx, keys, *jwk, arn)
	}
	if active, ok := keys.Active(); ok {
		if err := r.mayAppear(active.ARN, active.CreatedAt); err != nil {
			return err
		}
	}
	return r.create(ctx, keys)
}

// promote activates the next key, or drops it when KMS has lost it.
func (r *rotation) promote(ctx context.Context, keys store.SigningKeys, next webhook.SigningKey) error {
	jwk, err := r.public(ctx, next.ARN)
	if err != nil {
		return err
	}
	if jwk == nil {
		if err := r.mayAppear(next.ARN, next.CreatedAt); err != nil {
			return err
		}
		slog.WarnContext(ctx, "KMS does not know the next signing key", "kid", next.Kid, "arn", next.ARN)
		return r.Store.DropNextKey(ctx, r.lease, next.Kid)
	}
	return r.activate(ctx, keys, next.JWK, next.ARN)
}

func (r *rotation) activate(ctx context.Context, keys store.SigningKeys, jwk webhook.JWK, arn string) error {
	if err := r.Store.ActivateSigningKey(ctx, r.lease, keys, jwk, arn); err != nil {
		return err
	}
	slog.InfoContext(ctx, "signing key activated", "kid", jwk.Kid, "arn", arn, "before", keys.ActiveKid)
	return nil
}

// publish registers the next key. It creates one first when no unused key exists.
func (r *rotation) publish(ctx context.Context, keys store.SigningKeys) error {
	jwk, err := r.public(ctx, keys.Made)
	if err != nil {
		return err
	}
	if jwk == nil {
		return r.create(ctx, keys)
	}
	if err := r.Store.PublishSigningKey(ctx, r.lease, *jwk, keys.Made); err != nil {
		return err
	}
	slog.InfoContext(ctx, "next signing key published", "kid", jwk.Kid, "arn", keys.Made)
	return nil
}

// create creates a key and writes its ARN to the table. Only later steps read its public half, because KMS may refuse
// that until the new key's tag takes effect. While KMS may still show the key that was made before, create makes no other:
// each key costs money, and the table remembers one.
func (r *rotation) create(ctx context.Context, keys store.SigningKeys) error {
	if keys.Made != "" {
		if err := r.mayAppear(keys.Made, keys.MadeAt); err != nil {
			return err
		}
	}
	arn, err := r.KMS.Create(ctx)
	if err != nil {
		return err
	}
	slog.InfoContext(ctx, "signing key made", "arn", arn) // if the next line fails, only this log line names the key
	return r.Store.KeepMadeKey(ctx, r.lease, arn)
}

// disable disables one key that no longer signs: a revoked key, or a key that was retired
// webhook.KeyListedFor ago. A key that KMS has lost counts as disabled, but a new key does not: KMS may still show it.
func (r *rotation) disable(ctx context.Context, keys store.SigningKeys) (done bool, err error) {
	for _, k := range keys.Keys {
		revoked := k.State == webhook.SigningRevoked
		retiredLongAgo := k.State == webhook.SigningRetired && !k.Listed(r.Store.Now())
		disabled := k.DisabledAt != 0
		if disabled || !revoked && !retiredLongAgo {
			continue
		}
		err := r.KMS.Disable(ctx, k.ARN)
		if errors.Is(err, webhook.ErrNoKey) {
			err = r.mayAppear(k.ARN, k.CreatedAt)
		}
		if err != nil {
			return false, err
		}
		slog.InfoContext(ctx, "signing key disabled", "kid", k.Kid, "arn", k.ARN)
		return true, r.Store.NoteDisabledKey(ctx, r.lease, k.Kid)
	}
	return false, nil
}

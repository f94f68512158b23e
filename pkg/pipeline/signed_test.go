package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

// TestAKMSThatIsAwayDelaysAndCountsNoAttempt has a KMS that is down for half an hour.
func TestAKMSThatIsAwayDelaysAndCountsNoAttempt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	s.signer.away.Store(true)
	s.pump(t)
	w := r.work(e)
	if w.Status != webhook.DeliveryPending || w.Attempts != 0 || w.Last != nil || time.UnixMilli(w.NextAttempt).Sub(s.Now()) != 15*time.Second {
		t.Errorf("%+v", w.Delivery)
	}
	for range 6 {
		s.later(t, 5*time.Minute)
	}
	r.wants("KMS is away", 0)
	if w := r.work(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 {
		t.Errorf("%+v", w.Delivery)
	}
	if endpoint := r.now(); endpoint.Failures != 0 {
		t.Errorf("failures of the receiver: %+v", endpoint)
	}
	s.signer.away.Store(false)
	s.pass(15 * time.Second) // only the queue wakes the delivery
	s.pump(t)
	r.wants("KMS is back", 1)
	if w := r.work(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 1 {
		t.Errorf("%+v", w.Delivery)
	}
}

func TestWithoutAnActiveKeyDeliveriesWaitAndCountNoAttempt(t *testing.T) {
	t.Parallel()
	s := unsigned(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	s.pump(t)
	s.minutes(t, 3)
	if w := r.work(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 {
		t.Errorf("%+v", w.Delivery)
	}
	r.wants("no key", 0)
	s.run(t)
	s.minutes(t, 1)
	r.wants("a key", 1)
}

// kid returns the kid of the active key.
func (s *stack) kid(t *testing.T) string {
	t.Helper()
	keys, err := s.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return keys.ActiveKid
}

// TestBothKeysVerifyInTheMinuteOfAFlip: a process that remembers the old
// key signs with it for up to a minute after another key became active. These signatures verify.
func TestBothKeysVerifyInTheMinuteOfAFlip(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.at(every)
	s.run(t) // the next key is published
	old := s.kid(t)
	r := s.receiver(t, nil)
	send := func() received {
		t.Helper()
		r.event()
		s.stream(t)
		s.pump(t)
		all := r.all()
		return all[len(all)-1] // the receiver has verified it against the table
	}
	s.at(every + day - 30*time.Second)
	if got := send(); got.kid != old {
		t.Errorf("before the flip by %s", got.kid)
	}
	s.at(every + day)
	s.run(t)
	fresh := s.kid(t)
	if fresh == old {
		t.Fatal("the key did not change")
	}
	if got := send(); got.kid != old {
		t.Errorf("in the minute of the flip by %s, want the remembered %s", got.kid, old)
	}
	s.pass(31 * time.Second)
	if got := send(); got.kid != fresh {
		t.Errorf("after it by %s, want %s", got.kid, fresh)
	}
	key, err := s.VerificationKey(ctx, old)
	if err != nil || key.State != webhook.SigningRetired {
		t.Fatalf("%+v, %v", key, err)
	}
	for _, got := range r.all() {
		if got.kid == old && got.iat*1000 >= key.ExpiredAt {
			t.Errorf("signed at %d by a key that ended at %d", got.iat, key.ExpiredAt)
		}
	}
	r.wants("all", 3)
}

// TestAKeyThatKMSRefusesIsReadAgainAtOnce: after an emergency revocation and the rotation
// that follows, no delivery waits until a process forgets the old key.
func TestAKeyThatKMSRefusesIsReadAgainAtOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	r.event()
	s.stream(t)
	s.pump(t)
	old := s.kid(t)
	if err := s.RevokeVerificationKey(ctx, old); err != nil {
		t.Fatal(err)
	}
	s.run(t) // disables the old key in KMS, and activates another
	e := r.event()
	s.stream(t)
	s.signer.away.Store(true) // as KMS answers for a disabled key
	s.pump(t)
	s.signer.away.Store(false)
	s.pass(15 * time.Second)
	s.pump(t)
	r.wants("after the revoke", 2)
	if got := r.all()[1]; got.event != string(e) || got.kid == old || got.kid != s.kid(t) {
		t.Errorf("%+v", got)
	}
}

// TestOnlyWhatIsSentIsSigned: a delivery that is done, held or leased by another
// process is not signed.
func TestOnlyWhatIsSentIsSigned(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	gone := s.receiver(t, status(http.StatusGone))
	for range 3 {
		r.event()
		gone.event()
	}
	s.stream(t)
	r.wake()
	gone.wake()
	s.pump(t)
	r.wake()
	gone.wake()
	s.pump(t)
	// r takes its three webhooks. The first answer of gone disables it, and the other two are held.
	if signed, sent := int(s.signer.n.Load()), len(r.all())+len(gone.all()); signed != sent || sent != 4 {
		t.Errorf("%d signatures, %d requests", signed, sent)
	}
}

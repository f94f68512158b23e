package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

// TestAFailingKMSDelaysAndCountsNoAttempt has a KMS that fails for half an hour.
func TestAFailingKMSDelaysAndCountsNoAttempt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.signer.away.Store(true)
	s.attemptAll(t)
	w := r.readDelivery(e)
	if w.Status != webhook.DeliveryPending || w.Attempts != 0 || w.Last != nil || time.UnixMilli(w.NextAttempt).Sub(s.Now()) != 15*time.Second {
		t.Errorf("%+v", w.Delivery)
	}
	for range 6 {
		s.runAfter(t, 5*time.Minute)
	}
	r.wantRequests("KMS is away", 0)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 {
		t.Errorf("%+v", w.Delivery)
	}
	if endpoint := r.endpoint(); endpoint.Failures != 0 {
		t.Errorf("the receiver counts failures: %+v", endpoint)
	}
	s.signer.away.Store(false)
	s.pass(15 * time.Second) // only the queue wakes the delivery
	s.attemptAll(t)
	r.wantRequests("KMS is back", 1)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 1 {
		t.Errorf("%+v", w.Delivery)
	}
}

func TestWithoutAnActiveKeyDeliveriesWaitAndCountNoAttempt(t *testing.T) {
	t.Parallel()
	s := unsigned(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.attemptAll(t)
	s.runMinutes(t, 3)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 {
		t.Errorf("%+v", w.Delivery)
	}
	r.wantRequests("no key", 0)
	s.rotate(t)
	s.runMinutes(t, 1)
	r.wantRequests("a key", 1)
}

// activeKid returns the kid of the active key.
func (s *stack) activeKid(t *testing.T) string {
	t.Helper()
	keys, err := s.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return keys.ActiveKid
}

// TestBothKeysVerifyInTheMinuteAfterAReplacement: a process that remembers the old
// key signs with it for up to a minute after another key became active. These signatures verify.
func TestBothKeysVerifyInTheMinuteAfterAReplacement(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.setTime(every)
	s.rotate(t) // the next key is published
	old := s.activeKid(t)
	r := s.receiver(t, nil)
	send := func() received {
		t.Helper()
		r.newEvent()
		s.fanOutAll(t)
		s.attemptAll(t)
		all := r.requests()
		return all[len(all)-1] // the receiver has verified it against the table
	}
	s.setTime(every + day - 30*time.Second)
	if got := send(); got.kid != old {
		t.Errorf("before the replacement: signed by %s", got.kid)
	}
	s.setTime(every + day)
	s.rotate(t)
	fresh := s.activeKid(t)
	if fresh == old {
		t.Fatal("the key did not change")
	}
	if got := send(); got.kid != old {
		t.Errorf("in the minute after the replacement: signed by %s, want the remembered key %s", got.kid, old)
	}
	s.pass(31 * time.Second)
	if got := send(); got.kid != fresh {
		t.Errorf("after the minute: signed by %s, want %s", got.kid, fresh)
	}
	key, err := s.VerificationKey(ctx, old)
	if err != nil || key.State != webhook.SigningRetired {
		t.Fatalf("%+v, %v", key, err)
	}
	for _, got := range r.requests() {
		if got.kid == old && got.iat*1000 >= key.ExpiredAt {
			t.Errorf("signed at %d by a key that ended at %d", got.iat, key.ExpiredAt)
		}
	}
	r.wantRequests("all", 3)
}

// TestTheActiveKeyIsReadAgainAfterKMSRefusesIt: after a revocation and the rotation that follows, a delivery does not wait
// until its process forgets the old key.
func TestTheActiveKeyIsReadAgainAfterKMSRefusesIt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	r.newEvent()
	s.fanOutAll(t)
	s.attemptAll(t)
	old := s.activeKid(t)
	if err := s.RevokeVerificationKey(ctx, old); err != nil {
		t.Fatal(err)
	}
	s.rotate(t) // disables the old key in KMS, and activates another
	e := r.newEvent()
	s.fanOutAll(t)
	s.signer.away.Store(true) // as KMS answers for a disabled key
	s.attemptAll(t)
	s.signer.away.Store(false)
	s.pass(15 * time.Second)
	s.attemptAll(t)
	r.wantRequests("after the revoke", 2)
	if got := r.requests()[1]; got.event != string(e) || got.kid == old || got.kid != s.activeKid(t) {
		t.Errorf("%+v", got)
	}
}

// TestOnlySentWebhooksAreSigned: a delivery is not signed when it is done, held or leased by another
// process.
func TestOnlySentWebhooksAreSigned(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	gone := s.receiver(t, status(http.StatusGone))
	for range 3 {
		r.newEvent()
		gone.newEvent()
	}
	s.fanOutAll(t)
	r.wakeAll()
	gone.wakeAll()
	s.attemptAll(t)
	r.wakeAll()
	gone.wakeAll()
	s.attemptAll(t)
	// r accepts its three webhooks. The first answer of gone disables its endpoint, and the other two are held.
	if signed, sent := int(s.signer.n.Load()), len(r.requests())+len(gone.requests()); signed != sent || sent != 4 {
		t.Errorf("%d signatures, %d requests", signed, sent)
	}
}

package pipeline_test

import (
	"context"
	"crypto/sha256"
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// before is a signer that calls sign before it signs, and a poster that calls post before it posts.
type before struct {
	pipeline.Signer
	pipeline.Poster
	sign, post func()
}

func (b before) Sign(ctx context.Context, arn string, digest [sha256.Size]byte) (webhook.Signature, error) {
	b.sign()
	return b.Signer.Sign(ctx, arn, digest)
}

func (b before) Post(ctx context.Context, url string, header http.Header, body []byte) outbound.Result {
	b.post()
	return b.Poster.Post(ctx, url, header, body)
}

// TestNoAttemptBeginsAfterADisablingIsAnswered disables or deletes the endpoint before each step
// of an attempt in turn, and waits for the answer. The attempt is not made and does not count,
// and the delivery is held or cancelled. Only an attempt that has read its endpoint for the last
// time goes on.
func TestNoAttemptBeginsAfterADisablingIsAnswered(t *testing.T) {
	t.Parallel()
	changes := map[string]struct {
		change func(s *stack, r *receiver) error
		status webhook.DeliveryStatus
	}{
		"by an admin": {func(s *stack, r *receiver) error {
			_, err := s.EnableEndpoint(ctx, s.admin(), s.app, r.ID, false)
			return err
		}, webhook.DeliveryHeld},
		"by its app": {func(s *stack, r *receiver) error {
			no := false
			_, err := s.UpdateEndpoint(ctx, s.app, r.ID, store.EndpointChange{Enabled: &no})
			return err
		}, webhook.DeliveryHeld},
		"deleted": {func(s *stack, r *receiver) error { return s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey("")) }, webhook.DeliveryCancelled},
	}
	for _, step := range []string{"read", "lease", "sign", "read again", "post"} {
		for name, c := range changes {
			t.Run(step+", "+name, func(t *testing.T) {
				t.Parallel()
				s := newStack(t)
				r := s.receiver(t, nil)
				e := r.event()
				s.stream(t)
				calls := 0
				change := func() {
					calls++
					if calls > 1 {
						return // only the first attempt is tested
					}
					if err := c.change(s, r); err != nil {
						t.Error(err)
					}
				}
				nothing := func() {}
				hooks := before{s.deliver.Signer, s.deliver.Post, nothing, nothing}
				switch step {
				case "read":
					s.Faults.Before("BatchGetItem", change)
				case "lease":
					s.Faults.Before("UpdateItem", change)
				case "sign":
					hooks.sign = change
				case "read again":
					s.Faults.Before("BatchGetItem", nothing)
					s.Faults.Before("BatchGetItem", change)
				case "post":
					hooks.post = change
				}
				s.deliver.Signer, s.deliver.Post = hooks, hooks
				s.pump(t)
				if calls == 0 || s.Faults.Pending() {
					t.Fatal("the endpoint was not changed")
				}
				if step == "post" { // the attempt has read its endpoint for the last time
					r.wants("under way", 1)
					return
				}
				r.wants("after the answer", 0)
				if w := r.work(e); w.Status != c.status || w.Attempts != 0 || w.Last != nil {
					t.Errorf("%+v", w.Delivery)
				}
			})
		}
	}
}

// TestAnAttemptGoesToTheURLOfNow changes the URL after the attempt was leased: the webhook goes
// to the new URL.
func TestAnAttemptGoesToTheURLOfNow(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, nil), s.receiver(t, nil)
	other.ID = r.ID // so that other accepts webhooks for the endpoint r
	r.event()
	s.stream(t)
	url := other.URL
	hooks := before{s.deliver.Signer, s.deliver.Post, func() {
		if _, err := s.UpdateEndpoint(ctx, s.app, r.ID, store.EndpointChange{URL: &url}); err != nil {
			t.Error(err)
		}
	}, func() {}}
	s.deliver.Signer, s.deliver.Post = hooks, hooks
	s.pump(t)
	r.wants("the old URL", 0)
	other.wants("the new URL", 1)
}

// TestATableThatIsAwayBeforeTheRequestDelaysIt: nothing is sent without the last read of the endpoint.
func TestATableThatIsAwayBeforeTheRequestDelaysIt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	away := func() { s.Faults.Plan("BatchGetItem", "internal server error", 3) } // all tries of the SDK
	hooks := before{s.deliver.Signer, s.deliver.Post, away, func() {}}
	s.deliver.Signer, s.deliver.Post = hooks, hooks
	s.pump(t)
	r.wants("away", 0)
	if w := r.work(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 || s.Faults.Pending() {
		t.Errorf("%+v", w.Delivery)
	}
	s.deliver.Signer = s.signer
	s.pass(15 * time.Second) // signAgain: then the delivery is due again
	s.pump(t)
	r.wants("back", 1)
}

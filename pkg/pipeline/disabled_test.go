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

// hooked wraps a signer and a poster: it calls the function sign before each signature, and post before each request.
type hooked struct {
	pipeline.Signer
	pipeline.Poster
	sign, post func()
}

func (h hooked) Sign(ctx context.Context, arn string, digest [sha256.Size]byte) (webhook.Signature, error) {
	h.sign()
	return h.Signer.Sign(ctx, arn, digest)
}

func (h hooked) Post(ctx context.Context, url string, header http.Header, body []byte) outbound.Result {
	h.post()
	return h.Poster.Post(ctx, url, header, body)
}

// TestNoAttemptBeginsAfterADisablingIsAnswered disables or deletes the endpoint before each step
// of an attempt in turn, and waits for the answer. The attempt is not made and does not count,
// and the delivery is held or cancelled. An attempt goes on only when it has already read its
// endpoint for the last time.
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
				e := r.newEvent()
				s.fanOutAll(t)
				calls := 0
				change := func() {
					calls++
					if calls > 1 {
						return // the endpoint changes before the first attempt only
					}
					if err := c.change(s, r); err != nil {
						t.Error(err)
					}
				}
				nothing := func() {}
				hooks := hooked{s.deliver.Signer, s.deliver.Post, nothing, nothing}
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
				s.attemptAll(t)
				if calls == 0 || s.Faults.Pending() {
					t.Fatal("the endpoint was not changed")
				}
				if step == "post" { // the attempt has read its endpoint for the last time
					r.wantRequests("under way", 1)
					return
				}
				r.wantRequests("after the answer", 0)
				if w := r.readDelivery(e); w.Status != c.status || w.Attempts != 0 || w.Last != nil {
					t.Errorf("%+v", w.Delivery)
				}
			})
		}
	}
}

// TestAnAttemptGoesToTheCurrentURL changes the URL after the attempt was leased: the webhook goes
// to the new URL.
func TestAnAttemptGoesToTheCurrentURL(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, nil), s.receiver(t, nil)
	other.ID = r.ID // so that other accepts webhooks for the endpoint r
	r.newEvent()
	s.fanOutAll(t)
	url := other.URL
	hooks := hooked{s.deliver.Signer, s.deliver.Post, func() {
		if _, err := s.UpdateEndpoint(ctx, s.app, r.ID, store.EndpointChange{URL: &url}); err != nil {
			t.Error(err)
		}
	}, func() {}}
	s.deliver.Signer, s.deliver.Post = hooks, hooks
	s.attemptAll(t)
	r.wantRequests("the old URL", 0)
	other.wantRequests("the new URL", 1)
}

// TestAFailedLastReadDelaysTheAttempt: without the last read of the endpoint, nothing is sent.
func TestAFailedLastReadDelaysTheAttempt(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	failReads := func() { s.Faults.Plan("BatchGetItem", "internal server error", 3) } // all tries of the SDK
	hooks := hooked{s.deliver.Signer, s.deliver.Post, failReads, func() {}}
	s.deliver.Signer, s.deliver.Post = hooks, hooks
	s.attemptAll(t)
	r.wantRequests("the table is away", 0)
	if w := r.readDelivery(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 || s.Faults.Pending() {
		t.Errorf("%+v", w.Delivery)
	}
	s.deliver.Signer = s.signer
	s.pass(15 * time.Second) // signAgain: then the delivery is due again
	s.attemptAll(t)
	r.wantRequests("the table is back", 1)
}

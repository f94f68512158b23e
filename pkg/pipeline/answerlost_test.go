package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

// TestALostAnswerCostsNoWebhookAndSendsNoneTwice: what is called did its part, and its answer is lost. requests counts those that the
// receiver gets, also requests that it answers wrongly.
func TestALostAnswerCostsNoWebhookAndSendsNoneTwice(t *testing.T) {
	t.Parallel()
	breaks := func(w http.ResponseWriter, n int) { // the first answer is lost
		if n > 1 {
			return
		}
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}
	unavailable := func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	for name, v := range map[string]struct {
		answer             func(w http.ResponseWriter, n int)
		do                 func(s *stack, r *receiver)
		requests, attempts int
	}{
		"the queue's, at the fan-out": {nil, func(s *stack, _ *receiver) { s.queue.lost.Store(true); s.stream(t) }, 1, 1},
		"the queue's, at a retry":     {unavailable, func(s *stack, _ *receiver) { s.stream(t); s.queue.lost.Store(true); s.pump(t) }, 2, 2},
		"the queue's, at the sweep": {nil, func(s *stack, _ *receiver) {
			s.stream(t)
			s.queue.lose()
			s.pass(2 * time.Minute)
			s.queue.lost.Store(true)
			s.sweeps(t)
		}, 1, 1},
		"the queue's, at a release": {nil, func(s *stack, r *receiver) {
			r.enables(false)
			s.stream(t)
			r.enable()
			s.queue.lost.Store(true)
			s.sweeps(t)
		}, 1, 1},
		"KMS's answer":   {nil, func(s *stack, _ *receiver) { s.stream(t); s.signer.lost.Store(true); s.pump(t) }, 1, 1},
		"the receiver's": {breaks, func(s *stack, _ *receiver) { s.stream(t); s.pump(t) }, 2, 2},
	} {
		s := newStack(t)
		r := s.receiver(t, v.answer)
		e := r.event()
		v.do(s, r)
		s.queue.lost.Store(false)
		s.signer.lost.Store(false)
		for range 12 {
			s.later(t, 5*time.Minute)
		}
		w := r.work(e)
		if n := len(r.all()); n != v.requests || w.Status != webhook.DeliveryDelivered || w.Attempts != v.attempts || r.waits() != 0 {
			t.Errorf("%s: %d requests, %s after %d attempts, and %d rows are in the index", name, n, w.Status, w.Attempts, r.waits())
		}
	}
}

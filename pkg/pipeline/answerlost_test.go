package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

// TestALostAnswerLosesAndRepeatsNoWebhook: the queue, KMS or the receiver does its work, but its answer is lost. requests is
// the expected number of requests at the receiver. It includes requests with an answer other than 2xx.
func TestALostAnswerLosesAndRepeatsNoWebhook(t *testing.T) {
	t.Parallel()
	breaks := func(w http.ResponseWriter, n int) { // cuts the connection of the first request, without an answer
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
		answer             func(w http.ResponseWriter, n int) // of the receiver; nil: 204
		do                 func(s *stack, r *receiver)
		requests, attempts int
	}{
		"the queue, at the fan-out": {nil, func(s *stack, _ *receiver) { s.queue.lost.Store(true); s.fanOutAll(t) }, 1, 1},
		"the queue, at a retry":     {unavailable, func(s *stack, _ *receiver) { s.fanOutAll(t); s.queue.lost.Store(true); s.attemptAll(t) }, 2, 2},
		"the queue, at the sweep": {nil, func(s *stack, _ *receiver) {
			s.fanOutAll(t)
			s.queue.dropAll()
			s.pass(2 * time.Minute)
			s.queue.lost.Store(true)
			s.sweepOnce(t)
		}, 1, 1},
		"the queue, at a release": {nil, func(s *stack, r *receiver) {
			r.setEnabled(false)
			s.fanOutAll(t)
			r.enable()
			s.queue.lost.Store(true)
			s.sweepOnce(t)
		}, 1, 1},
		"KMS":          {nil, func(s *stack, _ *receiver) { s.fanOutAll(t); s.signer.lost.Store(true); s.attemptAll(t) }, 1, 1},
		"the receiver": {breaks, func(s *stack, _ *receiver) { s.fanOutAll(t); s.attemptAll(t) }, 2, 2},
	} {
		s := newStack(t)
		r := s.receiver(t, v.answer)
		e := r.newEvent()
		v.do(s, r)
		s.queue.lost.Store(false)
		s.signer.lost.Store(false)
		for range 12 {
			s.runAfter(t, 5*time.Minute)
		}
		w := r.readDelivery(e)
		if n := len(r.requests()); n != v.requests || w.Status != webhook.DeliveryDelivered || w.Attempts != v.attempts || r.dueRowCount() != 0 {
			t.Errorf("lost answer of %s: %d requests, %s after %d attempts, and %d rows are in the index", name, n, w.Status, w.Attempts, r.dueRowCount())
		}
	}
}

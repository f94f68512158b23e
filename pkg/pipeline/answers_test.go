package pipeline_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// answering is a sender. Each of its attempts ends with the same result.
type answering struct {
	outbound.Result
	before func() // called before the answer; nil: not used
}

func (a answering) Post(context.Context, string, http.Header, []byte) outbound.Result {
	if a.before != nil {
		a.before()
	}
	return a.Result
}

// attempt makes one attempt of a new event with the sender post. It drops the message of the queue.
func (r *receiver) attempt(ctx context.Context, post answering) (id.Event, error) {
	r.t.Helper()
	e := r.newEvent()
	r.stack.fanOutAll(r.t)
	r.stack.queue.dropAll()
	d := r.stack.deliverer()
	d.Post = post
	return e, d.Message(ctx, webhook.Message{DeliveryID: webhook.DeliveryID{App: r.AppID, Endpoint: r.ID, Event: e}})
}

// TestOnlyA2xxIsADelivery: an attempt with any other status stays pending, and is tried again.
func TestOnlyA2xxIsADelivery(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for want, statuses := range map[webhook.DeliveryStatus][]int{
		webhook.DeliveryDelivered: {200, 201, 202, 204, 299},
		webhook.DeliveryPending: { // to be tried again
			100, 101, 102, 103, 199, 300, 301, 302, 303, 304, 307, 308, 399,
			400, 404, 409, 429, 499, 500, 599, 600, 999,
		},
	} {
		for _, status := range statuses {
			e, err := r.attempt(ctx, answering{Result: outbound.Result{Status: status, Answer: "thanks"}})
			if err != nil {
				t.Fatal(err)
			}
			w := r.readDelivery(e)
			if w.Status != want || w.Attempts != 1 {
				t.Errorf("%d: %+v, want %s", status, w.Delivery, want)
			}
			delivered, triedAgain := w.DeliveredAt != 0, w.NextAttempt > s.Now().UnixMilli()
			if delivered != (want == webhook.DeliveryDelivered) || triedAgain != (want == webhook.DeliveryPending) {
				t.Errorf("%d: delivered: %v, tried again: %v", status, delivered, triedAgain)
			}
			if w.Last == nil || w.Last.Status == nil || *w.Last.Status != status || *w.Last.Body != "thanks" {
				t.Fatalf("%d: the last attempt is %+v", status, w.Last)
			}
			lastError, wantError := "", ""
			if w.Last.Error != nil {
				lastError = *w.Last.Error
			}
			if status >= 300 && status < 400 {
				wantError = "redirect"
			}
			if lastError != wantError {
				t.Errorf("%d: the error of the last attempt is %q, want %q", status, lastError, wantError)
			}
		}
	}
}

// TestNon2xxAnswersAreNotDeliveries sends raw answers over a TCP connection, because a server of net/http cannot send
// some of them.
func TestNon2xxAnswersAreNotDeliveries(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for status, want := range map[int]string{199: outbound.FailProtocol, 300: "redirect", 301: "redirect", 304: "redirect"} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, r.URL)
			}
		}()
		to := "http://" + l.Addr().String() + "/"
		if _, err := s.UpdateEndpoint(ctx, s.app, r.ID, store.EndpointChange{URL: &to}); err != nil {
			t.Fatal(err)
		}
		e := r.newEvent()
		s.fanOutAll(t)
		s.attemptAll(t)
		_ = l.Close()
		w := r.readDelivery(e)
		if w.Status != webhook.DeliveryPending || w.Attempts != 1 || w.Last == nil || w.Last.Error == nil || *w.Last.Error != want {
			t.Errorf("%d: %+v, %+v", status, w.Delivery, w.Last)
		}
		// 199 announces an answer that never comes, so there is no status.
		if hasStatus := w.Last != nil && w.Last.Status != nil; hasStatus != (status >= 300) {
			t.Errorf("%d: the last attempt is %+v", status, w.Last)
		}
		s.queue.dropAll()
	}
	r.wantRequests("the address of a redirect", 0) // the Location is the first URL of r
}

// TestAnAnswerAtTheDeadlineIsRecorded ends the function's time before the result is written.
// Without the result, the webhook would be sent again.
func TestAnAnswerAtTheDeadlineIsRecorded(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const noAnswer = 0
	for status, want := range map[int]webhook.DeliveryStatus{
		204: webhook.DeliveryDelivered, 500: webhook.DeliveryPending, 410: webhook.DeliveryHeld, noAnswer: webhook.DeliveryPending,
	} {
		r := s.receiver(t, nil)
		over, end := context.WithCancel(ctx)
		post := answering{outbound.Result{Status: status}, end}
		if status == noAnswer {
			post.Err = outbound.FailTimeout
		}
		e, err := r.attempt(over, post)
		w := r.readDelivery(e)
		if err != nil || over.Err() == nil || w.Status != want || w.Attempts != 1 || w.Last == nil {
			t.Errorf("%d: %v, %+v, want %s", status, err, w.Delivery, want)
			continue
		}
		answered := status != noAnswer && *w.Last.Status == status
		timedOut := status == noAnswer && *w.Last.Error == outbound.FailTimeout
		if !answered && !timedOut {
			t.Errorf("%d: the last attempt is %+v", status, w.Last)
		}
		endpoint := r.endpoint()
		if endpoint.Enabled != (status != http.StatusGone) {
			t.Errorf("%d: the endpoint is %+v", status, endpoint)
		}
		if want == webhook.DeliveryPending && (endpoint.Failures != 1 || s.queue.dropAll() != 1) {
			t.Errorf("%d: the failure is not counted, or no message wakes the next attempt: %+v", status, endpoint)
		}
		if err := s.DeleteEndpoint(ctx, s.app, r.ID, store.ByKey(id.NoKey)); err != nil {
			t.Fatal(err)
		}
	}
}

// hanging is a signer that does not answer until the caller's time is over. It calls end, which ends that time.
type hanging struct{ end func() }

func (h hanging) Sign(ctx context.Context, _ string, _ [sha256.Size]byte) (webhook.Signature, error) {
	h.end()
	<-ctx.Done()
	return webhook.Signature{}, ctx.Err()
}

// TestAnUnsignedAttemptAtTheDeadlineIsReturned: nothing was sent, so the attempt does not count.
func TestAnUnsignedAttemptAtTheDeadlineIsReturned(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.queue.dropAll()
	over, end := context.WithCancel(ctx)
	d := s.deliverer()
	d.Signer = hanging{end}
	if err := d.Message(over, webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}}); err != nil {
		t.Error(err)
	}
	if w := r.readDelivery(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 || w.Last != nil {
		t.Errorf("%+v", w.Delivery)
	}
	s.pass(15 * time.Second) // an attempt that could not be signed waits for 15 s
	s.attemptAll(t)
	r.wantRequests("KMS is back", 1)
}

// bounded is a transport. While recording is true, it records how much time each call of the table still has.
type bounded struct {
	next      http.RoundTripper
	recording atomic.Bool

	mu        sync.Mutex
	remaining []time.Duration // time left of each call; a call without a deadline has an hour
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.recording.Load() && r.Context().Err() == nil {
		left := time.Hour
		if end, ok := r.Context().Deadline(); ok {
			left = time.Until(end)
		}
		b.mu.Lock()
		b.remaining = append(b.remaining, left)
		b.mu.Unlock()
	}
	return b.next.RoundTrip(r)
}

// TestWritesAfterTheDeadlineAreBounded: when the function's time is over, three writes still follow: the result of an
// attempt, a failure of its endpoint, and the return of an attempt. Each has at most 5 s, even when the table hangs.
func TestWritesAfterTheDeadlineAreBounded(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	b := &bounded{next: s.Faults.Next}
	s.Faults.Next = b
	for name, v := range map[string]struct {
		do   func(over context.Context, end func()) // end ends over
		most time.Duration                          // for each call of the table
	}{
		"delivered": {func(over context.Context, end func()) {
			r := s.receiver(t, nil)
			_, _ = r.attempt(ctx, answering{Result: outbound.Result{Status: http.StatusInternalServerError}})
			_, _ = r.attempt(over, answering{outbound.Result{Status: http.StatusNoContent}, end}) // this success also ends the failures of the endpoint
		}, 5 * time.Second},
		"failed": {func(over context.Context, end func()) {
			_, _ = s.receiver(t, nil).attempt(over, answering{outbound.Result{Status: http.StatusInternalServerError}, end})
		}, 5 * time.Second},
		"gone": {func(over context.Context, end func()) {
			_, _ = s.receiver(t, nil).attempt(over, answering{outbound.Result{Status: http.StatusGone}, end})
		}, 5 * time.Second},
		"not signed": {func(over context.Context, end func()) {
			r := s.receiver(t, nil)
			e := r.newEvent()
			s.fanOutAll(t)
			s.queue.dropAll()
			d := s.deliverer()
			d.Signer = hanging{end}
			_ = d.Message(over, webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}})
		}, 5 * time.Second},
	} {
		over, end := context.WithCancel(ctx)
		v.do(over, func() { b.recording.Store(true); end() })
		b.recording.Store(false)
		if len(b.remaining) == 0 || slices.Max(b.remaining) > v.most {
			t.Errorf("%s: the calls may take %v, want at most %s", name, b.remaining, v.most)
		}
		b.remaining = nil
	}
}

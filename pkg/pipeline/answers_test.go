package pipeline_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// answering is a sender whose attempts all end with one result.
type answering struct {
	outbound.Result
	before func() // runs before the answer; nil: nothing
}

func (a answering) Post(context.Context, string, http.Header, []byte) outbound.Result {
	if a.before != nil {
		a.before()
	}
	return a.Result
}

// attempt makes one attempt of a new event, which ends with this result.
func (r *receiver) attempt(ctx context.Context, post answering) (id.Event, error) {
	r.t.Helper()
	e := r.event()
	r.stack.stream(r.t)
	r.stack.queue.lose()
	d := r.stack.deliverer()
	d.Post = post
	return e, d.Message(ctx, webhook.Message{DeliveryID: webhook.DeliveryID{App: r.AppID, Endpoint: r.ID, Event: e}})
}

func TestOnlyA2xxIsADelivery(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for status, want := range map[int]webhook.DeliveryStatus{
		100: webhook.DeliveryPending, 101: webhook.DeliveryPending, 102: webhook.DeliveryPending, 103: webhook.DeliveryPending, 199: webhook.DeliveryPending,
		200: webhook.DeliveryDelivered, 201: webhook.DeliveryDelivered, 202: webhook.DeliveryDelivered, 204: webhook.DeliveryDelivered, 299: webhook.DeliveryDelivered,
		300: webhook.DeliveryPending, 301: webhook.DeliveryPending, 302: webhook.DeliveryPending, 303: webhook.DeliveryPending, 304: webhook.DeliveryPending,
		307: webhook.DeliveryPending, 308: webhook.DeliveryPending, 399: webhook.DeliveryPending, 400: webhook.DeliveryPending, 404: webhook.DeliveryPending,
		409: webhook.DeliveryPending, 429: webhook.DeliveryPending, 499: webhook.DeliveryPending, 500: webhook.DeliveryPending, 599: webhook.DeliveryPending,
		600: webhook.DeliveryPending, 999: webhook.DeliveryPending,
	} {
		e, err := r.attempt(ctx, answering{Result: outbound.Result{Status: status, Answer: "said"}})
		if err != nil {
			t.Fatal(err)
		}
		w := r.work(e)
		if w.Status != want || w.Attempts != 1 || (w.DeliveredAt != 0) != (want == webhook.DeliveryDelivered) || (w.NextAttempt > s.Now().UnixMilli()) != (want == webhook.DeliveryPending) {
			t.Errorf("%d: %+v, want %s", status, w.Delivery, want)
		}
		redirected := status >= 300 && status < 400
		if w.Last == nil || w.Last.Status == nil || *w.Last.Status != status || *w.Last.Body != "said" || (w.Last.Error != nil) != redirected || redirected && *w.Last.Error != "redirect" {
			t.Errorf("%d: the last attempt is %+v", status, w.Last)
		}
	}
}

// TestAnAnswerThatIsNo2xxIsNotADelivery sends answers over a connection, also those that net/http
// does not send.
func TestAnAnswerThatIsNo2xxIsNotADelivery(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	for status, want := range map[int]string{199: outbound.ErrProtocol, 300: "redirect", 301: "redirect", 304: "redirect"} {
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
		e := r.event()
		s.stream(t)
		s.pump(t)
		_ = l.Close()
		w := r.work(e)
		if w.Status != webhook.DeliveryPending || w.Attempts != 1 || w.Last == nil || w.Last.Error == nil || *w.Last.Error != want || (w.Last.Status != nil) != (status >= 300) {
			t.Errorf("%d: %+v, %+v", status, w.Delivery, w.Last)
		}
		s.queue.lose()
	}
	r.wants("the address of a redirect", 0)
}

// TestAnAnswerAtTheDeadlineIsNoted ends the function's time before the result is written.
// Without the result, the webhook would be sent again.
func TestAnAnswerAtTheDeadlineIsNoted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for status, want := range map[int]webhook.DeliveryStatus{
		204: webhook.DeliveryDelivered, 500: webhook.DeliveryPending, 410: webhook.DeliveryHeld, 0: webhook.DeliveryPending,
	} {
		r := s.receiver(t, nil)
		over, end := context.WithCancel(ctx)
		post := answering{outbound.Result{Status: status}, end}
		if status == 0 {
			post.Err = outbound.ErrTimeout
		}
		e, err := r.attempt(over, post)
		w := r.work(e)
		if err != nil || over.Err() == nil || w.Status != want || w.Attempts != 1 || w.Last == nil {
			t.Errorf("%d: %v, %+v, want %s", status, err, w.Delivery, want)
			continue
		}
		if status != 0 && *w.Last.Status != status || status == 0 && *w.Last.Error != outbound.ErrTimeout {
			t.Errorf("%d: the last attempt is %+v", status, w.Last)
		}
		h := r.now()
		if want == webhook.DeliveryPending && (h.Failures != 1 || s.queue.lose() != 1) || h.Enabled != (status != http.StatusGone) {
			t.Errorf("%d: the endpoint is %+v", status, h)
		}
		if err := s.DeleteEndpoint(ctx, s.app, r.ID, id.NoKey); err != nil {
			t.Fatal(err)
		}
	}
}

// hanging is a signer that does not answer until the caller's time is over.
type hanging struct{ end func() }

func (h hanging) Sign(ctx context.Context, _ string, _ [sha256.Size]byte) (webhook.Signature, error) {
	h.end()
	<-ctx.Done()
	return webhook.Signature{}, ctx.Err()
}

// TestAnAttemptUnsignedAtTheDeadlineIsGivenBack: nothing was sent, so no attempt counts.
func TestAnAttemptUnsignedAtTheDeadlineIsGivenBack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil)
	e := r.event()
	s.stream(t)
	s.queue.lose()
	over, end := context.WithCancel(ctx)
	d := s.deliverer()
	d.Signer = hanging{end}
	if err := d.Message(over, webhook.Message{DeliveryID: webhook.DeliveryID{App: s.app, Endpoint: r.ID, Event: e}}); err != nil {
		t.Error(err)
	}
	if w := r.work(e); w.Status != webhook.DeliveryPending || w.Attempts != 0 || w.Last != nil {
		t.Errorf("%+v", w.Delivery)
	}
	s.pass(15 * time.Second)
	s.pump(t)
	r.wants("KMS is back", 1)
}

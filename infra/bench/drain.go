package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/webhook"
)

// The numbers of deliveries that wait. A run of the sweep queues as many as the first.
const fewWaiting, manyWaiting = 5_000, 100_000

// draining is the sweep and the deliver function over one table, with a queue in memory.
type draining struct {
	*world
	rows    []string // a delivery that waits and its event
	sweep   pipeline.Sweep
	deliver pipeline.Deliver
	sender  *outbound.Sender
	posts   atomic.Int64 // that the receiver took

	mu     sync.Mutex
	queued []webhook.Message
}

// drain measures the microseconds of a delivery that a run of the sweep queues, from the run's start, while
// many wait, beside one while no more wait than a run queues. The receiver answers after answersAfter.
func drain(ctx context.Context, _ *bench) (value, base int64, err error) {
	w, err := newWorld(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer w.close() //nolint:errcheck // it ends with this program anyway
	table := w.store(boot.NewHTTPClient())
	table.Now = func() time.Time { return time.Now().Add(5 * time.Minute) } // what waits is due
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	d := &draining{world: w, sender: outbound.NewSender(guard)}
	d.sweep = pipeline.Sweep{Store: table, Queue: d, FanOut: pipeline.FanOut{Store: table, Queue: d}}
	d.deliver = pipeline.Deliver{Store: table, Queue: d, Signer: d, Post: d, Issuer: "https://bench.test"}
	if d.rows, err = w.rowsOf(ctx, string(w.message.Event)); err != nil {
		return 0, 0, err
	}
	if _, err := d.run(ctx, fewWaiting); err != nil { // DynamoDB Local compiles what runs often
		return 0, 0, err
	}
	if base, err = d.run(ctx, fewWaiting); err == nil {
		value, err = d.run(ctx, manyWaiting)
	}
	return value, base, err
}

// run adds deliveries that wait, runs the sweep once and makes the attempts that it queues.
func (d *draining) run(ctx context.Context, waiting int) (int64, error) {
	events := make([]string, waiting)
	for i := range events {
		events[i] = string(id.Source{}.NewEvent(time.Now()))
	}
	if err := d.clone(ctx, d.rows, string(d.message.Event), events); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := d.sweep.Run(ctx); err != nil {
		return 0, err
	}
	queued := d.queued
	d.queued = nil
	d.posts.Store(0)
	failed := parallel.Each(32, queued, func(_ int, m webhook.Message) error { return d.deliver.Message(ctx, m) })
	took := time.Since(begun)
	if len(queued) < fewWaiting || len(d.queued) != 0 || d.posts.Load() != int64(len(queued)) {
		failed = append(failed, fmt.Errorf("%d deliveries are queued, %d sent and %d queued again", len(queued), d.posts.Load(), len(d.queued)))
	}
	return took.Microseconds() / int64(max(len(queued), 1)), errors.Join(failed...)
}

// Send keeps messages in memory.
func (d *draining) Send(_ context.Context, _ time.Duration, messages ...webhook.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queued = append(d.queued, messages...)
	return nil
}

// Post sends a webhook, and counts the one that the receiver took.
func (d *draining) Post(ctx context.Context, url string, header http.Header, body []byte) outbound.Result {
	r := d.sender.Post(ctx, url, header, body)
	if r.Status == http.StatusOK {
		d.posts.Add(1)
	}
	return r
}

// Sign returns an empty signature.
func (d *draining) Sign(context.Context, string, [sha256.Size]byte) (webhook.Signature, error) {
	return webhook.Signature{}, nil
}

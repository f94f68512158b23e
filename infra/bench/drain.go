package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
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
	endpoint string    // of the table
	rows     [2]string // a delivery that waits and its event, in DynamoDB's JSON
	made     int       // clones of these rows
	sweep    pipeline.Sweep
	deliver  pipeline.Deliver
	sender   *outbound.Sender
	posts    atomic.Int64 // that the receiver took

	mu     sync.Mutex
	queued []webhook.Message
}

// drain measures the microseconds of a delivery that a run of the sweep queues, from the run's start, while
// many wait, beside one while no more wait than a run queues. The receiver answers after answersAfter.
func drain(ctx context.Context, b *bench) (value, base int64, err error) {
	database, err := startLoaded(ctx, b.world)
	if err != nil {
		return 0, 0, err
	}
	defer database.Stop() //nolint:errcheck // it ends with this program anyway
	table := storeOn(database, boot.NewHTTPClient())
	table.Now = func() time.Time { return time.Now().Add(5 * time.Minute) } // what waits is due
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	d := &draining{world: b.world, endpoint: database.Endpoint, sender: outbound.NewSender(guard)}
	app, endpoint, event := string(b.message.App), string(b.message.Endpoint), string(b.message.Event)
	d.rows = [2]string{string(b.services.rows[[2]string{"DLV#" + endpoint, event}]), string(b.services.rows[[2]string{"EVTS#" + app, event}])}
	d.sweep = pipeline.Sweep{Store: table, Queue: d, FanOut: pipeline.FanOut{Store: table, Queue: d}}
	d.deliver = pipeline.Deliver{Store: table, Queue: d, Signer: d, Post: d, Issuer: "https://bench.test"}
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
	if err := d.wait(ctx, waiting); err != nil {
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

// wait adds deliveries that wait, spread over the shards of the index.
func (d *draining) wait(ctx context.Context, n int) error {
	shard := regexp.MustCompile(`(DUE#delivery#)\d`)
	chunks := make([][]string, (n+9)/10)
	for i := range n {
		d.made++
		clone := strings.NewReplacer(string(d.message.Event), string(id.Source{}.NewEvent(time.Now())))
		delivery := shard.ReplaceAllString(clone.Replace(d.rows[0]), fmt.Sprint("${1}", d.made%8))
		chunks[i/10] = append(chunks[i/10], delivery, clone.Replace(d.rows[1]))
	}
	return errors.Join(parallel.Each(4, chunks, func(_ int, rows []string) error { return put(ctx, d.endpoint, rows) })...)
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

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"latchkey/infra/harness/lab/proxy"

	"latchkey/pkg/authn"
	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// drain is measured with few deliveries that wait, and with many. One run of the sweep queues at most fewWaiting of them.
const fewWaiting, manyWaiting = 5_000, 100_000

// draining is the sweep and the deliver function over one table, with a queue in memory.
type draining struct {
	*world
	rows    []string // two rows in DynamoDB's JSON: a delivery that waits, and its event
	sweep   pipeline.Sweep
	deliver pipeline.Deliver
	sender  *outbound.Sender
	posts   atomic.Int64 // webhooks that the receiver accepted

	mu     sync.Mutex
	queued []webhook.Message
}

// drain measures one run of the sweep and the deliveries that it queues, in microseconds a delivery, while
// many wait. Its baseline is the same while fewWaiting wait. The receiver answers after answersAfter.
func drain(ctx context.Context, _ *bench) (value, base int64, err error) {
	w, err := newWorld(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer w.close() //nolint:errcheck // the database ends with this program anyway
	table := w.store(boot.NewHTTPClient())
	table.Now = func() time.Time { return time.Now().Add(5 * time.Minute) } // so every waiting delivery is due
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	d := &draining{world: w, sender: outbound.NewSender(guard)}
	d.sweep = pipeline.Sweep{Store: table, Queue: d, FanOut: pipeline.FanOut{Store: table, Queue: d}}
	d.deliver = pipeline.Deliver{Store: table, Queue: d, Signer: d, Post: d, Issuer: "https://bench.test"}
	if d.rows, err = w.rowsOf(ctx, string(w.message.Event)); err != nil {
		return 0, 0, err
	}
	if _, err := d.run(ctx, fewWaiting); err != nil { // warms up: DynamoDB Local's JVM compiles code that runs often
		return 0, 0, err
	}
	if base, err = d.run(ctx, fewWaiting); err == nil {
		value, err = d.run(ctx, manyWaiting)
	}
	return value, base, err
}

// run adds deliveries that wait, runs the sweep once, and sends the deliveries that the sweep queues. It returns microseconds a
// delivery.
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

// Post sends a webhook, and counts it if the receiver accepts it.
func (d *draining) Post(ctx context.Context, url string, header http.Header, body []byte) outbound.Result {
	r := d.sender.Post(ctx, url, header, body)
	if r.Status == http.StatusOK {
		d.posts.Add(1)
	}
	return r
}

// Sign returns an empty signature: KMS is not measured.
func (d *draining) Sign(context.Context, string, [sha256.Size]byte) (webhook.Signature, error) {
	return webhook.Signature{}, nil
}

// The numbers of API keys in one org's partition. Each read is measured with the small and with the large number.
const (
	fewInPages, manyInPages   = 100, 100_000
	fewInChecks, manyInChecks = 1_000, 1_000_000
)

// cost is what one read costs.
type cost struct {
	calls int64
	units float64 // as DynamoDB counts them
}

// counting adds up what calls cost.
type counting struct {
	mu  sync.Mutex
	sum cost
}

func (c *counting) call(units float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.calls++
	c.sum.units += units
}

// grow measures the reads of an org while the number of its API keys grows.
func grow(ctx context.Context) (map[string]cost, error) {
	w, err := newWorld(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close() //nolint:errcheck // the database ends with this program anyway
	rows, err := w.rowsOf(ctx, string(w.keyID))
	if err != nil {
		return nil, err
	}
	var counted counting
	client := boot.NewHTTPClient()
	client.Transport = proxy.Counting{RoundTripper: client.Transport, Counted: counted.call}
	table := w.store(client)
	check := func() error {
		_, err := authn.New(table, nil).Authorize(ctx, route.Route{Takes: principal.APIKey}, []string{"Bearer " + w.key})
		return err
	}
	var ids []string // of the copies of the key
	page := func(after string) error {
		keys, _, err := table.Keys(ctx, w.actor, w.org, "", store.Page{Limit: 50, After: after})
		if err == nil && len(keys) != 50 {
			err = fmt.Errorf("a page has %d keys", len(keys))
		}
		return err
	}
	out := map[string]cost{}
	for _, step := range []struct {
		keys int
		name string
		read func() error
	}{
		{fewInPages, "page of few", func() error { return page("") }},
		{fewInChecks, "check among few", check},
		{manyInPages, "page of many", func() error { return page("") }},
		{manyInPages, "middle of many", func() error { return page(ids[len(ids)/2]) }},
		{manyInChecks, "check among many", check},
	} {
		had := len(ids)
		for len(ids) < step.keys {
			ids = append(ids, string(id.Source{}.NewKey(time.Now())))
		}
		err := w.clone(ctx, rows, string(w.keyID), ids[had:])
		slices.Sort(ids)
		if err == nil {
			counted.sum = cost{}
			err = step.read()
			out[step.name] = counted.sum
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return out, nil
}

// units compares two reads of grow by their read units. Units and calls must not grow with the number of keys.
func units(many, few string) measurement {
	return func(_ context.Context, b *bench) (int64, int64, error) {
		all, err := b.grown()
		x, y := all[many], all[few]
		if err == nil && (x.calls != y.calls || x.units != y.units) {
			err = fmt.Errorf("%d calls of %g units for a %s, and %d of %g for a %s", x.calls, x.units, many, y.calls, y.units, few)
		}
		return int64(math.Ceil(x.units)), int64(math.Ceil(y.units)), err
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"latchkey/infra/lab/iam"
	"latchkey/pkg/authn"
	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/principal"
	"latchkey/pkg/store"
)

// The numbers of API keys in the partition of one org, at which the same reads are measured.
const (
	fewInPages, manyInPages   = 100, 100_000
	fewInChecks, manyInChecks = 1_000, 1_000_000
)

// cost is what one read costs.
type cost struct {
	calls int64
	units float64 // as DynamoDB counts them
	took  time.Duration
}

// counting is the HTTP client of an SDK that adds up what its calls cost.
type counting struct {
	*http.Client
	mu  sync.Mutex
	sum cost
}

// Do sends a request to DynamoDB.
func (c *counting) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = iam.AskUnits(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res, err := c.Client.Do(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.calls++
	c.sum.units += iam.Units(answer)
	return res, nil
}

// growing is an org whose number of API keys grows.
type growing struct {
	*world
	endpoint string
	client   *counting
	table    *store.Store
	rows     []string // of an API key and of its last use, in DynamoDB's JSON
	ids      []string // of the clones of that key
}

// grow measures the reads of an org while it grows.
func grow(ctx context.Context, w *world) (map[string]cost, error) {
	database, err := startLoaded(ctx, w)
	if err != nil {
		return nil, err
	}
	defer database.Stop() //nolint:errcheck // it ends with this program anyway
	g := &growing{world: w, endpoint: database.Endpoint, client: &counting{Client: boot.NewHTTPClient()}}
	g.table = storeOn(database, g.client)
	for k, row := range w.services.rows {
		if k[1] == "KEY#"+string(w.keyID) {
			g.rows = append(g.rows, string(row))
		}
	}
	return g.measure(ctx)
}

func (g *growing) measure(ctx context.Context) (map[string]cost, error) {
	out := map[string]cost{}
	first := func() string { return "" }
	for _, step := range []struct {
		keys int
		name string
		read func(context.Context) error
	}{
		{fewInPages, "page of few", g.list(first)},
		{fewInChecks, "check among few", g.check()},
		{manyInPages, "page of many", g.list(first)},
		{manyInPages, "middle of many", g.list(func() string { return g.ids[len(g.ids)/2] })},
		{manyInChecks, "check among many", g.check()},
	} {
		if err := g.growTo(ctx, step.keys); err != nil {
			return nil, err
		}
		one, err := g.cost(ctx, step.read)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		out[step.name] = one
	}
	return out, nil
}

// check returns what checks the API key.
func (g *growing) check() func(context.Context) error {
	authorizer := authn.New(g.table, nil)
	return func(ctx context.Context) error {
		_, err := authorizer.Authorize(ctx, principal.APIKey, []string{"Bearer " + g.key})
		return err
	}
}

// list returns what reads a page of 50 keys behind one that after names when the page is read.
func (g *growing) list(after func() string) func(context.Context) error {
	return func(ctx context.Context) error {
		keys, _, err := g.table.Keys(ctx, g.actor, g.org, "", store.Page{Limit: 50, After: after()})
		if err == nil && len(keys) != 50 {
			err = fmt.Errorf("a page has %d keys", len(keys))
		}
		return err
	}
}

// cost returns the middle cost of a read, after some to warm up: DynamoDB Local compiles what runs often.
func (g *growing) cost(ctx context.Context, read func(context.Context) error) (cost, error) {
	const warm, all = 400, 600
	var times []time.Duration
	var last cost
	for i := range all {
		g.client.sum = cost{}
		begun := time.Now()
		if err := read(ctx); err != nil {
			return cost{}, err
		}
		if i >= warm {
			times = append(times, time.Since(begun))
		}
		last = g.client.sum
	}
	slices.Sort(times)
	last.took = times[len(times)/2]
	return last, nil
}

// growTo adds clones of the key's rows, until there are this many keys.
func (g *growing) growTo(ctx context.Context, keys int) error {
	var chunks [][]string
	const atOnce = 12 // keys, of two rows each: BatchWriteItem takes 25 rows
	for len(g.ids) < keys {
		var chunk []string
		for range min(atOnce, keys-len(g.ids)) {
			clone := string(id.Source{}.NewKey(time.Now()))
			g.ids = append(g.ids, clone)
			for _, row := range g.rows {
				chunk = append(chunk, strings.ReplaceAll(row, string(g.keyID), clone))
			}
		}
		chunks = append(chunks, chunk)
	}
	slices.Sort(g.ids)
	return errors.Join(parallel.Each(4, chunks, func(_ int, rows []string) error { return put(ctx, g.endpoint, rows) })...)
}

// units compares the read units of two reads, which must be the same, as must the calls.
func units(many, few string) func(context.Context, *bench) (int64, int64, error) {
	return func(_ context.Context, b *bench) (int64, int64, error) {
		all, err := b.grown()
		x, y := all[many], all[few]
		if err == nil && (x.calls != y.calls || x.units != y.units) {
			err = fmt.Errorf("%d calls of %g units for a %s, and %d of %g for a %s", x.calls, x.units, many, y.calls, y.units, few)
		}
		return int64(math.Ceil(x.units)), int64(math.Ceil(y.units)), err
	}
}

// times compares the times of two reads, in microseconds.
func times(many, few string) func(context.Context, *bench) (int64, int64, error) {
	return func(_ context.Context, b *bench) (int64, int64, error) {
		all, err := b.grown()
		return all[many].took.Microseconds(), all[few].took.Microseconds(), err
	}
}

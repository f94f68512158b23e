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
	"sync"
	"time"

	"latchkey/infra/lab/iam"
	"latchkey/pkg/authn"
	"latchkey/pkg/boot"
	"latchkey/pkg/id"
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

// grow measures the reads of an org while the number of its API keys grows.
func grow(ctx context.Context) (map[string]cost, error) {
	w, err := newWorld(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close() //nolint:errcheck // it ends with this program anyway
	rows, err := w.rowsOf(ctx, string(w.keyID))
	if err != nil {
		return nil, err
	}
	client := &counting{Client: boot.NewHTTPClient()}
	table := w.store(client)
	check := func() error {
		_, err := authn.New(table, nil).Authorize(ctx, principal.APIKey, []string{"Bearer " + w.key})
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
			out[step.name], err = client.cost(step.read)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return out, nil
}

// cost returns the middle cost of a read, after some to warm up: DynamoDB Local compiles what runs often.
func (c *counting) cost(read func() error) (cost, error) {
	const warm, all = 400, 600
	var times []time.Duration
	var last cost
	for i := range all {
		c.sum = cost{}
		begun := time.Now()
		if err := read(); err != nil {
			return cost{}, err
		}
		if i >= warm {
			times = append(times, time.Since(begun))
		}
		last = c.sum
	}
	slices.Sort(times)
	last.took = times[len(times)/2]
	return last, nil
}

// units compares the read units of two reads, which must be the same, as must the calls.
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

// times compares the times of two reads, in microseconds.
func times(many, few string) measurement {
	return func(_ context.Context, b *bench) (int64, int64, error) {
		all, err := b.grown()
		return all[many].took.Microseconds(), all[few].took.Microseconds(), err
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
)

// bench has the programs to measure.
type bench struct {
	*world
	programs string // a folder of functions, as make build makes them for this machine
	baseline string // the baselines, built alike
	arm      string // the functions as they are deployed

	grown func() (map[string]cost, error) // measures at its first call

	mu        sync.Mutex
	baselines map[string]func() (int64, error)
}

// figure is one number of the table, or its ratio to a baseline.
type figure struct {
	Name    string // in results.json
	What    string
	Base    string  // the baseline in words, "" for none
	Goal    float64 // the most that the ratio may be, or the value without a baseline
	measure func(context.Context, *bench) (value, base int64, err error)
}

// alone reports whether a figure is measured before the others, which would disturb its times.
func (f figure) alone() bool {
	return strings.HasPrefix(f.Name, "grown/") || f.Name == "drain"
}

// gated reports whether the gate measures a figure. It leaves out those that take long, and those that
// depend on the machine.
func (f figure) gated() bool { return !f.alone() && f.Name != "resident" }

// result is a measured figure.
type result struct {
	Value int64   `json:"value"`
	Base  int64   `json:"base,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

// compared returns what the gate compares.
func (r result) compared() float64 {
	if r.Base != 0 {
		return r.Ratio
	}
	return float64(r.Value)
}

func (r result) String() string {
	if r.Base != 0 {
		return fmt.Sprintf("%.3f", r.Ratio)
	}
	return strconv.FormatInt(r.Value, 10)
}

func (f figure) of(ctx context.Context, b *bench) (result, error) {
	value, base, err := f.measure(ctx, b)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	r := result{Value: value, Base: base}
	if base != 0 {
		r.Ratio = math.Round(float64(value)/float64(base)*1000) / 1000
	}
	return r, nil
}

// figures returns every figure, those first that take longest.
func figures() []figure {
	const hello, read = "bare aws-lambda-go", "one bare signed GetItem"
	list := []figure{
		{"delivery", "a delivery, instructions", "one POST and four bare signed calls", 2.2, delivery},
		{"token", "a check of a known access token, instructions", read, 4.0, check("authorizer", "GET", "/v1/orgs", func(w *world) string { return w.token })},
		{"key", "a key check, instructions", read, 2.1, check("authorizer", "POST", "/app/get", func(w *world) string { return w.key })},
		{"door/authorizer", "a key check by the shared authorizer, instructions", read, 2.1, check("keyauthorizer", "GET", "/invoices", func(w *world) string { return w.key })},
		{"door/guard", "a key check by package guard, instructions", read, 1.3, guarded},
		{"grown/check", "a key check among 1,000,000 keys, read units", "among 1,000 keys", 1, units("check among many", "check among few")},
		{"grown/check-time", "the same, microseconds", "among 1,000 keys", 1.1, times("check among many", "check among few")},
		{"grown/first", "the first page of 50 of 100,000 keys, read units", "of 100 keys", 1, units("page of many", "page of few")},
		{"grown/first-time", "the same, microseconds", "of 100 keys", 1.2, times("page of many", "page of few")},
		{"grown/middle", "a page in their middle, read units", "the first of 100 keys", 1, units("middle of many", "page of few")},
		{"drain", "one of 5,000 deliveries while 100,000 wait, microseconds", "while 5,000 wait", 1.2, drain},
		{"cold", "first answer after a start, with TLS, instructions", "bare aws-lambda-go and a handshake", 1.65, cold},
		{"resident", "memory of the authorizer after 3,000 checks, bytes", "", 20e6, resident},
	}
	goals := map[string]float64{"authorizer": 3.3, "webhooks": 4.2, "fanout": 4.2, "deliver": 5.5, "rotate": 4.7, "sweep": 4.2}
	for _, name := range functions() {
		goal := goals[name]
		if goal == 0 {
			goal = 3.4
		}
		largest := 8.7e6
		if name == "deliver" {
			largest = 8.9e6
		}
		list = append(list,
			figure{"init/" + name, "start of " + name + ", instructions", hello, goal, start(name)},
			figure{"size/" + name, "bootstrap of " + name + ", bytes", "", largest, size(name)})
	}
	return list
}

// startRuns is how often a start is measured. The smallest counts: what the runtime does beside
// depends on the time.
const startRuns = 3

// start measures the instructions until a function asks for its first event, without the connection
// that it opens.
func start(name string) func(context.Context, *bench) (int64, int64, error) {
	return func(ctx context.Context, b *bench) (int64, int64, error) {
		value, err := b.least(ctx, startRuns, program{path: b.programs + "/" + name, env: append(b.unreachable(), "GOGC="+b.gogc)})
		if err != nil {
			return 0, 0, err
		}
		base, err := b.once("hello", func() (int64, error) {
			return b.least(ctx, 3*startRuns, program{path: b.baseline + "/hello"}) // it divides every other start
		})
		return value, base, err
	}
}

func (b *bench) least(ctx context.Context, runs int, p program) (int64, error) {
	least := int64(math.MaxInt64)
	for range runs {
		got, err := instructionsOf(ctx, p)
		if err != nil {
			return 0, err
		}
		least = min(least, got)
	}
	return least, nil
}

// once measures a baseline that several figures have, at the first of them.
func (b *bench) once(name string, measure func() (int64, error)) (int64, error) {
	b.mu.Lock()
	first, ok := b.baselines[name]
	if !ok {
		first = sync.OnceValues(measure)
		b.baselines[name] = first
	}
	b.mu.Unlock()
	return first()
}

// perCall returns what one more call costs: two thirds of the calls of a long run, by a short one.
func perCall(ctx context.Context, calls int, with func(calls int) program) (int64, error) {
	few, err := instructionsOf(ctx, with(calls/3))
	if err != nil {
		return 0, err
	}
	all, err := instructionsOf(ctx, with(calls))
	return (all - few) / int64(calls-calls/3), err
}

// loop returns a baseline, which makes its calls without events.
func (b *bench) loop(folder, name string) func(int) program {
	return func(n int) program {
		return program{path: folder + "/" + name, env: append(b.env(), fmt.Sprint("COUNT=", n))}
	}
}

// calls returns a function that gets the same event n times.
func (b *bench) calls(folder, name string, event []byte, good func([]byte) bool) func(int) program {
	return func(n int) program {
		return program{path: folder + "/" + name, env: append(b.env(), "GOGC="+b.gogc), events: repeat(event, n), good: good}
	}
}

func repeat(event []byte, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = event
	}
	return out
}

func allowed(answer []byte) bool { return bytes.Contains(answer, []byte(`"Effect":"Allow"`)) }

// checks is how many credentials are checked to measure one.
const checks = 120

// read measures one GetItem.
func (b *bench) read(ctx context.Context) (int64, error) {
	return b.once("getitem", func() (int64, error) {
		return perCall(ctx, checks, b.loop(b.baseline, "getitem"))
	})
}

// check measures a warm check of a credential by an authorizer.
func check(function, method, resource string, credential func(*world) string) func(context.Context, *bench) (int64, int64, error) {
	return func(ctx context.Context, b *bench) (int64, int64, error) {
		return b.against(ctx, b.calls(b.programs, function, authorizerEvent(method, resource, credential(b.world)), allowed))
	}
}

// against returns what one call costs, beside one GetItem.
func (b *bench) against(ctx context.Context, with func(calls int) program) (value, base int64, err error) {
	got, err := perCall(ctx, checks, with)
	if err != nil {
		return 0, 0, err
	}
	read, err := b.read(ctx)
	return got, read, err
}

// guarded measures a check of a key by package guard.
func guarded(ctx context.Context, b *bench) (int64, int64, error) {
	loop := b.loop(b.baseline, "guard")
	return b.against(ctx, func(calls int) program {
		p := loop(calls)
		p.env = append(p.env, "KEY="+b.key)
		return p
	})
}

func delivery(ctx context.Context, b *bench) (int64, int64, error) {
	const deliveries = 90
	body := fmt.Sprintf(`{"appId":%q,"endpointId":%q,"eventId":%q}`, b.message.App, b.message.Endpoint, b.message.Event)
	event := fmt.Appendf(nil, `{"Records":[{"messageId":"1","body":%q}]}`, body)
	got, err := perCall(ctx, deliveries, b.calls(b.programs, "deliver", event, func(answer []byte) bool {
		return bytes.Contains(answer, []byte(`"batchItemFailures":[]`))
	}))
	if err != nil {
		return 0, 0, err
	}
	base, err := perCall(ctx, deliveries, b.loop(b.baseline, "attempt"))
	return got, base, err
}

func resident(ctx context.Context, b *bench) (int64, int64, error) {
	const checks = 3000
	value, err := residentOf(ctx, b.calls(b.programs, "authorizer", authorizerEvent("POST", "/app/get", b.key), allowed)(checks))
	return value, 0, err
}

// size measures the program that is deployed.
func size(name string) func(context.Context, *bench) (int64, int64, error) {
	return func(_ context.Context, b *bench) (int64, int64, error) {
		info, err := os.Stat(b.arm + "/" + name)
		if err != nil {
			return 0, 0, err
		}
		return info.Size(), 0, nil
	}
}

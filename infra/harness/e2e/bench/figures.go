package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// bench has the programs to measure.
type bench struct {
	*world
	programs string // the folder of the functions that make build builds for this machine
	baseline string // the folder of the baselines, built with the same flags
	arm      string // the folder of the functions for arm64, as they are deployed
	gogc     string // the GOGC that the template sets for the functions

	passes func(result) bool // reports whether the gate accepts a result of the figure that is measured

	// Several figures use these measurements. The first figure that needs one makes it, once.
	hello, getItem func() (int64, error)
	grown          func() (map[string]cost, error)
}

// measurement returns the value of a figure and the value of its baseline: 0 without a baseline.
type measurement func(context.Context, *bench) (value, base int64, err error)

// figure is a number to measure. A figure with a baseline is compared by its ratio to the baseline.
type figure struct {
	Name    string // in results.json
	What    string
	Base    string  // the baseline in words, "" for none
	Goal    float64 // the largest ratio that is allowed; without a baseline, the largest value
	measure measurement
}

// alone reports whether a figure is measured while nothing else runs: the figure is a time.
func (f figure) alone() bool { return f.Name == "drain" }

// gated reports whether `make bench-gate` measures a figure. It leaves out slow figures, and figures that depend
// on the machine.
func (f figure) gated() bool {
	return !f.alone() && f.Name != "resident" && !strings.HasPrefix(f.Name, "grown/")
}

// result is a measured figure.
type result struct {
	Value int64   `json:"value"`
	Base  int64   `json:"base,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

func newResult(value, base int64) result {
	r := result{Value: value, Base: base}
	if base != 0 {
		r.Ratio = math.Round(float64(value)/float64(base)*1000) / 1000
	}
	return r
}

// compared returns the number that the gate compares: the ratio; without a baseline, the value.
func (r result) compared() float64 {
	if r.Base != 0 {
		return r.Ratio
	}
	return float64(r.Value)
}

func (r result) String() string { return strconv.FormatFloat(r.compared(), 'f', -1, 64) }

// figures returns every figure. The slowest come first, so that no slow figure runs alone at the end.
func figures() []figure {
	const hello, read = "bare aws-lambda-go", "one bare signed GetItem"
	list := []figure{
		{"delivery", "a delivery, instructions", "one POST and four bare signed calls", 2.2, delivery},
		{"token", "a check of a known access token, instructions", read, 4.0, check("authorizer", "GET", "/v1/orgs", func(w *world) string { return w.token })},
		{"key", "a key check, instructions", read, 2.1, check("authorizer", "POST", "/app/get", func(w *world) string { return w.key })},
		{"door/authorizer", "a key check by the shared authorizer, instructions", read, 2.1, check("keyauthorizer", "GET", "/invoices", func(w *world) string { return w.key })},
		{"door/guard", "a key check by package guard, instructions", read, 1.3, guarded(func(w *world) string { return w.key })},
		{"door/limited", "the same for a key with limits, instructions", read, 1.25, guarded(func(w *world) string { return w.limited })},
		{"grown/check", "a key check among 1,000,000 keys, read units", "among 1,000 keys", 1, units("check among many", "check among few")},
		{"grown/first", "the first page of 50 of 100,000 keys, read units", "of 100 keys", 1, units("page of many", "page of few")},
		{"grown/middle", "a page in their middle, read units", "the first of 100 keys", 1, units("middle of many", "page of few")},
		{"drain", "one of 5,000 deliveries while 100,000 wait, microseconds", "while 5,000 wait", 1.2, drain},
		{"cold", "first answer after a start, with TLS, instructions", "bare aws-lambda-go and a handshake", 1.65, cold},
		{"resident", "memory of the authorizer after 3,000 checks, bytes", "", 20e6, resident},
	}
	goals := map[string]float64{"authorizer": 3.3, "webhooks": 4.2, "fanout": 4.2, "deliver": 5.5, "rotate": 4.7, "sweep": 4.2, "tap": 4.8}
	folders, _ := filepath.Glob("functions/*") // an error would mean a bad pattern
	for _, folder := range folders {
		name := filepath.Base(folder)
		largest := 8.7e6
		if name == "deliver" || name == "webhooks" { // deliver also sends to receivers; webhooks has the most handlers, and checks receivers' URLs
			largest = 8.9e6
		}
		list = append(list,
			figure{"init/" + name, "start of " + name + ", instructions", hello, cmp.Or(goals[name], 3.4), start(name)},
			figure{"size/" + name, "bootstrap of " + name + ", bytes", "", largest, size(name)})
	}
	return list
}

// startRuns is how often a start is measured. The smallest result counts, because two things add instructions to some
// runs: the runtime's background work, which depends on the time that passes, and the random address of the heap. At
// four of ten addresses the search for free pages adds 2 to 3 % to a start. A figure and its baseline have the same number of
// runs, because more runs give a smaller minimum.
const startRuns = 20

// start measures the instructions until a function requests its first event. The URL of AWS cannot be parsed, so the
// function opens no connections while it starts, and none are measured.
func start(name string) measurement {
	return func(ctx context.Context, b *bench) (int64, int64, error) {
		p := b.calls(name, nil, nil)(0)
		p.env = append(p.env, "AWS_ENDPOINT_URL=http://[")
		base, err := b.hello()
		if err != nil {
			return 0, 0, err
		}
		value, err := least(ctx, p, b.passesOver(base))
		return value, base, err
	}
}

// least runs a program up to startRuns times, and returns the smallest number of instructions. It stops at the first run that is
// enough: more runs can only lower the minimum.
func least(ctx context.Context, p program, enough func(instructions int64) bool) (int64, error) {
	smallest := int64(math.MaxInt64)
	for run := 0; run < startRuns && !enough(smallest); run++ {
		got, err := instructionsOf(ctx, p)
		if err != nil {
			return 0, err
		}
		smallest = min(smallest, got)
	}
	return smallest, nil
}

// passesOver returns a condition for least: the gate accepts the measured figure with this value and the baseline.
func (b *bench) passesOver(base int64) func(int64) bool {
	return func(value int64) bool { return b.passes(newResult(value, base)) }
}

// never is a condition for least that makes it do all startRuns runs.
func never(int64) bool { return false }

// perCall returns the instructions of one call. It subtracts a run with a third of the calls, so that the start does not count.
func perCall(ctx context.Context, calls int, with func(calls int) program) (int64, error) {
	few, err := instructionsOf(ctx, with(calls/3))
	if err != nil {
		return 0, err
	}
	all, err := instructionsOf(ctx, with(calls))
	return (all - few) / int64(calls-calls/3), err
}

// loop returns, for a number n, a program of the folder baseline that makes n calls by itself. It gets no events.
func (b *bench) loop(name string, env ...string) func(int) program {
	return func(n int) program {
		return program{path: b.baseline + "/" + name, env: slices.Concat(b.env(), env, []string{fmt.Sprint("COUNT=", n)})}
	}
}

// calls returns, for a number n, a function of the product that gets the same event n times. good checks its answers.
func (b *bench) calls(function string, event []byte, good func([]byte) bool) func(int) program {
	return func(n int) program {
		return program{path: b.programs + "/" + function, env: append(b.env(), "GOGC="+b.gogc), event: event, calls: n, good: good}
	}
}

func allowed(answer []byte) bool { return bytes.Contains(answer, []byte(`"Effect":"Allow"`)) }

// checks is the number of checks in the run that measures one check.
const checks = 120

// check measures a warm check of a credential by an authorizer.
func check(function, method, resource string, credential func(*world) string) measurement {
	return func(ctx context.Context, b *bench) (int64, int64, error) {
		return b.against(ctx, b.calls(function, authorizerEvent(method, resource, credential(b.world)), allowed))
	}
}

// guarded measures a check of a key by package guard.
func guarded(key func(*world) string) measurement {
	return func(ctx context.Context, b *bench) (int64, int64, error) {
		return b.against(ctx, b.loop("guard", "KEY="+key(b.world)))
	}
}

// against returns the instructions of one call, and of one GetItem as its baseline.
func (b *bench) against(ctx context.Context, with func(calls int) program) (value, base int64, err error) {
	if value, err = perCall(ctx, checks, with); err == nil {
		base, err = b.getItem()
	}
	return value, base, err
}

// delivery measures a delivery by the deliver function.
func delivery(ctx context.Context, b *bench) (value, base int64, err error) {
	const deliveries = 90
	body := fmt.Sprintf(`{"appId":%q,"endpointId":%q,"eventId":%q}`, b.message.App, b.message.Endpoint, b.message.Event)
	event := fmt.Appendf(nil, `{"Records":[{"messageId":"1","body":%q}]}`, body)
	value, err = perCall(ctx, deliveries, b.calls("deliver", event, func(answer []byte) bool {
		return bytes.Contains(answer, []byte(`"batchItemFailures":[]`))
	}))
	if err == nil {
		base, err = perCall(ctx, deliveries, b.loop("attempt", "URL="+b.services.URL))
	}
	return value, base, err
}

// resident measures the memory of a warm authorizer.
func resident(ctx context.Context, b *bench) (int64, int64, error) {
	const warm = 3000 // checks, after which the memory no longer grows
	value, err := residentOf(ctx, b.calls("authorizer", authorizerEvent("POST", "/app/get", b.key), allowed)(warm))
	return value, 0, err
}

// size measures the program that is deployed.
func size(name string) measurement {
	return func(_ context.Context, b *bench) (int64, int64, error) {
		info, err := os.Stat(b.arm + "/" + name)
		if err != nil {
			return 0, 0, err
		}
		return info.Size(), 0, nil
	}
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2" //nolint:depguard // the choices of a history follow from its seed
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// unsure is the output of an operation that was answered 503 or not at all. It may have happened, and may happen later.
const unsure = "?"

// input is an operation on an object: a key, a link or an org. Objects are independent of each other.
type input struct{ object, do, arg string }

// model is what one promise says about an object: its first state, and what an operation may answer in a state. An
// unsure operation is given to step with the output unsure: it returns the state after it has happened, if it can.
type model struct {
	first any
	step  func(state any, in input, out string) (possible bool, next any)
	reads []string // the operations that change nothing
}

// clients is how many clients a history has.
const clients = 16

// history is a run of clients that use the same few objects at once, with all that they asked and were answered.
type history struct {
	*world
	ctx    context.Context //nolint:containedctx // of the run: a history is a part of it
	kind   string
	repeat string // the seed that repeats it
	faulty bool   // calls of AWS fail meanwhile
	rnd    *rand.Rand

	door        door // the only one where keys are checked; the zero value: at any
	rowsWritten bool // a row was changed past the product: the counters are not its

	mu         sync.Mutex
	operations []porcupine.Operation
	violations []string
	did        map[string]*effects // by audit action and target
	orgs       []string
	actions    map[string]bool // those that the history notes in did
}

// effects are how often something was done, and how often it may have been.
type effects struct{ surely, maybe int }

// violate notes a violation of the promise.
func (h *history) violate(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tally.found.Store(true)
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
}

// chance returns a number below n. It is safe for concurrent use.
func (h *history) chance(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rnd.IntN(n)
}

// record has a client do an operation and keeps it, with its times. do returns the output.
func (h *history) record(client int, in input, do func() string) {
	h.recordAll(client, []input{in}, do)
}

// recordAll is like record for an operation on several objects.
func (h *history) recordAll(client int, on []input, do func() string) {
	begun := time.Since(h.started).Nanoseconds()
	out := do()
	ended := time.Since(h.started).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range on {
		h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Call: begun, Output: out, Return: ended})
	}
}

// together runs a function as each of the clients at once, and waits for them.
func (h *history) together(do func(client int)) {
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() { do(client) })
	}
	all.Wait()
}

// searching bounds the search for an order of a history's operations.
const searching = 30 * time.Second

// check looks for an order of the operations, each between its call and its return, that the model allows.
func (h *history) check(m model) {
	of := porcupine.Model{
		Partition: partition,
		Init:      func() any { return m.first },
		Step: func(state, in, out any) (bool, any) {
			return m.step(state, in.(input), out.(string))
		},
		DescribeOperation: func(in, out any) string { return describe(in.(input), out.(string)) },
	}
	var end int64
	for _, o := range h.operations {
		end = max(end, o.Return)
	}
	all := slices.DeleteFunc(slices.Clone(h.operations), func(o porcupine.Operation) bool {
		return slices.Contains(m.reads, o.Input.(input).do) && (o.Output == unsure || slices.ContainsFunc(h.operations, within(o)))
	})
	for i := range all {
		if all[i].Output == unsure {
			all[i].Return = end + 1 // it can happen at any time after its call
		}
	}
	switch porcupine.CheckOperationsTimeout(of, all, searching) {
	case porcupine.Ok:
	case porcupine.Unknown:
		h.violate("no order of %d operations was found in %s, and none was ruled out", len(all), searching)
	case porcupine.Illegal:
		smallest := smallest(of, m, all)
		h.violate("no order of these operations is possible:\n%s\ndrawn in %s", list(smallest), h.draw(of, smallest))
	}
}

// within returns whether an operation is the same read with the same output, within the time of the read o. Where it has a place
// in an order, o has one beside it: o can be left out, and the search takes half the time.
func within(o porcupine.Operation) func(porcupine.Operation) bool {
	return func(in porcupine.Operation) bool {
		sameRead := in.Output == o.Output && in.Input.(input).object == o.Input.(input).object && in.Input.(input).do == o.Input.(input).do
		return sameRead && in.Call >= o.Call && in.Return <= o.Return && in.Return-in.Call < o.Return-o.Call
	}
}

// partition parts the operations by their objects.
func partition(all []porcupine.Operation) (parts [][]porcupine.Operation) {
	at := map[string]int{}
	for _, o := range all {
		object := o.Input.(input).object
		i, known := at[object]
		if !known {
			i = len(parts)
			at[object], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

// smallest returns a part of an impossible history that is impossible too. It leaves out objects whose operations are
// possible, and reads without which the rest stays impossible: a write may be what made a later read right.
func smallest(of porcupine.Model, m model, all []porcupine.Operation) []porcupine.Operation {
	impossible := func(some []porcupine.Operation) bool {
		return porcupine.CheckOperationsTimeout(of, some, searching) == porcupine.Illegal
	}
	for _, part := range partition(all) {
		if impossible(part) {
			all = part
			break
		}
	}
	for size := len(all) / 2; size > 0; size /= 2 {
		for from := 0; from < len(all); from += size {
			n := 0
			fewer := slices.DeleteFunc(slices.Clone(all), func(o porcupine.Operation) bool {
				n++
				return n > from && n <= from+size && slices.Contains(m.reads, o.Input.(input).do)
			})
			if len(fewer) < len(all) && impossible(fewer) {
				all, from = fewer, from-size
			}
		}
	}
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	return all
}

func describe(in input, out string) string {
	return strings.TrimSpace(in.do+" "+in.arg) + " → " + out
}

// list prints operations, one a line: object, client, milliseconds of call and return.
func list(all []porcupine.Operation) string {
	var lines []string
	for _, o := range all {
		in := o.Input.(input)
		lines = append(lines, fmt.Sprintf("  %s client %2d  %.1f to %.1f ms  %s",
			in.object, o.ClientId, float64(o.Call)/1e6, float64(o.Return)/1e6, describe(in, o.Output.(string))))
	}
	return strings.Join(lines, "\n")
}

// draw writes porcupine's drawing of a history, and returns its path.
func (h *history) draw(of porcupine.Model, all []porcupine.Operation) string {
	path := filepath.Join(h.drawings, strings.ReplaceAll(h.repeat, "/", "-")+".html")
	_, info := porcupine.CheckOperationsVerbose(of, all, searching)
	if err := os.MkdirAll(h.drawings, 0o755); err != nil {
		return err.Error()
	}
	if err := porcupine.VisualizePath(of, info, path); err != nil {
		return err.Error()
	}
	return path
}

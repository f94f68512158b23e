package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2" //nolint:depguard // the choices of a history follow from its seed
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// unsure is the output of an operation that was answered 503 or not at all. The operation may have happened, and may still happen later.
const unsure = "?"

// input is an operation on an object: a key, a link or an org. Objects are independent of each other.
type input struct{ object, do, arg string }

// model is one promise about an object: its first state, and the possible outputs of an operation in each state. For an unsure
// operation, step gets the output unsure, and returns whether the operation can happen and the state after it.
type model struct {
	first any
	step  func(state any, in input, out string) (possible bool, next any)
	reads []string // the operations that change nothing; a refused operation changes nothing either
}

// clients is how many clients a history has.
const clients = 16

// history is a run of clients that use the same few objects at once. It has all their operations and the outputs.
type history struct {
	*world
	ctx    context.Context //nolint:containedctx // the context of the run, which the history is a part of
	kind   string
	repeat string // the seed that repeats it
	faulty bool   // calls of AWS fail during the history
	rnd    *rand.Rand

	door        door // the only door that checks keys; the zero value: all doors do
	rowsWritten bool // a row was written without the product, so the counters are not compared

	mu         sync.Mutex
	operations []porcupine.Operation
	violations []string
	did        map[string]*effects // by audit action and target
	orgs       []string
	actions    map[string]bool // the audit actions that did has
}

// effects counts how often an action was surely done, and how often it was perhaps done.
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

// record runs an operation of a client and keeps it, with its times. do returns the output.
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

// searchLimit is the longest search for an order of a history's operations.
const searchLimit = 30 * time.Second

// check looks for an order of the operations, each between its call and its return, that the model allows.
func (h *history) check(m model) {
	all := slices.Clone(h.operations)
	for i := range all {
		if all[i].Output == unsure {
			all[i].Return = time.Since(h.started).Nanoseconds() // the operation can happen at any time after its call
		}
	}
	switch result, part := m.search(all); result {
	case porcupine.Ok:
	case porcupine.Unknown:
		h.violate("the search for an order of %d operations did not end in %s", len(part), searchLimit)
	case porcupine.Illegal:
		smallest := m.smallest(part)
		h.violate("no order of these operations is possible:\n%s\ndrawn in %s", list(smallest), h.draw(m, smallest))
	}
}

// search looks for an order of each object's operations. If an object has no possible order, search returns its operations.
func (m model) search(all []porcupine.Operation) (result porcupine.CheckResult, impossible []porcupine.Operation) {
	for _, part := range partition(all) {
		searched, numbers := m.searchModel(part)
		if result := porcupine.CheckOperationsTimeout(searched, numbers, searchLimit); result != porcupine.Ok {
			return result, part
		}
	}
	return porcupine.Ok, nil
}

// progress is a state of the search.
type progress struct {
	state any    // the state of the model
	done  string // a character for each operation: x if it has happened, - if not
}

// searchModel returns porcupine's model for the operations of one object, and the same operations with their numbers as inputs.
func (m model) searchModel(all []porcupine.Operation) (porcupine.Model, []porcupine.Operation) {
	numbers := slices.Clone(all)
	for n := range numbers {
		numbers[n].Input = n
	}
	return porcupine.Model{
		Init:              func() any { return progress{m.first, strings.Repeat("-", len(all))} },
		Step:              func(before, number, _ any) (bool, any) { return m.next(all, before.(progress), number.(int)) },
		DescribeOperation: func(number, _ any) string { return describe(all[number.(int)]) },
	}, numbers
}

// next reports whether operation n may be the next one, and returns the progress after it. Of equivalent orders it allows only one: an
// operation that changes nothing comes as early as possible, and an unsure operation that would change nothing comes after all answered
// operations. Without this rule, 30 seconds were not enough for seventy changes of roles.
func (m model) next(all []porcupine.Operation, p progress, n int) (bool, progress) {
	possible, state := m.happens(all[n], p.state)
	done := p.done[:n] + "x" + p.done[n+1:]
	// Of the operations that have not happened: the earliest return, and whether one of them was answered.
	firstReturn, answersLeft := int64(math.MaxInt64), false
	for i, o := range all {
		if p.done[i] == '-' {
			firstReturn, answersLeft = min(firstReturn, o.Return), answersLeft || o.Output != unsure
		}
	}
	if all[n].Output == unsure && (!possible || state == p.state) {
		return !answersLeft, progress{p.state, done}
	}
	for i, o := range all { // n must wait if another operation that changes nothing is possible now
		if p.done[i] == '-' && o.Call < firstReturn && !m.changes(o) && (i < n || m.changes(all[n])) {
			if comesFirst, _ := m.happens(o, p.state); comesFirst {
				return false, p
			}
		}
	}
	return possible, progress{state, done}
}

// happens reports whether an operation is possible in a state, and returns the state after it.
func (m model) happens(o porcupine.Operation, state any) (possible bool, next any) {
	return m.step(state, o.Input.(input), o.Output.(string))
}

// changes reports whether an operation may have changed the state.
func (m model) changes(o porcupine.Operation) bool {
	return o.Output == unsure || strings.HasPrefix(o.Output.(string), "done") && !slices.Contains(m.reads, o.Input.(input).do)
}

// partition groups the operations by their objects.
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

// smallest returns a small part of an impossible history that is impossible too. It leaves out operations that changed nothing, as long
// as the rest stays impossible. It keeps every change, because a later read may depend on it.
func (m model) smallest(all []porcupine.Operation) []porcupine.Operation {
	for i := len(all) - 1; i >= 0; i-- {
		if m.changes(all[i]) {
			continue
		}
		fewer := slices.Delete(slices.Clone(all), i, i+1)
		if result, _ := m.search(fewer); result == porcupine.Illegal {
			all = fewer
		}
	}
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	return all
}

func describe(o porcupine.Operation) string {
	return fmt.Sprint(strings.TrimSpace(o.Input.(input).do+" "+o.Input.(input).arg), " → ", o.Output)
}

// list prints operations, one a line: object, client, milliseconds of call and return.
func list(all []porcupine.Operation) string {
	var lines []string
	for _, o := range all {
		lines = append(lines, fmt.Sprintf("  %s client %2d  %.1f to %.1f ms  %s",
			o.Input.(input).object, o.ClientId, float64(o.Call)/1e6, float64(o.Return)/1e6, describe(o)))
	}
	return strings.Join(lines, "\n")
}

// draw writes porcupine's drawing of a history, and returns the path of the drawing.
func (h *history) draw(m model, all []porcupine.Operation) string {
	path := filepath.Join(h.drawings, strings.ReplaceAll(h.repeat, "/", "-")+".html")
	searched, numbers := m.searchModel(all)
	_, info := porcupine.CheckOperationsVerbose(searched, numbers, searchLimit)
	if err := errors.Join(os.MkdirAll(h.drawings, 0o755), porcupine.VisualizePath(searched, info, path)); err != nil {
		return err.Error()
	}
	return path
}

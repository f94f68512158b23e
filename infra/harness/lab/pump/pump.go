// Package pump feeds functions from a table's stream and from queues, like Lambda's event source mappings: with batches,
// filters, partial failures, retries, and messages about records that are given up. The translated template has the
// settings of a mapping. The package is generic: it feeds the functions of any template.
package pump

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"latchkey/infra/template/translated"
)

// Invoker calls a function with a JSON event and returns its JSON answer; lambda.Service.Invoke is an Invoker.
// The context ends the wait for a copy, but not a running call.
type Invoker func(ctx context.Context, function string, event []byte) ([]byte, error)

// Call is a call that a pump has made.
type Call struct {
	Source  string // name of the mapping
	Records int
	Failed  int   // the number of failed records; each comes again or is given up
	Err     error // the error of the whole call; then all records failed
	Took    time.Duration
}

// Message is a message that a pump has received from a queue, for the first time or again.
type Message struct {
	Source string // name of the mapping
	Group  string // MessageGroupId; "": none
	Body   string
}

// Watcher has functions that a pump calls. Each may be nil.
type Watcher struct {
	Called   func(Call)
	Received func(Message)
	Trouble  func(source string, err error) // called for the first of several errors in a row
}

const (
	pollEvery    = 50 * time.Millisecond  // between two polls of a stream
	requestLimit = 10 * time.Second       // for one request to the database or the queue
	firstWait    = 100 * time.Millisecond // after an error; doubled for each further error, up to maxWait
	maxWait      = 5 * time.Second
)

// backoff returns the time to wait after one or more errors in a row.
func backoff(errors int) time.Duration {
	return min(maxWait, firstWait<<min(errors-1, 10)) // the limit 10 prevents an overflow of the shift
}

// caller calls the function of a mapping.
type caller struct {
	source translated.EventSource
	invoke Invoker
	watch  Watcher

	mu       sync.Mutex
	troubled bool // the last call of trouble had an error
}

// call calls the function with records and returns the ids of the failed ones. If the whole call failed,
// it returns all ids and the error.
func (c *caller) call(ctx context.Context, records []json.RawMessage, ids []string) (failed map[string]bool, err error) {
	event, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		return all(ids), err
	}
	begun := time.Now()
	answer, err := c.invoke(ctx, c.source.Function, event)
	failed = map[string]bool{}
	switch {
	case err != nil:
		failed = all(ids)
	case c.source.Partial:
		failed = failures(answer, ids)
	}
	if c.watch.Called != nil && ctx.Err() == nil {
		c.watch.Called(Call{c.source.Name, len(records), len(failed), err, time.Since(begun)})
	}
	return failed, err
}

// failures returns the ids of failed records in the answer of a function that reports them. As on Lambda, all records failed if
// the answer cannot be read or has an unknown id. No record failed if the answer is empty in any form.
func failures(answer []byte, ids []string) map[string]bool {
	var report struct {
		Failures []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if slices.Contains([]string{"", "[]", `""`}, string(bytes.TrimSpace(answer))) {
		return nil
	}
	if err := json.Unmarshal(answer, &report); err != nil {
		return all(ids)
	}
	sent, failed := all(ids), make(map[string]bool)
	for _, f := range report.Failures {
		if !sent[f.ID] {
			return sent
		}
		failed[f.ID] = true
	}
	return failed
}

// all returns the set of the ids.
func all(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// trouble reports an error to the watcher, unless the previous request also had an error, or the pump is ending. A nil error
// means that a request succeeded.
func (c *caller) trouble(ctx context.Context, err error) {
	c.mu.Lock()
	isFirst := err != nil && !c.troubled
	c.troubled = err != nil
	c.mu.Unlock()
	if isFirst && c.watch.Trouble != nil && ctx.Err() == nil {
		c.watch.Trouble(c.source.Name, err)
	}
}

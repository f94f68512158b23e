// Package pump feeds functions from a table's stream and from queues, as Lambda's event source
// mappings do, with batches, filters, partial failures, retries, and messages about records that
// are given up. The settings of a mapping come from the translated template. The
// package is generic: it feeds the functions of any template.
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

// Invoker calls a function with a JSON event and returns its JSON answer, as lambda.Service does.
// The context ends the wait for a copy, not a call.
type Invoker func(ctx context.Context, function string, event []byte) ([]byte, error)

// Call is a call that a pump has made.
type Call struct {
	Source  string // name of the mapping
	Records int
	Failed  int   // how many of Records failed; they come again, or are given up
	Err     error // the call itself failed, and so all records; nil: it did not
	Took    time.Duration
}

// Message is a message that a pump has received from a queue, for the first time or again.
type Message struct {
	Source string // name of the mapping
	Group  string // MessageGroupId; "" when it has none
	Body   string
}

// Watcher has functions that a pump calls. Each may be nil.
type Watcher struct {
	Called   func(Call)
	Received func(Message)
	Trouble  func(source string, err error) // called once for errors in a row
}

const (
	pollEvery = 50 * time.Millisecond  // of a stream
	askLimit  = 10 * time.Second       // for one answer of the database or the queue
	firstWait = 100 * time.Millisecond // after an error; doubled for each further one, up to maxWait
	maxWait   = 5 * time.Second
)

// backoff returns how long to wait after one or more errors in a row.
func backoff(errors int) time.Duration {
	return min(maxWait, firstWait<<min(errors-1, 10)) // 10: an unlimited shift would overflow
}

// caller calls the function of a mapping.
type caller struct {
	source translated.EventSource
	invoke Invoker
	watch  Watcher

	mu       sync.Mutex
	troubled bool // the last call of trouble had an error
}

// call calls the function with records and returns the ids of those that failed. When all failed
// because the call did, it returns the error too.
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

// failures returns the failed records in the answer of a function that reports failures. As on
// Lambda, the whole batch has failed when the answer cannot be read or has an unknown id, and none when it is empty in any form.
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

// trouble reports an error to the watcher, unless the call before had an error too, or the pump is ending. Nil means that
// a request succeeded.
func (c *caller) trouble(ctx context.Context, err error) {
	c.mu.Lock()
	isFirst := err != nil && !c.troubled
	c.troubled = err != nil
	c.mu.Unlock()
	if isFirst && c.watch.Trouble != nil && ctx.Err() == nil {
		c.watch.Trouble(c.source.Name, err)
	}
}

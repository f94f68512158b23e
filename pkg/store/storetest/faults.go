package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is a behaviour of a database that DynamoDB Local never has.
type Fault string

// The faults.
const (
	Conflict      Fault = "transaction conflict" // a transaction is cancelled by another one
	Throttle      Fault = "throttle"             // the table has no capacity left
	ServerError   Fault = "internal server error"
	Malformed     Fault = "malformed"   // the database calls the request malformed
	Hang          Fault = "hang"        // no answer until the caller stops waiting
	LostBefore    Fault = "lost before" // the connection breaks before anything is done
	LostAfter     Fault = "lost after"  // the call is done, and the answer is lost
	Forgotten     Fault = "forgotten"   // like LostAfter, and the database no longer knows the transaction's client token
	Late          Fault = "late"        // like Hang, but the call is done right before the next call, with another client token
	Delayed       Fault = "delayed"     // like Late, but the call is done when Arrive is called
	Torn          Fault = "torn"        // a batch answers without its idempotency records, as if it had read them earlier than the other rows
	brokenMessage       = "connection reset by the fault transport"
)

// Faults is an HTTP transport that puts faults between the SDK and the database. Without planned
// faults it passes every call on. It is safe for concurrent use.
type Faults struct {
	Next http.RoundTripper
	// Try is the time for which the product waits for an answer. A call that hangs ends after this
	// time. Other calls have more time, because the machine of the test may be busy.
	Try time.Duration

	mu      sync.Mutex
	plan    []planned
	calls   []string        // see Calls
	before  []interposed    // see Before
	late    []*http.Request // to be done before the next call
	delayed []*http.Request // to be done by Arrive
	held    gathering       // see Together
}

// interposed is a change right before one call of an operation.
type interposed struct {
	operation string
	change    func()
}

type planned struct {
	operation string // "" is any
	fault     Fault
	times     int // < 0: always
}

// Plan plans a fault for the next calls of an operation ("TransactWriteItems"; "" is any). times is the number
// of calls that get the fault; negative: all calls. Plans for the same operation are used in their order.
func (f *Faults) Plan(operation string, fault Fault, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = append(f.plan, planned{operation, fault, times})
}

// Before calls change right before the next call of an operation: with "TransactWriteItems",
// between the reads of a use case and its transaction. change may call the store itself. When
// several changes are planned, each call of the operation uses one, in order.
func (f *Faults) Before(operation string, change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = append(f.before, interposed{operation, change})
}

// Heal removes the plans of Plan, Before and Together.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.before, f.held = nil, nil, gathering{}
}

// Calls returns the operations of all calls since Calls was called last. A call with a fault counts too.
func (f *Faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

// Pending reports whether a plan has not occurred: a fault, a change of Before, a call of the fault Late, or
// the calls of Together at the same time. If the plan of a test has not occurred, the test proves nothing.
func (f *Faults) Pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.before) > 0 || len(f.late) > 0 || f.held.pending() {
		return true
	}
	for _, p := range f.plan {
		if p.times > 0 {
			return true
		}
	}
	return false
}

// next returns the fault that is planned for a call, "" for none.
func (f *Faults) next(operation string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, operation)
	for i := range f.plan {
		p := &f.plan[i]
		if p.times == 0 || (p.operation != "" && p.operation != operation) {
			continue
		}
		if p.times > 0 {
			p.times--
		}
		return p.fault
	}
	return ""
}

// RoundTrip sends one call, or makes the fault that is planned for it.
func (f *Faults) RoundTrip(r *http.Request) (*http.Response, error) {
	operation := operationOf(r)
	if err := f.gather(r.Context(), operation); err != nil {
		return nil, err
	}
	if change := f.interposed(operation); change != nil {
		change()
	}
	if err := f.doLate(); err != nil {
		return nil, err
	}
	fault := f.next(operation)
	switch fault {
	case Conflict:
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
			`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",`+
			`"CancellationReasons":[{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}]}`), nil
	case Throttle:
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",`+
			`"message":"The level of configured provisioned throughput for the table was exceeded"}`), nil
	case ServerError:
		return answer(r, http.StatusInternalServerError, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}`), nil
	case Malformed:
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazon.coral.validate#ValidationException",`+
			`"message":"The document path provided in the update expression is invalid for update"}`), nil
	case Hang:
		return nil, f.hang(r.Context())
	case LostBefore:
		return nil, errors.New(brokenMessage)
	case LostAfter:
		return nil, errors.Join(f.lose(r), errors.New(brokenMessage))
	case Forgotten:
		other, err := withOtherToken(r.Context(), r)
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(f.lose(other), errors.New(brokenMessage))
	case Torn:
		return f.torn(r)
	case Late, Delayed:
		return nil, f.delay(r, fault)
	}
	return f.Next.RoundTrip(r)
}

// delay hangs, and keeps the call to be done later: with another client token, and without the end of the
// caller's context.
func (f *Faults) delay(r *http.Request, fault Fault) error {
	other, err := withOtherToken(context.WithoutCancel(r.Context()), r)
	if err != nil {
		return err
	}
	hung := f.hang(r.Context())
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault == Late {
		f.late = append(f.late, other)
	} else {
		f.delayed = append(f.delayed, other)
	}
	return hung
}

// hang waits until the product ends the try, or the caller ends the call.
func (f *Faults) hang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.Try)
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

// lose sends a call and drops its answer.
func (f *Faults) lose(r *http.Request) error {
	out, err := f.Next.RoundTrip(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, out.Body) // an error does not matter: the answer is dropped
	return out.Body.Close()
}

// interposed returns the change that is planned before a call of an operation, nil for none.
func (f *Faults) interposed(operation string) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, b := range f.before {
		if b.operation == operation {
			f.before = slices.Delete(f.before, i, i+1)
			return b.change
		}
	}
	return nil
}

// Arrive sends the calls of the fault Delayed, and drops their answers.
func (f *Faults) Arrive() error {
	f.mu.Lock()
	f.late, f.delayed = append(f.late, f.delayed...), nil
	f.mu.Unlock()
	return f.doLate()
}

// torn sends a BatchGetItem, and leaves the idempotency records out of its answer.
func (f *Faults) torn(r *http.Request) (*http.Response, error) {
	out, err := f.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Body.Close() }()
	var read struct {
		Responses map[string][]map[string]map[string]any
	}
	if err := json.NewDecoder(out.Body).Decode(&read); err != nil {
		return nil, err
	}
	for table, rows := range read.Responses {
		read.Responses[table] = slices.DeleteFunc(rows, func(row map[string]map[string]any) bool {
			return strings.HasPrefix(fmt.Sprint(row["PK"]["S"]), "IDEM#")
		})
	}
	body, err := json.Marshal(read)
	return answer(r, http.StatusOK, string(body)), err
}

// doLate sends the calls of the fault Late, and drops their answers.
func (f *Faults) doLate() error {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, r := range late {
		if err := f.lose(r); err != nil {
			return err
		}
	}
	return nil
}

// withOtherToken returns a call with another client token, if it has one. So the database does not know the
// token when the product repeats the transaction.
func withOtherToken(ctx context.Context, r *http.Request) (*http.Request, error) {
	body, r, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in["ClientRequestToken"] != nil {
		in["ClientRequestToken"] = json.RawMessage(strconv.Quote(rand.Text()))
	}
	if body, err = json.Marshal(in); err != nil {
		return nil, err
	}
	return withBody(ctx, r, body)
}

// answer returns an answer of DynamoDB to a call.
func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:    io.NopCloser(bytes.NewBufferString(body)),
		Request: r, ContentLength: int64(len(body)),
	}
}

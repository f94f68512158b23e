package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Fault is something a database does that DynamoDB Local never does.
type Fault string

// The faults.
const (
	Conflict      Fault = "transaction conflict" // a transaction is cancelled by another one
	Throttle      Fault = "throttle"             // the table has no capacity left
	ServerError   Fault = "internal server error"
	Hang          Fault = "hang"        // no answer until the caller gives up
	LostBefore    Fault = "lost before" // the connection breaks before anything is done
	LostAfter     Fault = "lost after"  // it is done, and the answer is lost
	brokenMessage       = "connection reset by the fault transport"
)

// Faults is an HTTP transport that puts faults between the SDK and the
// database. Without faults planned it lets everything through. It is safe for
// concurrent use.
type Faults struct {
	Next http.RoundTripper

	mu    sync.Mutex
	plan  []planned
	calls []string
}

type planned struct {
	operation string // "" is any
	fault     Fault
	times     int // < 0 is for ever
}

// Plan makes the next calls of an operation ("TransactWriteItems"; "" is any)
// fail, times times; a negative number is for ever.
func (f *Faults) Plan(operation string, fault Fault, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = append(f.plan, planned{operation, fault, times})
}

// Heal forgets every plan.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = nil
}

// Calls lists the operations that were sent since the last call, the ones that
// met a fault among them.
func (f *Faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

// Pending reports whether a planned fault has not occurred yet: a test that
// plans one and does not meet it tests nothing.
func (f *Faults) Pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.plan {
		if p.times > 0 {
			return true
		}
	}
	return false
}

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

// RoundTrip sends one call, or does to it what is planned.
func (f *Faults) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch f.next(operation) {
	case Conflict:
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
			`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",`+
			`"CancellationReasons":[{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}]}`), nil
	case Throttle:
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",`+
			`"message":"The level of configured provisioned throughput for the table was exceeded"}`), nil
	case ServerError:
		return answer(r, http.StatusInternalServerError, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}`), nil
	case Hang:
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	case LostBefore:
		return nil, errors.New(brokenMessage)
	case LostAfter:
		out, err := f.Next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, out.Body) // it is lost on purpose
		_ = out.Body.Close()
		return nil, errors.New(brokenMessage)
	}
	return f.Next.RoundTrip(r)
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:    io.NopCloser(bytes.NewBufferString(body)),
		Request: r, ContentLength: int64(len(body)),
	}
}

package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// consistent is an HTTP transport that fails the test at every read that is not strongly consistent. It
// is between the SDK and the transport that makes faults, so it also sees the calls that get a fault.
type consistent struct {
	next http.RoundTripper

	mu sync.Mutex
	t  testing.TB // nil once the test has ended
}

func newConsistent(t testing.TB, next http.RoundTripper) *consistent {
	c := &consistent{next: next, t: t}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.t = nil // a goroutine may still read after the test, when Errorf would panic
	})
	return c
}

// RoundTrip checks one call and passes it on.
func (c *consistent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, r, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	if fault := eventual(operationOf(r), body); fault != "" {
		c.mu.Lock()
		if c.t != nil {
			c.t.Errorf("%s", fault)
		}
		c.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

// eventual returns a sentence about a call that reads without strong consistency, "" for any other call. The
// index due is allowed: it is never strongly consistent. Operations that the product does not use for reads
// are not allowed at all.
func eventual(operation string, body []byte) string {
	var in struct {
		IndexName      string
		ConsistentRead bool
		Key            json.RawMessage // of GetItem
		Values         json.RawMessage `json:"ExpressionAttributeValues"` // of Query
		RequestItems   map[string]struct {
			ConsistentRead bool
			Keys           json.RawMessage
		}
	}
	switch operation {
	case "GetItem", "Query", "BatchGetItem":
	case "Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction":
		return "the store must not use " + operation
	default:
		return ""
	}
	if err := json.Unmarshal(body, &in); err != nil { // a body that cannot be checked fails the test too
		return fmt.Sprintf("%s: a body that is not JSON: %v", operation, err)
	}
	switch {
	case operation == "Query" && in.IndexName == "due":
		return ""
	case operation == "BatchGetItem":
		for _, request := range in.RequestItems {
			if !request.ConsistentRead {
				return fmt.Sprintf("BatchGetItem without ConsistentRead of %s", request.Keys)
			}
		}
		return ""
	case in.IndexName != "":
		return "Query of the index " + in.IndexName
	case !in.ConsistentRead:
		return fmt.Sprintf("%s without ConsistentRead of %s%s", operation, in.Key, in.Values)
	}
	return ""
}

// operationOf returns the name of a call's operation, such as "GetItem".
func operationOf(r *http.Request) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

// bodyOf reads a call's body. It returns the body, and the call with a body that can be read again.
func bodyOf(r *http.Request) ([]byte, *http.Request, error) {
	if r.Body == nil {
		return nil, r, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, err
	}
	_ = r.Body.Close() // read to its end
	again, err := withBody(r.Context(), r, body)
	return body, again, err
}

// withBody returns a call like r with another body. Only ctx ends the call, because the fault Late makes it after its client
// has given up. A clone of r would be cancelled then, by the channel r.Cancel that a client with a time-out closes.
func withBody(ctx context.Context, r *http.Request, body []byte) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header, out.Host = r.Header.Clone(), r.Host
	return out, nil
}

// Package faults makes calls of AWS services fail, as they can fail on AWS: before or after the service has done the operation,
// late, or in part. It knows the operations of DynamoDB, KMS, SQS and EventBridge, and nothing of Latchkey.
package faults

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2" //nolint:depguard // a seed decides the faults
	"net/http"
	"strings"
	"sync"
	"time"
)

// Network makes faults while its rate is above 0. The zero value makes none. It is safe for concurrent use.
type Network struct {
	mu    sync.Mutex
	rate  float64 // the part of calls that get a fault, from 0 to 1
	rnd   *rand.Rand
	made  map[string]int    // numbers of faults by name
	old   map[string]copied // earlier answers by operation and body
	calls int
}

// Set makes a part of the calls fail from now on: rate is from 0 (no calls) to 1 (all). The seed decides which call, by its
// number, gets which fault. Eventually consistent reads can get old copies at any rate.
func (n *Network) Set(rate float64, seed uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rate, n.rnd = rate, rand.New(rand.NewPCG(seed, seed))
	if n.made == nil {
		n.made = map[string]int{}
	}
}

// Made returns the number of calls, and the number of faults by name.
func (n *Network) Made() (calls int, faults map[string]int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls, maps.Clone(n.made)
}

// Between returns a transport that makes the faults. It makes calls through next. See lab.Options.
func (n *Network) Between(next http.RoundTripper) http.RoundTripper { return carrier{n, next} }

type carrier struct {
	*Network
	next http.RoundTripper
}

// errLost means that the connection ends: the caller gets no answer.
var errLost = errors.New("faults: the connection was lost")

// call is a call of a function to a service.
type call struct {
	*http.Request
	operation string // such as PutItem
	body      []byte
	next      http.RoundTripper
	dice      float64 // a random number from 0 to 1, for the details of the fault
}

// RoundTrip makes the call, perhaps with a fault. Error: an error of next, or errLost.
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	now := call{r, operation, body, c.next, 0}
	fault, dice := c.choose(now)
	now.dice = dice
	if fault != nil {
		return fault(now)
	}
	return now.send()
}

// send makes the call without a fault.
func (c call) send() (*http.Response, error) { return c.sendBody(c.body) }

// sendBody makes the call with another body.
func (c call) sendBody(body []byte) (*http.Response, error) {
	r := c.Clone(c.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return c.next.RoundTrip(r)
}

// fault answers a call in place of its service.
type fault func(call) (*http.Response, error)

// choose returns the fault of a call, or nil, and the call's dice.
func (c carrier) choose(now call) (fault, float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.rnd == nil {
		return nil, 0
	}
	if isEventual(now) { // DynamoDB may return an old copy at any time, so the rate does not matter
		return c.oldCopy, c.rnd.Float64()
	}
	if c.rnd.Float64() >= c.rate {
		return nil, 0
	}
	possible := faultsOf(now)
	at := c.rnd.IntN(len(possible))
	c.made[possible[at].name]++
	return possible[at].make, c.rnd.Float64()
}

// named is a fault with the name under which it is counted.
type named struct {
	name string
	make fault
}

// faultsOf returns the faults that a call can have. Faults that make the caller wait are rare: they are in the list once, and
// the others four times.
func faultsOf(c call) []named {
	refused := named{"throttled", answered(http.StatusBadRequest, "ThrottlingException")}
	if strings.HasPrefix(c.Header.Get("X-Amz-Target"), "AmazonSQS") {
		refused = named{"throttled", answered(http.StatusForbidden, "RequestThrottled")}
	}
	broken := answered(http.StatusInternalServerError, "InternalServerError")
	quick := []named{
		refused,
		{"500 before", broken}, {"500 after", after(broken)},
		{"reset before", lost}, {"reset after", after(lost)},
	}
	quick = append(quick, partsOf(c)...)
	quick = append(quick, quick...)
	return append(append(quick, quick...),
		named{"hang before", hang}, named{"hang after", after(hang)}, named{"late", late})
}

// answered returns a fault: an error of the service, which has not done the operation.
func answered(status int, code string) fault {
	return func(c call) (*http.Response, error) {
		return answer(c, status, `{"__type":"com.amazonaws#`+code+`","message":"`+code+`","Message":"`+code+`"}`), nil
	}
}

// answer returns an answer with a JSON body.
func answer(c call, status int, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: c.Request,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// after returns a fault that comes after the service has done the operation.
func after(then fault) fault {
	return func(c call) (*http.Response, error) {
		if res, err := c.send(); err == nil {
			_, _ = io.Copy(io.Discard, res.Body) // drop the service's answer
			_ = res.Body.Close()
		}
		return then(c)
	}
}

// lost ends the connection.
func lost(call) (*http.Response, error) { return nil, errLost }

// hang sends no answer until the caller gives up.
func hang(c call) (*http.Response, error) {
	<-c.Context().Done()
	return nil, c.Context().Err()
}

// latest is the longest delay of a late call.
const latest = time.Second

// late ends the connection, and makes the call afterwards: the caller's next try can reach the service first.
func late(c call) (*http.Response, error) {
	detached, _ := http.NewRequest(c.Method, c.URL.String(), nil) // no error: the URL is from a good request
	detached.Header, detached.Host = c.Header.Clone(), c.Host
	c.Request = detached
	go func() {
		time.Sleep(time.Duration(c.dice * float64(latest)))
		if res, err := c.send(); err == nil {
			_ = res.Body.Close()
		}
	}()
	return nil, errLost
}

// Before returns a handler that makes faults before next, for a service that AWS does not run, such as an issuer's keys.
func (n *Network) Before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.calls++
		dice := 1.0
		if n.rate > 0 {
			dice = n.rnd.Float64() / n.rate // below 1, with the probability n.rate: a fault
		}
		n.mu.Unlock()
		switch {
		case dice < 0.3:
			n.count("keys: 500")
			w.WriteHeader(http.StatusInternalServerError)
		case dice < 0.6:
			n.count("keys: no JSON")
			_, _ = io.WriteString(w, "<html>") // ignore the error of a closed connection
		case dice < 0.9:
			n.count("keys: reset")
			panic(http.ErrAbortHandler)
		case dice < 1:
			n.count("keys: hang")
			<-r.Context().Done()
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (n *Network) count(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made[name]++
}

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/verify"
)

// arrival is a verified webhook.
type arrival struct {
	verify.Event
	At    time.Time
	Token string
}

// kid returns the kid of the key that signed the webhook.
func (a arrival) kid() string {
	var h struct{ Kid string }
	_ = json.Unmarshal(segment(a.Token, 0), &h) // no error: the token was verified
	return h.Kid
}

// receiver accepts webhooks on this machine, verifies them like a customer's receiver in Go, and
// keeps them.
type receiver struct {
	endpoint string // the id of its webhook endpoint
	url      string
	address  string            // host and port
	server   *http.Server      // listens at the address
	answer   func(arrival) int // the status of an answer; nil: 204

	mu       sync.Mutex
	verifier *verify.Verifier
	got      []arrival
	refused  []error // the errors of refused webhooks
	unknown  int     // the number of webhooks whose key could not be looked up
}

// receiver starts a receiver and registers it.
func (c *server) receiver(t *testing.T, answer func(arrival) int, events ...string) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.listen(t)
	r.register(t, c, events...)
	return r
}

// listen listens at a free address until the test ends.
func (r *receiver) listen(t *testing.T) {
	t.Helper()
	r.address = freeAddress(t)
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.server.Close() })
}

// start starts the server at the receiver's address, also after a stop.
func (r *receiver) start() error {
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	r.url = "http://" + r.address + "/in"
	server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	r.server = server
	go func() { _ = server.Serve(l) }()
	return nil
}

// register registers the receiver as an endpoint for these types of events; no types means all.
func (r *receiver) register(t *testing.T, c *server, events ...string) {
	t.Helper()
	r.endpoint = c.endpoint(t, r.url, events...)
	v := newVerifier(t, c.tg, r.endpoint)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifier = v
}

// newVerifier returns a verifier that has not looked up a key yet.
func newVerifier(t *testing.T, tg *target, endpoint string) *verify.Verifier {
	t.Helper()
	v, err := verify.New(verify.Config{BaseURL: tg.url, EndpointID: endpoint, Issuer: tg.url})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the function was killed during the request
	}
	r.mu.Lock()
	v := r.verifier
	r.mu.Unlock()
	event, err := v.Verify(req.Context(), body)
	if err == nil {
		err = checkHeaders(req, event)
	}
	r.mu.Lock()
	switch {
	case errors.Is(err, verify.ErrUnavailable):
		r.unknown++
		r.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case err != nil:
		r.refused = append(r.refused, err)
		r.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	a := arrival{event, at, string(body)}
	r.got = append(r.got, a)
	r.mu.Unlock()
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(a) // the lock is not held, because answer may wait
	}
	w.WriteHeader(status)
}

// checkHeaders returns an error if the request of a webhook lacks the headers of its event.
func checkHeaders(req *http.Request, e verify.Event) error {
	for name, want := range map[string]string{
		"Content-Type": "application/jwt", "Webhook-Id": e.ID, "User-Agent": "Latchkey-Webhooks/1",
	} {
		if got := req.Header.Get(name); got != want {
			return fmt.Errorf("%s: %q instead of %q", name, got, want)
		}
	}
	return nil
}

func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// about returns the webhooks of a type whose data has this id; "": any.
func (r *receiver) about(kind, id string) []arrival {
	return slices.DeleteFunc(r.arrivals(), func(a arrival) bool {
		isAbout := id == "" || containsID(a.Data, id)
		return a.Type != kind || !isAbout
	})
}

// containsID reports whether a member of an object is this id.
func containsID(data json.RawMessage, id string) bool {
	var object members
	_ = json.Unmarshal(data, &object) // no error: the verifier has checked that it is an object
	for _, value := range object {
		if value == id {
			return true
		}
	}
	return false
}

// one waits for a webhook of a type whose data has this id ("": any), and returns it.
func (r *receiver) one(t *testing.T, kind, id string) arrival {
	t.Helper()
	var found []arrival
	within(t, kind+" about "+id, func() bool {
		found = r.about(kind, id)
		return len(found) > 0
	})
	return found[0]
}

// noneRefused checks that the receiver refused no webhook: a bad signature or claim is a fault of Latchkey.
func (r *receiver) noneRefused(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.refused {
		t.Errorf("endpoint %s refused a webhook: %v", r.endpoint, err)
	}
}

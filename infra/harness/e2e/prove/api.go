package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"latchkey/infra/harness/contract"
	"latchkey/pkg/fetch"
)

// request is a request to the API, or to a door.
type request struct {
	method, path, body string
	bearer             string // the credential; "": none
	once               string // the Idempotency-Key; "": none
	header             http.Header
	each               bool // a repeated request has its effect again
}

// reply is an answer. Without an answer err is set, and the status is 0.
type reply struct {
	status       int
	code         string // of a problem
	header       http.Header
	text         string
	body         map[string]any
	err          error
	begun, ended time.Time
}

func (r reply) str(name string) string { s, _ := r.body[name].(string); return s }

// ok reports whether the request was done.
func (r reply) ok() bool { return r.status >= 200 && r.status < 300 }

// unsure reports whether it is unknown if the request was done, or will be done later.
func (r reply) unsure() bool { return r.err != nil || r.status == http.StatusServiceUnavailable }

// outcome returns the answer in a word, for histories: done, the code of a refusal, or unsure.
func (r reply) outcome() string {
	switch {
	case r.unsure():
		return unsure
	case r.ok():
		return "done"
	default:
		return r.code
	}
}

// list returns the objects of a list in the body.
func (r reply) list(name string) (out []map[string]any) {
	rows, _ := r.body[name].([]any)
	for _, row := range rows {
		if m, ok := row.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// answerLimit is how long a request may take: a client must get an answer within ten seconds.
const answerLimit = 10 * time.Second

// site is a place that answers requests: the API, or a door of the owner's own endpoints.
type site struct {
	url      string
	contract *contract.Contract // of the API; nil for a door
	client   *http.Client
	tally    *tally
}

func newSite(url string, c *contract.Contract, t *tally) *site {
	return &site{
		url: url, contract: c, tally: t,
		client: &http.Client{Timeout: answerLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// send sends a request. An answer that is not documented is a violation, and so are ten seconds without an answer.
func (s *site) send(ctx context.Context, q request) reply {
	r := s.try(ctx, q)
	if (r.err != nil || r.status >= 500) && s.tally.stalledDuring(r) {
		r.err = errStalled
	}
	s.tally.count(s, q, r)
	return r
}

var errStalled = errors.New("the machine stood still")

// try sends a request, and does not count its answer.
func (s *site) try(ctx context.Context, q request) (r reply) {
	r.begun = time.Now()
	defer func() { r.ended = time.Now() }()
	req, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, strings.NewReader(q.body))
	if err != nil {
		r.err = err
		return r
	}
	if q.header != nil {
		req.Header = q.header.Clone()
	}
	if q.body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+q.bearer)
	}
	if q.once != "" {
		req.Header.Set("Idempotency-Key", q.once)
	}
	var a fetch.Answer
	if a, r.err = fetch.Do(s.client, req, 32<<20); r.err != nil {
		return r
	}
	r.status, r.header, r.text = a.Status, a.Header, string(a.Body)
	if json.Unmarshal(a.Body, &r.body) != nil {
		r.body = nil // not a JSON object
	}
	r.code = cmp.Or(r.str("code"), r.header.Get("X-Latchkey-Code")) // a door sends the code in a header
	return r
}

// tally counts answers, and keeps the faulty ones. It also knows when the machine stood still, because an answer that failed at
// such a time is not a fault of the product.
type tally struct {
	found    atomic.Bool // there is a violation, in an answer or a history
	mu       sync.Mutex
	answers  int
	faults   []string
	stalls   [][2]time.Time // the begin and the end of each stall
	stalled  int            // the number of failed answers that a stall excuses
	lastBeat time.Time
}

const stallAfter = time.Second // a beat that is later than this is a stall

// watchStalls beats every 50 ms, to notice when the machine did not run this process.
func (t *tally) watchStalls(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		t.mu.Lock()
		t.beatNow()
		t.mu.Unlock()
	}
}

func (t *tally) beatNow() {
	now := time.Now()
	if !t.lastBeat.IsZero() && now.Sub(t.lastBeat) > stallAfter {
		t.stalls = append(t.stalls, [2]time.Time{t.lastBeat, now})
	}
	t.lastBeat = now
}

// stalledDuring reports whether the machine stood still during a request.
func (t *tally) stalledDuring(r reply) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beatNow()
	return slices.ContainsFunc(t.stalls, func(s [2]time.Time) bool { return s[0].Before(r.ended) && r.begun.Before(s[1]) })
}

// count counts an answer, and keeps its fault if it has one.
func (t *tally) count(s *site, q request, r reply) {
	fault := s.check(q, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers++
	if errors.Is(r.err, errStalled) {
		t.stalled++
		return
	}
	if fault != nil {
		t.found.Store(true)
		t.faults = append(t.faults, fmt.Sprintf("%s %s: %d %.300s: %v", q.method, q.path, r.status, r.text, fault))
	}
}

// check returns the fault of an answer that a client must not get.
func (s *site) check(q request, r reply) error {
	switch {
	case errors.Is(r.err, context.Canceled): // the run ends
		return nil
	case r.err != nil:
		return fmt.Errorf("no answer after %s: %w", r.ended.Sub(r.begun).Round(time.Millisecond), r.err)
	case r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") == "":
		return errors.New("a 503 without Retry-After")
	case r.status >= 500 && r.status != http.StatusServiceUnavailable:
		return errors.New("a server error other than 503")
	case s.contract != nil:
		return s.contract.Check(q.method, strings.Split(q.path, "?")[0], r.status, r.header, []byte(r.text))
	case !slices.Contains([]int{200, 401, 403, 503}, r.status):
		return errors.New("a status that no door answers")
	}
	return nil
}

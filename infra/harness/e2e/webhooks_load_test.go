package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/pump"
	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/webhook"
)

// Settings of the run under load.
const (
	loadRate   = 4                // events a second
	loadFor    = 40 * time.Second // 200 s by `make load`
	slowAnswer = 8 * time.Second

	loadCopies = 100 // the most copies of the deliver function, as in an account with a raised quota

	maxMedian = 2 * time.Second // the largest median delay of the healthy receiver
	maxDrain  = 4 * time.Minute // after the last event, the limit until deliveries wait only for the failing receiver
)

// groups counts the messages of the queue. A message is right if its group is its org.
type groups struct {
	right, wrong atomic.Int64
}

func (g *groups) received(m pump.Message) {
	body, err := webhook.ParseMessage(m.Body)
	if err != nil || m.Group == "" || m.Group != string(body.Org) {
		g.wrong.Add(1)
		return
	}
	g.right.Add(1)
}

// loadParameters returns parameters for a stack that sends many webhooks at once.
func loadParameters() map[string]string {
	out := maps.Clone(patient)
	out["DeliverConcurrency"] = strconv.Itoa(loadCopies)
	return out
}

// TestWebhooksUnderLoad sends events to four receivers: one is down for a while, one fails half the
// time, one is slow and one is healthy.
func TestWebhooksUnderLoad(t *testing.T) {
	rate, during := loadRate, loadFor
	if seconds := os.Getenv("LOAD_SECONDS"); seconds != "" {
		n, err := strconv.Atoi(seconds)
		if err != nil || n < int(loadFor.Seconds()) {
			t.Fatalf("LOAD_SECONDS is %q, want a whole number of at least %.0f", seconds, loadFor.Seconds())
		}
		rate, during = maxRate(), time.Duration(n)*time.Second
	}
	deadUntil := during * 3 / 4
	var g groups
	// loadCopies is enough: at ten events a second, the slow receiver's answers of eight seconds keep 80 batches busy,
	// because a batch seldom has the deliveries of more than one event.
	s, tg := startLocal(t, stack.Options{InMemory: true, Received: g.received, MaxCopies: loadCopies, Parameters: loadParameters()})
	c := tg.server(t)
	healthy := c.receiver(t, nil, "link.claimed", "link.revoked")
	var isRepaired atomic.Bool
	half := c.receiver(t, func(arrival) int {
		if !isRepaired.Load() && rand.IntN(2) == 0 {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	}, "link.claimed", "link.revoked")
	slow := c.receiver(t, func(arrival) int { time.Sleep(slowAnswer); return http.StatusNoContent }, "link.claimed", "link.revoked")
	dead := &receiver{}
	dead.listen(t)
	_ = dead.server.Close() // it listens again at deadUntil
	dead.register(t, c, "link.claimed", "link.revoked")
	back := time.AfterFunc(deadUntil, func() {
		if err := dead.start(); err != nil {
			t.Error(err)
		}
	})
	defer func() {
		back.Stop()
		_ = dead.server.Close()
	}()

	caused := steady(t, c, rate, during)
	ended := time.Now()
	t.Logf("%d events in %s; %d requests were answered 503 and sent again", len(caused), during, c.unavailable.Load())

	t.Parallel() // from here on, the test mostly waits

	receivers := map[string]*receiver{"healthy": healthy, "half": half, "slow": slow, "dead": dead}
	drained := drain(t, s, c, caused, receivers, "half", maxDrain)
	t.Logf("all but the failing receiver had every event %s after the last one; the dead receiver was started %s before the last event", drained.Sub(ended), during-deadUntil)
	for name, r := range receivers {
		medianDelay(t, name, r)
		r.noneRefused(t)
		sameIDs(t, name, r)
	}
	if g.wrong.Load() != 0 || g.right.Load() < int64(4*len(caused)) {
		t.Errorf("%d messages have their org as group, %d have not", g.right.Load(), g.wrong.Load())
	}
	t.Logf("%d messages, each with its org as group", g.right.Load())
	isRepaired.Store(true)
	lastDeliveries(t, s, c, half)
}

// maxRate returns the events a second of `make load`: 3 for each core, and 10 at most. A local stack on two cores is busy at
// 8 a second: with more events, the test would measure the machine.
func maxRate() int { return min(10, 3*runtime.NumCPU()) }

// memoryDir returns a folder in memory, which is removed after the test.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := backing.MemoryDir("latchkey-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// steady causes events at a rate for a while, and returns the ids of their links. Each link is claimed or revoked.
func steady(t *testing.T, c *server, rate int, during time.Duration) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	caused := map[string]bool{}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for n := range int(during.Seconds()) * rate {
		<-tick.C
		wg.Go(func() {
			link, err := c.cause(t, n)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			caused[link] = true
		})
	}
	wg.Wait()
	return caused
}

// cause makes a link, and claims it or, for an even n, revokes it. It returns the link's id.
func (c *server) cause(t *testing.T, n int) (link string, err error) {
	t.Helper()
	made, err := c.insist(t, c.call(t, "/link/create", members{"clientUserId": fmt.Sprint("u-", n)}), http.StatusCreated)
	if err != nil {
		return "", err
	}
	link = made.str("id")
	end := newDevice().claims(made.str("token"))
	if n%2 == 0 {
		end = c.call(t, "/link/revoke", members{"linkId": link})
	}
	_, err = c.insist(t, end, http.StatusOK)
	return link, err
}

// insist sends a request, and repeats it after each 503, as a client should.
func (c *server) insist(t *testing.T, request call, status int) (reply, error) {
	t.Helper()
	for begun := time.Now(); ; {
		r, err := c.tg.try(t.Context(), request)
		switch {
		case err != nil:
			return r, err
		case r.status == status:
			return r, nil
		case r.status != http.StatusServiceUnavailable || time.Since(begun) > killDrain:
			return r, fmt.Errorf("%s: %d %s", request.path, r.status, r.text)
		}
		c.unavailable.Add(1)
		time.Sleep(500 * time.Millisecond)
	}
}

// medianDelay logs the time from each event to the first arrival of its webhook. The median of the healthy receiver
// has a limit.
func medianDelay(t *testing.T, name string, r *receiver) {
	t.Helper()
	first := map[string]time.Duration{}
	for _, a := range r.arrivals() {
		if d := a.At.Sub(a.CreatedAt); first[a.ID] == 0 || d < first[a.ID] {
			first[a.ID] = d
		}
	}
	if len(first) == 0 {
		t.Errorf("%s got nothing", name)
		return
	}
	all := make([]time.Duration, 0, len(first))
	for _, d := range first {
		all = append(all, d)
	}
	slices.Sort(all)
	median := all[len(all)/2]
	t.Logf("%s: %d events, %d arrivals; first arrival after %s (median), %s (95 of 100), %s (latest)",
		name, len(all), len(r.arrivals()), median, all[len(all)*95/100], all[len(all)-1])
	if name == "healthy" && median >= maxMedian {
		t.Errorf("the healthy receiver's median delay is %s", median)
	}
}

// sameIDs checks that all arrivals of an event have the same id, and that no attempt arrives twice.
func sameIDs(t *testing.T, name string, r *receiver) {
	t.Helper()
	ids, attempts := map[string]string{}, map[string]bool{}
	for _, a := range r.arrivals() {
		about := a.Type + string(a.Data)
		if known := ids[about]; known != "" && known != a.ID {
			t.Errorf("%s: %s came as %s and %s", name, about, known, a.ID)
		}
		ids[about] = a.ID
		if attempts[a.Attempt] {
			t.Errorf("%s: attempt %s came twice", name, a.Attempt)
		}
		attempts[a.Attempt] = true
	}
}

// missing returns the number of links for which the receiver got no webhook.
func (r *receiver) missing(caused map[string]bool) int {
	known := map[string]bool{}
	for _, a := range r.arrivals() {
		var data struct{ ID string }
		if err := json.Unmarshal(a.Data, &data); err == nil {
			known[data.ID] = true
		}
	}
	n := 0
	for link := range caused {
		if !known[link] {
			n++
		}
	}
	return n
}

// drain runs the sweep until every receiver has a webhook about every link, and deliveries are pending only to the failing
// receiver. It returns the time at which it ends.
func drain(t *testing.T, s *stack.Stack, c *server, caused map[string]bool, receivers map[string]*receiver, failing string, limit time.Duration) time.Time {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(2 * time.Second) {
		left := map[string]string{}
		if err := s.RunSchedule(t.Context(), "SweepFunction"); err != nil {
			left["the sweep"] = err.Error() // the database of a busy machine may be slow; the next run continues
		}
		for name, r := range receivers {
			if n := r.missing(caused); n > 0 {
				left[name] = fmt.Sprint(n, " not received")
			} else if n := len(c.deliveries(t, r.endpoint, "pending")); n > 0 && name != failing {
				left[name] = fmt.Sprint(n, " pending")
			}
		}
		if len(left) == 0 {
			return time.Now()
		}
		if time.Since(begun) > limit {
			t.Fatalf("not delivered within %s: %v", limit, left)
		}
	}
}

// lastDeliveries checks the deliveries that the failing receiver has always answered 500: each waits for its next attempt. It
// makes these attempts due at once. The receiver, which no longer fails, must accept all of them.
func lastDeliveries(t *testing.T, s *stack.Stack, c *server, r *receiver) {
	t.Helper()
	now := time.Now()
	waiting := c.deliveries(t, r.endpoint, "pending")
	for _, d := range waiting {
		if next := time.UnixMilli(number(d["nextAttemptAt"])); now.Sub(next) > 2*time.Minute || number(d["attempts"]) < 1 {
			t.Errorf("stuck: %v", d)
		}
	}
	t.Logf("%d deliveries wait for the failing receiver", len(waiting))
	for begun := time.Now(); len(waiting) > 0; waiting = c.deliveries(t, r.endpoint, "pending") {
		if time.Since(begun) > maxDrain {
			t.Fatalf("%d deliveries still wait %s after they were due", len(waiting), maxDrain)
		}
		for _, d := range waiting {
			event, _ := d["eventId"].(string)
			setRow(t, s, rowKey{"DLV#" + r.endpoint, event}, "SET nextAttemptAt = :past, dueAt = :past", map[string]types.AttributeValue{":past": millis(now)})
		}
		if err := s.RunSchedule(t.Context(), "SweepFunction"); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
	}
	for _, status := range []string{"failed", "held", "cancelled"} {
		if l := c.deliveries(t, r.endpoint, status); len(l) != 0 {
			t.Errorf("%d deliveries are %s", len(l), status)
		}
	}
}

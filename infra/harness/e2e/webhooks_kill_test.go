package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
)

// Settings of the run with faults. The run ends after the last fault.
const (
	killRate   = 2                // events a second
	kmsHangFor = 10 * time.Second // how long KMS hangs
	maxAhead   = 500              // the most published events that have not arrived yet
	killDrain  = 3 * time.Minute  // the limit for the rest to arrive: a lost delivery waits for the end of its lease, or for the sweep
)

// TestWebhooksSurviveKills makes events all the time. Meanwhile it kills in turn everything between an event and its receivers.
// Each receiver must get exactly the events that happened.
func TestWebhooksSurviveKills(t *testing.T) {
	t.Parallel()
	s, tg := startLocal(t, stack.Options{Dir: memoryDir(t)}) // not patient, because databaseOutage measures times
	c := tg.server(t)
	receivers := map[string]*receiver{"a": c.receiver(t, nil, "link.claimed", "link.revoked"), "b": c.receiver(t, nil, "link.claimed", "link.revoked")}
	stop := make(chan struct{})
	var caused map[string]bool
	var run sync.WaitGroup
	run.Go(func() { caused = c.makeEventsUntil(t, stop) })
	time.Sleep(2 * time.Second)
	for _, fault := range []struct {
		name   string
		inject func(t *testing.T)
	}{
		{"FanoutAndDeliverAreKilled", func(t *testing.T) { killBoth(t, s) }},
		{"TheQueueIsLost", func(t *testing.T) { loseQueue(t, s) }},
		{"TheStreamLosesEvents", func(t *testing.T) { skipStream(t, s, c) }},
		{"KMSHangs", func(t *testing.T) { kmsHangs(t, s, c, receivers["a"]) }},
		{"TheDatabaseIsDown", func(t *testing.T) { loseDB(t, s) }},
	} {
		t.Run(fault.name, fault.inject)
		time.Sleep(2 * time.Second)
	}
	close(stop)
	run.Wait()
	ended := time.Now()
	drained := drain(t, s, c, caused, receivers, "", killDrain)
	t.Logf("%d events; %d requests were answered 503 and sent again; all was delivered %s after the last event", len(caused), c.unavailable.Load(), drained.Sub(ended))
	happened := c.happened(t, caused)
	for name, r := range receivers {
		got := map[string]bool{}
		for _, a := range r.arrivals() {
			got[a.ID] = true
		}
		if !maps.Equal(got, happened) {
			t.Errorf("%s received %d events, %d have happened", name, len(got), len(happened))
		}
		medianDelay(t, name, r)
		sameIDs(t, name, r)
		r.noneRefused(t)
	}
	t.Run("ADatabaseOutageIsA503", func(t *testing.T) { databaseOutage(t, s, tg) })
}

// TestPublishedEventsSurviveKills publishes events while it kills in turn the functions between a publication and the
// receivers. One receiver fails half of the time. Each event must reach both receivers.
func TestPublishedEventsSurviveKills(t *testing.T) {
	t.Parallel()
	n, limit := 100, killDrain
	if os.Getenv("LOAD_SECONDS") != "" {
		n, limit = 20_000, time.Hour
	}
	s, tg := startLocal(t, stack.Options{InMemory: true, MaxCopies: loadCopies, Parameters: loadParameters()})
	c, billing := tg.server(t), serviceOf(t, s, tg)
	var isRepaired atomic.Bool
	half := c.receiver(t, func(arrival) int {
		if !isRepaired.Load() && rand.IntN(2) == 0 {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	}, "load.*")
	healthy := c.receiver(t, nil, "load.event")
	receivers := map[string]*receiver{"healthy": healthy, "half": half}
	end, caused := make(chan struct{}), map[string]bool{}
	var killing sync.WaitGroup
	killing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			case <-time.After(700 * time.Millisecond):
			}
			if err := s.Lambda.Kill([]string{"AppsFunction", "FanoutFunction", "DeliverFunction"}[i%3]); err != nil {
				t.Error(err)
			}
		}
	})
	for len(caused) < n {
		var events []string
		for range 25 {
			id := fmt.Sprint("e-", len(caused))
			caused[id] = true
			events = append(events, fmt.Sprintf(`{"id":%q,"type":"load.event","data":{"id":%q}}`, id, id))
		}
		publish := call{
			method: "POST", path: "/v1/orgs/" + c.org + "/apps/" + c.appID + "/events", bearer: billing.token,
			body: `{"events":[` + strings.Join(events, ",") + `]}`,
		}
		if _, err := c.insist(t, publish, http.StatusAccepted); err != nil {
			t.Fatal(err)
		}
		time.Sleep(400 * time.Millisecond) // so that even a short run lasts long enough for kills
		// With many thousand messages, the local queue needs seconds for each call.
		eventually(t, limit, "most published events", func() bool { return len(healthy.arrivals()) > len(caused)-maxAhead })
	}
	if n > 100 { // a long run: functions are killed for another minute
		time.Sleep(time.Minute)
	}
	close(end)
	killing.Wait()
	ended := time.Now()
	drained := drain(t, s, c, caused, receivers, "half", limit)
	t.Logf("%d events; %d requests were answered 503 and sent again; all was delivered %s after the last event", n, c.unavailable.Load(), drained.Sub(ended))
	for name, r := range receivers {
		sameIDs(t, name, r) // a repeated publication has the same event id
		r.noneRefused(t)
	}
	isRepaired.Store(true)
	lastDeliveries(t, s, c, half)
}

// makeEventsUntil makes events at killRate until stop is closed, and returns the ids of their links.
func (c *server) makeEventsUntil(t *testing.T, stop <-chan struct{}) map[string]bool {
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	caused := map[string]bool{}
	tick := time.NewTicker(time.Second / killRate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			wg.Wait()
			return caused
		case <-tick.C:
		}
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
}

// happened returns the ids of all events about links in the feed. Each link of caused must have exactly one event.
func (c *server) happened(t *testing.T, caused map[string]bool) map[string]bool {
	t.Helper()
	all, about := map[string]bool{}, map[string]int{}
	within(t, "every event in the feed", func() bool {
		clear(all)
		clear(about)
		for _, e := range c.pages(t, "/webhook_event/list", "events", members{"since": 0, "limit": 100}) {
			data, _ := e["data"].(members)
			link, _ := data["id"].(string)
			if link == "" {
				continue // an event about a key or an endpoint
			}
			id, _ := e["id"].(string)
			all[id] = true
			about[link]++
		}
		time.Sleep(200 * time.Millisecond)
		return len(about) >= len(caused) || t.Failed()
	})
	for link := range caused {
		if about[link] != 1 {
			t.Errorf("%s has %d events", link, about[link])
		}
	}
	return all
}

// killBoth kills the copies of the fan-out and of the deliver function in turn, while they work.
func killBoth(t *testing.T, s *stack.Stack) {
	for range 5 {
		killFunction(t, s, "FanoutFunction")
		time.Sleep(700 * time.Millisecond)
		killFunction(t, s, "DeliverFunction")
		time.Sleep(700 * time.Millisecond)
	}
}

// loseQueue stops the queue server, which loses its messages, and starts it again.
func loseQueue(t *testing.T, s *stack.Stack) {
	if err := s.Queue.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if err := s.Queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// skipStream drops events from the stream before a function reads them: it empties the stream while the function that reads
// it is killed again and again. It checks that some events were never read.
func skipStream(t *testing.T, s *stack.Stack, c *server) {
	for range 5 {
		before := unread(t, s, c)
		resume := killAgain(t, s, "FanoutFunction")
		time.Sleep(time.Second)
		s.SkipStreams(true)
		time.Sleep(time.Second) // until failed calls are tried again
		s.SkipStreams(false)
		resume()
		time.Sleep(2 * time.Second) // until all events that were read are fanned out
		if n := len(unread(t, s, c)) - len(before); n > 0 {
			t.Logf("%d events were dropped from the stream", n)
			return
		}
	}
	t.Error("no event was dropped from the stream")
}

// killAgain kills a function's copies until resume is called.
func killAgain(t *testing.T, s *stack.Stack, function string) (resume func()) {
	end := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		for {
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if err := s.Lambda.Kill(function); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() {
		close(end)
		killing.Wait()
	}
}

// kmsHangs makes KMS hang for a while: no webhook is sent, and requests that need no signature work.
func kmsHangs(t *testing.T, s *stack.Stack, c *server, r *receiver) {
	kid := signingKeys(t, s).ActiveKid
	if err := s.KMS.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.KMS.Resume(); err != nil {
			t.Error(err)
		}
	}()
	begun := time.Now()
	time.Sleep(time.Second) // until the webhooks that were signed before have arrived
	before := len(r.arrivals())
	for time.Since(begun) < kmsHangFor {
		pending := c.call(t, "/link/create", members{"clientUserId": "while KMS hangs"}) // the link stays pending, so it causes no event
		_, failed := c.insist(t, pending, http.StatusCreated)
		for _, what := range []call{
			{method: "POST", path: "/app/get", body: `{}`, bearer: c.key},
			{method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"` + kid + `"}`},
			{method: "GET", path: "/.well-known/jwks.json"},
		} {
			_, err := c.insist(t, what, http.StatusOK)
			failed = errors.Join(failed, err)
		}
		if failed != nil {
			t.Error(failed)
		}
		time.Sleep(500 * time.Millisecond)
	}
	if n := len(r.arrivals()) - before; n != 0 {
		t.Errorf("%d webhooks were signed while KMS hung", n)
	}
}

// loseDB stops the database for two seconds.
func loseDB(t *testing.T, s *stack.Stack) {
	if err := s.DB.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if err := s.DB.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// unread returns the events of an app that are older than 1.5 seconds and not fanned out. Newer events may still be fanned
// out soon.
func unread(t *testing.T, s *stack.Stack, c *server) []map[string]types.AttributeValue {
	t.Helper()
	then := time.Now().Add(-1500 * time.Millisecond).UnixMilli()
	return slices.DeleteFunc(rowsOf(t, s, "EVTS#"+c.appID), func(row map[string]types.AttributeValue) bool {
		created, ok := row["createdAt"].(*types.AttributeValueMemberN)
		if !ok || row["fannedAt"] != nil {
			return true
		}
		at, err := strconv.ParseInt(created.Value, 10, 64)
		return err != nil || at >= then
	})
}

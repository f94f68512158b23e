package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/harness/local/stack"
)

// TestTenConcurrentFunctionsGiveNoWrongAnswer runs ten functions at once at most, as many as a new AWS account may run. The examples
// work, each published event reaches its slow receiver, and each answer about a key is right, 429, or 5xx.
func TestTenConcurrentFunctionsGiveNoWrongAnswer(t *testing.T) {
	t.Parallel()
	n, limit := 200, 4*time.Minute
	if os.Getenv("LOAD_SECONDS") != "" {
		n, limit = 2000, time.Hour
	}
	parameters := maps.Clone(patient)
	maps.Copy(parameters, map[string]string{"ForwardAuth": "true", "ForwardAuthConcurrency": "2"})
	s, tg := startLocal(t, stack.Options{
		InMemory: true, Concurrency: 10, Parameters: parameters, Consumer: filepath.Join(rootOf(t), "infra/examples/consumer/template.yaml"),
	})
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("TheWalkThroughOfTheREADMEWorks", func(t *testing.T) { readme(t, tg, base.Port()) })
	t.Run("TheExamplesForServicesWork", func(t *testing.T) { servicesPage(t, s, tg, base.Port()) })

	c, billing := tg.server(t), serviceOf(t, s, tg)
	slow := c.receiver(t, func(arrival) int { time.Sleep(time.Second); return http.StatusNoContent }, "load.*")
	caused := map[string]bool{}
	c.publish(t, billing, caused, 1)
	within(t, "the first event", func() bool { return slow.missing(caused) == 0 }) // the receiver now has the key that signs
	stopClients := c.useKeys(t, s)
	begun := time.Now()
	for len(caused) < n {
		c.publish(t, billing, caused, 25)
	}
	published := time.Since(begun)
	eventually(t, limit, "every published event", func() bool { return slow.missing(caused) == 0 })
	arrived := time.Since(begun)
	answers := stopClients()
	t.Logf("%d events were published in %s and arrived in %s; meanwhile: %v", n, published, arrived, answers)
	eventually(t, limit, "no delivery that waits", func() bool {
		left, err := c.insist(t, c.call(t, "/webhook_delivery/list", members{"endpointId": slow.endpoint, "status": "pending"}), http.StatusOK)
		return err == nil && len(left.list("deliveries")) == 0
	})
	if n := len(c.deliveries(t, slow.endpoint, "")); n != len(caused) {
		t.Errorf("%d deliveries of %d events", n, len(caused))
	}
	sameIDs(t, "slow", slow)
	slow.noneRefused(t)
}

// publish publishes more events, and adds their ids to caused.
func (c *server) publish(t *testing.T, billing *person, caused map[string]bool, more int) {
	t.Helper()
	var events []string
	for range more {
		id := fmt.Sprint("e-", len(caused))
		caused[id] = true
		events = append(events, fmt.Sprintf(`{"id":%q,"type":"load.event","data":{"id":%q}}`, id, id))
	}
	request := call{
		method: "POST", path: "/v1/orgs/" + c.org + "/apps/" + c.appID + "/events", bearer: billing.token,
		body: `{"events":[` + strings.Join(events, ",") + `]}`,
	}
	if _, err := c.insist(t, request, http.StatusAccepted); err != nil {
		t.Fatal(err)
	}
}

// useKeys starts four clients with a good key and four with a revoked key at each door. stop ends them, and returns how often each
// answer came. Any answer but the right one, 429 or 5xx is an error.
func (c *server) useKeys(t *testing.T, s *stack.Stack) (stop func() map[string]int) {
	t.Helper()
	_, good := c.owner.key(t, c.org, `{"scopes":["invoices:read"]}`)
	id, revoked := c.owner.key(t, c.org, `{"scopes":["invoices:read"]}`)
	doors := map[string]call{
		s.URL: {method: "POST", path: "/app/get"}, s.Consumer: {method: "GET", path: "/invoices"},
		s.FunctionURLs["ForwardAuthFunction"]: {method: "GET", path: "/authorize"},
	}
	for base, what := range doors {
		what.bearer = revoked
		if r, err := newTarget("door", base, nil).try(t.Context(), what); err != nil || r.status != http.StatusOK {
			t.Fatalf("%s before the key is revoked: %d %v", base, r.status, err)
		}
	}
	c.owner.want(t, "DELETE", "/v1/orgs/"+c.org+"/keys/"+id, "", http.StatusNoContent, "")
	var mu sync.Mutex
	var clients sync.WaitGroup
	answers, end := map[string]int{}, make(chan struct{})
	for base, what := range doors {
		door := newTarget("door", base, nil)
		for range 4 {
			for key, right := range map[string]int{good: http.StatusOK, revoked: http.StatusUnauthorized} {
				clients.Go(func() {
					request := what
					request.bearer = key
					for {
						r, err := door.try(t.Context(), request)
						if isBusy := r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError; err != nil || r.status != right && !isBusy {
							t.Errorf("%s%s: %d %s %v, want %d", base, what.path, r.status, r.text, err, right)
						}
						mu.Lock()
						answers[fmt.Sprint(what.path, " ", r.status)]++
						mu.Unlock()
						select {
						case <-end:
							return
						case <-time.After(100 * time.Millisecond):
						}
					}
				})
			}
		}
	}
	return func() map[string]int {
		close(end)
		clients.Wait()
		for _, want := range []string{"/app/get 200", "/app/get 401", "/app/get 503", "/invoices 200", "/invoices 401", "/authorize 200", "/authorize 401", "/authorize 429"} {
			if answers[want] == 0 {
				t.Errorf("no answer was %s", want)
			}
		}
		return answers
	}
}

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/examples/receivers"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// missingLanguage skips the test and prints a line if err is a missing language, except in CI. Any other error fails the
// test.
func missingLanguage(t *testing.T, l receivers.Language, err error) {
	t.Helper()
	var missing *tools.MissingError
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		fmt.Fprintf(os.Stderr, "SKIPPED: %s with %s: %v. CI never skips it.\n", t.Name(), l, missing)
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// output keeps a program's output.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.b.String(), text)
}

// documentedReceivers starts the receivers of infra/docs/webhooks.md in Node and Python, and sends webhooks to them.
func documentedReceivers(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	other := c.receiver(t, nil)
	c.ok(t, "/webhook_endpoint/test", members{"endpointId": other.endpoint})
	foreign := other.one(t, "test", "").Token // a token for another endpoint
	for _, l := range []receivers.Language{receivers.Node, receivers.Python} {
		t.Run(string(l), func(t *testing.T) {
			endpoint := c.endpoint(t, tg.deadURL())
			var out output
			r, err := receivers.Start(t.Context(), l, receivers.Config{BaseURL: s.URL, EndpointID: endpoint, Output: &out})
			missingLanguage(t, l, err)
			defer func() {
				c.ok(t, "/webhook_endpoint/delete", members{"endpointId": endpoint})
				if err := r.Stop(); err != nil {
					t.Error(err)
				}
			}()
			c.ok(t, "/webhook_endpoint/update", members{"endpointId": endpoint, "url": r.URL})
			test := c.ok(t, "/webhook_endpoint/test", members{"endpointId": endpoint}).str("eventId")
			link, token := c.link(t, "u-"+string(l))
			tg.want(t, newDevice().claims(token), 200, "")
			claimed := other.one(t, "link.claimed", link).ID
			for _, event := range []string{test, claimed} {
				d := c.delivered(t, endpoint, event)
				last, _ := d["lastAttempt"].(members)
				if number(d["attempts"]) != 1 || number(last["status"]) != 204 {
					t.Errorf("the delivery: %v", d)
				}
			}
			if !out.has(test+" test\n") || !out.has(claimed+" link.claimed\n") {
				t.Errorf("the receiver printed %q", out.b.String())
			}
			if got := postToken(t, r.URL, foreign); got != 401 {
				t.Errorf("a token of another endpoint: %d", got)
			}
		})
	}
}

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// parameter returns the value of a parameter of the stack, "" when the stack has none of this name.
func (p awsPlatform) parameter(t *testing.T, name string) string {
	t.Helper()
	query := "Stacks[0].Parameters[?ParameterKey=='" + name + "'].ParameterValue | [0]"
	var value string
	text := p.cli(t, "cloudformation", "describe-stacks", "--stack-name", p.stack, "--query", query)
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v in %s", name, err, text)
	}
	return value
}

// credentialLimit returns how many requests the stack's own firewall lets through with one credential in a minute, 0
// without such a firewall.
func (p awsPlatform) credentialLimit(t *testing.T) int {
	t.Helper()
	if p.parameter(t, "WebAcl") != "rate-limited" || p.parameter(t, "WebAclArn") != "" {
		return 0
	}
	limit, err := strconv.Atoi(p.parameter(t, "WebAclCredentialLimit"))
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

func (localPlatform) credentialLimit(*testing.T) int { return 0 }

func firewall(t *testing.T, tg *target, p platform) {
	limit := p.credentialLimit(t)
	if limit == 0 {
		t.Log("the stack has no firewall of its own (WebAcl): nothing was tried")
		return
	}
	if err := countsByCredential(t.Context(), tg, limit, 3*time.Minute); err != nil {
		t.Error(err)
	}
}

// countsByCredential sends more requests with a made-up credential than the firewall lets through in a minute, until it is
// blocked. Another credential from here must not be.
func countsByCredential(ctx context.Context, tg *target, limit int, wait time.Duration) error {
	ask := func(credential string) (string, error) {
		r, err := tg.try(ctx, call{method: "POST", path: "/app/get", bearer: credential})
		return r.code(), err
	}
	const flooder, other = "smoke-flooder", "smoke-other"
	begun, sent := time.Now(), 0
	for blocked := false; !blocked; {
		if time.Since(begun) > wait {
			return fmt.Errorf("%d requests with one credential in %v, and none is blocked: the limit is %d a minute", sent, wait, limit)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var wrong error
		for range 64 {
			wg.Go(func() {
				code, err := ask(flooder)
				mu.Lock()
				defer mu.Unlock()
				sent++
				wrong, blocked = errors.Join(wrong, err), blocked || code == "request_blocked"
			})
		}
		if wg.Wait(); wrong != nil {
			return wrong
		}
	}
	if code, err := ask(other); code != "invalid_credentials" {
		return fmt.Errorf("another credential from the same address: %s %w", code, err)
	}
	return nil
}

// TestSmokeSeesWhatTheFirewallCountsBy has servers that block by credential, by address and not at all.
func TestSmokeSeesWhatTheFirewallCountsBy(t *testing.T) {
	for by, found := range map[string]bool{"credential": true, "address": false, "nothing": false} {
		var mu sync.Mutex
		seen := map[string]int{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := map[string]string{"credential": r.Header.Get("Authorization"), "address": "here"}[by]
			mu.Lock()
			defer mu.Unlock()
			if seen[key]++; key != "" && seen[key] > 200 {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"code":"request_blocked"}`))
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"invalid_credentials"}`))
		}))
		err := countsByCredential(t.Context(), newTarget("deployed", server.URL, nil), 200, time.Second)
		if server.Close(); (err == nil) != found {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

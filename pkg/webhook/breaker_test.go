package webhook_test

import (
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

func TestABreakerOpensAfterFiveFailuresOverTenSeconds(t *testing.T) {
	const since = 1_000_000 // any time, in milliseconds
	for name, c := range map[string]struct {
		b        webhook.Breaker
		after    time.Duration // the new failure comes this long after since
		failures int64         // failures, open and ok: results of Fail
		open     time.Duration
		ok       bool
	}{
		"the first failure":               {webhook.Breaker{}, 0, 1, 0, true},
		"the fourth":                      {webhook.Breaker{Failures: 3, FailingSince: since}, time.Hour, 4, 0, true},
		"the fifth within ten seconds":    {webhook.Breaker{Failures: 4, FailingSince: since}, 10*time.Second - 1, 5, 0, false},
		"the fifth after ten seconds":     {webhook.Breaker{Failures: 4, FailingSince: since}, 10 * time.Second, 5, 30 * time.Second, true},
		"the sixth, which fails as probe": {webhook.Breaker{Failures: 5, FailingSince: since}, time.Hour, 6, time.Minute, true},
	} {
		failures, open, ok := c.b.Fail(time.UnixMilli(since).Add(c.after))
		if failures != c.failures || open != c.open || ok != c.ok {
			t.Errorf("%s: %d, %v, %v", name, failures, open, ok)
		}
	}
	if got := (webhook.Breaker{Failures: 5}).Probe(); got != 30*time.Second {
		t.Errorf("during a probe the breaker stays open for %v", got)
	}
}

// TestAnEndpointIsQuietOnlyAfterTheLongestWait: no delivery waits longer for its next attempt, even with the largest jitter and Retry-After.
func TestAnEndpointIsQuietOnlyAfterTheLongestWait(t *testing.T) {
	const until = 1_000_000 // any time, in milliseconds
	since := func(openUntil int64, d time.Duration) bool {
		return webhook.Breaker{Failures: 6, OpenUntil: openUntil, FailingSince: 1}.WasQuiet(time.UnixMilli(until).Add(d))
	}
	if since(until, 29*time.Hour) || !since(until, 29*time.Hour+1) || since(until, -time.Minute) || since(0, 1000*time.Hour) {
		t.Error("the quiet time is not 29 hours after the end of the last break")
	}
	for made := range webhook.MaxAttempts() {
		if wait, _ := webhook.Next(made, time.Hour*1000, 1); since(until, wait) {
			t.Errorf("a delivery waits %s after %d attempts", wait, made)
		}
	}
}

func TestAnEndpointIsDisabledWhenGoneOrAfterFiveDays(t *testing.T) {
	const since = 1_000_000 // any time, in milliseconds
	failing, working := webhook.Breaker{FailingSince: since}, webhook.Breaker{}
	end := time.UnixMilli(since).Add(webhook.DisableAfter)
	for name, c := range map[string]struct {
		b      webhook.Breaker
		status int
		now    time.Time
		want   webhook.DisabledReason
	}{
		"failing for almost five days":      {failing, 500, end.Add(-1), ""},
		"failing for five days":             {failing, 500, end, webhook.DisabledByFailing},
		"a first failure":                   {working, 500, end, ""},
		"gone at the first failure":         {working, 410, end, webhook.DisabledByGone},
		"gone, after failing for five days": {failing, 410, end, webhook.DisabledByGone},
	} {
		if got := c.b.Disables(c.status, c.now); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package webhook_test

import (
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

func TestABreakerOpensAfterFiveFailuresOverTenSeconds(t *testing.T) {
	const since = 1_000_000
	for _, c := range []struct {
		b        webhook.Breaker
		after    time.Duration
		failures int64
		open     time.Duration
		ok       bool
	}{
		{webhook.Breaker{}, 0, 1, 0, true},
		{webhook.Breaker{Failures: 3, FailingSince: since}, time.Hour, 4, 0, true},
		{webhook.Breaker{Failures: 4, FailingSince: since}, 10*time.Second - 1, 5, 0, false},
		{webhook.Breaker{Failures: 4, FailingSince: since}, 10 * time.Second, 5, 30 * time.Second, true},
		{webhook.Breaker{Failures: 5, FailingSince: since}, time.Hour, 6, time.Minute, true},
	} {
		failures, open, ok := c.b.Fail(time.UnixMilli(since).Add(c.after))
		if failures != c.failures || open != c.open || ok != c.ok {
			t.Errorf("%+v after %v: %d, %v, %v", c.b, c.after, failures, open, ok)
		}
	}
	if got := (webhook.Breaker{Failures: 5}).Probe(); got != 30*time.Second {
		t.Errorf("a probe takes %v", got)
	}
}

func TestAnEndpointIsDisabledWhenGoneOrAfterFiveDays(t *testing.T) {
	const since = 1_000_000
	b := webhook.Breaker{FailingSince: since}
	end := time.UnixMilli(since).Add(webhook.DisableAfter)
	for _, c := range []struct {
		b      webhook.Breaker
		status int
		now    time.Time
		want   webhook.DisabledReason
	}{
		{b, 500, end.Add(-1), ""},
		{b, 500, end, webhook.DisabledByFailing},
		{webhook.Breaker{}, 500, end, ""},
		{webhook.Breaker{}, 410, end, webhook.DisabledByGone},
		{b, 410, end, webhook.DisabledByGone},
	} {
		if got := c.b.Disables(c.status, c.now); got != c.want {
			t.Errorf("%+v, %d: %q", c.b, c.status, got)
		}
	}
}

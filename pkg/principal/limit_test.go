package principal_test

import (
	"testing"
	"time"

	"latchkey/pkg/principal"
)

// TestARefusalNamesASpentAllowance: the sentence names the longest window. It is the same when the clock is two seconds early or 29
// seconds late.
func TestARefusalNamesASpentAllowance(t *testing.T) {
	l := principal.Limit{
		Policy: `"minute";q=7;w=60, "month";q=9;w=2592000, "org-minute";q=5;w=60, "org-hour";q=20;w=3600, "org-day";q=100;w=86400`,
		State:  `"minute";r=0;t=13, "month";r=0;t=561613, "org-minute";r=0;t=13, "org-hour";r=0;t=13, "org-day";r=0;t=43213`,
	}
	const ofKey = "The API key has no requests left in the current window."
	for violated, want := range map[string]string{
		"": ofKey, "minute": ofKey, "minute month": ofKey, "org-month": ofKey, // Policy has no org-month, so the sentence names no allowance
		"org-minute":                    "The org has used its allowance of 5 a minute. The next one begins at 2026-11-24T12:00:00Z.",
		"org-minute org-hour":           "The org has used its allowance of 20 an hour. The next one begins at 2026-11-24T12:00:00Z.",
		"minute month org-hour org-day": "The org has used its allowance of 100 a day. The next one begins at 2026-11-25T00:00:00Z.",
	} {
		l.Violated = violated
		for _, late := range []time.Duration{-2 * time.Second, 0, 999 * time.Millisecond, 29 * time.Second} {
			now := time.Date(2026, 11, 24, 12, 59, 47, 0, time.FixedZone("", 3600)).Add(late)
			if got := l.Refusal(now); got != want {
				t.Errorf("%s, %s later: %s", violated, late, got)
			}
		}
	}
}

package webhook_test

import (
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

func TestTheNextStepOfADelivery(t *testing.T) {
	const now = 1_000_000_000_000
	due := webhook.Round{Status: webhook.DeliveryPending, NextAttempt: now, StartedAt: now}
	enabled := webhook.EndpointState{Enabled: true}
	dueBut := func(change func(*webhook.Round)) webhook.Round {
		r := due
		change(&r)
		return r
	}
	breakerOpen := func(until int64) webhook.EndpointState {
		return webhook.EndpointState{Enabled: true, Breaker: webhook.Breaker{OpenUntil: until}}
	}
	const lifetime = 90 * 3_600_000 // milliseconds
	for name, c := range map[string]struct {
		r    webhook.Round
		to   webhook.EndpointState
		want webhook.Step
	}{
		"due":                                {due, enabled, webhook.StepAttempt},
		"due in a second":                    {dueBut(func(r *webhook.Round) { r.NextAttempt = now + 1000 }), enabled, webhook.StepAttempt},
		"due in more than a second":          {dueBut(func(r *webhook.Round) { r.NextAttempt = now + 1001 }), enabled, webhook.StepNone},
		"delivered, its endpoint is deleted": {dueBut(func(r *webhook.Round) { r.Status = webhook.DeliveryDelivered }), webhook.EndpointState{Deleted: true}, webhook.StepNone},
		"held":                               {dueBut(func(r *webhook.Round) { r.Status = webhook.DeliveryHeld }), enabled, webhook.StepNone},
		"due, its endpoint is deleted":       {due, webhook.EndpointState{Deleted: true, Enabled: true}, webhook.StepCancel},
		"due, its endpoint is disabled":      {due, webhook.EndpointState{}, webhook.StepHold},
		"not due, its endpoint is disabled":  {dueBut(func(r *webhook.Round) { r.NextAttempt = now + 5000 }), webhook.EndpointState{}, webhook.StepHold},
		"tried for the lifetime":             {dueBut(func(r *webhook.Round) { r.StartedAt = now - lifetime }), enabled, webhook.StepAttempt},
		"tried for longer":                   {dueBut(func(r *webhook.Round) { r.StartedAt = now - lifetime - 1 }), breakerOpen(now + 1), webhook.StepGiveUp},
		"due, the breaker is open":           {due, breakerOpen(now + 1), webhook.StepPark},
		"due, the breaker's time is over":    {due, breakerOpen(now), webhook.StepProbe},
		"not due, the breaker is open":       {dueBut(func(r *webhook.Round) { r.NextAttempt = now + 5000 }), breakerOpen(now + 1), webhook.StepNone},
	} {
		if got := c.r.Step(c.to, time.UnixMilli(now)); got != c.want {
			t.Errorf("%s: step %d, want %d", name, got, c.want)
		}
	}
}

func TestAnAttemptEndsTheRoundOrSetsTheNextAttempt(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	first := webhook.Round{Status: webhook.DeliveryPending, NextAttempt: 5, StartedAt: now.UnixMilli() - 7} // any times in the past
	last := first
	last.Attempts = webhook.MaxAttempts() - 1
	for name, c := range map[string]struct {
		from      webhook.Round
		delivered bool
		want      webhook.Round
		wait      time.Duration // until the next attempt
	}{
		"the first delivers": {first, true, webhook.Round{Status: webhook.DeliveryDelivered, Attempts: 1, StartedAt: first.StartedAt}, 0},
		"the first fails":    {first, false, webhook.Round{Status: webhook.DeliveryPending, Attempts: 1, StartedAt: first.StartedAt, NextAttempt: now.UnixMilli() + 5000}, 5 * time.Second},
		"the last fails":     {last, false, webhook.Round{Status: webhook.DeliveryFailed, Attempts: webhook.MaxAttempts(), StartedAt: first.StartedAt}, 0},
	} {
		const noRetryAfter, noJitter = 0, 0.5
		got, wait := c.from.Tried(c.delivered, noRetryAfter, noJitter, now)
		if got != c.want || wait != c.wait {
			t.Errorf("%s: %+v, %v", name, got, wait)
		}
	}
}

func TestNoAttemptIsDueAfterTheEndOfADelivery(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	for name, c := range map[string]struct {
		made              int           // attempts so far
		left, after, want time.Duration // time until the end, Retry-After, and the expected wait; want 0: no other attempt
	}{
		"the wait fits":                         {2, time.Hour, 0, 30 * time.Second},
		"the Retry-After fits":                  {5, 9 * time.Hour, 8 * time.Hour, 8 * time.Hour},
		"the Retry-After just fits":             {5, 8 * time.Hour, 8 * time.Hour, 8 * time.Hour},
		"the Retry-After passes the end":        {5, 5 * time.Hour, 8 * time.Hour, 5*time.Hour - 10*time.Minute},
		"the schedule passes the end":           {9, 20 * time.Hour, 0, 20*time.Hour - 10*time.Minute},
		"too late for a last attempt":           {9, 10 * time.Minute, 0, 0},
		"a short wait fits in the last minutes": {1, time.Minute, 0, 5 * time.Second},
		"a long wait in the last minutes":       {1, time.Minute, 2 * time.Minute, 0},
		"the lifetime has ended":                {1, -time.Second, 0, 0},
	} {
		r := webhook.Round{Status: webhook.DeliveryPending, Attempts: c.made - 1, StartedAt: now.Add(c.left - 90*time.Hour).UnixMilli()}
		got, wait := r.Tried(false, c.after, 0.5, now)
		isDue := got.NextAttempt == now.Add(c.want).UnixMilli() && got.Status == webhook.DeliveryPending
		hasEnded := got.NextAttempt == 0 && got.Status == webhook.DeliveryFailed
		if wait != c.want || c.want > 0 && !isDue || c.want == 0 && !hasEnded {
			t.Errorf("%s: %+v in %s, want %s", name, got, wait, c.want)
		}
	}
}

func TestADeliveryWaitsWhilePendingOrHeld(t *testing.T) {
	for _, status := range webhook.DeliveryStatuses() {
		if want := status == "pending" || status == "held"; status.Waits() != want {
			t.Errorf("%s waits: %t", status, !want)
		}
	}
}

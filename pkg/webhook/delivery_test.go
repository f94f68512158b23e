package webhook_test

import (
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

func TestWhatADeliveryNeedsNow(t *testing.T) {
	const now = 1_000_000_000_000
	due := webhook.Round{Status: webhook.DeliveryPending, NextAttempt: now, StartedAt: now}
	on := webhook.Receiver{Enabled: true}
	with := func(change func(*webhook.Round)) webhook.Round {
		r := due
		change(&r)
		return r
	}
	open := func(until int64) webhook.Receiver {
		return webhook.Receiver{Enabled: true, Breaker: webhook.Breaker{OpenUntil: until}}
	}
	lifetime := webhook.Lifetime.Milliseconds()
	for name, c := range map[string]struct {
		r    webhook.Round
		to   webhook.Receiver
		want webhook.Step
	}{
		"due":                               {due, on, webhook.StepAttempt},
		"a second early":                    {with(func(r *webhook.Round) { r.NextAttempt = now + 1000 }), on, webhook.StepAttempt},
		"earlier than that":                 {with(func(r *webhook.Round) { r.NextAttempt = now + 1001 }), on, webhook.StepNone},
		"delivered":                         {with(func(r *webhook.Round) { r.Status = webhook.DeliveryDelivered }), webhook.Receiver{Deleted: true}, webhook.StepNone},
		"held":                              {with(func(r *webhook.Round) { r.Status = webhook.DeliveryHeld }), on, webhook.StepNone},
		"deleted":                           {due, webhook.Receiver{Deleted: true, Enabled: true}, webhook.StepCancel},
		"disabled":                          {due, webhook.Receiver{}, webhook.StepHold},
		"disabled before its time":          {with(func(r *webhook.Round) { r.NextAttempt = now + 5000 }), webhook.Receiver{}, webhook.StepHold},
		"tried for the lifetime":            {with(func(r *webhook.Round) { r.StartedAt = now - lifetime }), on, webhook.StepAttempt},
		"tried for longer":                  {with(func(r *webhook.Round) { r.StartedAt = now - lifetime - 1 }), open(now + 1), webhook.StepGiveUp},
		"the breaker is open":               {due, open(now + 1), webhook.StepPark},
		"the breaker's time is over":        {due, open(now), webhook.StepProbe},
		"the breaker is open before a time": {with(func(r *webhook.Round) { r.NextAttempt = now + 5000 }), open(now + 1), webhook.StepNone},
	} {
		if got := c.r.Step(c.to, time.UnixMilli(now)); got != c.want {
			t.Errorf("%s: step %d, want %d", name, got, c.want)
		}
	}
}

func TestAnAttemptEndsTheRoundOrLeavesAnotherOne(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	first := webhook.Round{Status: webhook.DeliveryPending, NextAttempt: 5, StartedAt: 7}
	last := first
	last.Attempts = webhook.MaxAttempts() - 1
	for name, c := range map[string]struct {
		from      webhook.Round
		delivered bool
		want      webhook.Round
		wait      time.Duration
	}{
		"delivered": {first, true, webhook.Round{Status: webhook.DeliveryDelivered, Attempts: 1, StartedAt: 7}, 0},
		"failed":    {first, false, webhook.Round{Status: webhook.DeliveryPending, Attempts: 1, StartedAt: 7, NextAttempt: now.UnixMilli() + 5000}, 5 * time.Second},
		"last":      {last, false, webhook.Round{Status: webhook.DeliveryFailed, Attempts: webhook.MaxAttempts(), StartedAt: 7}, 0},
	} {
		got, wait := c.from.Tried(c.delivered, 0, 0.5, now)
		if got != c.want || wait != c.wait {
			t.Errorf("%s: %+v, %v", name, got, wait)
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

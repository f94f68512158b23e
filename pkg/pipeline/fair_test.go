package pipeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// crowd returns a stack whose app has many overdue deliveries and expired links. Another tenant has one delivery, to the
// receiver other, and one link. Both are due last.
func crowd(t *testing.T, deliveries, links int) (s *stack, other *receiver, link id.Link) {
	t.Helper()
	s = newStack(t)
	many := s.receiver(t, nil, string(webhook.Test))
	for range deliveries {
		many.newEvent()
	}
	for range links {
		s.linkOf(t, s.org, s.app)
	}
	s.pass(time.Second)
	o := s.NewOrg(t, s.ada)
	other = s.receiverOf(t, o, id.DefaultApp(o), nil, string(webhook.Test))
	other.newEvent()
	link = s.linkOf(t, o, other.AppID)
	s.fanOutAll(t)
	s.queue.dropAll()
	s.pass(2 * time.Minute)
	return s, other, link
}

// linkOf creates a link that expires in a minute.
func (s *stack) linkOf(t *testing.T, o id.Org, a id.App) id.Link {
	t.Helper()
	return s.newLink(t, o, a, time.Minute).ID
}

func (s *stack) newLink(t *testing.T, o id.Org, a id.App, life time.Duration) store.MintedLink {
	t.Helper()
	made, err := s.CreateLink(ctx, store.NewLink{OrgID: o, AppID: a, ClientUserID: "u", ExpiresIn: life}, store.Once[store.MintedLink]{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Made
}

func TestALimitedRunQueuesDeliveriesOfEachTenant(t *testing.T) {
	t.Parallel()
	s, other, _ := crowd(t, 30, 0)
	s.Limits.Queued = 7
	s.sweepOnce(t)
	got := map[id.App]int{}
	for _, m := range s.queue.ready() {
		got[m.App]++
	}
	if got[other.AppID] != 1 || got[s.app] != 6 {
		t.Errorf("%v were queued, want 1 of %s and 6 of %s", got, other.AppID, s.app)
	}
}

// TestARunThatEndsEarlyHasProcessedEachTenant stops a run at its first sixteen links, which it processes at the
// same time, until the run may begin no other row. One of the sixteen links is of the other tenant.
func TestARunThatEndsEarlyHasProcessedEachTenant(t *testing.T) {
	t.Parallel()
	s, _, link := crowd(t, 0, 60)
	const beforeEnd, atOnce = 5 * time.Second, 16 // as in the sweep
	const mayBegin = 5 * time.Second              // how long the run may begin rows
	run, cancel := context.WithTimeout(ctx, mayBegin+beforeEnd)
	defer cancel()
	afterEnd := time.After(mayBegin + time.Second)
	released := make(chan struct{})
	go func() { <-afterEnd; close(released) }()
	for range atOnce {
		s.Faults.Before("TransactWriteItems", func() { <-released })
	}
	if err := s.sweep.Run(run); err != nil || s.Faults.Pending() {
		t.Fatalf("%v, stopped at %d links: %v", err, atOnce, !s.Faults.Pending())
	}
	waiting := map[string]bool{}
	for _, r := range s.Rows(t) {
		if sk := attr(r, "SK"); attr(r, "due") != "" && strings.HasPrefix(sk, "LINK#") {
			waiting[sk] = true
		}
	}
	if waiting["LINK#"+string(link)] || len(waiting) != 61-atOnce {
		t.Errorf("%d links wait; the other tenant's link waits: %v", len(waiting), waiting["LINK#"+string(link)])
	}
}

// TestARunReadsPastAnotherTenantsBacklog puts 1,200 older rows into the same shard.
func TestARunReadsPastAnotherTenantsBacklog(t *testing.T) {
	t.Parallel()
	s, other, _ := crowd(t, 0, 0)
	s.Limits.Queued = 5
	var shard string
	for _, r := range s.Rows(t) {
		if attr(r, "PK") == "DLV#"+string(other.ID) {
			shard = attr(r, "due")
		}
	}
	s.putRows(t, 1200, func(i int) row {
		r := overdueRow(s, i)
		r["due"], r["dueAt"] = str(shard), num(s.Now().Add(-time.Hour).UnixMilli())
		return r
	})
	s.sweepOnce(t)
	for _, m := range s.queue.ready() {
		if m.App == other.AppID {
			return
		}
	}
	t.Error("the delivery after the backlog was not queued")
}

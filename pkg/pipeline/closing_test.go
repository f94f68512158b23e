package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/metric"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

func (s *stack) admin() store.Actor { return store.Actor{User: s.ada, May: []org.Role{org.Admin}} }

// deleteOrg sends the request that deletes the org.
func (s *stack) deleteOrg(t *testing.T) {
	t.Helper()
	if err := s.DeleteOrg(ctx, s.admin(), s.org); err != nil {
		t.Fatal(err)
	}
}

// newLinkAndClaim creates a link of an app. It also returns a claim of the link.
func (s *stack) newLinkAndClaim(t *testing.T, a id.App, life time.Duration) (id.Link, store.Claim) {
	t.Helper()
	l := s.newLink(t, s.org, a, life)
	parsed, err := link.ParseToken(l.Token.Text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return l.ID, store.Claim{Token: parsed, ClaimKeyHash: sha256.Sum256([]byte("device"))}
}

// dueRows lists the rows that are in the index of due rows.
func (s *stack) dueRows(t *testing.T) (rows []string) {
	t.Helper()
	for _, r := range s.Rows(t) {
		if attr(r, "due") != "" {
			rows = append(rows, attr(r, "PK")+" "+attr(r, "SK"))
		}
	}
	return rows
}

// partition returns the rows of a partition as JSON, by sort key.
func (s *stack) partition(t *testing.T, pk string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, r := range s.Rows(t) {
		if attr(r, "PK") == pk {
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			rows[attr(r, "SK")] = string(b)
		}
	}
	return rows
}

// busy is a stack whose org has every kind of row that the sweep must end after the org is deleted.
type busy struct {
	*stack
	second  id.App      // the org's second app
	down    *receiver   // answers 500: its deliveries are pending
	off     *receiver   // disabled: its deliveries are held
	pending id.Link     // a link that was not claimed
	claim   store.Claim // a claim of the pending link
	done    store.Claim // the claim of a link that was claimed
}

// newBusy makes an org with two apps: pending, held and overdue deliveries, links, and a key that expires soon.
func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{stack: newStack(t)}
	app, err := b.CreateApp(ctx, b.admin(), b.org, store.NewApp{Name: "Second"}, store.Once[store.App]{})
	if err != nil {
		t.Fatal(err)
	}
	b.second = app.Made.ID
	b.dueKey(t) // the sweep may write no event key.expiring for it
	b.down = b.receiver(t, status(http.StatusInternalServerError))
	b.off = b.receiverOf(t, b.org, b.second, nil)
	b.off.setEnabled(false)
	b.pending, b.claim = b.newLinkAndClaim(t, b.app, time.Hour)
	b.newLinkAndClaim(t, b.second, time.Minute) // expires during the test
	_, b.done = b.newLinkAndClaim(t, b.second, time.Hour)
	if _, err := b.ClaimLink(ctx, b.done); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.down.newEvent()
		b.off.newEvent()
	}
	b.fanOutAll(t)
	b.attemptAll(t)
	return b
}

// checkEnded checks that the org has ended: no row of the org is due except its usage, which is due 90 days later. No delivery waits, no
// link can be claimed, and each row that is left has a time of removal. A pending link stays until it expires, and its end writes no event.
func (b *busy) checkEnded(t *testing.T) {
	t.Helper()
	isOrg := func(row string) bool { return strings.HasPrefix(row, "ORG#") }
	if rows := slices.DeleteFunc(b.dueRows(t), func(row string) bool { return isOrg(row) || strings.HasPrefix(row, "LINKS#") }); len(rows) != 0 {
		t.Errorf("due still: %v", rows)
	}
	b.runAfter(t, time.Hour)
	if rows := b.dueRows(t); len(rows) != 1 || !isOrg(rows[0]) { // the usage of the org is kept
		t.Errorf("due an hour later: %v", rows)
	}
	b.runAfter(t, 90*24*time.Hour)
	if rows := b.dueRows(t); len(rows) != 0 || b.hasEvent(t, webhook.LinkExpired, string(b.pending)) {
		t.Errorf("due still: %v, or an event was written", rows)
	}
	for _, r := range []*receiver{b.down, b.off} {
		if got := r.statuses(); got["pending"]+got["held"] != 0 || got["cancelled"] < 3 {
			t.Errorf("deliveries: %v", got)
		}
	}
	for _, r := range b.Rows(t) {
		pk, sk := attr(r, "PK"), attr(r, "SK")
		ofEndpoint := strings.HasPrefix(pk, "HOOKS#")
		ofAppOrMember := strings.HasPrefix(pk, "ORG#") && sk != "META"
		if ofEndpoint || ofAppOrMember {
			t.Errorf("left: %s %s", pk, sk)
		}
		ofUser := strings.HasPrefix(pk, "USER#") || strings.HasPrefix(pk, "IDN#") || strings.HasPrefix(pk, "EMAIL#")
		ofOrg := !ofUser && pk != "VKEYS"
		if ofOrg && attr(r, "purgeAt") == "" {
			t.Errorf("never purged: %s %s", pk, sk)
		}
	}
	for _, c := range []store.Claim{b.claim, b.done} {
		if _, err := b.ClaimLink(ctx, c); !problem.Is(err, problem.LinkNotFound) {
			t.Errorf("a claim: %v", err)
		}
	}
}

// TestADeletedOrgIsEndedWithinTenSweeps: the sweep also ends the rows of requests in flight. These requests were accepted
// before the org's keys were revoked. The sweep writes no key, and nothing new is sent.
func TestADeletedOrgIsEndedWithinTenSweeps(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	b.deleteOrg(t)
	keys := b.partition(t, "KEYS#"+string(b.org))
	if _, err := b.ClaimLink(ctx, b.claim); !problem.Is(err, problem.LinkNotFound) {
		t.Errorf("a claim before the first sweep: %v", err)
	}
	b.runMinutes(t, 1)
	sent := len(b.down.requests())
	// Requests in flight make an endpoint, two links and an event.
	late := b.receiver(t, nil)
	b.newLinkAndClaim(t, b.app, time.Hour)
	b.newLinkAndClaim(t, b.second, time.Second)
	late.newEvent()
	b.runMinutes(t, 8)
	b.checkEnded(t)
	b.down.wantRequests("after its app's end", sent)
	b.off.wantRequests("after its app's end", 0)
	for sk, row := range b.partition(t, "KEYS#"+string(b.org)) {
		if keys[sk] != row {
			t.Errorf("KEYS# %s was written: %s", sk, row)
		}
	}
	for _, kind := range []webhook.Type{webhook.LinkRevoked, webhook.KeyRevoked, webhook.KeyExpiring} {
		if b.hasEvent(t, kind, "") {
			t.Errorf("an event %s was written", kind)
		}
	}
}

// TestAnInterruptedDeletionEndsNothingUntilItIsRepeated: the sweep does not begin, because keys of the org may still be
// active.
func TestAnInterruptedDeletionEndsNothingUntilItIsRepeated(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	cut, end := context.WithCancel(ctx)
	b.Faults.Before("TransactWriteItems", func() {}) // the first transaction marks the org
	b.Faults.Before("TransactWriteItems", end)
	if err := b.DeleteOrg(cut, b.admin(), b.org); !problem.Is(err, problem.Unavailable) {
		t.Fatal(err)
	}
	b.runMinutes(t, 10)
	if got := b.off.statuses(); got["held"] < 3 || len(got) != 1 || b.down.endpoint().Deleted {
		t.Errorf("the org was ended: %v", got)
	}
	if got, err := b.Link(ctx, b.app, b.pending); err != nil || got.RevokedAt != 0 {
		t.Errorf("the link was ended: %+v, %v", got, err)
	}
	b.deleteOrg(t)
	b.runMinutes(t, 10)
	b.checkEnded(t)
}

// TestTheSweepContinuesAnInterruptedEnd stops each of 60 sweeps before its second transaction.
func TestTheSweepContinuesAnInterruptedEnd(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	b.deleteOrg(t)
	for range 60 {
		b.pass(time.Minute)
		run, end := context.WithCancel(ctx)
		b.Faults.Before("TransactWriteItems", func() {})
		b.Faults.Before("TransactWriteItems", end)
		_ = b.sweep.Run(run) // fails, because its context has ended
		b.Faults.Heal()
		end()
	}
	b.checkEnded(t)
}

// TestEndingAnOrgReadsNoLinks counts calls of the table: the number is the same with 1,500 links and with none.
func TestEndingAnOrgReadsNoLinks(t *testing.T) {
	t.Parallel()
	var calls []int
	for _, links := range []int{0, 1500} {
		s := newStack(t)
		s.putRows(t, links, func(i int) row { return linkRow(s, s.org, s.app, i) })
		s.deleteOrg(t)
		s.Faults.Calls() // the count begins here
		s.runMinutes(t, 4)
		calls = append(calls, len(s.Faults.Calls()))
		if rows := s.partition(t, "ORG#"+string(s.org)); len(rows) != 1 {
			t.Errorf("with %d links: the org has not ended: %v", links, rows)
		}
	}
	if calls[0] != calls[1] {
		t.Errorf("%d calls without links, and %d with 1,500", calls[0], calls[1])
	}
}

// TestDeletedOrgsDelayNoOtherTenant has 50 deleted orgs with 100 links each, and overdue deliveries of another tenant.
func TestDeletedOrgsDelayNoOtherTenant(t *testing.T) {
	t.Parallel()
	const deliveries = 300
	s := newStack(t)
	s.Limits.OrgsCreated = 100
	for range 50 {
		o := s.NewOrg(t, s.ada)
		s.putRows(t, 100, func(i int) row { return linkRow(s, o, id.DefaultApp(o), i) })
		s.endpoints(t, o, id.DefaultApp(o), 2)
		if err := s.DeleteOrg(ctx, s.admin(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.pass(2 * time.Minute)
	s.putRows(t, deliveries, func(i int) row { return overdueRow(s, i) })
	s.Faults.Calls() // the count begins here
	last := 0        // calls until the last overdue delivery was queued
	s.queue.sending = func() { last += len(s.Faults.Calls()) }
	s.sweepOnce(t)
	if n := len(s.queue.ready()); n != deliveries {
		t.Errorf("%d of %d overdue deliveries were queued", n, deliveries)
	}
	if last > 1600 { // usually 1,506; a sweep that ends the links first makes about 200 more
		t.Errorf("the last was queued after %d calls", last)
	}
}

// TestStrayRowsInTheIndexStopNothing: the sweep drops stray rows and counts them.
// The test does not run in parallel, because the log belongs to the program.
func TestStrayRowsInTheIndexStopNothing(t *testing.T) {
	s := newStack(t)
	s.putRows(t, 40, func(i int) row {
		r := overdueRow(s, 0) // in the shard of the delivery below
		r["PK"], r["SK"], r["dueAt"] = str("USED#"+string(s.org)), str(fmt.Sprint("KEY#key_", i)), num(1)
		return r
	})
	s.putRows(t, 1, func(i int) row { return overdueRow(s, i) })
	found, err := s.DueBefore(ctx, store.DueDelivery, s.Now(), 30) // the limit does not count strays
	if err != nil || len(found) != 41 || found[40].Kind != store.DueDelivery || found[0].Kind != store.DueStray {
		t.Errorf("after 40 strays, with a limit of 30: %d rows, %v", len(found), err)
	}
	log := &logged{}
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(log, nil)))
	defer slog.SetDefault(was)
	s.sweepOnce(t)
	if n, counted := len(s.queue.ready()), log.values(metric.StraysDue); n != 1 || !slices.Equal(counted, []string{"40"}) {
		t.Errorf("%d deliveries were queued, strays: %v", n, counted)
	}
	if rows := s.dueRows(t); len(rows) != 1 {
		t.Errorf("due still: %v", rows)
	}
}

// TestAStrayAmongParkedDeliveriesIsDropped puts a row of another kind into the partition of an endpoint's parked deliveries.
func TestAStrayAmongParkedDeliveriesIsDropped(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.trippedReceiver(t, 6)
	r.parkAll(6)
	s.putRows(t, 1, func(i int) row {
		stray := overdueRow(s, i)
		stray["PK"], stray["SK"], stray["due"], stray["dueAt"] = str("USED#"+string(s.org)), str("KEY#key_1"), str("DUE#parked#"+string(r.ID)), num(1)
		return stray
	})
	r.setAnswer(nil)
	s.runMinutes(t, 9)
	if got, rows := r.statuses(), s.dueRows(t); got[webhook.DeliveryDelivered] != 6 || len(rows) != 0 {
		t.Errorf("%v; due still: %v", got, rows)
	}
}

// TestTheSweepRevokesTheLinksOfABarredKey runs enough sweeps for the two passes over the links.
func TestTheSweepRevokesTheLinksOfABarredKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	k, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.CreateLink(ctx, store.NewLink{OrgID: s.org, AppID: s.app, ClientUserID: "u", ExpiresIn: time.Hour, By: k.Made.ID}, store.Once[store.MintedLink]{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeLinksOf(ctx, s.admin(), s.org, k.Made.ID); err != nil {
		t.Fatal(err)
	}
	s.runMinutes(t, 4)
	if found, err := s.Link(ctx, s.app, made.Made.ID); err != nil || found.RevokedAt == 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if rows := s.dueRows(t); len(rows) != 0 {
		t.Errorf("due still: %v", rows)
	}
}

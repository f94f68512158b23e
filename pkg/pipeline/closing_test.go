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

// deletes deletes the org.
func (s *stack) deletes(t *testing.T) {
	t.Helper()
	if err := s.DeleteOrg(ctx, s.admin(), s.org); err != nil {
		t.Fatal(err)
	}
}

// linked creates a link of an app, and returns a claim of it.
func (s *stack) linked(t *testing.T, a id.App, life time.Duration) (id.Link, store.Claim) {
	t.Helper()
	l := s.newLink(t, s.org, a, life)
	parsed, err := link.ParseToken(l.Token.Text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return l.ID, store.Claim{Token: parsed, ClaimKeyHash: sha256.Sum256([]byte("device"))}
}

// waiting lists the rows that are in the index due.
func (s *stack) waiting(t *testing.T) (rows []string) {
	t.Helper()
	for _, r := range s.Rows(t) {
		if attr(r, "due") != "" {
			rows = append(rows, attr(r, "PK")+" "+attr(r, "SK"))
		}
	}
	return rows
}

// partition returns the rows of a partition as text, by sort key.
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

// busy is an org with something of everything that the sweep has to end.
type busy struct {
	*stack
	second  id.App      // the org's second app
	down    *receiver   // answers 500: its deliveries are pending
	off     *receiver   // disabled: its deliveries are held
	pending id.Link     // a link that was not claimed
	claim   store.Claim // of this link
	done    store.Claim // of a link that was claimed
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{stack: newStack(t)}
	app, err := b.CreateApp(ctx, b.admin(), b.org, store.NewApp{Name: "Second"}, store.Once[store.App]{})
	if err != nil {
		t.Fatal(err)
	}
	b.second = app.Made.ID
	b.dueKey(t) // for which no event key.expiring may be written
	b.down = b.receiver(t, status(http.StatusInternalServerError))
	b.off = b.receiverOf(t, b.org, b.second, nil)
	b.off.enables(false)
	b.pending, b.claim = b.linked(t, b.app, time.Hour)
	b.linked(t, b.second, time.Minute) // expires during the test
	_, b.done = b.linked(t, b.second, time.Hour)
	if _, err := b.ClaimLink(ctx, b.done); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.down.event()
		b.off.event()
	}
	b.stream(t)
	b.pump(t)
	return b
}

// ended fails unless the org has ended: nothing of it is due but its use, 90 days later, no delivery waits, no link can be claimed, and only
// rows that are kept for some time are left. Pending links stay until they expire, which writes no event.
func (b *busy) ended(t *testing.T) {
	t.Helper()
	isOrg := func(row string) bool { return strings.HasPrefix(row, "ORG#") }
	if rows := slices.DeleteFunc(b.waiting(t), func(row string) bool { return isOrg(row) || strings.HasPrefix(row, "LINKS#") }); len(rows) != 0 {
		t.Errorf("due still: %v", rows)
	}
	b.later(t, time.Hour)
	if rows := b.waiting(t); len(rows) != 1 || !isOrg(rows[0]) { // its use is kept
		t.Errorf("due an hour later: %v", rows)
	}
	b.later(t, 90*24*time.Hour)
	if rows := b.waiting(t); len(rows) != 0 || b.has(t, webhook.LinkExpired, string(b.pending)) {
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

// TestADeletedOrgIsEndedWithinTenSweeps: also the rows of requests in flight, which were let in
// before the org's keys were revoked, are ended. The sweep writes no key, and nothing new is sent.
func TestADeletedOrgIsEndedWithinTenSweeps(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	b.deletes(t)
	keys := b.partition(t, "KEYS#"+string(b.org))
	if _, err := b.ClaimLink(ctx, b.claim); !problem.Is(err, problem.LinkNotFound) {
		t.Errorf("a claim before the first sweep: %v", err)
	}
	b.minutes(t, 1)
	sent := len(b.down.all())
	// Requests in flight make an endpoint, two links and an event.
	late := b.receiver(t, nil)
	b.linked(t, b.app, time.Hour)
	b.linked(t, b.second, time.Second)
	late.event()
	b.minutes(t, 8)
	b.ended(t)
	b.down.wants("after its app's end", sent)
	b.off.wants("after its app's end", 0)
	for sk, row := range b.partition(t, "KEYS#"+string(b.org)) {
		if keys[sk] != row {
			t.Errorf("KEYS# %s was written: %s", sk, row)
		}
	}
	for _, kind := range []webhook.Type{webhook.LinkRevoked, webhook.KeyRevoked, webhook.KeyExpiring} {
		if b.has(t, kind, "") {
			t.Errorf("an event %s was written", kind)
		}
	}
}

// TestADeletionCutShortEndsNothingUntilItIsRepeated: the sweep does not begin, because keys of the org may still be
// active.
func TestADeletionCutShortEndsNothingUntilItIsRepeated(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	cut, end := context.WithCancel(ctx)
	b.Faults.Before("TransactWriteItems", func() {}) // the first transaction marks the org
	b.Faults.Before("TransactWriteItems", end)
	if err := b.DeleteOrg(cut, b.admin(), b.org); !problem.Is(err, problem.Unavailable) {
		t.Fatal(err)
	}
	b.minutes(t, 10)
	if got := b.off.statuses(); got["held"] < 3 || len(got) != 1 || b.down.now().Deleted {
		t.Errorf("the org was ended: %v", got)
	}
	if got, err := b.Link(ctx, b.app, b.pending); err != nil || got.RevokedAt != 0 {
		t.Errorf("the link was ended: %+v, %v", got, err)
	}
	b.deletes(t)
	b.minutes(t, 10)
	b.ended(t)
}

// TestTheSweepGoesOnWithAnEndThatWasCutShort ends each of 60 sweeps before its second transaction.
func TestTheSweepGoesOnWithAnEndThatWasCutShort(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	b.deletes(t)
	for range 60 {
		b.pass(time.Minute)
		run, end := context.WithCancel(ctx)
		b.Faults.Before("TransactWriteItems", func() {})
		b.Faults.Before("TransactWriteItems", end)
		_ = b.sweep.Run(run) // fails, because its context has ended
		b.Faults.Heal()
		end()
	}
	b.ended(t)
}

// TestEndingAnOrgTakesAsLongForManyLinks counts calls: as many with links as without, because no link is read.
func TestEndingAnOrgTakesAsLongForManyLinks(t *testing.T) {
	t.Parallel()
	var calls []int
	for _, links := range []int{0, 1500} {
		s := newStack(t)
		s.puts(t, links, func(i int) row { return linkRow(s, s.org, s.app, i) })
		s.deletes(t)
		s.Faults.Calls() // the count begins here
		s.minutes(t, 4)
		calls = append(calls, len(s.Faults.Calls()))
		if rows := s.partition(t, "ORG#"+string(s.org)); len(rows) != 1 {
			t.Errorf("with %d links: the org has not ended: %v", links, rows)
		}
	}
	if calls[0] != calls[1] {
		t.Errorf("%d calls without links, and %d with 1,500", calls[0], calls[1])
	}
}

// TestDeletedOrgsHoldUpNoOtherTenant has 50 deleted orgs with 100 links each, and another tenant's overdue deliveries.
func TestDeletedOrgsHoldUpNoOtherTenant(t *testing.T) {
	t.Parallel()
	const deliveries = 300
	s := newStack(t)
	s.Limits.OrgsCreated = 100
	for range 50 {
		o := s.NewOrg(t, s.ada)
		s.puts(t, 100, func(i int) row { return linkRow(s, o, id.DefaultApp(o), i) })
		s.endpoints(t, o, id.DefaultApp(o), 2)
		if err := s.DeleteOrg(ctx, s.admin(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.pass(2 * time.Minute)
	s.puts(t, deliveries, func(i int) row { return overdueRow(s, i) })
	s.Faults.Calls() // the count begins here
	last := 0        // calls until the last overdue delivery was queued
	s.queue.sending = func() { last += len(s.Faults.Calls()) }
	s.sweeps(t)
	if n := len(s.queue.ready()); n != deliveries {
		t.Errorf("%d of %d overdue deliveries were queued", n, deliveries)
	}
	if last > 1600 { // usually 1,506; a sweep that ended the orgs' links first would make some 200 more
		t.Errorf("the last was queued after %d calls", last)
	}
}

// TestRowsThatDoNotBelongIntoTheIndexStopNothing: they are dropped, and counted.
// It does not run in parallel, because the log belongs to the program.
func TestRowsThatDoNotBelongIntoTheIndexStopNothing(t *testing.T) {
	s := newStack(t)
	s.puts(t, 40, func(i int) row {
		r := overdueRow(s, 0) // in the shard of the delivery below
		r["PK"], r["SK"], r["dueAt"] = str("USED#"+string(s.org)), str(fmt.Sprint("KEY#key_", i)), num(1)
		return r
	})
	s.puts(t, 1, func(i int) row { return overdueRow(s, i) })
	found, err := s.DueBefore(ctx, store.DueDelivery, s.Now(), 30) // strays do not count in the limit
	if err != nil || len(found) != 41 || found[40].Kind != store.DueDelivery || found[0].Kind != store.DueStray {
		t.Errorf("behind 40 strays, with a limit of 30: %d rows, %v", len(found), err)
	}
	log := &logged{}
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(log, nil)))
	defer slog.SetDefault(was)
	s.sweeps(t)
	if n, counted := len(s.queue.ready()), log.values(metric.StraysDue); n != 1 || !slices.Equal(counted, []string{"40"}) {
		t.Errorf("%d deliveries were queued, strays: %v", n, counted)
	}
	if rows := s.waiting(t); len(rows) != 1 {
		t.Errorf("due still: %v", rows)
	}
}

// TestAStrayAmongParkedDeliveriesIsDropped has a row of another kind in the partition of an endpoint's parked deliveries.
func TestAStrayAmongParkedDeliveriesIsDropped(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.trip(t, 6)
	r.parks(6)
	s.puts(t, 1, func(i int) row {
		stray := overdueRow(s, i)
		stray["PK"], stray["SK"], stray["due"], stray["dueAt"] = str("USED#"+string(s.org)), str("KEY#key_1"), str("DUE#parked#"+string(r.ID)), num(1)
		return stray
	})
	r.answers(nil)
	s.minutes(t, 9)
	if got, rows := r.statuses(), s.waiting(t); got[webhook.DeliveryDelivered] != 6 || len(rows) != 0 {
		t.Errorf("%v; due still: %v", got, rows)
	}
}

// TestTheSweepRevokesTheLinksOfABarredKey has the two passes that the store's row names.
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
	s.minutes(t, 4)
	if found, err := s.Link(ctx, s.app, made.Made.ID); err != nil || found.RevokedAt == 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if rows := s.waiting(t); len(rows) != 0 {
		t.Errorf("due still: %v", rows)
	}
}

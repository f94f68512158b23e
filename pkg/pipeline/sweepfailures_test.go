package pipeline_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// due is a row that is due for the sweep.
type due struct {
	kind, id string      // the sweep's error names them
	done     func() bool // reports whether the sweep has processed the row
}

// dueEvent makes an event. The test does not bring it through the stream.
func (s *stack) dueEvent(r *receiver) due {
	e := r.newEvent()
	fannedOut := func() bool { return s.value(r.t, "EVTS#"+string(s.app), string(e), "fannedAt") != "" }
	return due{"event", string(s.app) + "/" + string(e), fannedOut}
}

// dueDelivery makes a delivery that no message wakes.
func (s *stack) dueDelivery(r *receiver) due {
	e := r.newEvent()
	s.fanOutAll(r.t)
	s.queue.dropAll()
	dueAt := func() string { return s.value(r.t, "DLV#"+string(r.ID), string(e), "dueAt") }
	before := dueAt()
	moved := func() bool { return dueAt() != before } // the sweep moves the time, and queues the delivery
	return due{"delivery", string(s.app) + "/" + string(r.ID) + "/" + string(e), moved}
}

// dueLink makes a link that expires in a minute.
func (s *stack) dueLink(t *testing.T) due {
	t.Helper()
	l := string(s.linkOf(t, s.org, s.app))
	return due{"link", string(s.app) + "/" + l, func() bool { return s.hasEvent(t, webhook.LinkExpired, l) }}
}

// dueKey makes a key of 15 days. The event key.expiring is due a week before the key expires, so after eight days.
func (s *stack) dueKey(t *testing.T) due {
	t.Helper()
	made, err := s.CreateKey(ctx, s.admin(), s.org, store.NewKey{ExpiresIn: 15 * 24 * time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{})
	if err != nil {
		t.Fatal(err)
	}
	k := string(made.Made.ID)
	return due{"key", string(s.org) + "/" + k, func() bool { return s.hasEvent(t, webhook.KeyExpiring, k) }}
}

// dueEndpoint makes an enabled endpoint with a held delivery, which the sweep must release.
func (s *stack) dueEndpoint(t *testing.T) due {
	t.Helper()
	r := s.receiver(t, nil, string(webhook.Test))
	r.setEnabled(false)
	e := r.newEvent()
	s.fanOutAll(t)
	r.enable()
	return due{"endpoint", string(s.app) + "/" + string(r.ID), func() bool {
		return s.value(t, "DLV#"+string(r.ID), string(e), "status") == string(webhook.DeliveryPending)
	}}
}

// dueOrg makes a deleted org.
func (s *stack) dueOrg(t *testing.T) due {
	t.Helper()
	o := s.NewOrg(t, s.ada)
	if err := s.DeleteOrg(ctx, s.admin(), o); err != nil {
		t.Fatal(err)
	}
	return due{"org", string(o), func() bool { // the sweep has set the next due time: the remaining rows are due in 90 days
		at, err := strconv.ParseInt(s.value(t, "ORG#"+string(o), "META", "dueAt"), 10, 64)
		return err == nil && at > s.Now().UnixMilli()
	}}
}

// value returns an attribute of a row.
func (s *stack) value(t *testing.T, pk, sk, name string) string {
	t.Helper()
	for _, r := range s.Rows(t) {
		if attr(r, "PK") == pk && attr(r, "SK") == sk {
			return attr(r, name)
		}
	}
	return ""
}

// hasEvent reports whether there is an event of a type with the text about in its data; "": any data.
func (s *stack) hasEvent(t *testing.T, kind webhook.Type, about string) bool {
	t.Helper()
	for _, r := range s.Rows(t) {
		if attr(r, "type") == string(kind) && strings.Contains(attr(r, "data"), about) {
			return true
		}
	}
	return false
}

// lines returns the sorted lines of an error's text.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return slices.Sorted(slices.Values(strings.Split(err.Error(), "\n")))
}

// TestTheSweepNamesEachRowThatFails has three rows of each kind. Two of them fail.
func TestTheSweepNamesEachRowThatFails(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil, string(webhook.Test))
	var bad, good []due
	// dueDelivery and dueEndpoint call fanOutAll, which fans out all events. So dueEvent comes after them.
	for _, row := range []func() due{
		func() due { return s.dueDelivery(r) }, func() due { return s.dueEndpoint(t) }, func() due { return s.dueKey(t) },
		func() due { return s.dueLink(t) }, func() due { return s.dueEvent(r) }, func() due { return s.dueOrg(t) },
	} {
		bad, good = append(bad, row(), row()), append(good, row())
	}
	slices.SortFunc(bad, func(a, b due) int { return strings.Compare(a.kind+a.id, b.kind+b.id) })
	s.pass(8 * 24 * time.Hour) // until the keys are due
	under := s.Faults.Next
	p := &poison{next: under}
	for _, b := range bad {
		p.rows = append(p.rows, b.id[strings.LastIndex(b.id, "/")+1:]) // the last id is the row's
	}
	s.Faults.Next = p
	err := s.sweep.Run(ctx)
	got := lines(err)
	if !errors.Is(err, errBroken) || len(got) != len(bad) {
		t.Fatalf("the error of the sweep has %d lines, want %d: %v", len(got), len(bad), err)
	}
	for i, b := range bad {
		if !strings.HasPrefix(got[i], b.kind+" "+b.id+": ") || b.done() {
			t.Errorf("want %s %s, got %s; done: %v", b.kind, b.id, got[i], b.done())
		}
	}
	for _, g := range good {
		if !g.done() {
			t.Errorf("%s %s was not done", g.kind, g.id)
		}
	}
	s.Faults.Next = under
	s.pass(time.Minute)
	s.sweepOnce(t)
	for _, b := range bad {
		if !b.done() {
			t.Errorf("%s %s was not done after the fault", b.kind, b.id)
		}
	}
}

func TestTheSweepNamesTheKindThatItCannotRead(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.Faults.Plan("Query", storetest.LostBefore, -1)
	got := lines(s.sweep.Run(ctx))
	kinds := []store.DueKind{store.DueBar, store.DueDelivery, store.DueEndpoint, store.DueEvent, store.DueKey, store.DueLink, store.DueOrg}
	if len(got) != len(kinds) {
		t.Fatalf("%v", got)
	}
	for i, kind := range kinds {
		if !strings.HasPrefix(got[i], string(kind)+": ") {
			t.Errorf("want %s, got %s", kind, got[i])
		}
	}
}

// unread is a transport that fails each query of some partitions.
type unread struct {
	next       http.RoundTripper
	partitions []string
}

func (u *unread) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	isOne := func(partition string) bool { return bytes.Contains(body, []byte(partition)) }
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && slices.ContainsFunc(u.partitions, isOne) {
		return nil, errBroken
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return u.next.RoundTrip(r)
}

// TestAShardThatCannotBeReadDelaysNoOther has due links in all eight shards of the index.
func TestAShardThatCannotBeReadDelaysNoOther(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"DUE#link#0", "DUE#link#3", "DUE#link#7"} {
		s := newStack(t)
		s.putRows(t, 80, func(i int) row { return linkRow(s, s.org, s.app, i) })
		s.pass(25 * time.Hour)
		left := func() (in []string) {
			for _, r := range s.Rows(t) {
				if at := attr(r, "due"); strings.HasPrefix(at, "DUE#link") {
					in = append(in, at)
				}
			}
			return slices.Compact(slices.Sorted(slices.Values(in)))
		}
		if n := len(left()); n != 8 {
			t.Fatalf("the links are in %d shards", n)
		}
		under := s.Faults.Next
		s.Faults.Next = &unread{under, []string{bad}}
		if err := s.sweep.Run(ctx); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "link: ") || !slices.Equal(left(), []string{bad}) {
			t.Errorf("%s: %v, and %v are left", bad, err, left())
		}
		s.Faults.Next = under
		if s.sweepOnce(t); len(left()) != 0 {
			t.Errorf("%s: %v are left after the fault", bad, left())
		}
	}
}

// TestARowThatDoesNotDecodeDelaysNoOther has a bad row and good rows in one shard.
func TestARowThatDoesNotDecodeDelaysNoOther(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.putRows(t, 9, func(i int) row {
		link := linkRow(s, s.org, s.app, i)
		if link["due"] = str("DUE#link#5"); i == 4 {
			link["orgId"] = num(4)
		}
		return link
	})
	s.pass(25 * time.Hour)
	err := s.sweep.Run(ctx)
	var left []string
	for _, r := range s.Rows(t) {
		if attr(r, "due") == "DUE#link#5" {
			left = append(left, attr(r, "orgId"))
		}
	}
	if err == nil || !strings.HasPrefix(err.Error(), "link: ") || !slices.Equal(left, []string{"4"}) {
		t.Errorf("%v, and the orgs of the links that are left: %v", err, left)
	}
}

// TestAReadableKindIsDone makes only one kind of rows readable at a time.
func TestAReadableKindIsDone(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.receiver(t, nil, string(webhook.Test))
	rows := []due{s.dueDelivery(r), s.dueEndpoint(t), s.dueKey(t), s.dueLink(t), s.dueEvent(r), s.dueOrg(t)}
	s.pass(8 * 24 * time.Hour)
	under := s.Faults.Next
	for i, one := range rows {
		others := &unread{next: under}
		for _, kind := range store.DueKinds() {
			if string(kind) != one.kind {
				others.partitions = append(others.partitions, "DUE#"+string(kind)+"#")
			}
		}
		s.Faults.Next = others
		err := s.sweep.Run(ctx)
		s.Faults.Next = under
		for _, kind := range store.DueKinds() {
			names := func(line string) bool { return strings.HasPrefix(line, string(kind)+": ") }
			if slices.ContainsFunc(lines(err), names) == (string(kind) == one.kind) {
				t.Errorf("only %s can be read: %v", one.kind, err)
			}
		}
		for j, row := range rows {
			if row.done() != (j <= i) {
				t.Errorf("only %s can be read: %s is done: %t", one.kind, row.kind, row.done())
			}
		}
	}
}

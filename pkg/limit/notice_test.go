package limit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/limit"
)

// announced returns the different notices that were written, in their order.
func (w *world) announced() (all []string) {
	seen := map[limit.Notice]bool{}
	for _, n := range w.notices {
		as := n
		as.Used = ""
		if !seen[as] {
			all = append(all, fmt.Sprintf("%s %s %d %d %s", n.Key, n.Row, n.Mark, n.Limit, n.Used))
		}
		seen[as] = true
	}
	return all
}

func TestTheMarksAreAt80And100Percent(t *testing.T) {
	for _, c := range []struct {
		leased, limit int64
		mark          limit.Mark
		ok            bool
	}{
		{0, 1, 0, false}, {1, 1, limit.Reached, true}, {3, 4, 0, false}, {4, 4, limit.Reached, true}, {4, 5, limit.Near, true},
		{79, 100, 0, false}, {80, 100, limit.Near, true}, {99, 100, limit.Near, true}, {100, 100, limit.Reached, true}, {150, 100, limit.Reached, true},
		{799_999_999, 1_000_000_000, 0, false}, {800_000_000, 1_000_000_000, limit.Near, true},
	} {
		if mark, ok := limit.Passed(c.leased, c.limit); mark != c.mark || ok != c.ok {
			t.Errorf("%d of %d: %v %t", c.leased, c.limit, mark, ok)
		}
	}
}

// TestEachMarkIsAnnouncedOnce: for a day, a month and an allowance, but not for a minute or an hour.
func TestEachMarkIsAnnouncedOnce(t *testing.T) {
	near, reached := "key_1 %s 0 10 key_1", "key_1 %s 1 10 key_1"
	for text, want := range map[string]string{"10/m": "[]", "10/h": "[]", "10/d": fmt.Sprintf("["+near+" "+reached+"]", "day", "day"),
		"10/M": fmt.Sprintf("["+near+" "+reached+"]", "month", "month"), "10/d 10/M": fmt.Sprintf("["+near+" "+near+" "+reached+" "+reached+"]", "day", "month", "day", "month")} {
		w := on(t, "2026-11-24 12:00:00", 2)
		r := request("key_1", text)
		w.equal(w.take(0, 3, r)+w.take(1, 3, r)+w.take(0, 9, r)+w.take(1, 9, r), 10, text)
		if got := fmt.Sprint(w.announced()); got != want || len(w.notices) != len(w.announced()) {
			t.Errorf("%s: %s, want %s; %d written", text, got, want, len(w.notices))
		}
	}
	w := on(t, "2026-11-24 12:00:00", 1)
	w.equal(w.take(0, 9, limit.Request{Org: "org_1", Key: "key_2", LimitID: "key_1", Allowance: "5/d", AllowanceVersion: 1}), 5, "allowance")
	if got := fmt.Sprint(w.announced()); got != "[ day 0 5   day 1 5 ]" {
		t.Errorf("%s", got)
	}
}

// TestAMarkIsAnnouncedOnlyWhenItsLeaseIsCharged: after a lease that fails or is refused, the charged requests of the row decide.
func TestAMarkIsAnnouncedOnlyWhenItsLeaseIsCharged(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	r := request("key_1", "10/d")
	w.equal(w.take(0, 7, r), 7, "below the mark")
	w.fail = func(limit.Lease) error { return errors.New("down") }
	_, err := w.processes[0].Take(t.Context(), r)
	if err == nil || len(w.notices) != 0 {
		t.Errorf("%v, after %v", w.notices, err)
	}
	w.fail = nil
	w.equal(w.take(0, 1, r), 1, "the mark")
	if got := fmt.Sprint(w.announced()); got != "[key_1 day 0 10 key_1]" {
		t.Errorf("%s", got)
	}
}

// TestAnAnnouncementIsBounded: a request waits at most 200 ms for it, also when its caller has gone. A new process announces a mark
// that is not noted.
func TestAnAnnouncementIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &slowAnnouncer{rows: newRows()}
		l := limit.New(table)
		l.Now = at("2026-11-24 12:00:00").UTC
		gone, leave := context.WithCancel(t.Context())
		leave()
		began := time.Now()
		_, _ = l.Take(gone, request("key_1", "1/d")) // both results are possible: the caller has gone, or the request may pass
		if took := time.Since(began); took != 200*time.Millisecond || table.began != 1 {
			t.Errorf("after %s, %d announcements", took, table.began)
		}
		if _, err := limit.New(table).Take(t.Context(), request("key_1", "1/d")); err != nil || table.began != 2 {
			t.Errorf("%v, %d announcements", err, table.began)
		}
	})
}

// TestAnAnnouncementDelaysNoOtherRequest: another request that waited for the lease does not wait for the announcement.
func TestAnAnnouncementDelaysNoOtherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &slowAnnouncer{rows: newRows()}
		table.meanwhile = func() { time.Sleep(10 * time.Millisecond) }
		l := limit.New(table)
		l.Now = at("2026-11-24 12:00:00").UTC
		var first sync.WaitGroup
		first.Go(func() { _, _ = l.Take(t.Context(), request("key_1", "1/d")) }) // this request makes the lease and the announcement
		defer first.Wait()
		synctest.Wait()
		began := time.Now()
		r, err := l.Take(t.Context(), request("key_1", "1/d"))
		synctest.Wait() // until the announcement has begun
		if took := time.Since(began); err != nil || r.Violated() != nil || took != 10*time.Millisecond || table.began != 1 {
			t.Errorf("%v %v after %s, %d announcements", r.Violated(), err, took, table.began)
		}
	})
}

// slowAnnouncer is a table that never finishes an announcement.
type slowAnnouncer struct {
	*rows
	began int
}

func (s *slowAnnouncer) Announce(ctx context.Context, _ limit.Notice) error {
	s.began++
	<-ctx.Done()
	return ctx.Err()
}

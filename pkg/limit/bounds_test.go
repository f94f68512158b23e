package limit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
)

// TestEachMemoryOfKeysIsBounded: a process remembers 20,000 keys. With one more it forgets all of them, and their leases.
func TestEachMemoryOfKeysIsBounded(t *testing.T) {
	for name, use := range map[string]func(w *world, k id.Key) int{
		"limits": func(w *world, k id.Key) int {
			return w.take(0, 1, limit.Request{Org: "org_1", Key: k, LimitID: k, Limits: "40/h"})
		},
		"counts": func(w *world, k id.Key) int {
			w.processes[0].Tally(w.t.Context(), limit.Owner{Org: "org_1", Key: k})
			return 0
		},
	} {
		w := on(t, "2026-11-24 12:00:00", 1)
		writes := func(k id.Key) int {
			before := w.writes
			use(w, k)
			return w.writes - before
		}
		for range 4 { // the last lease of a key with limits is of four requests
			writes("key_1")
		}
		for i := range 19_999 {
			writes(id.Key(fmt.Sprintf("key_%d", i+2)))
		}
		w.equal(writes("key_1"), 0, name+": writes of the first of 20,000 keys")
		writes("key_20001")
		w.equal(writes("key_1"), 1, name+": writes of the first of 20,001 keys")
		passed := 0
		for range 100 {
			passed += use(w, "key_1")
		}
		passed += 6 // requests of key_1 above
		if name == "limits" && passed > 40 {
			t.Errorf("%d of 40 passed", passed)
		}
	}
}

// TestWaitsAreBounded: when the table hangs, a lease ends after 500 ms and a count after 200 ms, and a request ends with its
// caller's time.
func TestWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(hanging{})
		timeToFail := func(within time.Duration) time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			begun := time.Now()
			if _, err := l.Take(ctx, request("key_1", "40/h")); err == nil {
				t.Error("the request was let through")
			}
			return time.Since(begun)
		}
		led, waited := make(chan time.Duration), make(chan time.Duration)
		go func() { led <- timeToFail(time.Minute) }()
		synctest.Wait() // the request makes the lease
		go func() { waited <- timeToFail(100 * time.Millisecond) }()
		if w, l := <-waited, <-led; w != 100*time.Millisecond || l != 500*time.Millisecond {
			t.Errorf("the lease took %s, and a request waited for it for %s", l, w)
		}
		begun := time.Now()
		l.Tally(t.Context(), limit.Owner{Org: "org_1", Key: "key_2"})
		if took := time.Since(begun); took != 200*time.Millisecond {
			t.Errorf("a count took %s", took)
		}
	})
}

// raced is a table that refuses each lease, as if another process was faster, although enough requests are left.
type raced struct {
	limit.Table
	writes int
}

func (r *raced) Lease(_ context.Context, l limit.Lease) (found limit.Charges, done bool, err error) {
	r.writes++
	for p, want := range l.Wants {
		found[p].Start = want.Start
	}
	return found, false, nil
}

// TestTriesAreBounded: a lease that loses each race is tried four times. A request whose leases are lost again and again
// tries 20 times.
func TestTriesAreBounded(t *testing.T) {
	table := &raced{}
	if _, err := limit.New(table).Take(t.Context(), request("key_1", "40/h")); limit.LogCode(err) != "lease_failed" || table.writes != 4 {
		t.Errorf("after %d writes: %v", table.writes, err)
	}
	for leaps, want := range map[int]struct { // leaps: how often a minute ends during a lease
		writes int // the first write finds that the row has no minute yet
		passes bool
	}{0: {2, true}, 1: {3, true}, 19: {20, true}, 20: {21, false}, 99: {21, false}} {
		w := on(t, "2026-11-24 12:00:00", 1)
		left := leaps
		w.meanwhile = func() { // during the lease, its minute ends
			if left > 0 {
				left, w.at = left-1, w.at.Add(time.Minute)
			}
		}
		_, err := w.processes[0].Take(t.Context(), request("key_1", "1000/m"))
		if (err == nil) != want.passes || err != nil && limit.LogCode(err) != "lease_failed" || w.writes != want.writes {
			t.Errorf("%d leaps: %d writes, %v", leaps, w.writes, err)
		}
	}
}

// TestALeaseOfAnEarlierWindowGivesTheNextOneNothing: the answer of a lease comes after its window has ended, and another request has
// already begun the next window. Both windows have 40 requests, for two processes together.
func TestALeaseOfAnEarlierWindowGivesTheNextOneNothing(t *testing.T) {
	for per, next := range map[string]string{
		"m": "2026-11-30 23:01:02", "h": "2026-12-01 00:00:01", "d": "2026-12-01 00:00:03", "M": "2026-12-01 00:00:04",
		"d 7000/m": "2026-12-01 00:00:05", "M 8000/h": "2026-12-01 00:00:06", "m 9000/M": "2026-11-30 23:01:07",
	} {
		for name, c := range map[string]struct{ first, others int }{"done": {9, 0}, "refused": {3, 37}} {
			for _, kind := range []string{"limits", "allowance"} {
				synctest.Test(t, func(t *testing.T) {
					w := on(t, "2026-11-30 23:00:58", 2)
					r := request("key_1", "40/"+per)
					if kind == "allowance" {
						r.Limits, r.Allowance = "", r.Limits
					}
					w.equal(w.take(0, c.first, r)+w.take(1, c.others, r), c.first+c.others, "before")
					passed := make(chan int, 1)
					w.meanwhile = func() {
						w.meanwhile, w.at = nil, at(next)
						go func() { passed <- w.take(0, 1, r) }() // this request waits for the same lease
						synctest.Wait()
					}
					for w.meanwhile != nil {
						w.take(0, 1, r)
					}
					got := 1 + <-passed + w.take(0, 50, r) + w.take(1, 50, r)
					w.equal(got, 40, fmt.Sprintf("%s of 40/%s, %s: let through in the next window", kind, per, name))
				})
			}
		}
	}
}

// TestKeysOfAGraceKeepTheirOwnLeases: the limits of the new key differ, and the two keys send requests in turn.
func TestKeysOfAGraceKeepTheirOwnLeases(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	for range 50 {
		w.equal(w.take(0, 1, request("key_1", "900/h"))+w.take(0, 1, request("key_2", "1000/h")), 2, "let through")
	}
	if w.writes > 20 {
		t.Errorf("100 requests made %d writes", w.writes)
	}
}

func TestEachOrgHasItsOwnAllowance(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	for name, most := range map[id.Org]int{"org_1": 5, "org_2": 5, "org_3": 7} { // two orgs have the same text
		r := limit.Request{Org: name, Key: "key_1", LimitID: "key_1", Allowance: fmt.Sprintf("%d/d", most)}
		w.equal(w.take(0, 9, r), most, string(name))
	}
}

// TestUsageIsReportedOnce: each request is reported once, on the row of its day, although one lease fails, and also when the limits
// change meanwhile. The failed lease was written or not.
func TestUsageIsReportedOnce(t *testing.T) {
	first, second := at("2026-11-24 00:00:00").Unix(), at("2026-11-25 00:00:00").Unix()
	for name, v := range map[string]struct {
		day     int64 // the day of the lease that fails
		changes int   // 1: each request has other limits; 0: all have the same
	}{"today": {second, 0}, "yesterday": {first, 0}, "today, with changed limits": {second, 1}, "yesterday, with changed limits": {first, 1}} {
		for fault, plan := range map[string]func(w *world, hits func(limit.Lease) bool){
			"refused": func(w *world, hits func(limit.Lease) bool) {
				w.fail = func(l limit.Lease) error {
					if hits(l) {
						return fmt.Errorf("throttled: %w", limit.ErrNotCharged)
					}
					return nil
				}
			},
			"done, but the answer is lost": func(w *world, hits func(limit.Lease) bool) { w.lose = hits },
		} {
			w := on(t, "2026-11-24 23:59:30", 1)
			r := request("key_1", "1000/m")
			yesterday, today := w.take(0, 11, r), 0
			hit := 0
			plan(w, func(l limit.Lease) bool {
				isHit := hit == 0 && l.Start == v.day && l.Requests > 0
				if isHit {
					hit++
				}
				return isHit
			})
			w.at = at("2026-11-25 00:00:10")
			for range 3 {
				for n := range 11 {
					r.Limits = fmt.Sprintf("%d/m", 1000+n*v.changes)
					if s, err := w.processes[0].Take(t.Context(), r); err == nil && s.Violated() == nil {
						today++
					}
				}
				w.at = w.at.Add(time.Minute) // so that the next request makes a lease
			}
			w.equal(hit, 1, name+", "+fault+": faults")
			w.take(0, 1, r)
			of := limit.Owner{Org: "org_1", Key: "key_1"}
			w.equal(int(w.requests[row{of, limit.Day, first}]), yesterday, name+", "+fault+": reported for yesterday")
			w.equal(int(w.requests[row{of, limit.Day, second}]), today, name+", "+fault+": reported for today")
		}
	}
}

// TestALeaseThatLosesARaceReportsLater: another process has charged the requests that this process tries to charge.
func TestALeaseThatLosesARaceReportsLater(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 2)
	r := request("key_1", "40/d")
	passed := w.take(0, 7, r) + w.take(1, 40, r) + w.take(0, 40, r)
	w.at = at("2026-11-25 00:00:10")
	w.take(0, 1, r)
	w.take(1, 1, r)
	w.equal(int(w.requests[row{limit.Owner{Org: "org_1", Key: "key_1"}, limit.Day, at("2026-11-24 00:00:00").Unix()}]), passed, "reported")
}

// TestLostAnswersSpendFewRequests: DynamoDB charges each lease, but its answers come too late. Each failed request may count, and the
// first lost lease. The next leases are small, because each of them may be lost, too.
func TestLostAnswersSpendFewRequests(t *testing.T) {
	for per, text := range map[limit.Per]string{limit.Day: "100000/d", limit.Month: "100000/M"} {
		w := on(t, "2026-11-24 12:00:00", 1)
		r, passed, failed := request("key_1", text), 0, 0
		send := func(within time.Duration) {
			for end := w.at.Add(within); w.at.Before(end); w.at = w.at.Add(50 * time.Millisecond) {
				s, err := w.processes[0].Take(t.Context(), r)
				switch {
				case err != nil:
					failed++
					w.at = w.at.Add(450 * time.Millisecond)
				case s.Violated() == nil:
					passed++
				}
			}
		}
		send(15 * time.Minute)
		w.lose = func(l limit.Lease) bool { return l.Row == per }
		send(10 * time.Minute)
		w.lose = nil
		send(time.Second)
		charged := 0
		for of, c := range w.charges {
			if of.per == per {
				charged = int(c[per].Requests)
			}
		}
		if failed < 100 || charged > passed+failed+100_000/10 {
			t.Errorf("%s: %d charged, %d passed, %d failed", per, charged, passed, failed)
		}
	}
}

// TestAClockSetBackUsesThePresentWindow: the clock of a process was ahead, and is right again. The process then spends from the windows of
// the present, and reports what passed on the row of each day.
func TestAClockSetBackUsesThePresentWindow(t *testing.T) {
	for _, c := range []struct{ limits, present, ahead string }{
		{"40/m", "2026-11-24 12:00:30", "2026-11-25 12:00:30"},
		{"40/m", "2026-11-24 23:59:50", "2026-11-25 00:00:10"},
		{"40/h", "2026-11-24 23:30:00", "2026-11-25 00:00:10"},
		{"40/d", "2026-11-24 12:00:30", "2026-11-25 00:00:10"},
		{"40/M", "2026-11-24 12:00:30", "2026-12-01 00:00:10"},
		{"40/M", "2026-11-24 12:00:30", "2028-11-24 12:00:30"},
		{"40/m 900/h 1000/M", "2026-11-24 12:00:30", "2027-11-24 12:00:30"},
	} {
		w := on(t, c.present, 2)
		r, fast := request("key_1", c.limits), &clock{at(c.ahead)}
		w.processes[0].Now = fast.now
		w.equal(w.take(0, 3, r), 3, "with the clock ahead")
		w.processes[0].Now = w.now
		w.equal(w.take(0, 50, r)+w.take(1, 50, r), 40, c.limits+" at "+c.present+", with the right clock")
		w.at = fast.at
		w.equal(w.take(0, 50, r)+w.take(1, 50, r), 37, c.limits+", at the time that the clock showed")
		w.at = w.at.AddDate(0, 2, 0)
		w.take(0, 1, r) // reports the earlier day
		w.take(1, 1, r)
		for day, want := range map[string]int{c.present: 40, c.ahead: 40} {
			start := at(day).Truncate(24 * time.Hour).Unix()
			w.equal(int(w.requests[row{limit.Owner{Org: "org_1", Key: "key_1"}, limit.Day, start}]), want, c.limits+": reported for "+day)
		}
	}
}

// TestAClockSetBackWithinADayServes: today's row charges no earlier minute any more, so the process goes on with the later one.
func TestAClockSetBackWithinADayServes(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	r := request("key_1", "40/m")
	w.at = w.at.Add(10 * time.Minute)
	w.take(0, 1, r)
	w.at = w.at.Add(-10 * time.Minute)
	w.equal(w.take(0, 50, r), 39, "of the later minute") // an error fails the test
}

// TestALeaseFromAheadLeavesTodaysRow: its answer, with the next minute of tomorrow's row, comes after the clock was set back.
func TestALeaseFromAheadLeavesTodaysRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:00:30", 3)
		r := request("key_1", "40/m")
		w.take(2, 1, r) // begins today's row
		w.processes[0].Now, w.processes[1].Now = (&clock{at("2026-11-25 12:00:59")}).now, (&clock{at("2026-11-25 12:01:00")}).now
		w.take(0, 1, r)
		w.take(1, 1, r) // tomorrow's row is at 12:01
		w.meanwhile = func() {
			w.meanwhile, w.processes[0].Now = nil, w.now
			go w.processes[0].Take(context.Background(), r)
			synctest.Wait()
		}
		w.take(0, 1, r)
		synctest.Wait()
		w.equal(w.take(2, 1, r), 1, "in another process")
	})
}

// TestUsageIsReportedAfterTheClockIsSetBack: while the clock was ahead, no lease was made.
func TestUsageIsReportedAfterTheClockIsSetBack(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	r, present := request("key_1", "1000/d"), w.at
	w.equal(w.take(0, 7, r), 7, "before")
	w.at, w.fail = present.AddDate(0, 0, 1), func(limit.Lease) error { return limit.ErrNotCharged }
	if _, err := w.processes[0].Take(t.Context(), r); !errors.Is(err, limit.ErrNotCharged) {
		t.Error(err)
	}
	w.at, w.fail = present, nil
	w.equal(w.take(0, 5, r), 5, "afterwards")
	w.at = present.AddDate(0, 0, 1)
	w.take(0, 1, r)
	w.equal(int(w.requests[row{limit.Owner{Org: "org_1", Key: "key_1"}, limit.Day, present.Truncate(24 * time.Hour).Unix()}]), 12, "reported")
}

// TestCountsAreWrittenAfterTheClockIsSetBack: at once, not only when the time of the last write comes again.
func TestCountsAreWrittenAfterTheClockIsSetBack(t *testing.T) {
	w := on(t, "2026-11-24 20:00:00", 1)
	of := limit.Owner{Org: "org_1", Key: "key_1"}
	for range 2 {
		w.processes[0].Tally(t.Context(), of)
		w.processes[0].Refuse(t.Context(), refused("key_1"), limit.Scope)
		w.at = w.at.Add(-3 * time.Hour)
	}
	w.equal(int(w.counted[row{of, limit.Day, at("2026-11-24 00:00:00").Unix()}]), 2, "requests")
	w.equal(int(w.refusals("2026-11-24")[limit.Scope]), 2, "refusals")
}

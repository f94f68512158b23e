package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
)

// world has some processes with one clock, and one table.
type world struct {
	*rows
	t *testing.T
	clock
	processes []*limit.Limiter
}

// on starts a world at a time, with this number of processes.
func on(t *testing.T, text string, processes int) *world {
	w := &world{rows: newRows(), t: t, clock: clock{at(text)}}
	for range processes {
		l := limit.New(w)
		l.Now = w.now
		w.processes = append(w.processes, l)
	}
	return w
}

// take sends requests to a process, and returns how many of them were let through.
func (w *world) take(process, requests int, r limit.Request) (passed int) {
	w.t.Helper()
	for range requests {
		s, err := w.processes[process].Take(context.Background(), r)
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Violated() == nil {
			passed++
		}
	}
	return passed
}

// equal fails the test unless got is want.
func (w *world) equal(got, want int, what string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

func TestParseReadsTheTextOfRules(t *testing.T) {
	for _, text := range []string{"", "100/m", "1/h 1000000000/M", "1/m 2/h 3/d 4/M"} {
		if r, err := limit.Parse(text); err != nil || r.Text() != text {
			t.Errorf("%q: %v %v", text, r, err)
		}
	}
	for _, text := range []string{"x", "0/m", "-1/d", "1/second", "1", "1/d 2/d", "9223372036854775808/d"} {
		if r, err := limit.Parse(text); err == nil {
			t.Errorf("%q: %v", text, r)
		}
	}
}

func TestAWindowEndsWithItsTime(t *testing.T) {
	for per, times := range map[string][3]string{
		"m": {"2026-11-24 12:00:59", "2026-11-24 12:01:00", "2026-11-24 12:01:59"},
		"h": {"2026-11-24 12:59:59", "2026-11-24 13:00:00", "2026-11-24 13:59:59"},
		"d": {"2026-02-28 23:59:59", "2026-03-01 00:00:00", "2026-03-01 23:59:59"},
		"M": {"2024-01-31 23:59:59", "2024-02-01 00:00:00", "2024-02-29 23:59:59"},
	} {
		w := on(t, times[0], 2)
		r := request("key_1", "10/"+per)
		w.equal(w.take(0, 7, r)+w.take(1, 7, r), 10, per+", first window")
		w.at = at(times[1])
		w.equal(w.take(0, 7, r)+w.take(1, 7, r), 10, per+", second window")
		w.at = at(times[2])
		w.equal(w.take(0, 7, r)+w.take(1, 7, r), 0, per+", at its end")
	}
}

func TestEachLimitApplies(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 3)
	r := request("key_1", "10/m 15/h")
	w.equal(w.take(0, 4, r)+w.take(1, 4, r)+w.take(2, 4, r), 10, "a minute")
	w.at = w.at.Add(time.Minute)
	w.equal(w.take(0, 4, r)+w.take(1, 4, r)+w.take(2, 4, r), 5, "the rest of the hour")
	r.Ceilings = "12/h 3/M"
	w.at = w.at.Add(time.Hour)
	w.equal(w.take(0, 9, r), 3, "a ceiling below the limit")
	r = limit.Request{Org: "org_1", Key: "key_2", LimitID: "key_2", Allowance: "5/d"}
	other := r
	other.Key, other.LimitID = "key_3", "key_3"
	w.equal(w.take(0, 4, r)+w.take(1, 4, other), 5, "two keys of an org")
	both := limit.Request{Org: "org_2", Key: "key_4", LimitID: "key_4", Limits: "10/d", Allowance: "1000/d"}
	w.equal(w.take(0, 20, both), 10, "a request with two leases is charged once")
}

func TestASpentLimitCausesNoWrites(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	r := request("key_1", "3/m")
	w.equal(w.take(0, 4, r), 3, "requests up to the limit")
	before := w.writes
	w.equal(w.take(0, 100, r), 0, "requests after the limit")
	w.equal(w.writes, before, "writes")
}

func TestAChangedLimitCountsAtTheNextRequest(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 2)
	both := func(n int, limits string) int {
		return w.take(0, n, request("key_1", limits)) + w.take(1, n, request("key_1", limits))
	}
	passed := both(6, "1000/m")
	w.equal(passed, 12, "before") // both processes still have leased requests, which are lost
	passed += both(50, "20/m")
	w.atMost(passed, 20, "lowered")
	w.equal(both(1, "5/m"), 0, "a limit below the passed requests")
	passed += both(50, "30/m")
	w.atMost(passed, 30, "raised")
	w.equal(both(50, "40/h"), 40, "another window")
}

// atMost allows up to four lost requests, because a dropped lease loses some.
func (w *world) atMost(got, most int, what string) {
	w.t.Helper()
	if got > most || got < most-4 {
		w.t.Errorf("%s: %d, want %d or a few less", what, got, most)
	}
}

func TestALimitThatChangesDuringALeaseDropsTheLease(t *testing.T) {
	for kind, with := range map[string]func(limits string, version int64) limit.Request{
		"limits": func(limits string, _ int64) limit.Request { return request("key_1", limits) },
		"allowance": func(limits string, version int64) limit.Request {
			return limit.Request{Org: "org_1", Key: "key_1", LimitID: "key_1", Allowance: limits, AllowanceVersion: version}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := on(t, "2026-11-24 12:00:00", 1)
			passed, later := w.take(0, 8, with("1000/m", 3)), make(chan int)
			w.meanwhile = func() {
				w.meanwhile = nil
				go func() { later <- w.take(0, 20, with("20/m", 4)) }() // these requests have the new text
				synctest.Wait()
			}
			for w.meanwhile != nil {
				s, err := w.processes[0].Take(t.Context(), with("1000/m", 3))
				if err == nil && s.Violated() == nil {
					passed++
				} else if err != nil && !errors.Is(err, limit.ErrChanged) {
					t.Fatal(err)
				}
			}
			if passed += <-later; passed > 20 {
				t.Errorf("%s: %d passed", kind, passed)
			}
		})
	}
}

func TestTheKeysOfARotationSpendFromOneRow(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 2)
	w.equal(w.take(0, 8, request("key_1", "20/m")), 8, "the first key")
	got := 0
	for range 10 { // in the grace, the old and the new key in turn
		got += w.take(0, 1, request("key_1", "20/m")) + w.take(0, 1, request("key_2", "20/m")) + w.take(1, 1, request("key_2", "20/m"))
	}
	w.equal(got, 12, "both")
}

func TestAWindowNeverGoesBack(t *testing.T) {
	w := on(t, "2026-11-24 12:00:59", 2)
	r := request("key_1", "10/m")
	early := clock{at("2026-11-24 12:01:01")}
	w.processes[1].Now = early.now
	w.equal(w.take(0, 4, r), 4, "12:00")
	w.equal(w.take(1, 8, r), 8, "12:01, by an early clock")
	w.equal(w.take(0, 20, r), 2, "the rest of 12:01, by the other clock")
	early.at = at("2026-11-24 12:09:00")
	w.equal(w.take(1, 1, r), 1, "12:09")
	w.processes[0] = limit.New(w)
	w.processes[0].Now = w.now
	if _, err := w.processes[0].Take(t.Context(), r); !errors.Is(err, limit.ErrAhead) || limit.LogCode(err) != "limit_row_ahead" {
		t.Errorf("a row that is nine minutes ahead: %v", err)
	}
}

// TestALateClockTakesNoRestOfAnEarlierWindow: a process with a late clock still has leased requests of an hour that has ended. It finds
// the next hour on the row while ten requests wait.
func TestALateClockTakesNoRestOfAnEarlierWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:58:00", 2)
		early := clock{at("2026-11-24 13:00:01")}
		w.processes[1].Now = early.now
		r := request("key_1", "1000/m 200/h")
		w.equal(w.take(0, 8, r), 8, "requests of the first hour, fewer than the lease")
		w.at = at("2026-11-24 12:59:59")
		got, passed := w.take(1, 50, r), make(chan int)
		w.meanwhile = func() {
			w.meanwhile = nil
			for range 9 {
				go func() { passed <- w.take(0, 1, r) }()
			}
			synctest.Wait()
		}
		got += w.take(0, 1, r)
		for range 9 {
			got += <-passed
		}
		w.equal(got+w.take(0, 200, r)+w.take(1, 200, r), 200, "let through in the next hour")
	})
}

func TestRequestsThatWaitShareALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:00:00", 1)
		w.meanwhile = func() { time.Sleep(100 * time.Millisecond) }
		passed := make(chan bool)
		for range 50 {
			go func() {
				s, err := w.processes[0].Take(t.Context(), request("key_1", "40/h 1000/d"))
				passed <- err == nil && s.Violated() == nil
			}()
		}
		got := 0
		for range 50 {
			if <-passed {
				got++
			}
		}
		w.equal(got, 40, "let through")
		if w.writes > 5 {
			t.Errorf("%d writes", w.writes)
		}
	})
}

// TestALeavingCallerDoesNotStopTheOthers: the caller whose request makes the lease leaves, and so does the caller whose request
// writes the count.
func TestALeavingCallerDoesNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:00:00", 1)
		table := &patientRows{rows: w.rows}
		l := limit.New(table)
		l.Now = w.now
		first, leave := context.WithCancel(t.Context())
		passed := make(chan error)
		r := request("key_1", "40/h")
		go func() { _, err := l.Take(first, r); passed <- err }()
		synctest.Wait() // the first request makes the lease
		for range 9 {
			go func() { _, err := l.Take(t.Context(), r); passed <- err }()
		}
		leave()
		for range 10 {
			if err := <-passed; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		l.Tally(gone, limit.Owner{Org: "org_1", Key: "key_2"})
		if table.left != 0 || w.writes < 2 {
			t.Errorf("%d of %d writes ended with their caller", table.left, w.writes)
		}
	})
}

// patientRows is a table that needs 100 ms for a lease. left counts the callers that did not wait for it.
type patientRows struct {
	*rows
	left int
}

func (r *patientRows) Lease(ctx context.Context, l limit.Lease) (limit.Charges, bool, error) {
	select {
	case <-ctx.Done():
		r.left++
		return limit.Charges{}, false, ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return r.rows.Lease(ctx, l)
	}
}

func TestWithoutTheTableNoRequestPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:00:00", 1)
		down := errors.New("down")
		w.fail = func(limit.Lease) error { return down }
		r := request("key_1", "40/h")
		if _, err := w.processes[0].Take(t.Context(), r); !errors.Is(err, down) {
			t.Errorf("%v", err)
		}
		w.fail = nil
		w.equal(w.take(0, 1, r), 1, "afterwards")
		// The table hangs: all requests that wait get an error within the bound.
		hangs := limit.New(hanging{newRows()})
		begun := time.Now()
		failed := make(chan error)
		for range 10 {
			go func() { _, err := hangs.Take(t.Context(), r); failed <- err }()
		}
		for range 10 {
			if err := <-failed; err == nil {
				t.Error("a request was let through")
			}
		}
		if took := time.Since(begun); took != 500*time.Millisecond {
			t.Errorf("after %s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the caller has gone, but the lease is still made
		if _, err := limit.New(hanging{newRows()}).Take(ctx, r); err == nil {
			t.Error("a request was let through")
		}
	})
}

// hanging is a table that never answers a lease.
type hanging struct{ *rows }

func (hanging) Lease(ctx context.Context, _ limit.Lease) (limit.Charges, bool, error) {
	<-ctx.Done()
	return limit.Charges{}, false, ctx.Err()
}

// TestReportsAreNeverTooHigh: each request is reported at most once, on the row of its day. A failed lease loses its report only
// when the report may have been written.
func TestReportsAreNeverTooHigh(t *testing.T) {
	w := on(t, "2026-11-24 23:59:30", 1)
	r := request("key_1", "1000/m")
	of := limit.Owner{Org: "org_1", Key: "key_1"}
	yesterday, today := row{of, limit.Day, at("2026-11-24 00:00:00").Unix()}, row{of, limit.Day, at("2026-11-25 00:00:00").Unix()}
	w.take(0, 10, r)
	// failing makes requests until one lease has failed with err.
	failing := func(err error) {
		w.fail = func(limit.Lease) error { return err }
		for w.fail != nil {
			if _, err := w.processes[0].Take(t.Context(), r); err != nil {
				w.fail = nil
			}
		}
	}
	failing(fmt.Errorf("throttled: %w", limit.ErrNotCharged))
	w.at = at("2026-11-25 00:00:10")
	w.equal(w.take(0, 10, r), 10, "let through")
	passed := int(w.charges[yesterday][limit.Day].Requests)
	w.equal(int(w.requests[yesterday]), passed, "reported for yesterday, when no lease was lost and all requests were used")
	w.at = w.at.Add(time.Minute)
	w.take(0, 1, r)
	w.equal(int(w.requests[today]), 10, "reported for today")
	failing(errors.New("reset"))
	w.at = w.at.Add(time.Minute)
	w.take(0, 1, r)
	if got := w.requests[today]; got > 11 {
		t.Errorf("reported %d for today, want at most 11", got)
	}
}

func TestTheHeadersShowWhatRemains(t *testing.T) {
	w := on(t, "2026-11-24 12:00:43", 1)
	r := request("key_1", "4/m 10000/d")
	r.Ceilings, r.Allowance = "3/m", "100000/M"
	w.take(0, 2, r)
	s, err := w.processes[0].Take(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	const policy = `"minute";q=3;w=60, "day";q=10000;w=86400, "org-month";q=100000;w=2592000`
	if s.Policy() != policy || s.State() != `"minute";r=0;t=17, "day";r=9997;t=43157, "org-month";r=99997;t=561557` || s.Violated() != nil || s.RetryAfter() != 0 {
		t.Errorf("%s\n%s\n%v %s", s.Policy(), s.State(), s.Violated(), s.RetryAfter())
	}
	s, err = w.processes[0].Take(t.Context(), r)
	if err != nil || !slices.Equal(s.Violated(), []string{"minute"}) || s.RetryAfter() != 17*time.Second || s.Policy() != policy {
		t.Errorf("%v %s %v", s.Violated(), s.RetryAfter(), err)
	}
	r = limit.Request{Org: "org_2", Key: "key_2", LimitID: "key_2", Limits: "1/d", Allowance: "1/m"}
	w.take(0, 1, r)
	s, err = w.processes[0].Take(t.Context(), r)
	if err != nil || !slices.Equal(s.Violated(), []string{"day", "org-minute"}) || s.RetryAfter() != 43157*time.Second {
		t.Errorf("%v %s %v, want the longer of the two", s.Violated(), s.RetryAfter(), err)
	}
	r = limit.Request{Org: "org_3", Key: "key_3", LimitID: "key_3", Limits: "1/m 1/h 1/d"} // three limits of one row
	w.take(0, 1, r)
	s, err = w.processes[0].Take(t.Context(), r)
	if err != nil || !slices.Equal(s.Violated(), []string{"minute", "hour", "day"}) || s.RetryAfter() != 43157*time.Second {
		t.Errorf("%v %s %v, want the longest of the three", s.Violated(), s.RetryAfter(), err)
	}
	var none limit.Remaining
	if none.Policy() != "" || none.State() != "" || none.Violated() != nil {
		t.Errorf("no limit: %v", none)
	}
}

// TestOneChangeOfLimitsCostsFewLeases: requests with the old limits and requests with the new limits come at the same time,
// while each lease is slow.
func TestOneChangeOfLimitsCostsFewLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:00:00", 1)
		w.meanwhile = func() { time.Sleep(4 * time.Millisecond) }
		ended := make(chan error)
		for i := range 100 {
			go func() {
				limits := []string{"1001/m", "1000/m"}
				s, err := w.processes[0].Take(t.Context(), request("key_1", limits[i%2]))
				for errors.Is(err, limit.ErrChanged) { // the caller reads the new limits
					s, err = w.processes[0].Take(t.Context(), request("key_1", limits[1]))
				}
				if err == nil && s.Violated() != nil {
					err = errors.New("limited")
				}
				ended <- err
			}()
		}
		for range 100 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if w.writes > 30 {
			t.Errorf("%d writes", w.writes)
		}
	})
}

// TestARowChargedUnderALargerLimitIsSpent: a rotation lowers the limits. In the grace, the old key uses more requests than the new limit.
func TestARowChargedUnderALargerLimitIsSpent(t *testing.T) {
	for seed := range 100 {
		w := on(t, "2026-11-24 12:00:00", 2)
		rnd := rand.New(rand.NewPCG(26, uint64(seed)))
		used := rnd.IntN(200)
		for i := range 400 {
			if i == used {
				w.take(1, 1500, request("key_1", "5000/d"))
			}
			w.at = w.at.Add(time.Duration(rnd.ExpFloat64() * 400 * float64(time.Millisecond)))
			before := w.writes
			s, err := w.processes[0].Take(t.Context(), request("key_2", "300/m 1000/d"))
			if err != nil || w.writes > before+4 {
				t.Fatalf("seed %d: %d writes, %v", seed, w.writes-before, err)
			}
			if strings.Contains(s.State(), "r=-") {
				t.Fatalf("seed %d: %s", seed, s.State())
			}
		}
	}
}

// TestTheLaterAllowanceApplies: while an allowance is changed, some keys of the org still have the old text.
func TestTheLaterAllowanceApplies(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	with := func(k id.Key, allowance string, version int64) limit.Request {
		return limit.Request{Org: "org_1", Key: k, LimitID: k, Allowance: allowance, AllowanceVersion: version}
	}
	w.equal(w.take(0, 7, with("key_1", "1000/d", 1)), 7, "before") // and no leased request is left
	passed := 7
	for range 10 { // the two keys in turn
		passed += w.take(0, 1, with("key_2", "20/d", 2)) + w.take(0, 1, with("key_1", "1000/d", 1))
	}
	w.atMost(passed, 20, "lowered")
	w.equal(w.take(0, 1, with("key_1", "30/d", 3)), 1, "raised")
	before := w.writes
	w.equal(w.take(0, 1, with("key_2", "20/d", 2)), 1, "raised, with the earlier text")
	if w.writes > before+1 {
		t.Errorf("%d writes: the texts drop each other's leases", w.writes-before)
	}
	// The request with the later text gets no lease.
	w.fail = func(limit.Lease) error { return limit.ErrNotCharged }
	if _, err := w.processes[0].Take(t.Context(), with("key_2", "20/d", 4)); !errors.Is(err, limit.ErrNotCharged) {
		t.Error(err)
	}
	w.fail = nil
	w.equal(w.take(0, 9, with("key_1", "30/d", 3)), 0, "lowered again, with the earlier text")
}

func TestAFailedCountIsWrittenLater(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	of := limit.Owner{Org: "org_1", Key: "key_1"}
	count := func(requests int) {
		for range requests {
			w.processes[0].Tally(context.Background(), of)
		}
		w.at = w.at.Add(time.Minute)
	}
	w.fail = func(limit.Lease) error { return fmt.Errorf("throttled: %w", limit.ErrNotCharged) }
	count(3)
	w.fail = nil
	count(4)
	today := row{of, limit.Day, at("2026-11-24 00:00:00").Unix()}
	w.equal(int(w.counted[today]), 4, "the requests of the failed write, and the request that wrote")
	w.lose = func(limit.Lease) bool { return true } // the answer is lost: the count may have been written, so it must not be written again
	count(1)
	w.lose = nil
	count(1)
	w.equal(int(w.counted[today]), 9, "written once")
	for range 2 { // the second request is not written yet
		w.processes[0].Tally(context.Background(), of)
	}
	w.at = at("2026-11-25 00:01:00")
	w.fail = func(limit.Lease) error { return fmt.Errorf("throttled: %w", limit.ErrNotCharged) }
	w.processes[0].Tally(context.Background(), of)
	w.fail = nil
	w.processes[0].Tally(context.Background(), of)
	w.equal(int(w.counted[row{of, limit.Day, at("2026-11-25 00:00:00").Unix()}]), 2, "only the requests of the new day")
}

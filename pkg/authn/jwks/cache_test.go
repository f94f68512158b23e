package jwks

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errDown = errors.New("down")

// numbered returns a cache whose fetches need a second. The value is the number of the fetch. calls counts the fetches. While
// fault is set, fetches fail with errDown.
func numbered(calls *atomic.Int64, fault *atomic.Bool) *cached[int64] {
	return &cached[int64]{now: time.Now, patience: Patient, fetch: func(ctx context.Context) (int64, error) {
		n := calls.Add(1)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if fault.Load() {
			return 0, errDown
		}
		return n, nil
	}}
}

// TestConcurrentCallersShareOneFetch: 100 callers of get, then of newer, then of get during a fault of the issuer.
func TestConcurrentCallersShareOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fault atomic.Bool
		c := numbered(&calls, &fault)
		// all makes 100 calls at once and waits until they end.
		all := func(call func()) {
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(call)
			}
			wg.Wait()
		}
		all(func() {
			if v, err := c.get(t.Context()); err != nil || v.value != 1 {
				t.Errorf("got %+v %v", v, err)
			}
		})
		seen := view[int64]{value: 1, round: 1}
		all(func() {
			if v, changed, err := c.newer(t.Context(), seen); err != nil || !changed || v.value != 2 {
				t.Errorf("got %+v %t %v", v, changed, err)
			}
		})
		// A failed fetch is shared too: each caller gets the kept value.
		fault.Store(true)
		time.Sleep(fresh)
		all(func() {
			if v, err := c.get(t.Context()); err != nil || v.value != 2 {
				t.Errorf("got %+v %v", v, err)
			}
		})
		if n := calls.Load(); n != 3 {
			t.Errorf("%d fetches, want 3", n)
		}
	})
}

// TestALeavingCallerEndsNoOtherCall: the caller who began the fetch ends its call. The fetch goes on for the others.
func TestALeavingCallerEndsNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fault atomic.Bool
		c := numbered(&calls, &fault)
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.get(leaving); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			wg.Go(func() {
				if _, err := c.get(t.Context()); err != nil {
					t.Errorf("another caller got %v", err)
				}
			})
		}
		synctest.Wait()
		leave()
		wg.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
	})
}

// TestCallersWhoLeaveForceOneFetchIn10Seconds: a stranger who hangs up, or whose time is short, causes no flood of calls to the issuer.
// The forced fetch goes on, and brings the newer value to the others.
func TestCallersWhoLeaveForceOneFetchIn10Seconds(t *testing.T) {
	for name, leaves := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"they hang up": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(10*time.Millisecond, cancel)
			return ctx, cancel
		},
		"their time is short": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 10*time.Millisecond)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			var fault atomic.Bool
			c := numbered(&calls, &fault)
			if _, err := c.get(t.Context()); err != nil {
				t.Fatal(name, err)
			}
			time.Sleep(time.Minute) // so that seen comes from the cache, and a fetch may be forced
			seen, err := c.get(t.Context())
			if err != nil {
				t.Fatal(name, err)
			}
			var wg sync.WaitGroup
			for range 90 { // in less than a second, so that the fetch is running
				ctx, cancel := leaves(t.Context())
				if _, _, err := c.newer(ctx, seen); err == nil {
					t.Errorf("%s: the caller got an answer", name)
				}
				cancel()
			}
			for range 10 {
				wg.Go(func() {
					if v, changed, err := c.newer(t.Context(), seen); err != nil || !changed || v.value != 2 {
						t.Errorf("%s: another caller got %+v %t %v", name, v, changed, err)
					}
				})
			}
			wg.Wait()
			if v, err := c.get(t.Context()); err != nil || v.value != 2 {
				t.Errorf("%s: got %+v %v", name, v, err)
			}
			if n := calls.Load(); n != 2 {
				t.Errorf("%s: %d fetches, want 2", name, n)
			}
		})
	}
}

// TestDeadlineOfACallerEndsNoFetch: the callers after it get the new value, without another fetch.
func TestDeadlineOfACallerEndsNoFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fault atomic.Bool
		c := numbered(&calls, &fault)
		if _, err := c.get(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(fresh)
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := c.get(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		for range 5 { // 5 seconds
			start := time.Now()
			if v, err := c.get(t.Context()); err != nil || v.value != 2 || time.Since(start) != 0 {
				t.Errorf("got %+v %v after %v", v, err, time.Since(start))
			}
			time.Sleep(time.Second)
		}
		if n := calls.Load(); n != 2 {
			t.Errorf("%d fetches, want 2", n)
		}
	})
}

// TestAKeptValueIsUsedAfterASecondOfWaiting: the caller has time left for its other calls. A late answer is used as soon as it comes.
func TestAKeptValueIsUsedAfterASecondOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes, calls := time.Duration(0), 0
		c := &cached[int]{now: time.Now, patience: Patient, fetch: func(ctx context.Context) (int, error) {
			calls++
			n := calls
			select {
			case <-time.After(takes):
				return n, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}}
		// get calls get, and checks the value, how long it takes, and whether the issuer has answered meanwhile.
		get := func(moment string, value int, took time.Duration, asked bool) view[int] {
			t.Helper()
			start := time.Now()
			v, err := c.get(t.Context())
			if err != nil || v.value != value || v.asked != asked || time.Since(start) != took {
				t.Errorf("%s: %+v %v after %v, want %d after %v", moment, v, err, time.Since(start), value, took)
			}
			return v
		}
		takes = 2 * time.Second
		get("there is no value yet", 1, takes, true)
		time.Sleep(fresh)
		seen := get("the issuer is slow", 1, keptWait, false)
		get("a second caller", 1, 0, false)
		if v, changed, err := c.newer(t.Context(), seen); err != nil || !changed || v.value != 2 {
			t.Errorf("a token with a new key: %+v %t %v", v, changed, err)
		}
		get("the late answer is here", 2, 0, false)
		time.Sleep(fresh)
		takes = time.Hour
		get("the issuer hangs", 2, keptWait, false)
		time.Sleep(Patient.Timeout)
		get("the fetch has failed", 2, 0, false)
	})
}

// TestAFetchThatAFrozenProcessInterruptedDelaysNoCaller: the clock moves on while the timers stand still. Then a new fetch begins. The
// earlier fetch still ends: its failure does not count, and its answer does only if it is newer.
func TestAFetchThatAFrozenProcessInterruptedDelaysNoCaller(t *testing.T) {
	for name, c := range map[string]struct {
		ends  []int // the fetches in the order in which they end
		fails int   // the fetch that fails; 0: none
		want  int   // the value at the end
	}{
		"the earlier fetch fails":           {[]int{1, 2}, 1, 2},
		"the earlier fetch answers first":   {[]int{1, 2}, 0, 2},
		"the earlier fetch answers last":    {[]int{2, 1}, 0, 2},
		"only the earlier fetch answers":    {[]int{2, 1}, 2, 1},
		"the earlier fetch fails as last":   {[]int{2, 1}, 1, 2},
		"the later fetch fails as the last": {[]int{1, 2}, 2, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var frozen time.Duration
			ends, calls := map[int]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}, 0
			cache := &cached[int]{now: func() time.Time { return time.Now().Add(frozen) }, patience: Patient, fetch: func(context.Context) (int, error) {
				calls++
				n := calls
				<-ends[n]
				if n == c.fails {
					return 0, errDown
				}
				return n, nil
			}}
			leaving, leave := context.WithCancel(t.Context())
			leave()
			_, _ = cache.get(leaving)
			synctest.Wait()
			frozen = 20 * time.Second
			_, _ = cache.get(leaving)
			synctest.Wait()
			for _, n := range c.ends {
				close(ends[n])
				synctest.Wait()
			}
			if v, err := cache.get(t.Context()); err != nil || v.value != c.want || calls != 2 {
				t.Errorf("%s: %+v %v, %d fetches", name, v, err, calls)
			}
		})
	}
}

// TestAFetchThatEndsLateIsStillTheOnlyOne: goroutines and timers need some time, so a fetch ends a little later than its timeout.
func TestAFetchThatEndsLateIsStillTheOnlyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := &cached[int]{now: time.Now, patience: Patient, fetch: func(context.Context) (int, error) {
			calls++
			time.Sleep(Patient.Timeout + 2*time.Millisecond)
			return 0, errDown
		}}
		var wg sync.WaitGroup
		for _, at := range []time.Duration{0, Patient.Timeout + time.Millisecond, Patient.Timeout + 3*time.Millisecond} {
			wg.Go(func() {
				time.Sleep(at)
				if _, err := c.get(t.Context()); !errors.Is(err, errDown) {
					t.Errorf("after %s: %v", at, err)
				}
			})
		}
		if wg.Wait(); calls != 1 {
			t.Errorf("%d fetches, want 1", calls)
		}
	})
}

// TestTheFailureOfAFrozenFetchDoesNotCount: its connection was lost while the process was frozen, and the issuer is not down.
func TestTheFailureOfAFrozenFetchDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var frozen time.Duration
		lost, calls := make(chan struct{}), 0
		c := &cached[int]{now: func() time.Time { return time.Now().Add(frozen) }, patience: Patient, fetch: func(context.Context) (int, error) {
			if calls++; calls == 1 {
				<-lost
				return 0, errDown
			}
			return calls, nil
		}}
		leaving, leave := context.WithCancel(t.Context())
		leave()
		_, _ = c.get(leaving)
		synctest.Wait()
		frozen = 20 * time.Second
		close(lost)
		synctest.Wait()
		if v, err := c.get(t.Context()); err != nil || v.value != 2 {
			t.Errorf("%+v %v, want the answer of a second fetch", v, err)
		}
	})
}

func TestWaitingCallerLeavesAtItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fault atomic.Bool
		c := numbered(&calls, &fault)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.get(t.Context()) })
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := c.get(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("the caller waited %v", took)
		}
		wg.Wait()
	})
}

// TestPanicInAFetchIsItsFailure: it ends neither the process nor the wait of a caller.
func TestPanicInAFetchIsItsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cached[int]{now: time.Now, patience: Patient, fetch: func(context.Context) (int, error) { panic("broken") }}
		if _, err := c.get(t.Context()); err == nil || !strings.Contains(err.Error(), "panic at cache_test.go:") || strings.Contains(err.Error(), "broken") {
			t.Errorf("got %v", err)
		}
		c.fetch = func(context.Context) (int, error) { return 7, nil }
		time.Sleep(Patient.Pause)
		if v, err := c.get(t.Context()); err != nil || v.value != 7 {
			t.Errorf("got %+v %v", v, err)
		}
	})
}

// TestAFailureWithoutAValueIsTriedAgainAfterASecond: a second is the Retry-After of our 503.
func TestAFailureWithoutAValueIsTriedAgainAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fault atomic.Bool
		fault.Store(true)
		c := numbered(&calls, &fault)
		for range 5 {
			if _, err := c.get(t.Context()); !errors.Is(err, errDown) {
				t.Errorf("got %v", err)
			}
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
		fault.Store(false)
		time.Sleep(Patient.Pause)
		if v, err := c.get(t.Context()); err != nil || v.value != 2 {
			t.Errorf("got %+v %v", v, err)
		}
	})
}

// TestClockSetBackMakesNothingYounger: a value from the future is not fresh, so it is fetched again.
func TestClockSetBackMakesNothingYounger(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	calls := 0
	c := &cached[int]{now: func() time.Time { return at }, patience: Patient, fetch: func(context.Context) (int, error) { calls++; return calls, nil }}
	for want := 1; want <= 2; want++ {
		if v, err := c.get(t.Context()); err != nil || v.value != want {
			t.Errorf("got %+v %v, want %d", v, err, want)
		}
		at = at.Add(-time.Hour)
	}
}

// TestACacheUsesTheWallClock: the monotonic clock stops while a Lambda function is frozen.
func TestACacheUsesTheWallClock(t *testing.T) {
	c := &cached[int]{now: time.Now}
	if at := c.clock().String(); strings.Contains(at, "m=") {
		t.Error(at)
	}
}

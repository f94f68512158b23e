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

// TestALeavingCallerEndsNoOtherCall: the caller who fetches for all ends its call. Then another caller fetches.
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
		if n := calls.Load(); n != 2 {
			t.Errorf("%d fetches, want 2", n)
		}
	})
}

// TestAForcedFetchOfALeavingCallerDoesNotCount: the caller of a forced fetch ends its call, so another caller may force a fetch
// at once.
func TestAForcedFetchOfALeavingCallerDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fault atomic.Bool
		c := numbered(&calls, &fault)
		if _, err := c.get(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // so that seen comes from the cache, and a fetch may be forced
		seen, err := c.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := c.newer(leaving, seen); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			wg.Go(func() {
				if v, changed, err := c.newer(t.Context(), seen); err != nil || !changed || v.value != 3 {
					t.Errorf("another caller got %+v %t %v", v, changed, err)
				}
			})
		}
		synctest.Wait()
		leave()
		wg.Wait()
		if n := calls.Load(); n != 3 {
			t.Errorf("%d fetches, want 3", n)
		}
	})
}

// TestDeadlineOfACallerIsAFailureOfTheIssuer: when a fetch ends because of its caller's deadline, it has failed. For the next ten
// seconds the kept value is used at once.
func TestDeadlineOfACallerIsAFailureOfTheIssuer(t *testing.T) {
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
		for range 5 { // 5 seconds
			start := time.Now()
			if v, err := c.get(t.Context()); err != nil || v.value != 1 || time.Since(start) != 0 {
				t.Errorf("got %+v %v after %v", v, err, time.Since(start))
			}
			time.Sleep(time.Second)
		}
		if n := calls.Load(); n != 2 {
			t.Errorf("%d fetches, want 2", n)
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

func TestPanicInAFetchLeavesNoCallerWaiting(t *testing.T) {
	c := &cached[int]{now: time.Now, patience: Patient, fetch: func(context.Context) (int, error) { panic("broken") }}
	func() {
		defer func() { _ = recover() }()
		_, _ = c.get(t.Context())
	}()
	c.fetch = func(context.Context) (int, error) { return 7, nil }
	if v, err := c.get(t.Context()); err != nil || v.value != 7 {
		t.Errorf("got %+v %v", v, err)
	}
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

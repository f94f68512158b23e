package callback_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/callback"
)

var errOfIt = errors.New("of the call")

// TestACallEndsWithItsResultOrItsTime: Run returns the result of the call, or an error after one second.
func TestACallEndsWithItsResultOrItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		call  func() (string, error)
		value string
		words string        // the end of the error; "": there is none
		takes time.Duration // how long Run needs
	}{
		"a value":  {func() (string, error) { return "org", nil }, "org", "", 0},
		"an error": {func() (string, error) { return "org", errOfIt }, "org", errOfIt.Error(), 0},
		"a panic":  {func() (string, error) { panic("secret") }, "", " with a value of type string", 0},
		"Goexit":   {func() (string, error) { runtime.Goexit(); return "org", nil }, "", "it ended its goroutine", 0},
		"in time":  {func() (string, error) { time.Sleep(time.Second - 1); return "org", nil }, "org", "", time.Second - 1},
		"too late": {func() (string, error) { time.Sleep(time.Second + 1); return "org", nil }, "", "context deadline exceeded", time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := callback.New(1)
			for range 2 { // the second call needs the place of the first
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				begun, errWait := time.Now(), calls.Wait(ctx)
				value, err := callback.Run(ctx, calls, c.call)
				hasWords := err == nil && c.words == "" || err != nil && c.words != "" && strings.HasSuffix(err.Error(), c.words)
				if took := time.Since(begun); errWait != nil || value != c.value || !hasWords || took != c.takes {
					t.Errorf("%s: %q, %v, %v after %s", name, value, errWait, err, took)
				}
				cancel()
				time.Sleep(time.Minute)
			}
		})
	}
}

func TestACallKeepsItsPlaceUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := callback.New(2)
		wait := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return calls.Wait(ctx)
		}
		hangs := make(chan struct{})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := calls.Wait(ctx); err != nil {
				t.Error(err)
			}
			if _, err := callback.Run(ctx, calls, func() (int, error) { <-hangs; return 0, nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if err := wait(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third place: %v", err)
		}
		close(hangs)
		synctest.Wait()
		for range 2 {
			if err := wait(); err != nil {
				t.Errorf("after both calls have returned: %v", err)
			}
		}
		calls.Leave()
		if err := wait(); err != nil {
			t.Errorf("after a place was given back: %v", err)
		}
	})
}

func TestAnAnswerWaits400msAtMostForAReport(t *testing.T) {
	const within = 400 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		calls := callback.New(2)
		for _, c := range []struct {
			name   string
			report func()
			words  string // the end of the error; "": there is none
			takes  time.Duration
			failed uint64 // failures so far
		}{
			{"at once", func() {}, "", 0, 0},
			{"in time", func() { time.Sleep(within - 1) }, "", within - 1, 0},
			{"a panic", func() { panic("secret") }, " with a value of type string", 0, 1},
			{"Goexit", runtime.Goexit, "it ended its goroutine", 0, 2},
			{"an hour", func() { time.Sleep(time.Hour) }, "it did not return in time", within, 3},
			{"another", func() { time.Sleep(time.Hour) }, "it did not return in time", within, 4},
			{"a third", func() { t.Error("it was called") }, "too many calls of it run already", 0, 5},
		} {
			begun, err := time.Now(), calls.Report(c.report)
			hasWords := err == nil && c.words == "" || err != nil && c.words != "" && strings.HasSuffix(err.Error(), c.words)
			if took := time.Since(begun); !hasWords || took != c.takes || calls.Failed() != c.failed {
				t.Errorf("%s: %v after %s, %d failed", c.name, err, took, calls.Failed())
			}
		}
		time.Sleep(2 * time.Hour)
		if err := calls.Report(func() {}); err != nil {
			t.Errorf("after all reports have returned: %v", err)
		}
	})
}

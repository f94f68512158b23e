package lab_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"latchkey/infra/harness/lab"
)

func TestARestartContinuesTheStream(t *testing.T) {
	t.Parallel()
	o := lab.Options{Template: feed, Dir: t.TempDir()}
	first, err := lab.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, first, "EVTS#1", "restart-1")
	until(t, "the first record", func() bool { _, done := received(t, first, "StreamFunction", "restart-"); return len(done) == 1 })
	// The close during a call does not lose the record: it comes again.
	put(t, first, "EVTS#1", "restart-2=slow")
	until(t, "the slow call", func() bool { came, _ := received(t, first, "StreamFunction", "restart-2"); return len(came) == 1 })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, o)
	put(t, second, "EVTS#1", "restart-3")
	until(t, "the last record", func() bool { _, done := received(t, second, "StreamFunction", "restart-3"); return len(done) == 1 })
	// Both runs write the same log.
	if _, done := received(t, second, "StreamFunction", "restart-"); !slices.Equal(done, []string{"restart-1", "restart-2", "restart-3"}) {
		t.Errorf("done: %v", done)
	}
}

// TestCallsOfAScheduleNeverOverlap has minutes of 400 ms, and calls of 50 ms or more. A call prints a line with its process id
// at its start, and a line without one at its end.
func TestCallsOfAScheduleNeverOverlap(t *testing.T) {
	t.Parallel()
	const minute = 400 * time.Millisecond
	s := start(t, lab.Options{Template: feed, Minute: minute})
	seen := func() []call { return calls(t, s, "TickFunction") }
	begun, before := time.Now(), len(seen())
	time.Sleep(1700 * time.Millisecond) // four short minutes; on a busy machine two calls are enough
	n := (len(seen()) - before) / 2
	if most := int(time.Since(begun)/minute) + 1; n < 2 || n > most {
		t.Errorf("%d calls in %s, with an interval of %s", n, time.Since(begun), minute)
	}
	var requests sync.WaitGroup
	for range 12 {
		requests.Go(func() {
			if err := s.RunSchedule(t.Context(), "TickFunction"); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
	if n := len(seen()); n < 2*12 {
		t.Errorf("%d lines, want 24 or more for 12 calls", n)
	}
	// Overlapping calls would mix their lines.
	for i, c := range seen() {
		if begin := i%2 == 0; begin != (c.PID != 0) || !c.Schedule {
			t.Fatalf("line %d: %+v", i, c)
		}
	}
}

func TestCloseEndsEveryProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := lab.Start(t.Context(), lab.Options{Template: feed, Dir: dir, InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	send(t, s, "left", "slow")
	put(t, s, "EVTS#1", "left=slow")
	until(t, "both calls", func() bool {
		a, _ := received(t, s, "QueueFunction", "left")
		b, _ := received(t, s, "StreamFunction", "left")
		return len(a) > 0 && len(b) > 0
	})
	if err := s.KMS.Pause(); err != nil {
		t.Fatal(err)
	}
	pids := children(t)
	if len(pids) < 6 { // database, KMS, queues, issuer, two copies or more
		t.Errorf("children %v: too few for this test", pids)
	}
	begun := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("Close took %s", took)
	}
	until(t, fmt.Sprintf("the end of %v", pids), func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
	for _, endpoint := range []string{s.DataPlane.DynamoDB, s.DataPlane.KMS, s.DataPlane.SQS, s.URL, s.Control} {
		if c, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://")); err == nil {
			_ = c.Close()
			t.Errorf("%s accepts connections after Close", endpoint)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !os.IsNotExist(err) {
		t.Errorf("the folder has rows, although the tables were in memory: %v", err)
	}
}

// children returns the ids of the processes that this process has started, for any stack.
func children(t *testing.T) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	if len(stats) == 0 {
		t.Skip("this system has no /proc")
	}
	var out []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		var pid, parent int
		var state string
		_, after, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(after, &state, &parent); err != nil {
			t.Fatal(err)
		}
		if parent == os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

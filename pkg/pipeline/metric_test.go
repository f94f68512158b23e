package pipeline_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/metric"
)

// logged is a log that several goroutines may write.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// values returns the logged values of a metric.
func (l *logged) values(m metric.Metric) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, found := range regexp.MustCompile(fmt.Sprintf(`"%s":(\d+),`, m.Name)).FindAllStringSubmatch(l.out.String(), -1) {
		out = append(out, found[1])
	}
	return out
}

// TestThePipelineLogsItsMetrics makes a delivery fail, wait and arrive, with a KMS that is
// down for a while. It does not run in parallel, because the log belongs to the program.
func TestThePipelineLogsItsMetrics(t *testing.T) {
	s := newStack(t)
	log := &logged{}
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(log, nil)))
	defer slog.SetDefault(was)
	wants := func(when string, m metric.Metric, want ...string) {
		t.Helper()
		if got := log.values(m); !slices.Equal(got, want) {
			t.Errorf("%s: %s %v, want %v", when, m.Name, got, want)
		}
	}
	r := s.receiver(t, status(http.StatusServiceUnavailable))
	r.newEvent()
	s.signer.away.Store(true)
	s.fanOutAll(t)
	s.attemptAll(t)
	wants("KMS is away", metric.SignFailures, "1")
	s.signer.away.Store(false)
	s.pass(20 * time.Second)
	s.attemptAll(t)
	s.pass(2 * time.Minute)
	s.attemptAll(t)
	wants("it failed twice", metric.AttemptsFailed, "2")
	r.setAnswer(nil)
	s.pass(time.Hour)
	s.sweepOnce(t)
	s.attemptAll(t)
	r.newEvent()
	s.fanOutAll(t)
	s.pass(2 * time.Minute)
	s.attemptAll(t)
	wants("two arrived", metric.AttemptsDelivered, "2")
	ages := log.values(metric.OldestDue) // of the one sweep so far
	s.sweepOnce(t)
	over1000Seconds := len(ages) == 1 && len(ages[0]) == 4 // at least 1,000 seconds
	if got := log.values(metric.OldestDue); !over1000Seconds || len(got) != 2 || got[1] != "0" {
		t.Errorf("the oldest row was due for %v seconds, want 1000 to 9999 and then 0", got)
	}
}

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

// logged keeps a log that several goroutines write.
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

// TestThePipelineCountsWhatItDoes makes a delivery fail, wait and arrive, with a KMS that is
// down for a while. It does not run in parallel, because the log belongs to the program.
func TestThePipelineCountsWhatItDoes(t *testing.T) {
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
	r.event()
	s.signer.away.Store(true)
	s.stream(t)
	s.pump(t)
	wants("KMS is away", metric.SignFailures, "1")
	s.signer.away.Store(false)
	s.pass(20 * time.Second)
	s.pump(t)
	s.pass(2 * time.Minute)
	s.pump(t)
	wants("it failed twice", metric.AttemptsFailed, "2")
	r.answers(nil)
	s.pass(time.Hour)
	s.sweeps(t)
	s.pump(t)
	r.event()
	s.stream(t)
	s.pass(2 * time.Minute)
	s.pump(t)
	wants("two arrived", metric.AttemptsDelivered, "2")
	ages := log.values(metric.OldestDue) // of the one sweep so far
	s.sweeps(t)
	mostOfAnHour := len(ages) == 1 && len(ages[0]) == 4 // at least 1,000 seconds
	if got := log.values(metric.OldestDue); !mostOfAnHour || len(got) != 2 || got[1] != "0" {
		t.Errorf("the oldest was due for %v seconds, want most of an hour and then none", got)
	}
}

// Package metric puts numbers into log lines, of which CloudWatch makes metrics
// (CloudWatch user guide, "Embedded metric format"). No call is made for it, and a line
// that is written anyway costs a few bytes more.
//
// The dimension service is the name of the stack, which env.Logger puts into each line.
// Ids are members of a line, never dimensions: each value of a dimension is a series,
// and is paid for.
package metric

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Namespace is where CloudWatch shows the metrics.
const Namespace = "Latchkey"

// Unit is one of CloudWatch's.
type Unit string

// The units.
const (
	Count   Unit = "Count"
	Seconds Unit = "Seconds"
)

// Metric is the name of a series, or of one for each value of a dimension beside
// service.
type Metric struct {
	Name      string
	Unit      Unit
	Dimension string // "": service alone
}

// The metrics. The template's alarms and dashboard, and the runbook, know them.
var (
	ColdStarts          = Metric{"ColdStarts", Count, ""}
	CredentialsAccepted = Metric{"CredentialsAccepted", Count, ""}
	CredentialsRefused  = Metric{"CredentialsRefused", Count, "code"}
	AttemptsDelivered   = Metric{"AttemptsDelivered", Count, ""}
	AttemptsFailed      = Metric{"AttemptsFailed", Count, ""}
	SignFailures        = Metric{"SignFailures", Count, ""}
	OldestDue           = Metric{"OldestDue", Seconds, ""}
)

// All gives every metric.
func All() []Metric {
	return []Metric{ColdStarts, CredentialsAccepted, CredentialsRefused, AttemptsDelivered, AttemptsFailed, SignFailures, OldestDue}
}

type directive struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []series
}

type series struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []name
}

type name struct {
	Name string
	Unit Unit
}

// With gives the members of a log line that make it count value for the metric. The
// line has the metric's dimension as a member of that name.
func (m Metric) With(value int64) []any {
	dimensions := []string{"service"}
	if m.Dimension != "" {
		dimensions = append(dimensions, m.Dimension)
	}
	return []any{
		m.Name, value,
		"_aws", directive{time.Now().UnixMilli(), []series{{Namespace, [][]string{dimensions}, []name{{m.Name, m.Unit}}}}},
	}
}

// each is for how long a Counter adds up.
const each = time.Minute

// Started counts the start of a process.
func Started() { slog.Info("started", ColdStarts.With(1)...) }

// Counter adds up what occurs too often for a line each, and writes one a minute, with
// the first Add after it. What a process has not written when it ends is lost. The zero
// value counts.
type Counter struct {
	mu    sync.Mutex
	sum   int64
	since time.Time // of the first that sum holds
}

// Add counts one, for a metric that is the same at each call.
func (c *Counter) Add(ctx context.Context, m Metric, now time.Time) {
	if sum := c.add(now.Round(0)); sum > 0 {
		slog.InfoContext(ctx, "counted", m.With(sum)...)
	}
}

// add gives what is to be written, 0: nothing. It goes by the wall time: the monotonic
// clock stops while Lambda keeps the process frozen.
func (c *Counter) add(now time.Time) (due int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sum == 0 {
		c.since = now
	}
	c.sum++
	if age := now.Sub(c.since); age >= 0 && age < each {
		return 0
	}
	due, c.sum = c.sum, 0
	return due
}

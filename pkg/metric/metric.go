// Package metric puts numbers into log lines, from which CloudWatch makes metrics (CloudWatch
// user guide, "Embedded metric format"). It makes no call: a line that is written anyway
// grows by a few bytes.
//
// The dimension service is the name of the stack, which boot.Logger puts into each line. Ids
// are members of a line, never dimensions: each value of a dimension is a series, and costs
// money.
package metric

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// Namespace is the name under which CloudWatch shows the metrics.
const Namespace = "Latchkey"

// Unit is a unit of CloudWatch.
type Unit string

// The units.
const (
	Count   Unit = "Count"
	Seconds Unit = "Seconds"
)

// Metric is the name of a series, or of one series for each value of a dimension besides
// service.
type Metric struct {
	Name      string
	Unit      Unit
	Dimension string // "": only service
}

// The metrics. The template's alarms and dashboard use them, and so does the runbook.
var (
	ColdStarts          = Metric{"ColdStarts", Count, ""}
	CredentialsAccepted = Metric{"CredentialsAccepted", Count, ""}
	CredentialsRefused  = Metric{"CredentialsRefused", Count, "code"}
	UnknownKeys         = Metric{"UnknownKeys", Count, ""}
	AttemptsDelivered   = Metric{"AttemptsDelivered", Count, ""}
	AttemptsFailed      = Metric{"AttemptsFailed", Count, ""}
	SignFailures        = Metric{"SignFailures", Count, ""}
	OldestDue           = Metric{"OldestDue", Seconds, ""}
	StraysDue           = Metric{"StraysDue", Count, ""}
)

// All returns every metric.
func All() []Metric {
	return []Metric{
		ColdStarts, CredentialsAccepted, CredentialsRefused, UnknownKeys, AttemptsDelivered, AttemptsFailed, SignFailures, OldestDue, StraysDue,
	}
}

// directive is the member by which CloudWatch makes a metric of a line. It writes itself: to find out
// how to write a struct costs encoding/json a twelfth of a cold start.
type directive struct {
	at         int64 // milliseconds
	metric     Metric
	dimensions string // JSON strings, with commas between them
}

// MarshalJSON writes the directive. Names and units are constants that need no escapes.
func (d directive) MarshalJSON() ([]byte, error) {
	text := strconv.AppendInt([]byte(`{"Timestamp":`), d.at, 10)
	return append(text, `,"CloudWatchMetrics":[{"Namespace":"`+Namespace+`","Dimensions":[[`+d.dimensions+
		`]],"Metrics":[{"Name":"`+d.metric.Name+`","Unit":"`+string(d.metric.Unit)+`"}]}]}`...), nil
}

// With returns the members of a log line by which the line counts value for the metric. The
// line must also have a member for the metric's dimension.
func (m Metric) With(value int64) []any {
	dimensions := `"service"`
	if m.Dimension != "" {
		dimensions += `,"` + m.Dimension + `"`
	}
	return []any{m.Name, value, "_aws", directive{time.Now().UnixMilli(), m, dimensions}}
}

// each is how long a Counter adds up.
const each = time.Minute

// Started counts the start of a process.
func Started() { slog.Info("started", ColdStarts.With(1)...) }

// Counter adds up an event that occurs too often for a line each. It writes one line a
// minute, at the first Add after it. A count that is not written when the process ends is
// lost. The zero value is ready to use.
type Counter struct {
	mu    sync.Mutex
	sum   int64
	since time.Time // the time of the first Add in sum
}

// Add counts one. m must be the same in each call.
func (c *Counter) Add(ctx context.Context, m Metric, now time.Time) {
	if sum := c.add(now.Round(0)); sum > 0 {
		slog.InfoContext(ctx, "counted", m.With(sum)...)
	}
}

// add returns the sum that is to be written now, or 0. It uses the wall time: the monotonic
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

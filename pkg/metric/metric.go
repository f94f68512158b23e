// Package metric puts numbers into log lines. CloudWatch makes metrics from these lines (CloudWatch
// user guide, "Embedded metric format"). The package makes no call: it only adds a few bytes to a
// line.
//
// The dimension service is the name of the stack, which boot.Logger adds to each line. Ids
// are members of a line, never dimensions: CloudWatch makes a series for each value of a dimension,
// and each series costs money.
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

// Metric describes one series or, with a Dimension, one series for each of its values.
type Metric struct {
	Name      string
	Unit      Unit
	Dimension string // the dimension besides service; "": none
}

// The metrics. The template's alarms and dashboard use them. infra/docs/runbook.md describes each.
var (
	ColdStarts          = Metric{"ColdStarts", Count, ""}
	CredentialsAccepted = Metric{"CredentialsAccepted", Count, ""}
	CredentialsRefused  = Metric{"CredentialsRefused", Count, "code"}
	RequestsLimited     = Metric{"RequestsLimited", Count, ""}     // requests over the limits of their API key
	LeasesFailed        = Metric{"LeasesFailed", Count, ""}        // requests that were neither let through nor limited
	ChecksFailed        = Metric{"ChecksFailed", Count, ""}        // checks of the function URL that got 503, except for a reason of the caller
	UnknownKeys         = Metric{"UnknownKeys", Count, ""}         // access tokens that may have a new key of the issuer, or whose user gets 429 from userinfo
	ServiceIssuerFaults = Metric{"ServiceIssuerFaults", Count, ""} // access tokens of an issuer that only services have, when it cannot be called
	SharedUnknownKeys   = Metric{"SharedUnknownKeys", Count, ""}   // both of these at a shared authorizer
	AttemptsDelivered   = Metric{"AttemptsDelivered", Count, ""}
	AttemptsFailed      = Metric{"AttemptsFailed", Count, ""}
	SignFailures        = Metric{"SignFailures", Count, ""}
	OldestDue           = Metric{"OldestDue", Seconds, ""} // how long the oldest row has been due
	StraysDue           = Metric{"StraysDue", Count, ""}   // rows in a wrong partition of the index of due rows: no code of ours writes them
)

// All returns every metric.
func All() []Metric {
	return []Metric{
		ColdStarts, CredentialsAccepted, CredentialsRefused, RequestsLimited, LeasesFailed, ChecksFailed, UnknownKeys, ServiceIssuerFaults, SharedUnknownKeys,
		AttemptsDelivered, AttemptsFailed, SignFailures, OldestDue, StraysDue,
	}
}

// directive is the member _aws of a line: CloudWatch makes a metric from a line with it. It has its own MarshalJSON, because
// the reflection of encoding/json would need a twelfth of a cold start.
type directive struct {
	at         int64 // milliseconds since the epoch
	metric     Metric
	dimensions string // JSON strings, with commas between them
}

// MarshalJSON writes the directive. Names and units are constants that need no escapes.
func (d directive) MarshalJSON() ([]byte, error) {
	text := strconv.AppendInt([]byte(`{"Timestamp":`), d.at, 10)
	return append(text, `,"CloudWatchMetrics":[{"Namespace":"`+Namespace+`","Dimensions":[[`+d.dimensions+
		`]],"Metrics":[{"Name":"`+d.metric.Name+`","Unit":"`+string(d.metric.Unit)+`"}]}]}`...), nil
}

// With returns the members of a log line that add value to the metric. The line must also have a
// member for the metric's dimension.
func (m Metric) With(value int64) []any {
	dimensions := `"service"`
	if m.Dimension != "" {
		dimensions += `,"` + m.Dimension + `"`
	}
	return []any{m.Name, value, "_aws", directive{time.Now().UnixMilli(), m, dimensions}}
}

// countFor is how long a Counter counts before it writes a line.
const countFor = time.Minute

// Started counts the start of a process.
func Started() { slog.Info("started", ColdStarts.With(1)...) }

// Counter counts events that are too frequent for a line each. It writes at most one line a minute, at the
// first Add after the minute. A count that is not written when the process ends is lost. The zero value is ready
// to use.
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

// add counts one. It returns the sum if Add must write a line now, else 0. now must be without the monotonic clock,
// because that clock stops while Lambda freezes the process.
func (c *Counter) add(now time.Time) (due int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sum == 0 {
		c.since = now
	}
	c.sum++
	age := now.Sub(c.since) // negative if the clock was set back; then Add writes a line at once
	if age >= 0 && age < countFor {
		return 0
	}
	due, c.sum = c.sum, 0
	return due
}

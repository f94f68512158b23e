package translated

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventSource is a mapping from a table's stream or a queue to a function.
type EventSource struct {
	Name     string // logical id of the mapping
	Function string
	ARN      string // of the stream or queue, as in the function's events
	enabled  bool

	Table string // the table of the stream; "": the source is a queue
	Queue string // URL of the queue; "": the source is a stream

	BatchSize   int
	Partial     bool          // the function reports the failed records (ReportBatchItemFailures)
	Concurrency int           // batches of a queue at once
	Visibility  time.Duration // how long a queue hides a message that was received

	Filters   []string // JSON patterns for records of a stream: a record must match one of them; empty: every record is passed
	Retries   int      // of a failed batch of a stream; -1: without end
	Bisect    bool     // split a failed batch of a stream
	OnFailure string   // URL of the queue for messages about records that were given up; "": none
}

// Lambda's defaults and limits.
const (
	streamBatch      = 100 // the default
	maxStreamBatch   = 10000
	maxRetries       = 10000
	queueBatch       = 10 // the default, and the most messages of one receive
	queueConcurrency = 5  // Lambda's concurrency at the beginning
	maxConcurrency   = 1000
)

// EventSources returns the enabled event source mappings of the template. A setting that the local
// stack does not support is an error.
func (t *Template) EventSources() ([]EventSource, error) {
	all, err := readEach("event source mapping", t.Named("AWS::Lambda::EventSourceMapping"), t.eventSource)
	return slices.DeleteFunc(all, func(s EventSource) bool { return !s.enabled }), err
}

func (t *Template) eventSource(name string) (EventSource, error) {
	// Tags and MetricsConfig change nothing on one machine.
	p := properties{all: t.Resources[name].Properties, used: map[string]bool{"Tags": true, "MetricsConfig": true}}
	s := EventSource{Name: name, ARN: scalar(p.get("EventSourceArn")), Function: functionName(p.get("FunctionName"))}
	if t.Resources[s.Function].Type != "AWS::Lambda::Function" {
		p.refuse("there is no function %s", s.Function)
	}
	for _, v := range List(p.get("FunctionResponseTypes")) {
		if v != "ReportBatchItemFailures" {
			p.refuse("FunctionResponseTypes %v", v)
		}
		s.Partial = true
	}
	switch {
	case strings.HasPrefix(s.ARN, "arn:aws:dynamodb:"):
		t.streamSource(&s, &p)
	case strings.HasPrefix(s.ARN, "arn:aws:sqs:"):
		t.queueSource(&s, &p)
	default:
		p.refuse("the local stack feeds functions from tables and queues only, not from %s", s.ARN)
	}
	s.enabled = p.boolean("Enabled", true)
	return s, p.close()
}

func (t *Template) streamSource(s *EventSource, p *properties) {
	s.Table = tableOf(s.ARN)
	if table, inTemplate := t.Tables()[s.Table]; inTemplate && Object(table["StreamSpecification"])["StreamViewType"] == nil {
		p.refuse("table %s has no StreamViewType, so it has no stream", s.Table)
	}
	if s.Table == "" {
		p.refuse("%s is not the stream of a table", s.ARN)
	}
	s.BatchSize = p.number("BatchSize", streamBatch, 1, maxStreamBatch)
	s.Retries = p.number("MaximumRetryAttempts", -1, -1, maxRetries)
	s.Bisect = p.boolean("BisectBatchOnFunctionError", false)
	if from := p.get("StartingPosition"); from != "TRIM_HORIZON" {
		p.refuse("StartingPosition %v: the local stack knows only TRIM_HORIZON", from)
	}
	for _, f := range List(p.object("FilterCriteria", "Filters")["Filters"]) {
		s.Filters = append(s.Filters, scalar(Object(f)["Pattern"]))
	}
	failure := Object(p.object("DestinationConfig", "OnFailure")["OnFailure"])
	if arn := scalar(failure["Destination"]); failure != nil {
		if s.OnFailure = t.queueByARN(arn).URL; s.OnFailure == "" {
			p.refuse("DestinationConfig: %s is not a queue of the template", arn)
		}
	}
}

func (t *Template) queueSource(s *EventSource, p *properties) {
	if s.Queue = t.queueByARN(s.ARN).URL; s.Queue == "" {
		p.refuse("%s is not a queue of the template", s.ARN)
	}
	t.checkVisibility(s, p)
	// A batch larger than one receive needs a batching window, which the local stack does not have.
	s.BatchSize = p.number("BatchSize", queueBatch, 1, queueBatch)
	s.Concurrency = queueConcurrency
	if scaling := p.object("ScalingConfig", "MaximumConcurrency"); scaling["MaximumConcurrency"] != nil {
		inner := properties{all: scaling, used: map[string]bool{}}
		s.Concurrency = inner.number("MaximumConcurrency", 0, 2, maxConcurrency)
		p.errors = append(p.errors, inner.errors...)
	}
}

// checkVisibility refuses, as AWS does, a queue whose messages become visible again while the
// function may still run.
func (t *Template) checkVisibility(s *EventSource, p *properties) {
	visibility := 30 // seconds, SQS's default
	if v, ok := t.queueByARN(s.ARN).Attributes["VisibilityTimeout"]; ok {
		visibility, _ = strconv.Atoi(v)
	}
	s.Visibility = time.Duration(visibility) * time.Second
	if f, err := t.function(s.Function); err == nil && s.Visibility < f.Timeout {
		p.refuse("the queue's VisibilityTimeout, %d s, is less than the function's Timeout, %s", visibility, f.Timeout)
	}
}

// tableName returns the name of the table with a logical id.
func (t *Template) tableName(id string) string { return cmp.Or(t.options.Physical[id], id) }

// tableOf returns the name of the table in the ARN of a stream. The table may be outside the template. For another ARN tableOf
// returns "".
func tableOf(streamARN string) string {
	_, table, _ := strings.Cut(streamARN, ":table/")
	table, _, isStream := strings.Cut(table, "/stream/")
	if !isStream {
		return ""
	}
	return table
}

func (t *Template) queueByARN(arn string) Queue {
	queues, _ := t.Queues() // the error is reported when the queues are created
	i := slices.IndexFunc(queues, func(q Queue) bool { return q.ARN == arn })
	if i < 0 {
		return Queue{}
	}
	return queues[i]
}

// properties reads the properties of a resource, and records the names of those that were read.
type properties struct {
	all    map[string]any
	used   map[string]bool
	errors []error
}

func (p *properties) refuse(format string, args ...any) {
	p.errors = append(p.errors, fmt.Errorf(format, args...))
}

func (p *properties) get(name string) any {
	p.used[name] = true
	return p.all[name]
}

// number returns a property that is a number in a range, or byDefault without the property.
func (p *properties) number(name string, byDefault, least, most int) int {
	v := p.get(name)
	if v == nil {
		return byDefault
	}
	n, err := strconv.Atoi(scalar(v))
	if err != nil || n < least || n > most {
		p.refuse("%s is %v; the local stack accepts %d to %d", name, v, least, most)
	}
	return n
}

func (p *properties) boolean(name string, byDefault bool) bool {
	v := p.get(name)
	if v == nil {
		return byDefault
	}
	b, err := strconv.ParseBool(scalar(v))
	if err != nil {
		p.refuse("%s is %v", name, v)
	}
	return b
}

// object returns a property that is an object. Any other member of it is refused.
func (p *properties) object(name, member string) map[string]any {
	v := Object(p.get(name))
	for k := range v {
		if k != member {
			p.refuse("%s: the local stack does not know %s", name, k)
		}
	}
	return v
}

// close returns the refusals, and an error for each property that was not read.
func (p *properties) close() error {
	for name := range p.all {
		if !p.used[name] {
			p.refuse("the local stack does not know the property %s", name)
		}
	}
	return errors.Join(p.errors...)
}

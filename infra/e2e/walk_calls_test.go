package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"latchkey/infra/lab/iam"
)

// walkCalls counts the calls that functions make to AWS, by their shape:
// "Orgs: GetItem strong ORG#org_…/META".
type walkCalls struct {
	mu         sync.Mutex
	request    map[string]int // calls of the functions that answer requests, since the last take
	background map[string]int // calls of the functions that events start
	used       map[string]bool
	last       time.Time // of the last call in background
	failed     []error
}

func newWalkCalls() *walkCalls {
	return &walkCalls{request: map[string]int{}, background: map[string]int{}, used: map[string]bool{}, last: time.Now()}
}

// count counts a call. It leaves out calls that depend on the time: those of the scheduled
// functions, reads of signing and verification keys, which are remembered for a minute, all but the
// first write of a key's last use, the second charge to a budget that was not refilled yet, and the charges
// of fan-out, which has them whenever it comes to an event.
func (w *walkCalls) count(c iam.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	shape, row, err := shapeOf(c)
	if err != nil {
		w.failed = append(w.failed, fmt.Errorf("%s: %s: %w", c.Function, c.Request, err))
	}
	name := strings.TrimSuffix(c.Function, "Function")
	switch {
	case name == "Sweep" || name == "Rotate" || strings.Contains(shape, " VKEYS") || name == "Fanout" && strings.HasPrefix(row, "BUDGET#"):
		return
	case strings.HasPrefix(row, "USED#") && c.Operation == "UpdateItem":
		if w.used[row] {
			return
		}
		w.used[row] = true
	}
	line := name + ": " + shape
	switch {
	case strings.HasPrefix(row, "BUDGET#"):
		w.request[line] = 1
		return
	case name != "Fanout" && name != "Deliver":
		w.request[line]++
		return
	}
	w.last = time.Now()
	w.background[line]++
}

// take returns the calls of requests since the last take.
func (w *walkCalls) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := counted(w.request)
	clear(w.request)
	return out
}

// rest returns the calls of functions that events start. quiet reports whether they have ended.
func (w *walkCalls) rest() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return counted(w.background)
}

func (w *walkCalls) quiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last) > time.Second
}

func counted(calls map[string]int) []string {
	var out []string
	for _, line := range slices.Sorted(maps.Keys(calls)) {
		out = append(out, fmt.Sprint(calls[line], " × ", line))
	}
	return out
}

type (
	textValue  struct{ S string }
	rowRequest struct{ Key, Item map[string]textValue }
)

// equalTo matches the placeholder of the partition in the condition of a query.
var equalTo = regexp.MustCompile(`^\w+ = (:\w+)`)

// shapeOf returns a call without what differs from run to run, and the key of its row if it has one.
func shapeOf(c iam.Call) (shape, row string, err error) {
	if c.Service != "dynamodb" {
		return c.Service + " " + c.Operation, "", nil
	}
	var in struct {
		rowRequest
		ConsistentRead            bool
		IndexName                 string
		KeyConditionExpression    string
		ExpressionAttributeValues map[string]json.RawMessage
		RequestItems              map[string]struct {
			ConsistentRead bool
			Keys           []map[string]textValue
		}
		TransactItems []map[string]rowRequest
	}
	if err := json.Unmarshal(c.Request, &in); err != nil {
		return "", "", err
	}
	strong := in.ConsistentRead
	var rows []string
	switch c.Operation {
	case "Query":
		var partition textValue
		name := equalTo.FindStringSubmatch(in.KeyConditionExpression)
		if name == nil {
			return "", "", fmt.Errorf("no partition in %q", in.KeyConditionExpression)
		}
		if err := json.Unmarshal(in.ExpressionAttributeValues[name[1]], &partition); err != nil {
			return "", "", err
		}
		rows = []string{strings.TrimSpace(in.IndexName + " " + partition.S)}
	case "BatchGetItem":
		for _, request := range in.RequestItems {
			strong = request.ConsistentRead
			for _, key := range request.Keys {
				rows = append(rows, keyText(key))
			}
		}
	case "TransactWriteItems":
		for _, part := range in.TransactItems {
			for kind, r := range part {
				rows = append(rows, kind+" "+r.text())
			}
		}
	default:
		row = in.text()
		rows = []string{row}
	}
	for i := range rows {
		rows[i] = masked(rows[i])
	}
	slices.Sort(rows)
	shape = c.Operation
	if strong {
		shape += " strong"
	}
	return shape + " " + strings.Join(rows, ", "), row, nil
}

func (r rowRequest) text() string {
	if r.Item != nil {
		return keyText(r.Item)
	}
	return keyText(r.Key)
}

func keyText(key map[string]textValue) string { return key["PK"].S + "/" + key["SK"].S }

// masks replace the parts of a row's key that differ from run to run.
var masks = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b([a-z]{3})_[0-9a-z]{26}`), "${1}_…"},
	{regexp.MustCompile(`#[0-9a-f]{64}/`), "#<sha-256>/"},
	{regexp.MustCompile(`EMAIL#[^/]*`), "EMAIL#<folded>"},
	{regexp.MustCompile(`VKEYS/KEY#.*`), "VKEYS/KEY#<kid>"},
	{regexp.MustCompile(`/[0-9A-Z]{26}$`), "/<ULID>"},
}

func masked(key string) string {
	for _, m := range masks {
		key = m.what.ReplaceAllString(key, m.by)
	}
	return key
}

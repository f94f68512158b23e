package metric

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"
)

// logged returns the log lines that do writes, as JSON objects.
func logged(t *testing.T, do func()) (lines []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)).With("service", "latchkey"))
	defer slog.SetDefault(before)
	do()
	for d := json.NewDecoder(&out); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestALineHasTheEmbeddedMetricFormat follows the specification of this format: a line has a directive, and each
// dimension and value is a member of the line.
func TestALineHasTheEmbeddedMetricFormat(t *testing.T) {
	for _, m := range All() {
		begun := time.Now().UnixMilli()
		lines := logged(t, func() { slog.Info("line", append(m.With(7), "code", "key_revoked", "keyId", "key_1")...) })
		if len(lines) != 1 || lines[0][m.Name] != 7.0 {
			t.Fatalf("%s: %v", m.Name, lines)
		}
		var got struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		}
		text, err := json.Marshal(lines[0]["_aws"])
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		want := "[service]"
		if m == CredentialsRefused {
			want = "[service code]"
		}
		if err != nil || got.Timestamp < begun || got.Timestamp > time.Now().UnixMilli() || len(got.CloudWatchMetrics) != 1 {
			t.Fatalf("%s: %s, %v", m.Name, text, err)
		}
		one := got.CloudWatchMetrics[0]
		if one.Namespace != "Latchkey" || fmt.Sprint(one.Dimensions) != "["+want+"]" || fmt.Sprint(one.Metrics) != fmt.Sprintf("[{%s %s}]", m.Name, m.Unit) {
			t.Errorf("%s: %s", m.Name, text)
		}
		for _, d := range one.Dimensions[0] {
			if lines[0][d] == nil {
				t.Errorf("%s: the line has no member %s", m.Name, d)
			}
		}
	}
}

// TestACounterWritesOneLineAMinute: each count is in exactly one line.
func TestACounterWritesOneLineAMinute(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	var c Counter
	var got []float64
	for _, passed := range []time.Duration{ // time since the previous Add; the last Add of each row writes a line
		0, time.Second, 58 * time.Second, time.Second, // a minute has passed: a line with 4
		0, 59 * time.Second, time.Hour, // more than a minute: 3
		time.Second, -time.Minute, // the clock was set back: 2
	} {
		now = now.Add(passed)
		for _, line := range logged(t, func() { c.Add(context.Background(), CredentialsAccepted, now) }) {
			n, _ := line["CredentialsAccepted"].(float64)
			got = append(got, n)
		}
	}
	if want := []float64{4, 3, 2}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

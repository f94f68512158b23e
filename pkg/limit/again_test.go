package limit_test

import (
	"testing"
	"time"

	"latchkey/pkg/limit"
)

// TestANewLimitCountsRequestsBeforeTheChange: requests pass under a first limit, then under a second. In between, the key may have
// had no limit. infra/docs/limits.md, "Limits of requests", defines which earlier requests count.
func TestANewLimitCountsRequestsBeforeTheChange(t *testing.T) {
	for name, c := range map[string]struct {
		first  string        // the first limit
		passed int           // how many requests pass under it
		later  time.Duration // from 12:00:00 until the second limit is set
		second string
		want   int // how many of 60 requests pass
	}{
		"a day, spent":             {"10/d", 10, 0, "10/d", 0},
		"a day, not spent":         {"10/d", 4, 11 * time.Hour, "10/d", 6},
		"the next day":             {"10/d", 10, 12 * time.Hour, "10/d", 10},
		"a minute, spent":          {"10/m", 10, 59 * time.Second, "10/m", 0},
		"the next minute":          {"10/m", 10, 60 * time.Second, "10/m", 10},
		"an hour, spent":           {"10/h", 10, 59 * time.Minute, "10/h", 0},
		"a month, spent":           {"10/M", 10, 100 * time.Hour, "10/M", 0},
		"the next month":           {"10/M", 10, 300 * time.Hour, "10/M", 10},
		"a lower limit of the day": {"50/d", 20, 0, "10/d", 0},
		"a day after a minute":     {"40/m", 20, time.Hour, "40/m 10/d", 0},
		"a day after a month":      {"40/M", 20, time.Hour, "10/d", 0},
		"a minute after a day":     {"100/d", 20, 0, "100/d 10/m", 10},
		"an hour after a minute":   {"40/m", 20, 0, "10/h", 10},
		"a month after a day":      {"100/d", 20, 0, "10/M", 10},
		"a lower limit, minute":    {"100/d 40/m", 20, 0, "100/d 10/m", 0},
	} {
		for _, kind := range []string{"limits", "ceilings", "allowance"} {
			w := on(t, "2026-11-20 12:00:00", 2)
			with := func(text string, version int64) limit.Request {
				r := limit.Request{Org: "org_1", Key: "key_1", LimitID: "key_1"}
				switch kind {
				case "limits":
					r.Limits = text
				case "ceilings":
					r.Ceilings = text
				default:
					r.Allowance, r.AllowanceVersion = text, version
				}
				return r
			}
			w.equal(w.take(0, c.passed, with(c.first, 1)), c.passed, name+", first")
			w.at = w.at.Add(c.later)
			w.atMost(w.take(1, 60, with(c.second, 3)), c.want, kind+", "+name) // process 1, not 0
		}
	}
}

// TestWithinComparesEachWindow: a rule of another window does not replace a missing rule, since its window begins with all of its requests.
func TestWithinComparesEachWindow(t *testing.T) {
	for _, c := range []struct {
		is, of string
		want   bool
	}{
		{"", "", true},
		{"1/m", "", true},
		{"", "1000000000/M", false},
		{"10/m", "10/m", true},
		{"9/m", "10/m", true},
		{"11/m", "10/m", false},
		{"10/m 5/d", "10/m", true},
		{"10/m", "10/m 5/d", false},
		{"10/M", "10/m", false},
		{"1/M", "3/d", false},
		{"1/m", "1000/h", false},
		{"1/d", "31/M", false},
		{"1/m 1/h 1/d", "1000000000/M", false},
		{"1/h 1/d 1/M", "1000000000/m", false},
		{"3/d 3/M", "3/d", true},
		{"1000000000/m 3/d 1/M", "4/d", true},
		{"3/d 1000000000/M", "3/d 1000000000/M", true},
		{"3/d", "3/d 1000000000/M", false},
	} {
		is, _ := limit.Parse(c.is)
		of, _ := limit.Parse(c.of)
		if got := is.Within(of); got != c.want {
			t.Errorf("%q within %q: %v", c.is, c.of, got)
		}
	}
}

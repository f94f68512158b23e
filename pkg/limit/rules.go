// Package limit limits how many requests of an API key are let through in a window of UTC time. A process leases some of a
// window's requests with one conditional write, and lets these requests through without another write. The lease is charged to the
// window before its requests are used. So all processes together never let through more than the limit, even when a process dies.
package limit

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Per is the length of a window.
type Per int

// The lengths, the shortest first. A window begins with a minute, an hour, a day or a calendar month of UTC.
const (
	Minute Per = iota
	Hour
	Day
	Month
	pers // the number of lengths
)

const (
	day       = 86_400 // seconds
	unlimited = math.MaxInt64
)

var names = [pers]string{"minute", "hour", "day", "month"}

// letters are the short names in a key's row, because the row must stay below one read unit (4 KB).
const letters = "mhdM"

// seconds is the length of each window but the month.
var seconds = [Month]int64{60, 3600, day}

// ParsePer reads the name of a length: minute, hour, day or month.
func ParsePer(name string) (p Per, ok bool) {
	for p := range pers {
		if names[p] == name {
			return p, true
		}
	}
	return 0, false
}

// String returns the name of a length.
func (p Per) String() string { return names[p] }

// window returns the begin of the window of a time, and the begin of the next window, in seconds since the epoch.
func (p Per) window(at time.Time) (start, end int64) {
	if p != Month {
		start = at.Unix() - at.Unix()%seconds[p]
		return start, start + seconds[p]
	}
	year, month, _ := at.UTC().Date()
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.Unix(), first.AddDate(0, 1, 0).Unix()
}

// End returns the end of the window that begins at start, both in seconds since the epoch.
func (p Per) End(start int64) int64 {
	_, end := p.window(time.Unix(start, 0))
	return end
}

// The bounds of the limits of one key (infra/docs/api.md, "Limits").
const (
	MaxLimits   = 3             // limits of one list
	MaxRequests = 1_000_000_000 // requests of one limit
)

// Rules has the number of requests that may be let through in a window, by length; 0: any number.
type Rules [pers]int64

// errRules means that Rules.Text did not write this text.
var errRules = errors.New("limit: the text is no list of limits")

// Parse reads a text that Rules.Text wrote.
func Parse(text string) (r Rules, err error) {
	for _, part := range strings.Fields(text) {
		requests, letter, _ := strings.Cut(part, "/")
		n, err := strconv.ParseInt(requests, 10, 64)
		p := strings.Index(letters, letter)
		if err != nil || len(letter) != 1 || p < 0 || n < 1 || r[p] != 0 {
			return Rules{}, errRules
		}
		r[p] = n
	}
	return r, nil
}

// Text returns the rules in the form of a key's row, the shortest window first: "100/m 10000/d". It returns "" for no rules.
func (r Rules) Text() string { return r.text(func(p int) string { return letters[p : p+1] }) }

// String returns the rules for people: "100/minute 10000/day".
func (r Rules) String() string { return r.text(func(p int) string { return names[p] }) }

func (r Rules) text(name func(per int) string) string {
	var parts []string
	for p, n := range r {
		if n != 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+"/"+name(p))
		}
	}
	return strings.Join(parts, " ")
}

// Within reports whether these rules never let through more than the other rules, also in a window that has begun: they must have each
// of the other rules, with at most its number. A rule of another length cannot replace one, because its window begins with all requests.
func (r Rules) Within(other Rules) bool {
	for p, n := range other {
		if n != 0 && (r[p] == 0 || r[p] > n) {
			return false
		}
	}
	return true
}

// and returns the rules that apply when both apply: the smaller number for each window.
func (r Rules) and(other Rules) Rules {
	for p, n := range other {
		if r[p] == 0 || n != 0 && n < r[p] {
			r[p] = n
		}
	}
	return r
}

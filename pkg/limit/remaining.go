package limit

import (
	"strconv"
	"strings"
	"time"
)

// Remaining is what is left of the limits after a request. The zero Remaining has no limit.
type Remaining struct{ key, org remaining }

// remaining is what is left of the limits of a key, or of its org.
type remaining struct {
	rules       Rules
	left, reset [pers]int64 // requests; seconds until the window ends
	length      [pers]int64 // seconds
	spent       [pers]bool
}

// remaining returns what is left at a time. limited means that the request was not let through.
func (b *balance) remaining(now time.Time, limited bool) (r remaining) {
	if b == nil {
		return r
	}
	r.rules = b.rules
	for p := range pers {
		w := &b.windows[p]
		r.left[p], r.reset[p], r.length[p], r.spent[p] = max(w.left, 0)+w.tokens, w.end-now.Unix(), w.end-w.start, limited && b.isSpent(p)
	}
	return r
}

// each calls do for each limit. The name of a limit is its window, with "org-" before it for a limit of the org.
func (r Remaining) each(do func(name string, p *remaining, per Per)) {
	for per := range pers {
		if r.key.rules[per] != 0 {
			do(names[per], &r.key, per)
		}
	}
	for per := range pers {
		if r.org.rules[per] != 0 {
			do("org-"+names[per], &r.org, per)
		}
	}
}

// Violated returns the names of the limits that stopped the request, nil for a request that passed.
func (r Remaining) Violated() (violated []string) {
	r.each(func(name string, p *remaining, per Per) {
		if p.spent[per] {
			violated = append(violated, name)
		}
	})
	return violated
}

// RetryAfter returns the time until the windows of the violated limits have ended.
func (r Remaining) RetryAfter() (wait time.Duration) {
	r.each(func(_ string, p *remaining, per Per) {
		if p.spent[per] {
			wait = max(wait, time.Duration(p.reset[per])*time.Second)
		}
	})
	return wait
}

// Policy returns the value of the header RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), "" without a limit.
func (r Remaining) Policy() string {
	var b strings.Builder
	r.each(func(name string, p *remaining, per Per) { item(&b, name, "q", p.rules[per], "w", p.length[per]) })
	return b.String()
}

// State returns the value of the header RateLimit, "" without a limit. The value may be too high, because other processes
// lease from the same windows.
func (r Remaining) State() string {
	var b strings.Builder
	r.each(func(name string, p *remaining, per Per) { item(&b, name, "r", p.left[per], "t", p.reset[per]) })
	return b.String()
}

// item writes one item of a structured list (RFC 9651) with two parameters.
func item(b *strings.Builder, name, first string, n int64, second string, m int64) {
	if b.Len() > 0 {
		b.WriteString(", ")
	}
	b.WriteString(`"` + name + `";` + first + "=" + strconv.FormatInt(n, 10) + ";" + second + "=" + strconv.FormatInt(m, 10))
}

package limit

import (
	"strconv"
	"strings"
	"time"
)

// Standing says how a request stands with its limits. The zero Standing has no limit.
type Standing struct{ key, org part }

// part is the standing with the limits of a key, or of its org.
type part struct {
	rules       Rules
	left, reset [pers]int64 // requests; seconds until the window ends
	length      [pers]int64 // seconds
	spent       [pers]bool
}

// standing returns the standing at a time. limited says that the request was not let through.
func (b *balance) standing(now time.Time, limited bool) (s part) {
	if b == nil {
		return s
	}
	s.rules = b.rules
	for p := range pers {
		w := &b.windows[p]
		s.left[p], s.reset[p], s.length[p], s.spent[p] = max(w.left, 0)+w.tokens, w.end-now.Unix(), w.end-w.start, limited && b.isSpent(p)
	}
	return s
}

// each calls do for each limit. Its name is that of the window; one of the org begins with "org-".
func (s Standing) each(do func(name string, p *part, per Per)) {
	for per := range pers {
		if s.key.rules[per] != 0 {
			do(names[per], &s.key, per)
		}
	}
	for per := range pers {
		if s.org.rules[per] != 0 {
			do("org-"+names[per], &s.org, per)
		}
	}
}

// Violated returns the names of the limits that did not let the request through, nil for a request that passed.
func (s Standing) Violated() (violated []string) {
	s.each(func(name string, p *part, per Per) {
		if p.spent[per] {
			violated = append(violated, name)
		}
	})
	return violated
}

// RetryAfter returns how long it takes until the windows of the violated limits have ended.
func (s Standing) RetryAfter() (wait time.Duration) {
	s.each(func(_ string, p *part, per Per) {
		if p.spent[per] {
			wait = max(wait, time.Duration(p.reset[per])*time.Second)
		}
	})
	return wait
}

// Policy returns the value of the header RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), "" without a limit.
func (s Standing) Policy() string {
	var b strings.Builder
	s.each(func(name string, p *part, per Per) { item(&b, name, "q", p.rules[per], "w", p.length[per]) })
	return b.String()
}

// State returns the value of the header RateLimit, "" without a limit. What it says is left may be more than is let through,
// because other processes lease it too.
func (s Standing) State() string {
	var b strings.Builder
	s.each(func(name string, p *part, per Per) { item(&b, name, "r", p.left[per], "t", p.reset[per]) })
	return b.String()
}

// item writes one item of a structured list (RFC 9651) with two parameters.
func item(b *strings.Builder, name, first string, n int64, second string, m int64) {
	if b.Len() > 0 {
		b.WriteString(", ")
	}
	b.WriteString(`"` + name + `";` + first + "=" + strconv.FormatInt(n, 10) + ";" + second + "=" + strconv.FormatInt(m, 10))
}

package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

type usageBody struct {
	Date     string  `json:"date"`            // a UTC day
	KeyID    *id.Key `json:"keyId,omitempty"` // the first key of a chain of rotations; missing: all keys of the org, counted by its allowance
	Requests int64   `json:"requests"`        // at least this number was let through
	AtMost   *int64  `json:"atMost"`          // at most this number was let through; null: not known

	Refused map[problem.Code]int64 `json:"refused,omitempty"` // only for one key; at least these numbers were refused
}

func usageBodyOf(u store.Usage) usageBody {
	return usageBody{Date: u.Date, KeyID: orNull(u.Key), Requests: u.Requests, AtMost: known(u.AtMost)}
}

// known returns nil for a negative number, which means that the number is not known.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// defaultDays is how many days are shown if the query names none.
const defaultDays = 30

// days are all UTC days from from to to.
type days struct{ from, to time.Time }

// daysIn is an empty body: the query names the days.
type daysIn struct{}

func (daysIn) parse(c *call) (d days, err error) {
	if d.to, err = c.day("to", time.Now().UTC().Truncate(24*time.Hour)); err != nil {
		return d, err
	}
	if d.from, err = c.day("from", d.to.AddDate(0, 0, 1-defaultDays)); err != nil {
		return d, err
	}
	if d.to.Before(d.from) || !d.to.Before(d.from.AddDate(0, 0, store.MaxUsageDays)) {
		return d, problem.Invalid("?from", "range", fmt.Sprintf("The parameters from and to must name 1 to %d days, and from must not be after to.", store.MaxUsageDays))
	}
	return d, nil
}

// day reads a day from the query. Without the parameter it returns otherwise. Error: validation_failed.
func (c *call) day(name string, otherwise time.Time) (time.Time, error) {
	values := c.URL.Query()[name]
	if len(values) == 0 {
		return otherwise, nil
	}
	day, err := time.Parse(time.DateOnly, values[0])
	if err != nil || len(values) > 1 {
		return day, problem.Invalid("?"+name, "format", name+" must be one UTC day, such as 2026-11-24.")
	}
	return day, nil
}

func (k keys) usage(ctx context.Context, c *call, d days) (list[usageBody], error) {
	found, err := k.store.KeyUsage(ctx, c.actor(), c.org, c.keyID(), d.from, d.to)
	return listOf("days", found, "", func(u store.Usage) usageBody {
		u.Key = "" // the path names the key, or a later key in its chain of rotations
		body := usageBodyOf(u)
		body.Refused = u.Refused()
		return body
	}), err
}

// isUsageRow reports whether a text of a cursor has the form of the end of a usage row's sort key: the day of the month, #, and
// the key or ORG. (A regular expression would be compiled at each start.)
func isUsageRow(text string) bool {
	day, key, ok := strings.Cut(text, "#")
	_, err := strconv.ParseUint(day, 10, 8)
	isOther := func(r rune) bool { return r != '_' && (r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a') }
	return ok && err == nil && len(day) == 2 && key != "" && len(key) <= 64 && !strings.ContainsFunc(key, isOther)
}

// monthIn is an empty body: the query names the month.
type monthIn struct{}

func (monthIn) parse(c *call) (month string, err error) {
	const layout = "2006-01"
	sent := c.URL.Query()["month"]
	if len(sent) == 0 {
		return time.Now().UTC().Format(layout), nil
	}
	if _, err := time.Parse(layout, sent[0]); err != nil || len(sent) > 1 {
		return "", problem.Invalid("?month", "format", "The parameter month must be one UTC month, such as 2026-11.")
	}
	return sent[0], nil
}

func (k keys) usageOfOrg(ctx context.Context, c *call, month string) (answer, error) {
	if acceptsCSV(c.Header.Values("Accept")) {
		return k.csv(ctx, c, month)
	}
	p, err := c.pageOrAll(isUsageRow)
	if err != nil {
		return answer{}, err
	}
	rows, next, err := k.store.OrgUsage(ctx, c.actor(), c.org, month, p)
	return rendered(listOf("usage", rows, next, usageBodyOf), err)
}

type orgUsageBody struct {
	OrgID      id.Org       `json:"orgId"`
	Name       string       `json:"name"`
	ExternalID string       `json:"externalId,omitempty"`
	Plan       string       `json:"plan,omitempty"`
	State      store.Status `json:"state"`
	Requests   int64        `json:"requests"` // at least this number was let through
	AtMost     *int64       `json:"atMost"`   // at most this number was let through; null: not known
	More       bool         `json:"more"`     // the use of some keys is missing from requests
}

// usageOfAll answers with the usage of each org: as JSON in pages, or as one CSV table.
func (k keys) usageOfAll(ctx context.Context, c *call, month string) (answer, error) {
	r := reading[store.OrgUsageTotal, orgUsageBody]{
		name: "usage", valid: isID(id.ParseOrg), toEnd: true,
		rows: func(p store.Page) ([]store.OrgUsageTotal, string, error) { return k.store.AllUsage(ctx, month, p) },
		shown: func(u store.OrgUsageTotal) orgUsageBody {
			return orgUsageBody{u.ID, u.Name, u.ExternalID, u.State.Plan, u.Status(), u.Requests, known(u.AtMost), u.More}
		},
		id: func(b orgUsageBody) string { return string(b.OrgID) },
	}
	if !acceptsCSV(c.Header.Values("Accept")) {
		return rendered(r.answer(c))
	}
	all, next, err := r.read(store.Page{})
	if err != nil {
		return answer{}, err
	}
	if next != "" {
		return answer{}, problem.Invalid("?month", "range", "The use of all orgs is too much for one table. Read the orgs as JSON in pages, which have no limit.")
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		u := s.item
		rows[i] = []string{string(u.OrgID), u.Name, u.ExternalID, u.Plan, string(u.State), cell(&u.Requests), cell(u.AtMost), strconv.FormatBool(u.More)}
	}
	return ok(csvOf([]string{"orgId", "name", "externalId", "plan", "state", "requests", "atMost", "more"}, rows)), nil
}

// csv answers with all rows of a month as one CSV table.
func (k keys) csv(ctx context.Context, c *call, month string) (answer, error) {
	found, next, err := k.store.OrgUsage(ctx, c.actor(), c.org, month, store.Page{})
	if err != nil {
		return answer{}, err
	}
	if next != "" {
		return answer{}, problem.Invalid("?month", "range", fmt.Sprintf("The month has more than %d rows. Read the month as JSON in pages.", len(found)))
	}
	rows := make([][]string, len(found))
	for i, u := range found {
		rows[i] = []string{u.Date, string(u.Key), cell(&u.Requests), cell(known(u.AtMost))}
	}
	return ok(csvOf([]string{"date", "keyId", "requests", "atMost"}, rows)), nil
}

// cell returns a cell of CSV, empty for a number that is not known.
func cell(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

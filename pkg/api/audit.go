package api

import (
	"context"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// auditIn is a body that selects a page of an org's audit log.
type auditIn struct {
	Actor  *string `json:"actor"`
	Action *string `json:"action"`
	Target *string `json:"target"`
	From   *int64  `json:"from"`
	To     *int64  `json:"to"`
	Limit  *int64  `json:"limit"`
	Cursor *string `json:"cursor"`
}

// auditSpan is a checked auditIn.
type auditSpan struct {
	store.AuditFilter
	page store.Page
}

func (in auditIn) parse(*call) (s auditSpan, err error) {
	s.Actor, s.Action, s.Target = orZero(in.Actor), orZero(in.Action), orZero(in.Target)
	if in.Actor != nil && !isActor(s.Actor) {
		return s, problem.Invalid("/actor", "format", "The value must be the id of a user, the id of an API key, holder, or service:NAME with the name of a service.")
	}
	if in.Action != nil && !isAction(s.Action) {
		return s, problem.Invalid("/action", "format", "The value must be an action, such as key.revoked.")
	}
	if in.Target != nil && !isTarget(s.Target) {
		return s, problem.Invalid("/target", "format", "The value must be the id of an org, a user, an app, an API key, a link or an endpoint.")
	}
	if s.From, err = timeIn("/from", in.From); err != nil {
		return s, err
	}
	if s.To, err = timeIn("/to", in.To); err != nil {
		return s, err
	}
	s.page, err = pageIn{in.Limit, in.Cursor}.page(isID(id.ParseAudit))
	return s, err
}

// timeIn returns the time of milliseconds, zero for nil. Error: validation_failed.
func timeIn(pointer string, at *int64) (time.Time, error) {
	if at == nil {
		return time.Time{}, nil
	}
	ms, err := millis(pointer, at)
	return time.UnixMilli(ms), err
}

func isActor(text string) bool {
	if name, ok := principal.ServiceOf(text); ok {
		return principal.IsServiceName(name)
	}
	return text == store.Holder || isID(id.ParseUser)(text) || isID(id.ParseKey)(text)
}

// isAction reports whether a text has the form of an action: two words of a to z and _, with a dot between them.
func isAction(text string) bool {
	isWord := func(word string) bool { return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") == "" }
	kind, verb, _ := strings.Cut(text, ".")
	return len(text) <= 64 && isWord(kind) && isWord(verb)
}

func isTarget(text string) bool {
	return isID(id.ParseOrg)(text) || isID(id.ParseUser)(text) || isID(id.ParseApp)(text) || isID(id.ParseKey)(text) ||
		isID(id.ParseLink)(text) || isID(id.ParseEndpoint)(text)
}

// audit answers with one page of an org's audit log as JSON, or with all selected entries as CSV.
func (o orgs) audit(ctx context.Context, c *call, s auditSpan) (answer, error) {
	r := reading[store.AuditEntry, store.AuditEntry]{
		shown: c.shownEntry, toEnd: true, id: func(e store.AuditEntry) string { return string(e.ID) },
		rows: func(p store.Page) ([]store.AuditEntry, string, error) {
			return o.store.AuditLog(ctx, c.actor(), c.org, s.AuditFilter, p)
		},
	}
	if !acceptsCSV(c.Header.Values("Accept")) {
		found, next, err := r.rows(s.page)
		return rendered(listOf("entries", found, next, r.shown), err)
	}
	all, next, err := r.read(store.Page{})
	if err != nil {
		return answer{}, err
	}
	rows := make([][]string, len(all))
	for i, one := range all {
		e := one.item
		rows[i] = []string{
			string(e.ID), time.UnixMilli(e.At).UTC().Format("2006-01-02T15:04:05.000Z"), e.Action, e.Actor.Text(), e.Target.Text(),
			string(e.Changes), e.Source, e.Reason, e.Operator, e.RequestID,
		}
	}
	table := csvOf([]string{"id", "at", "action", "actor", "target", "changes", "source", "reason", "operator", "requestId"}, rows)
	if next != "" || sizeSent(table.text) > maxList { // CSV doubles the quotes in changes
		return answer{}, problem.Invalid("/from", "range", "The entries are too many for one table. Choose a shorter time, or read the entries as JSON in pages.")
	}
	return ok(table), nil
}

// shownEntry removes the members of an entry that the caller may not see.
func (c *call) shownEntry(e store.AuditEntry) store.AuditEntry {
	if c.caller.Kind != principal.Service {
		e.Operator = "" // only the owner sees the names of its operators
		if strings.HasPrefix(e.Action, "user.") {
			e.Reason = "" // the reason may be about another org of the person
		}
	}
	return e
}

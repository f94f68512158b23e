package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

const auditFor = 400 * 24 * time.Hour // how long an entry is kept

// Change is a value before and after an action. From is nil when there was no value before, and To
// when there is none now.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Changes has the values that an action changed, by name. It never holds a secret. It is also the
// format of the attribute changes.
type Changes map[string]Change

// AuditEntry is one line of an org's audit log, as the API and the owner's bus show it.
type AuditEntry struct {
	ID        id.Audit        `json:"id"`
	At        int64           `json:"at"` // milliseconds
	Action    string          `json:"action"`
	Actor     Subject         `json:"actor"`
	Target    Subject         `json:"target"`
	Changes   json.RawMessage `json:"changes"` // a Changes as JSON
	RequestID string          `json:"requestId"`

	Source   string `json:"source,omitempty"`   // the URL where a key was found; a stranger sent it, so do not trust it
	Reason   string `json:"reason,omitempty"`   // given by a service
	Operator string `json:"operator,omitempty"` // the person of the owner that a service named; only services and the bus see it
}

// Subject is an actor or a target of an audit entry, with its type, which the prefix of an id shows.
type Subject struct {
	Type string `json:"type"` // user, org, key, app, link or endpoint; of an actor: user, api_key, service or holder
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"` // of a service, which has no id
}

// Text returns a subject as one text: its id, service:NAME or Holder.
func (s Subject) Text() string {
	switch s.Type {
	case Holder:
		return Holder
	case string(principal.Service):
		return principal.Principal{Kind: principal.Service, Name: s.Name}.ID()
	default:
		return s.ID
	}
}

func subjectOf(id string) Subject {
	prefix, _, _ := strings.Cut(id, "_")
	names := map[string]string{"usr": "user", "org": "org", "key": "key", "app": "app", "lnk": "link", "whe": "endpoint"}
	return Subject{Type: names[prefix], ID: id}
}

// actorOf is subjectOf for an actor: a user, a service, a holder or an API key. As an actor, an API key has the type api_key. As a
// target it has the type key.
func actorOf(id string) Subject {
	if name, ok := principal.ServiceOf(id); ok {
		return Subject{Type: string(principal.Service), Name: name}
	}
	if id == Holder {
		return Subject{Type: Holder}
	}
	actor := subjectOf(id)
	if actor.Type == "key" {
		actor.Type = "api_key"
	}
	return actor
}

// entry is an audit entry to be written.
type entry struct {
	org     id.Org
	at      int64
	action  string
	actor   string // the id of a user or an API key, or the result of Actor.id
	target  string
	source  string // see AuditEntry; "": none
	changes Changes
}

// audit adds the entry of an action to the action's transaction: neither is written without the
// other.
func (t *txn) audit(ctx context.Context, e entry) {
	changes, err := plainjson.Marshal(e.changes)
	t.Fail(err)
	at, claim := time.UnixMilli(e.at), principal.ClaimOf(ctx)
	t.Create(auditRow(e.org, t.s.ids().NewAudit(at)),
		attrAt.Set(e.at), attrAction.Set(e.action), attrActor.Set(e.actor), attrTarget.Set(e.target),
		attrSource.SetOrRemove(e.source), attrOperator.SetOrRemove(claim.Operator), attrReason.SetOrRemove(claim.Reason),
		attrChanges.Set(changes), attrRequestID.Set(problem.RequestID(ctx)), attrPurgeAt.Set(at.Add(auditFor).Unix()),
	)
}

// AuditFilter selects entries of an audit log. A zero value selects all.
type AuditFilter struct {
	Actor          string // as in the row of an entry
	Action, Target string
	From, To       time.Time // to the millisecond; From is included, To is not
}

func (f AuditFilter) matches(e AuditEntry) bool {
	return (f.Actor == "" || e.Actor == actorOf(f.Actor)) && (f.Action == "" || e.Action == f.Action) && (f.Target == "" || e.Target.ID == f.Target)
}

// wholeAudit bounds the entries that one call without a page reads.
const wholeAudit = 1000

// AuditLog returns an org's audit entries that f selects, newest first. next is After of the next page,
// "" at the end: a page may be short although more entries follow. Errors: org_not_found, insufficient_role.
func (s *Store) AuditLog(ctx context.Context, a Actor, o id.Org, f AuditFilter, p Page) (entries []AuditEntry, next string, err error) {
	page, pages := p.span(pkAudit+string(o), "", wholeAudit), 1
	limit := page.Limit
	if p.Limit > 0 && f.Actor+f.Action+f.Target != "" {
		page.Limit, pages = max(limit, 100), searchPages
	}
	page.Reverse, page.From = true, string(id.FirstAudit(f.From))
	if until := string(id.FirstAudit(f.To)); !f.To.IsZero() && (page.After == "" || until < page.After) {
		page.After = until // a query has one condition on the sort key, so the query's start is the other bound
	}
	if f.From.IsZero() {
		page.From = ""
	}
	err = s.checkWhileReading(ctx, a, o, func(ctx context.Context) (err error) {
		if page.After != "" && page.After <= page.From { // DynamoDB refuses such a start
			return nil
		}
		next, err = s.search(ctx, page, pages, limit, func(r *table.Reading) bool {
			e := entryFrom(r)
			if f.matches(e) {
				entries = append(entries, e)
			}
			return f.matches(e)
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return entries, next, nil
}

func entryFrom(r *table.Reading) AuditEntry {
	return AuditEntry{
		ID: id.Audit(r.SK("")), At: attrAt.From(r), Action: attrAction.From(r), Actor: actorOf(attrActor.From(r)),
		Target: subjectOf(attrTarget.From(r)), Changes: attrChanges.From(r), RequestID: attrRequestID.From(r),
		Source: attrSource.OrZero(r), Operator: attrOperator.OrZero(r), Reason: attrReason.OrZero(r),
	}
}

// AuditOf returns the ids of an audit entry by the key of its row, which the stream brings. ok is false for the row of
// anything else.
func AuditOf(pk, sk string) (o id.Org, a id.Audit, ok bool) {
	org, ok := strings.CutPrefix(pk, pkAudit)
	return id.Org(org), id.Audit(sk), ok
}

// AuditEntry reads one entry for the owner's bus, and checks no caller. ok is false when there is no entry.
func (s *Store) AuditEntry(ctx context.Context, o id.Org, a id.Audit) (e AuditEntry, ok bool, err error) {
	return lookup(ctx, s, auditRow(o, a), entryFrom)
}

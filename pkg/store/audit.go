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

	Source   string `json:"source,omitempty"`   // a URL where a stranger says that a key was found; not to be opened unseen
	Reason   string `json:"reason,omitempty"`   // that a service gave
	Operator string `json:"operator,omitempty"` // of the owner's people, by a service: for services and the bus only
}

// Subject is an actor or a target of an audit entry, with its type, which the prefix of an id shows.
type Subject struct {
	Type string `json:"type"` // user, org, key, app, link or endpoint; of an actor: user, api_key, service or holder
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"` // of a service, which has no id
}

func subjectOf(id string) Subject {
	prefix, _, _ := strings.Cut(id, "_")
	names := map[string]string{"usr": "user", "org": "org", "key": "key", "app": "app", "lnk": "link", "whe": "endpoint"}
	return Subject{Type: names[prefix], ID: id}
}

// actorOf is subjectOf for an actor: a user, a service, a holder, or api_key, which is key as a target.
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
	actor   string // the id of a user or an API key, or that of Actor.id
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

// AuditLog returns an org's audit entries, newest first. next is the id behind which the next page
// begins, "" at the end. Errors: org_not_found, insufficient_role.
func (s *Store) AuditLog(ctx context.Context, a Actor, o id.Org, p Page) (entries []AuditEntry, next string, err error) {
	page := p.span(pkAudit+string(o), "", 0) // 0: no one lists the whole log, so p has a limit
	page.Reverse = true
	return listAs(ctx, s, a, o, page, entryFrom)
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

// AuditEntry reads one entry, for no caller: only the owner's bus gets it. ok is false when there is none.
func (s *Store) AuditEntry(ctx context.Context, o id.Org, a id.Audit) (e AuditEntry, ok bool, err error) {
	return lookup(ctx, s, auditRow(o, a), entryFrom)
}

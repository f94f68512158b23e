package store

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

// The attributes of audit entries.
const (
	attrAt        = "at"
	attrAction    = "action"
	attrActor     = "actor"
	attrTarget    = "target"
	attrChanges   = "changes"
	attrRequestID = "requestId"

	auditFor = 400 * 24 * time.Hour
)

// Change is a value before and after an action. From or To is nil when there was, or is, no value.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Changes has the values that an action changed, by name. It never holds a secret.
type Changes map[string]Change

// AuditEntry is one line of an org's audit log.
type AuditEntry struct {
	ID        id.Audit
	At        int64 // milliseconds
	Action    string
	ActorID   string
	TargetID  string
	Changes   json.RawMessage // a Changes as JSON
	RequestID string
}

// entry is an audit entry to be written.
type entry struct {
	org     id.Org
	at      int64
	action  string
	actor   id.User
	key     id.Key // acts in place of a user
	target  string
	changes Changes
}

// audit adds the entry of an action to the action's transaction: neither is written without the
// other.
func (s *Store) audit(ctx context.Context, t *txn, e entry) {
	changes, err := json.Marshal(e.changes)
	if err != nil || e.changes == nil {
		changes = []byte("{}")
	}
	at := time.UnixMilli(e.at)
	t.create(s.table, auditKey(e.org, s.ids().NewAudit(at)), item{
		attrAt: num(e.at), attrAction: str(e.action), attrActor: str(cmp.Or(string(e.actor), string(e.key))),
		attrTarget: str(e.target), attrChanges: str(string(changes)),
		attrRequestID: str(problem.RequestID(ctx)), attrPurgeAt: num(at.Add(auditFor).Unix()),
	})
}

// AuditLog returns an org's audit entries, newest first. next is the id behind which the next page
// begins, "" at the end. Errors: org_not_found, insufficient_role.
func (s *Store) AuditLog(ctx context.Context, a Actor, o id.Org, p Page) (entries []AuditEntry, next string, err error) {
	membership, err := s.get(ctx, memberKey(o, a.User))
	if err != nil {
		return nil, "", err
	}
	if err := a.admit(membership); err != nil {
		return nil, "", err
	}
	rows, more, err := s.query(ctx, span{pk: pkAudit + string(o), after: p.After, reverse: true, limit: p.Limit})
	if err != nil {
		return nil, "", err
	}
	entries = make([]AuditEntry, len(rows))
	for i, row := range rows {
		entries[i] = AuditEntry{
			ID: id.Audit(row.str(attrSK)), At: row.num(attrAt), Action: row.str(attrAction),
			ActorID: row.str(attrActor), TargetID: row.str(attrTarget),
			Changes: json.RawMessage(row.str(attrChanges)), RequestID: row.str(attrRequestID),
		}
	}
	if more {
		next = string(entries[len(entries)-1].ID)
	}
	return entries, next, nil
}

package store

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"latchkey/pkg/id"
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
	actor   id.User // the user who acts, "" when an API key acts
	key     id.Key  // the API key that acts, "" when a user acts
	target  string
	changes Changes
}

// audit adds the entry of an action to the action's transaction: neither is written without the
// other.
func (t *txn) audit(ctx context.Context, e entry) {
	changes, err := json.Marshal(e.changes)
	t.Fail(err)
	at := time.UnixMilli(e.at)
	t.Create(auditRow(e.org, t.s.ids().NewAudit(at)),
		attrAt.Set(e.at), attrAction.Set(e.action), attrActor.Set(cmp.Or(string(e.actor), string(e.key))), attrTarget.Set(e.target),
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
		ID: id.Audit(r.SK("")), At: attrAt.From(r), Action: attrAction.From(r), ActorID: attrActor.From(r),
		TargetID: attrTarget.From(r), Changes: attrChanges.From(r), RequestID: attrRequestID.From(r),
	}
}

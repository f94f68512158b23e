package pipeline

import (
	"context"
	"log/slog"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/principal"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// The detail types of the tap's entries on the owner's bus.
const (
	TapEvent = "latchkey.event"
	TapAudit = "latchkey.audit"
)

// Tap passes every event and every audit entry on to the owner's bus, at least once. It passes on no example (webhook.Event.Test): an API
// key chooses its type and data, and a rule that matches the type would take them for the owner's.
type Tap struct {
	Store *store.Store
	Bus   Bus

	// Service returns the issuer and the subject of a service; ok is false when the deployment no longer has it.
	Service func(name string) (issuer, subject string, ok bool)
}

// Bus accepts the entries of the tap. bus.Bus implements it. An error means that the bus may not have accepted the entry.
type Bus interface {
	Put(ctx context.Context, detailType string, at time.Time, detail []byte) error
}

// eventDetail is the detail of a TapEvent (infra/examples/tap.schema.json).
type eventDetail struct {
	OrgID id.Org        `json:"orgId"`
	AppID id.App        `json:"appId"`
	Event webhook.Event `json:"event"`
}

// auditDetail is the detail of a TapAudit: an entry as the audit log shows it. Its actor also has the issuer and the subject
// of a service, which the audit log does not show.
type auditDetail struct {
	OrgID id.Org     `json:"orgId"`
	Entry auditEntry `json:"entry"`
}

type auditEntry struct {
	store.AuditEntry
	Actor tapActor `json:"actor"`
}

type tapActor struct {
	store.Subject
	Issuer         string `json:"issuer,omitempty"`
	ServiceSubject string `json:"subject,omitempty"`
}

// Record passes on the row with this key, which the stream brought. After an error, Lambda brings the record again, until the bus
// accepts it or a day is over. A row that does not decode is logged and skipped, because another try would fail too.
func (t Tap) Record(ctx context.Context, pk, sk string) error {
	detailType, at, detail, err := t.detail(ctx, pk, sk)
	switch {
	case store.Unreadable(err):
		slog.ErrorContext(ctx, "a row is not passed on to the bus", "error", err)
		return nil
	case err != nil || detail == nil: // nil: the row was deleted, or is not for the tap
		return err
	}
	text, err := plainjson.Marshal(detail)
	if err != nil {
		return err
	}
	return t.Bus.Put(ctx, detailType, time.UnixMilli(at), text)
}

// detail reads the row with this key, and returns its detail for the bus; nil: none. at is in milliseconds.
func (t Tap) detail(ctx context.Context, pk, sk string) (detailType string, at int64, detail any, err error) {
	if app, event, ok := store.EventOf(pk, sk); ok {
		o, e, ok, err := t.Store.EventOfOrg(ctx, app, event)
		if err != nil || !ok || e.Test {
			return "", 0, nil, err
		}
		return TapEvent, e.CreatedAt, eventDetail{o, app, e}, nil
	}
	if o, a, ok := store.AuditOf(pk, sk); ok {
		e, ok, err := t.Store.AuditEntry(ctx, o, a)
		if err != nil || !ok {
			return "", 0, nil, err
		}
		actor := tapActor{Subject: e.Actor}
		if e.Actor.Type == string(principal.Service) {
			if issuer, subject, ok := t.Service(e.Actor.Name); ok {
				actor.Issuer, actor.ServiceSubject = issuer, subject
			}
		}
		return TapAudit, e.At, auditDetail{o, auditEntry{e, actor}}, nil
	}
	return "", 0, nil, nil
}

package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

const (
	leakEvery     = 24 * time.Hour // see ReportLeak
	leakEndpoints = 20             // endpoints that an event key.leaked names
)

// ReportLeak reports that the text of a key was found in public. It writes an audit entry and an event, at most once a day for each
// key, because one text can be found in a thousand places. found is the key as it was read. With revoke, ReportLeak first revokes the
// key as RevokeByHolder does, also when it writes no report. source is the URL of the place, "" when there is none. Nothing is written
// for a key that ended more than a day ago. After an error the caller calls ReportLeak again.
func (s *Store) ReportLeak(ctx context.Context, found APIKey, source string, revoke bool) error {
	since := s.now() - leakEvery.Milliseconds()
	if found.RevokedAt != 0 && found.RevokedAt < since || found.ExpiresAt != 0 && found.ExpiresAt < since {
		return nil
	}
	if revoke && found.RevokedAt == 0 {
		err := s.RevokeByHolder(ctx, found, source)
		ok := false
		if err == nil {
			found, ok, err = s.APIKey(ctx, found.OrgID, found.ID)
		}
		if err != nil || !ok {
			return err
		}
	}
	row := usedRow(found.OrgID, found.ID)
	last, _, err := lookup(ctx, s, row, attrLeakedAt.OrZero)
	if err != nil || last > since {
		return err
	}
	endpoints, err := s.endpointsOf(ctx, found)
	if err != nil {
		return err
	}
	t, now := s.begin(), s.now() // not earlier, because the feed shows an event 10 s after its time
	t.Update(row, table.Any(attrLeakedAt.Absent(), attrLeakedAt.AtMost(since)), table.Raced, attrLeakedAt.Set(now),
		table.If(found.purgeAt != 0, attrPurgeAt.SetIfAbsent(found.purgeAt))) // as in NoteUse
	t.audit(ctx, entry{org: found.OrgID, at: now, action: "key.leaked", actor: Holder, source: source, target: string(found.ID), changes: Changes{}})
	t.event(newEvent{org: found.OrgID, app: found.AppID, kind: webhook.KeyLeaked, at: now, data: webhook.LeakData{
		KeyData: found.data(), URL: webhook.OrNull(source), EndpointIDs: endpoints,
	}})
	return ignoreRaced(t.Commit(ctx))
}

// endpointsOf returns the newest endpoints that a key created, or whose URL or event types it set last.
func (s *Store) endpointsOf(ctx context.Context, k APIKey) ([]id.Endpoint, error) {
	all, _, err := s.Endpoints(ctx, k.AppID, Page{})
	own := []id.Endpoint{}
	for _, endpoint := range all {
		if endpoint.setBy(k.ID) && len(own) < leakEndpoints {
			own = append(own, endpoint.ID)
		}
	}
	return own, err
}

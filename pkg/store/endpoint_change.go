package store

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// EndpointChange is a change of an endpoint by its app. A nil member changes nothing.
type EndpointChange struct {
	By          id.Key // the app's API key that makes the change
	Paid        int    // deliveries for which the request was charged
	URL         *string
	Description *string
	Events      []string
	Enabled     *bool
}

// UpdateEndpoint changes an endpoint. An endpoint that is enabled again starts without failures,
// and the sweep releases its held deliveries. When nothing differs, UpdateEndpoint writes
// nothing. Errors: endpoint_not_found, key_not_active, disabled_by_admin.
func (s *Store) UpdateEndpoint(ctx context.Context, a id.App, h id.Endpoint, c EndpointChange) (changed Endpoint, err error) {
	err = s.db.Retry(ctx, func() error {
		was, err := s.Endpoint(ctx, a, h)
		if err != nil {
			return err
		}
		if was.DisabledReason == webhook.DisabledByAdmin && c.Enabled != nil && *c.Enabled {
			return problem.New(problem.DisabledByAdmin, "An admin of the org disabled the webhook endpoint: only an admin enables it.")
		}
		t := s.begin()
		t.unbarred(a, c.By)
		changed, err = t.change(ctx, was, c.apply(was, s.now()), ByKey(c.By), c.Paid)
		return err
	})
	return changed, err
}

// apply returns an endpoint with the change.
func (c EndpointChange) apply(h Endpoint, now int64) Endpoint {
	if c.URL != nil && *c.URL != h.URL {
		h.URL, h.urlByKey, h.URLSetByKey = *c.URL, c.By, c.By
	}
	if c.Description != nil {
		h.Description = *c.Description
	}
	if c.Events != nil && !slices.Equal(c.Events, h.Events) {
		h.Events, h.eventsByKey, h.URLSetByKey = c.Events, c.By, c.By
	}
	if c.Enabled != nil && *c.Enabled != h.Enabled {
		if *c.Enabled {
			h = h.enable()
		} else {
			h = h.disable(webhook.DisabledByUser, now)
		}
	}
	h.UpdatedAt = now
	return h
}

// enable returns the endpoint as it is once it is enabled again: all its held deliveries are to be
// released.
func (h Endpoint) enable() Endpoint {
	h.Enabled, h.DisabledReason, h.DisabledAt = true, "", 0
	h.Releasing, h.ReleaseFrom = true, ""
	return h
}

// disable returns the endpoint as it is once it is disabled. An endpoint that was disabled
// before gets the new reason.
func (h Endpoint) disable(why webhook.DisabledReason, now int64) Endpoint {
	h.Enabled, h.DisabledReason, h.DisabledAt = false, why, now
	h.Releasing, h.ReleaseFrom = false, ""
	return h
}

// change adds the change from was to h to a transaction, with its audit entry and its event, and commits
// the transaction. It returns the endpoint as the row then is. When nothing differs, it commits nothing. It returns table.ErrRaced when the endpoint is
// no longer as was. paid is how many deliveries the request was charged for.
func (t *txn) change(ctx context.Context, was, h Endpoint, by Changer, paid int) (Endpoint, error) {
	changes := changesOf(was, h)
	if len(changes) == 0 {
		return was, nil
	}
	asRead := table.All(attrVersion.Is(was.version), attrDeletedAt.Absent())
	if h.startsAnew(was) {
		h.Breaker = webhook.Breaker{}
	} else { // an attempt has no version
		asRead = table.All(asRead, attrFailures.IsOrAbsent(was.Failures), attrOpenUntil.IsOrAbsent(was.OpenUntil), attrFailingSince.IsOrAbsent(was.FailingSince))
	}
	t.Update(endpointRow(h.AppID, h.ID), asRead, table.Raced, h.write(was))
	t.report(ctx, webhook.EndpointUpdated, h, by, paid, changes)
	return h, t.Commit(ctx)
}

// startsAnew reports whether a change ends the failures of an endpoint: another receiver, or a repaired one, has none yet.
func (h Endpoint) startsAnew(was Endpoint) bool {
	return webhook.Origin(h.URL) != webhook.Origin(was.URL) || h.Enabled && !was.Enabled
}

// write returns the change of an endpoint's row from was to h.
func (h Endpoint) write(was Endpoint) table.Change {
	now := h.UpdatedAt
	due := dueAt(DueEndpoint, endpointRow(h.AppID, h.ID), now)
	changes := []table.Change{
		attrURL.Set(h.URL), attrDescription.Set(h.Description), attrEvents.Set(h.Events), attrEnabled.Set(h.Enabled),
		attrUpdatedAt.Set(now), attrVersion.Set(was.version + 1),
		attrURLSetByKey.Set(h.URLSetByKey), attrURLByKey.Set(h.urlByKey), attrEventsByKey.Set(h.eventsByKey),
	}
	enabled := h.Enabled && !was.Enabled
	if h.startsAnew(was) {
		changes = append(changes, attrFailures.Remove(), attrOpenUntil.Remove(), attrFailingSince.Remove())
	}
	switch {
	case enabled:
		changes = append(changes, attrReleaseFrom.Set(""), due, attrDisabledReason.Remove(), attrDisabledAt.Remove())
	case h.DisabledReason != was.DisabledReason: // disabled; due, because parked deliveries are to be held
		changes = append(changes, attrDisabledReason.Set(h.DisabledReason), attrDisabledAt.Set(now), due, attrReleaseFrom.Remove())
	}
	return table.Changes(changes...)
}

// changesOf returns the differences between two states of an endpoint. The zero Endpoint means that
// there is no endpoint. A URL is shown without its path and query, which may hold a secret: when only
// these differ, the change has equal values.
func changesOf(was, h Endpoint) Changes {
	from, to, changes := was.audited(), h.audited(), Changes{}
	for _, name := range [...]string{"url", "description", "events", "enabled", "disabledReason"} {
		differs := !reflect.DeepEqual(from[name], to[name])
		if name == "url" {
			differs = differs || was.URL != h.URL // from and to have only the origins
		}
		if differs {
			changes[name] = Change{from[name], to[name]}
		}
	}
	return changes
}

// audited returns the values that the audit log shows, by name: nil for the zero Endpoint.
func (h Endpoint) audited() map[string]any {
	if h.ID == "" {
		return nil
	}
	values := map[string]any{
		"url": webhook.Origin(h.URL), "description": h.Description, "events": h.Events, "enabled": h.Enabled,
	}
	if h.DisabledReason != "" {
		values["disabledReason"] = h.DisabledReason
	}
	return values
}

// report adds the audit entry and the event of a change to the change's transaction. The event
// goes to the app's other endpoints. The time of both is h.UpdatedAt.
func (t *txn) report(ctx context.Context, kind webhook.Type, h Endpoint, by Changer, paid int, changes Changes) {
	t.audit(ctx, entry{
		org: h.OrgID, at: h.UpdatedAt, action: string(kind), actor: by.id(), target: string(h.ID), changes: changes,
	})
	data := webhook.EndpointData{
		EndpointID: h.ID, Origin: webhook.Origin(h.URL), Events: h.Events, Enabled: h.Enabled,
		DisabledReason: webhook.OrNull(h.DisabledReason), KeyID: webhook.OrNull(by.Key),
	}
	if kind == webhook.EndpointUpdated {
		data.Changed = slices.Sorted(maps.Keys(changes))
	}
	t.event(newEvent{org: h.OrgID, app: h.AppID, kind: kind, at: h.UpdatedAt, except: h.ID, data: data, paid: paid})
}

// Current reads an endpoint again, right before something is sent to the endpoint. ok is false when
// the endpoint is disabled or deleted. Because of this read, every attempt that begins after the answer
// to a change of the endpoint follows the change.
func (ds Deliveries) Current(ctx context.Context, h Endpoint) (now Endpoint, ok bool, err error) {
	row := endpointRow(h.AppID, h.ID)
	rows, err := ds.s.db.Batch(ctx, row) // the deliver function's role allows no GetItem of an endpoint
	if err != nil || rows[row] == nil {
		return Endpoint{}, false, err
	}
	now, err = table.Decode(rows[row], endpointFrom)
	return now, err == nil && now.Enabled && !now.Deleted, err
}

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
func (s *Store) UpdateEndpoint(ctx context.Context, a id.App, endpoint id.Endpoint, c EndpointChange) (changed Endpoint, err error) {
	err = s.db.Retry(ctx, func() error {
		was, err := s.Endpoint(ctx, a, endpoint)
		if err != nil {
			return err
		}
		if was.DisabledReason == webhook.DisabledByAdmin && c.Enabled != nil && *c.Enabled {
			return problem.New(problem.DisabledByAdmin, "An admin of the org disabled the webhook endpoint. Only an admin can enable it again.")
		}
		t := s.begin()
		t.checkNotBarred(a, c.By)
		changed, err = t.change(ctx, was, c.apply(was, s.now()), ByKey(c.By), c.Paid)
		return err
	})
	return changed, err
}

// apply returns an endpoint with the change.
func (c EndpointChange) apply(endpoint Endpoint, now int64) Endpoint {
	if c.URL != nil && *c.URL != endpoint.URL {
		endpoint.URL, endpoint.urlByKey, endpoint.URLSetByKey = *c.URL, c.By, c.By
	}
	if c.Description != nil {
		endpoint.Description = *c.Description
	}
	if c.Events != nil && !slices.Equal(c.Events, endpoint.Events) {
		endpoint.Events, endpoint.eventsByKey, endpoint.URLSetByKey = c.Events, c.By, c.By
	}
	if c.Enabled != nil && *c.Enabled != endpoint.Enabled {
		if *c.Enabled {
			endpoint = endpoint.enable()
		} else {
			endpoint = endpoint.disable(webhook.DisabledByUser, now)
		}
	}
	endpoint.UpdatedAt = now
	return endpoint
}

// enable returns the endpoint after it is enabled again: all its held deliveries are to be released.
func (endpoint Endpoint) enable() Endpoint {
	endpoint.Enabled, endpoint.DisabledReason, endpoint.DisabledAt = true, "", 0
	endpoint.Releasing, endpoint.ReleaseFrom = true, ""
	return endpoint
}

// disable returns the endpoint after it is disabled. An endpoint that was disabled before gets the new reason.
func (endpoint Endpoint) disable(why webhook.DisabledReason, now int64) Endpoint {
	endpoint.Enabled, endpoint.DisabledReason, endpoint.DisabledAt = false, why, now
	endpoint.Releasing, endpoint.ReleaseFrom = false, ""
	return endpoint
}

// change adds the change from was to endpoint to a transaction, with its audit entry and its event, and commits
// the transaction. It returns the endpoint as the row then has it. When nothing differs, it commits nothing. It returns
// table.ErrRaced when the row has changed since was was read. paid is the number of deliveries that the request was charged for.
func (t *txn) change(ctx context.Context, was, endpoint Endpoint, by Changer, paid int) (Endpoint, error) {
	changes := changesOf(was, endpoint)
	if len(changes) == 0 {
		return was, nil
	}
	asRead := table.All(attrVersion.Is(was.version), attrDeletedAt.Absent())
	if endpoint.resetsBreaker(was) {
		endpoint.Breaker = webhook.Breaker{}
	} else { // an attempt changes the breaker, but not the version
		asRead = table.All(asRead, attrFailures.IsOrAbsent(was.Failures), attrOpenUntil.IsOrAbsent(was.OpenUntil), attrFailingSince.IsOrAbsent(was.FailingSince))
	}
	t.Update(endpointRow(endpoint.AppID, endpoint.ID), asRead, table.Raced, endpoint.write(was))
	t.report(ctx, webhook.EndpointUpdated, endpoint, by, paid, changes)
	return endpoint, t.Commit(ctx)
}

// resetsBreaker reports whether a change forgets the failures of an endpoint: it has another receiver, or it is enabled again.
func (endpoint Endpoint) resetsBreaker(was Endpoint) bool {
	return webhook.Origin(endpoint.URL) != webhook.Origin(was.URL) || endpoint.Enabled && !was.Enabled
}

// write returns the change of an endpoint's row from was to endpoint.
func (endpoint Endpoint) write(was Endpoint) table.Change {
	now := endpoint.UpdatedAt
	due := dueAt(DueEndpoint, endpointRow(endpoint.AppID, endpoint.ID), now)
	changes := []table.Change{
		attrURL.Set(endpoint.URL), attrDescription.Set(endpoint.Description), attrEvents.Set(endpoint.Events), attrEnabled.Set(endpoint.Enabled),
		attrUpdatedAt.Set(now), attrVersion.Set(was.version + 1),
		attrURLSetByKey.Set(endpoint.URLSetByKey), attrURLByKey.Set(endpoint.urlByKey), attrEventsByKey.Set(endpoint.eventsByKey),
	}
	enabled := endpoint.Enabled && !was.Enabled
	if endpoint.resetsBreaker(was) {
		changes = append(changes, attrFailures.Remove(), attrOpenUntil.Remove(), attrFailingSince.Remove())
	}
	switch {
	case enabled:
		changes = append(changes, attrReleaseFrom.Set(""), due, attrDisabledReason.Remove(), attrDisabledAt.Remove())
	case endpoint.DisabledReason != was.DisabledReason: // disabled; due, because parked deliveries are to be held
		changes = append(changes, attrDisabledReason.Set(endpoint.DisabledReason), attrDisabledAt.Set(now), due, attrReleaseFrom.Remove())
	}
	return table.Changes(changes...)
}

// changesOf returns the differences between two states of an endpoint. The zero Endpoint means that
// there is no endpoint. A URL is shown without its path and query, because they may have a secret: when
// only these differ, the change shows two equal values.
func changesOf(was, endpoint Endpoint) Changes {
	from, to, changes := was.audited(), endpoint.audited(), Changes{}
	for _, name := range [...]string{"url", "description", "events", "enabled", "disabledReason"} {
		differs := !reflect.DeepEqual(from[name], to[name])
		if name == "url" {
			differs = differs || was.URL != endpoint.URL // from and to have only the origins
		}
		if differs {
			changes[name] = Change{from[name], to[name]}
		}
	}
	return changes
}

// audited returns the values that the audit log shows, by name: nil for the zero Endpoint.
func (endpoint Endpoint) audited() map[string]any {
	if endpoint.ID == "" {
		return nil
	}
	values := map[string]any{
		"url": webhook.Origin(endpoint.URL), "description": endpoint.Description, "events": endpoint.Events, "enabled": endpoint.Enabled,
	}
	if endpoint.DisabledReason != "" {
		values["disabledReason"] = endpoint.DisabledReason
	}
	return values
}

// report adds the audit entry and the event of a change to the change's transaction. The event
// goes to the app's other endpoints. The time of both is endpoint.UpdatedAt.
func (t *txn) report(ctx context.Context, kind webhook.Type, endpoint Endpoint, by Changer, paid int, changes Changes) {
	t.audit(ctx, entry{
		org: endpoint.OrgID, at: endpoint.UpdatedAt, action: string(kind), actor: by.id(), target: string(endpoint.ID), changes: changes,
	})
	data := webhook.EndpointData{
		EndpointID: endpoint.ID, Origin: webhook.Origin(endpoint.URL), Events: endpoint.Events, Enabled: endpoint.Enabled,
		DisabledReason: webhook.OrNull(endpoint.DisabledReason), KeyID: webhook.OrNull(by.Key),
	}
	if kind == webhook.EndpointUpdated {
		data.Changed = slices.Sorted(maps.Keys(changes))
	}
	t.event(newEvent{org: endpoint.OrgID, app: endpoint.AppID, kind: kind, at: endpoint.UpdatedAt, except: endpoint.ID, data: data, paid: paid})
}

// Current reads an endpoint again, right before something is sent to the endpoint. ok is false when
// the endpoint is disabled or deleted. Because of this read, every attempt that begins after the answer
// to a change of the endpoint follows the change.
func (ds Deliveries) Current(ctx context.Context, endpoint Endpoint) (now Endpoint, ok bool, err error) {
	row := endpointRow(endpoint.AppID, endpoint.ID)
	rows, err := ds.s.db.Batch(ctx, row) // the deliver function's role allows no GetItem of an endpoint
	if err != nil || rows[row] == nil {
		return Endpoint{}, false, err
	}
	now, err = table.Decode(rows[row], endpointFrom)
	return now, err == nil && now.Enabled && !now.Deleted, err
}

package store

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// EndpointChange is a change of an endpoint by its app. A nil member changes nothing.
type EndpointChange struct {
	By          id.Key // the app's API key that makes the change
	URL         *string
	Description *string
	Events      []string
	Enabled     *bool
}

// UpdateEndpoint changes an endpoint. An endpoint that is enabled again starts without failures,
// and the sweep releases its held deliveries. When nothing differs, UpdateEndpoint writes
// nothing. Errors: endpoint_not_found, key_not_active, disabled_by_admin.
func (s *Store) UpdateEndpoint(ctx context.Context, a id.App, h id.Endpoint, c EndpointChange) (changed Endpoint, err error) {
	err = retryRaced(ctx, func() error {
		was, err := s.Endpoint(ctx, a, h)
		if err != nil {
			return err
		}
		if was.DisabledReason == DisabledByAdmin && c.Enabled != nil && *c.Enabled {
			return problem.New(problem.DisabledByAdmin, "An admin of the org disabled the webhook endpoint: only an admin enables it.")
		}
		t := &txn{}
		t.unbarred(s.table, a, c.By)
		changed, err = s.change(ctx, t, was, c.apply(was, s.now()), changer{key: c.By})
		return err
	})
	return changed, err
}

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
			h = h.disable(DisabledByUser, now)
		}
	}
	h.UpdatedAt = now
	return h
}

// enable returns the endpoint as it is once it is enabled again.
func (h Endpoint) enable() Endpoint {
	h.Enabled, h.DisabledReason, h.DisabledAt = true, "", 0
	h.Releasing, h.ReleaseFrom = true, ""
	return h
}

// disable returns the endpoint as it is once it is disabled. An endpoint that was disabled
// before gets the new reason.
func (h Endpoint) disable(why DisabledReason, now int64) Endpoint {
	h.Enabled, h.DisabledReason, h.DisabledAt = false, why, now
	h.Releasing, h.ReleaseFrom = false, ""
	return h
}

// changer is the actor of a change of an endpoint: an API key of its app, or an admin.
type changer struct {
	key  id.Key
	user id.User
}

// change adds the change from was to h to a transaction, with its audit entry and its event, and
// commits it. When nothing differs it commits nothing.
func (s *Store) change(ctx context.Context, t *txn, was, h Endpoint, by changer) (Endpoint, error) {
	changes := changesOf(was, h)
	if len(changes) == 0 {
		return was, nil
	}
	e, err := h.write(was, h.UpdatedAt)
	if err != nil {
		return Endpoint{}, err
	}
	t.update(s.table, hookKey(h.AppID, h.ID), e, raced)
	if err := s.tell(ctx, t, webhook.EndpointUpdated, h, by, changes); err != nil {
		return Endpoint{}, err
	}
	return h, s.commit(ctx, t)
}

// changesOf returns the differences between two states of an endpoint. The zero Endpoint means
// that there is none. A URL is shown without its path and query, which may hold a secret: when
// only these differ, From and To are equal.
func changesOf(was, h Endpoint) Changes {
	from, to, changes := was.audited(), h.audited(), Changes{}
	for _, name := range [...]string{"url", "description", "events", "enabled", "disabledReason"} {
		if name == "url" && was.URL != h.URL || !reflect.DeepEqual(from[name], to[name]) {
			changes[name] = Change{from[name], to[name]}
		}
	}
	return changes
}

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

// endpointView is the data of endpoint.created, endpoint.updated and endpoint.deleted. It has
// nothing of the URL's path and query.
type endpointView struct {
	EndpointID     id.Endpoint     `json:"endpointId"`
	Origin         string          `json:"origin"`
	Events         []string        `json:"events"`
	Enabled        bool            `json:"enabled"`
	DisabledReason *DisabledReason `json:"disabledReason"`
	KeyID          *id.Key         `json:"keyId"`             // null: an admin made the change
	Changed        []string        `json:"changed,omitempty"` // of endpoint.updated
}

// tell adds the audit entry and the event of a change to the change's transaction. The event
// goes to the app's other endpoints. The time of both is h.UpdatedAt.
func (s *Store) tell(ctx context.Context, t *txn, kind webhook.Type, h Endpoint, by changer, changes Changes) error {
	s.audit(ctx, t, entry{
		org: h.OrgID, at: h.UpdatedAt, action: string(kind), actor: by.user, key: by.key, target: string(h.ID), changes: changes,
	})
	view := endpointView{EndpointID: h.ID, Origin: webhook.Origin(h.URL), Events: h.Events, Enabled: h.Enabled}
	if h.DisabledReason != "" {
		view.DisabledReason = &h.DisabledReason
	}
	if by.key != "" {
		view.KeyID = &by.key
	}
	if kind == webhook.EndpointUpdated {
		view.Changed = slices.Sorted(maps.Keys(changes))
	}
	_, err := s.event(t, happening{app: h.AppID, kind: kind, at: h.UpdatedAt, except: h.ID, data: view})
	return err
}

// Receiver reads an endpoint again, right before something is sent to it. ok is false when the
// endpoint is disabled or deleted. Deliveries depend on this read: once a change of an endpoint
// is answered, every attempt that begins has seen it.
func (s *Store) Receiver(ctx context.Context, h Endpoint) (now Endpoint, ok bool, err error) {
	k := hookKey(h.AppID, h.ID)
	rows, err := s.getMany(ctx, k)
	if err != nil || rows[k] == nil {
		return Endpoint{}, false, err
	}
	now = endpointFrom(rows[k])
	return now, now.Enabled && !now.Deleted, nil
}

package store

import (
	"cmp"
	"context"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/webhook"
)

// EnableEndpoint enables or disables an endpoint for an admin that RoleFor has accepted. The app cannot enable an
// endpoint that an admin disabled. Errors: endpoint_not_found, org_not_found, insufficient_role, and when it enables also
// a.OldSignIn and org_suspended.
func (s *Store) EnableEndpoint(ctx context.Context, a Actor, app id.App, endpoint id.Endpoint, enabled bool) (changed Endpoint, err error) {
	err = s.db.Retry(ctx, func() error {
		was, err := s.Endpoint(ctx, app, endpoint)
		if enabled {
			err = cmp.Or(err, a.OldSignIn)
		}
		if err != nil {
			return err
		}
		changed, err = s.enableByAdmin(ctx, a, was, enabled)
		return err
	})
	return changed, err
}

// enableByAdmin enables or disables an endpoint that was read before, and returns the changed endpoint. An
// endpoint that is disabled already gets the reason DisabledByAdmin.
func (s *Store) enableByAdmin(ctx context.Context, a Actor, was Endpoint, enabled bool) (Endpoint, error) {
	endpoint, now := was, s.now()
	switch {
	case enabled && !was.Enabled:
		endpoint = was.enable()
	case !enabled && was.DisabledReason != webhook.DisabledByAdmin:
		endpoint = was.disable(webhook.DisabledByAdmin, now)
	}
	endpoint.UpdatedAt = now
	t := s.begin()
	if enabled {
		t.authorizeMember(a, was.OrgID)
		t.checkOrg(a, was.OrgID)
	} else {
		t.Check(a.right(was.OrgID))
	}
	return t.change(ctx, was, endpoint, Changer{Actor: a}, 0)
}

// DisableEndpointsOf disables each endpoint of an app that a revoked key created, or whose URL or event
// types the key set last. Each endpoint has a separate transaction: after an error some may be disabled,
// and the caller calls DisableEndpointsOf again. Errors: org_not_found, insufficient_role, key_not_found.
func (s *Store) DisableEndpointsOf(ctx context.Context, a Actor, o id.Org, k id.Key) error {
	revoked, err := s.keyFor(ctx, a, o, k)
	if err != nil {
		return err
	}
	if err := s.bar(ctx, a, revoked, nil); err != nil { // before the list: see bar
		return err
	}
	return s.db.Retry(ctx, func() error {
		all, _, err := s.Endpoints(ctx, revoked.AppID, Page{})
		if err != nil {
			return err
		}
		for _, endpoint := range all {
			if !endpoint.setBy(k) {
				continue
			}
			if _, err := s.enableByAdmin(ctx, a, endpoint, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// setBy reports whether a key created the endpoint, or set its URL or its event types last.
func (endpoint Endpoint) setBy(k id.Key) bool {
	return slices.Contains([]id.Key{endpoint.CreatedByKey, endpoint.URLSetByKey, endpoint.urlByKey, endpoint.eventsByKey}, k)
}

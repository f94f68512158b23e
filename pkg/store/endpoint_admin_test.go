package store_test

import (
	"testing"

	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// TestAnAdminEnablesEndpointsDisabledForAnyReason: an admin enables an endpoint that is disabled for any reason. The
// endpoint then has no failures, and its held deliveries are to be released.
func TestAnAdminEnablesEndpointsDisabledForAnyReason(t *testing.T) {
	c := connect(t)
	disable := func(endpoint store.Endpoint, why webhook.DisabledReason) error {
		no := false
		switch why {
		case webhook.DisabledByAdmin:
			return errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, false))
		case webhook.DisabledByUser:
			return errorOf(c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Enabled: &no}))
		default: // by the deliver function, after a failure
			noError(t, c.Deliveries().Failed(ctx, endpoint))
			return c.Deliveries().DisableEndpoint(ctx, c.readEndpoint(t, endpoint.ID), why)
		}
	}
	for _, why := range []webhook.DisabledReason{webhook.DisabledByAdmin, webhook.DisabledByUser, webhook.DisabledByGone, webhook.DisabledByFailing} {
		endpoint := c.endpoint(t)
		noError(t, disable(endpoint, why))
		if got := c.readEndpoint(t, endpoint.ID); got.Enabled || got.DisabledReason != why {
			t.Fatalf("%s: %+v", why, got)
		}
		_, err := c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, true)
		got := c.readEndpoint(t, endpoint.ID)
		if err != nil || !got.Enabled || got.DisabledReason != "" || got.DisabledAt != 0 || !got.Releasing || got.Breaker != (webhook.Breaker{}) {
			t.Errorf("%s: %v, %+v", why, err, got)
		}
	}
}

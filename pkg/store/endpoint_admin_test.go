package store_test

import (
	"testing"

	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// TestAnAdminEnablesWhatEachReasonDisabled: an admin enables an endpoint that is disabled for any reason. The
// endpoint then has no failures, and its held deliveries are to be released.
func TestAnAdminEnablesWhatEachReasonDisabled(t *testing.T) {
	c := connect(t)
	disable := func(h store.Endpoint, why webhook.DisabledReason) error {
		no := false
		switch why {
		case webhook.DisabledByAdmin:
			return second(c.EnableEndpoint(ctx, admin(c.ada), c.app, h.ID, false))
		case webhook.DisabledByUser:
			return second(c.UpdateEndpoint(ctx, c.app, h.ID, store.EndpointChange{Enabled: &no}))
		default: // by the deliver function, after a failure
			wants(t, c.Deliveries().Failed(ctx, h), "")
			return c.Deliveries().DisableEndpoint(ctx, c.seen(t, h.ID), why)
		}
	}
	for _, why := range []webhook.DisabledReason{webhook.DisabledByAdmin, webhook.DisabledByUser, webhook.DisabledByGone, webhook.DisabledByFailing} {
		h := c.endpoint(t)
		wants(t, disable(h, why), "")
		if got := c.seen(t, h.ID); got.Enabled || got.DisabledReason != why {
			t.Fatalf("%s: %+v", why, got)
		}
		_, err := c.EnableEndpoint(ctx, admin(c.ada), c.app, h.ID, true)
		got := c.seen(t, h.ID)
		if err != nil || !got.Enabled || got.DisabledReason != "" || got.DisabledAt != 0 || !got.Releasing || got.Breaker != (webhook.Breaker{}) {
			t.Errorf("%s: %v, %+v", why, err, got)
		}
	}
}

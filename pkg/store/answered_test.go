package store_test

import (
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// TestAnEndpointChangeAnswersWithTheRow: an attempt fails, succeeds or opens the breaker between the change's read and its write.
// The answer has the breaker as the row has it.
func TestAnEndpointChangeAnswersWithTheRow(t *testing.T) {
	const path, text = "https://receiver.example/another", "another"
	changes := map[string]func(c *connected, endpoint store.Endpoint) (store.Endpoint, error){
		"a description": func(c *connected, endpoint store.Endpoint) (store.Endpoint, error) {
			return c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Description: ptr(text)})
		},
		"a path": func(c *connected, endpoint store.Endpoint) (store.Endpoint, error) {
			return c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{URL: ptr(path)})
		},
		"types": func(c *connected, endpoint store.Endpoint) (store.Endpoint, error) {
			return c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Events: []string{"test"}})
		},
		"disabled": func(c *connected, endpoint store.Endpoint) (store.Endpoint, error) {
			return c.UpdateEndpoint(ctx, c.app, endpoint.ID, store.EndpointChange{Enabled: ptr(false)})
		},
		"disabled by an admin": func(c *connected, endpoint store.Endpoint) (store.Endpoint, error) {
			return c.EnableEndpoint(ctx, admin(c.ada), c.app, endpoint.ID, false)
		},
	}
	fails := func(c *connected, endpoint id.Endpoint, times int) {
		for range times {
			c.advanceClock(3 * time.Second)
			noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint)))
		}
	}
	meanwhile := map[string]struct {
		before int // failures
		do     func(c *connected, endpoint id.Endpoint)
	}{
		"a first failure":   {0, func(c *connected, endpoint id.Endpoint) { fails(c, endpoint, 1) }},
		"another failure":   {2, func(c *connected, endpoint id.Endpoint) { fails(c, endpoint, 1) }},
		"the breaker opens": {0, func(c *connected, endpoint id.Endpoint) { fails(c, endpoint, 6) }},
		"the breaker opens again": {6, func(c *connected, endpoint id.Endpoint) {
			noError(t, errorOf(c.Deliveries().Probe(ctx, c.readEndpoint(t, endpoint))))
		}},
		"a success": {6, func(c *connected, endpoint id.Endpoint) {
			noError(t, c.Deliveries().Succeeded(ctx, c.readEndpoint(t, endpoint)))
		}},
	}
	for changeName, change := range changes {
		for meanwhileName, m := range meanwhile {
			c := connect(t)
			endpoint := c.endpoint(t)
			fails(c, endpoint.ID, m.before)
			c.Faults.Before("TransactWriteItems", func() { m.do(c, endpoint.ID) })
			got, err := change(c, endpoint)
			noError(t, err)
			if stored := c.readEndpoint(t, endpoint.ID); got.Breaker != stored.Breaker || (stored.Breaker == webhook.Breaker{}) != (meanwhileName == "a success") {
				t.Errorf("%s, %s: answered %+v, the row has %+v", changeName, meanwhileName, got.Breaker, stored.Breaker)
			}
		}
	}
}

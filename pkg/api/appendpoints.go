package api

import (
	"context"

	"latchkey/pkg/id"
)

// endpoints lists an app's webhook endpoints for an admin.
func (a apps) endpoints(ctx context.Context, c *call, _ none) (list[endpointBody], error) {
	p, err := c.page(true, isID(id.ParseEndpoint))
	if err != nil {
		return list[endpointBody]{}, err
	}
	found, next, err := a.store.AppEndpoints(ctx, c.actor(), c.org, c.appID(), p)
	return listOf("endpoints", found, next, endpointBodyOf), err
}

// enableIn is a body that enables or disables an endpoint.
type enableIn struct {
	Enabled *bool `json:"enabled"`
}

func (in *enableIn) check(*call) error { return required("/enabled", in.Enabled) }

func (a apps) enableEndpoint(ctx context.Context, c *call, in enableIn) (endpointBody, error) {
	changed, err := a.store.EnableEndpoint(ctx, c.actor(), c.org, c.appID(), c.endpointID(), *in.Enabled)
	return endpointBodyOf(changed), err
}

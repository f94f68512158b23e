package api

import (
	"context"

	"latchkey/pkg/problem"
)

// endpoints lists an app's webhook endpoints for an admin.
func (a apps) endpoints(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	p, err := c.page(true, isEndpointID)
	if err != nil {
		return answer{}, err
	}
	found, next, err := a.store.AppEndpoints(ctx, c.actor(), orgID, appID(c.PathValue("appId")), p)
	if err != nil {
		return answer{}, err
	}
	return ok(endpointListOf(found, next)), nil
}

// enableEndpoint enables or disables one of them.
func (a apps) enableEndpoint(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Enabled *bool `json:"enabled"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Enabled == nil {
		return answer{}, problem.Invalid("/enabled", "required", "The value is required.")
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	app, h := appID(c.PathValue("appId")), endpointID(c.PathValue("endpointId"))
	changed, err := a.store.EnableEndpoint(ctx, c.actor(), orgID, app, h, *in.Enabled)
	if err != nil {
		return answer{}, err
	}
	return ok(endpointBodyOf(changed)), nil
}

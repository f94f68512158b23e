package api

import (
	"context"
	"net/http"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// apps serves the routes of an org's apps, and what an API key says of itself.
type apps struct{ store *store.Store }

// Apps gives the handler of functions/apps. console is as of Orgs.
func Apps(s *store.Store, console []string) http.Handler {
	a := apps{s}
	return newGroup("apps", map[string]handler{
		"GET /v1/orgs/{orgId}/apps":           a.list,
		"POST /v1/orgs/{orgId}/apps":          a.create,
		"PATCH /v1/orgs/{orgId}/apps/{appId}": a.rename,
		"POST /app/get":                       a.get,

		"GET /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                a.endpoints,
		"PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}": a.enableEndpoint,
	}, console)
}

type appBody struct {
	ID        id.App `json:"id"`
	Name      string `json:"name"`
	IsDefault bool   `json:"isDefault"`
	CreatedAt int64  `json:"createdAt"` // milliseconds
}

func appBodyOf(a store.App) appBody { return appBody{a.ID, a.Name, a.IsDefault, a.CreatedAt} }

func (a apps) list(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	p, err := c.page(true, func(s string) bool { _, err := id.ParseApp(s); return err == nil })
	if err != nil {
		return answer{}, err
	}
	found, next, err := a.store.Apps(ctx, c.actor(), orgID, p)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Apps       []appBody `json:"apps"`
		NextCursor string    `json:"nextCursor,omitempty"`
	}{make([]appBody, len(found)), cursor(next)}
	for i, f := range found {
		body.Apps[i] = appBodyOf(f)
	}
	return ok(body), nil
}

func (a apps) create(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Name *string `json:"name"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	name, err := requiredName("/name", in.Name)
	if err != nil {
		return answer{}, err
	}
	made := a.store.DraftApp(name)
	body, err := render(appBodyOf(made))
	if err != nil {
		return answer{}, err
	}
	once, err := c.once(body)
	if err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	kept, err := a.store.CreateApp(ctx, c.actor(), orgID, made, once)
	if err != nil {
		return answer{}, err
	}
	return created(body, kept), nil
}

func (a apps) rename(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Name *string `json:"name"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Name != nil {
		clean, err := cleanName("/name", *in.Name)
		if err != nil {
			return answer{}, err
		}
		in.Name = &clean
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	renamed, err := a.store.RenameApp(ctx, c.actor(), orgID, appID(c.PathValue("appId")), in.Name)
	if err != nil {
		return answer{}, err
	}
	return ok(appBodyOf(renamed)), nil
}

// get tells an API key what it is and what it opens.
func (a apps) get(ctx context.Context, c *call) (answer, error) {
	if err := c.decode(&struct{}{}); err != nil {
		return answer{}, err
	}
	found, err := a.store.AccessOf(ctx, c.caller.OrgID, c.caller.AppID, c.caller.KeyID)
	if err != nil {
		return answer{}, err
	}
	type appPart struct {
		ID        id.App `json:"id"`
		Name      string `json:"name"`
		CreatedAt int64  `json:"createdAt"`
	}
	type orgPart struct {
		ID   id.Org `json:"id"`
		Name string `json:"name"`
	}
	type keyPart struct {
		ID        id.Key `json:"id"`
		KeyPrefix string `json:"keyPrefix"`
		Name      string `json:"name"`
		CreatedAt int64  `json:"createdAt"`
		ExpiresAt *int64 `json:"expiresAt"`
	}
	return ok(struct {
		App appPart `json:"app"`
		Org orgPart `json:"org"`
		Key keyPart `json:"key"`
	}{
		appPart{found.App.ID, found.App.Name, found.App.CreatedAt},
		orgPart{found.Org.ID, found.Org.Name},
		keyPart{found.Key.ID, found.Key.Prefix, found.Key.Name, found.Key.CreatedAt, orNull(found.Key.ExpiresAt)},
	}), nil
}

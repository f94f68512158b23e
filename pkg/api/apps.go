package api

import (
	"context"
	"encoding/json"
	"net/http"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// apps serves the routes of an org's apps, and the description of an API key.
type apps struct{ store *store.Store }

// Apps returns the handler of functions/apps. console lists origins, as for Orgs.
func Apps(s *store.Store, console []string, rights route.Rights) http.Handler {
	a := apps{s}
	return newGroup("apps", map[string]handler{
		"listApps":  handle(a.list),
		"createApp": handleAs[newNameIn](a.create),
		"updateApp": handleAs[nameIn](a.rename),
		"getApp":    handle(a.get),

		"publishEvents": handleAs[publishIn](a.publish),
	}, console, options{rights: rights})
}

type appBody struct {
	ID        id.App `json:"id"`
	Name      string `json:"name"`
	IsDefault bool   `json:"isDefault"`
	CreatedAt int64  `json:"createdAt"` // milliseconds
}

func appBodyOf(a store.App) appBody { return appBody{a.ID, a.Name, a.IsDefault, a.CreatedAt} }

func (a apps) list(ctx context.Context, c *call, _ none) (list[json.RawMessage], error) {
	return reading[store.App, appBody]{
		name: "apps", valid: isID(id.ParseApp), shown: appBodyOf,
		rows: func(p store.Page) ([]store.App, string, error) { return a.store.Apps(ctx, c.actor(), c.org, p) },
		id:   func(b appBody) string { return string(b.ID) },
	}.answer(c)
}

func (a apps) create(ctx context.Context, c *call, name string) (answer, error) {
	once, err := onceOf(c, appBodyOf)
	if err != nil {
		return answer{}, err
	}
	return created(a.store.CreateApp(ctx, c.actor(), c.org, name, once))
}

func (a apps) rename(ctx context.Context, c *call, name *string) (appBody, error) {
	renamed, err := a.store.RenameApp(ctx, c.actor(), c.org, c.app, name)
	return appBodyOf(renamed), err
}

// accessBody describes an API key, its app and its org.
type accessBody struct {
	App struct {
		ID        id.App `json:"id"`
		Name      string `json:"name"`
		CreatedAt int64  `json:"createdAt"` // milliseconds, as all times below
	} `json:"app"`
	Org struct {
		ID   id.Org `json:"id"`
		Name string `json:"name"`
	} `json:"org"`
	Key struct {
		ID        id.Key `json:"id"`
		KeyPrefix string `json:"keyPrefix"`
		Name      string `json:"name"`
		CreatedAt int64  `json:"createdAt"`
		ExpiresAt *int64 `json:"expiresAt"` // null: the key never expires

		Scopes   []string          `json:"scopes"`
		Metadata map[string]string `json:"metadata"`
	} `json:"key"`
}

// get describes the API key that calls, with its app and its org.
func (a apps) get(ctx context.Context, c *call, _ none) (body accessBody, err error) {
	found, err := a.store.AccessOf(ctx, c.caller.OrgID, c.caller.AppID, c.caller.KeyID)
	app, org, key := found.App, found.Org, found.Key
	body.App.ID, body.App.Name, body.App.CreatedAt = app.ID, app.Name, app.CreatedAt
	body.Org.ID, body.Org.Name = org.ID, org.Name
	body.Key.ID, body.Key.KeyPrefix, body.Key.Name = key.ID, key.Prefix, key.Name
	body.Key.CreatedAt, body.Key.ExpiresAt = key.CreatedAt, orNull(key.ExpiresAt)
	body.Key.Scopes, body.Key.Metadata = apikey.SplitScopes(key.Scopes), orEmpty(key.Metadata)
	return body, err
}

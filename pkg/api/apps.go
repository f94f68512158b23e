package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// apps serves the routes of an org's apps, and the description of an API key.
type apps struct{ store *store.Store }

// Apps returns the handler of functions/apps. prefix is the deployment's KeyPrefix: keysBeginWith of an app must begin with it.
// console lists the allowed origins, as in Orgs.
func Apps(s *store.Store, prefix string, console []string, rights route.Rights) http.Handler {
	a := apps{s}
	return newGroup("apps", map[string]handler{
		"listApps":  handle(a.list),
		"createApp": handleAs[newAppIn](a.create),
		"updateApp": handleAs[appIn](a.update),
		"getApp":    handle(a.get),

		"publishEvents": handleAs[publishIn](a.publish),
		"putCatalogue":  ofServices(handleAs[catalogueIn](a.putCatalogue)),
	}, console, options{rights: rights, prefix: prefix})
}

type appBody struct {
	ID        id.App `json:"id"`
	Name      string `json:"name"`
	IsDefault bool   `json:"isDefault"`
	CreatedAt int64  `json:"createdAt"` // milliseconds

	KeysBeginWith string `json:"keysBeginWith,omitempty"`
}

func appBodyOf(a store.App) appBody {
	return appBody{a.ID, a.Name, a.IsDefault, a.CreatedAt, a.KeysBeginWith}
}

func (a apps) list(ctx context.Context, c *call, _ none) (list[json.RawMessage], error) {
	return reading[store.App, appBody]{
		name: "apps", valid: isID(id.ParseApp), shown: appBodyOf,
		rows: func(p store.Page) ([]store.App, string, error) { return a.store.Apps(ctx, c.actor(), c.org, p) },
		id:   func(b appBody) string { return string(b.ID) },
	}.answer(c)
}

// appIn is a change of an app.
type appIn struct {
	Name          *string         `json:"name"`
	KeysBeginWith json.RawMessage `json:"keysBeginWith"` // a string, or null to clear it
}

func (in appIn) parse(c *call) (change store.AppChange, err error) {
	if change.Name, err = (nameIn{in.Name}).parse(c); err != nil {
		return change, err
	}
	change.KeysBeginWith, err = clearable("/keysBeginWith", in.KeysBeginWith, func(begin string) (string, error) {
		if !strings.HasPrefix(begin, c.prefix) || !apikey.ValidPrefix(begin) {
			return "", problem.Invalid("/keysBeginWith", "format",
				`The value must be "`+c.prefix+`" or begin with it, have at most 16 characters of a to z and 0 to 9, and not be lkt.`)
		}
		return begin, nil
	})
	return change, err
}

// newAppIn is a body that describes a new app.
type newAppIn appIn

func (in newAppIn) parse(c *call) (store.NewApp, error) {
	if err := required("/name", in.Name); err != nil {
		return store.NewApp{}, err
	}
	change, err := appIn(in).parse(c)
	return store.NewApp{Name: orZero(change.Name), KeysBeginWith: orZero(change.KeysBeginWith)}, err
}

func (a apps) create(ctx context.Context, c *call, wanted store.NewApp) (answer, error) {
	once, err := onceOf(c, appBodyOf)
	if err != nil {
		return answer{}, err
	}
	return created(a.store.CreateApp(ctx, c.actor(), c.org, wanted, once))
}

func (a apps) update(ctx context.Context, c *call, change store.AppChange) (appBody, error) {
	changed, err := a.store.UpdateApp(ctx, c.actor(), c.org, c.app, change)
	return appBodyOf(changed), err
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

package store

import (
	"context"
	"errors"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// App owns API keys, links and webhook endpoints in an org.
type App struct {
	ID id.App
	NewApp
	IsDefault bool // created with the org; a key created without an app belongs to it
	CreatedAt int64
}

// NewApp describes an app to create.
type NewApp struct {
	Name          string
	KeysBeginWith string // the prefix of the app's new keys; "": the deployment's
}

// AppChange is a change of an app. A nil member changes nothing.
type AppChange struct {
	Name          *string
	KeysBeginWith *string // "": the deployment's prefix again
}

func appFrom(r *table.Reading) App {
	a, o := id.App(r.SK(skApp)), id.Org(r.PK(pkOrg))
	about := NewApp{Name: attrName.From(r), KeysBeginWith: attrKeysBeginWith.OrZero(r)}
	return App{ID: a, NewApp: about, IsDefault: a == id.DefaultApp(o), CreatedAt: attrCreatedAt.From(r)}
}

// maxWholeApps bounds the apps that Apps reads. It is more than an org may have (Limits.Apps).
const maxWholeApps = 500

// Apps lists an org's apps, newest first. It reads all of them, because there are few, and returns a part of them as the page. If no
// app has the id p.After, it returns the first page. Errors: org_not_found, insufficient_role.
func (s *Store) Apps(ctx context.Context, a Actor, o id.Org, p Page) (apps []App, next string, err error) {
	apps, _, err = listAs(ctx, s, a, o, Page{}.span(pkOrg+string(o), skApp, maxWholeApps), appFrom)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(apps, func(a, b App) int { return newestFirst(a.CreatedAt, b.CreatedAt, string(a.ID), string(b.ID)) })
	if at := slices.IndexFunc(apps, func(x App) bool { return string(x.ID) == p.After }); at >= 0 {
		apps = apps[at+1:]
	}
	if p.Limit > 0 && len(apps) > p.Limit {
		apps = apps[:p.Limit]
		next = string(apps[p.Limit-1].ID)
	}
	return apps, next, nil
}

// CreateApp creates an app. Errors: org_not_found, insufficient_role, idempotency_key_reused,
// org_suspended, limit_reached.
func (s *Store) CreateApp(ctx context.Context, a Actor, o id.Org, wanted NewApp, once Once[App]) (Created[App], error) {
	now := s.Now()
	app := App{ID: s.ids().NewApp(now), NewApp: wanted, CreatedAt: now.UnixMilli()}
	made, err := once.render(app)
	if err != nil {
		return made, err
	}
	t := s.begin()
	t.authorizeMember(a, o)
	t.once(once.Request, made.Answer)
	t.Create(appRow(o, app.ID), attrName.Set(app.Name), attrCreatedAt.Set(app.CreatedAt), attrKeysBeginWith.SetOrRemove(app.KeysBeginWith))
	open, refusal := a.orgIsOpen(refuse(errAppLimit))
	t.Update(orgRow(o), table.All(open, attrApps.Under(s.Limits.Apps)), refusal, table.Add(attrApps, 1))
	t.audit(ctx, entry{
		org: o, at: app.CreatedAt, action: "app.created", actor: a.id(), target: string(app.ID),
		changes: NewApp{}.changes(wanted),
	})
	return made.committed(t.Commit(ctx))
}

// UpdateApp changes an app. Every key that is created or rotated by a request that begins after UpdateApp has returned
// begins with the new prefix. When nothing differs, UpdateApp writes nothing. Errors: org_not_found, insufficient_role,
// app_not_found.
func (s *Store) UpdateApp(ctx context.Context, a Actor, o id.Org, app id.App, c AppChange) (App, error) {
	var out App
	err := s.db.Retry(ctx, func() error {
		rows, err := s.readToChange(ctx, a, o, appRow(o, app))
		if err != nil {
			return err
		}
		out, err = decode(rows[appRow(o, app)], appFrom, errAppNotFound)
		if err != nil {
			return err
		}
		was := out.NewApp
		if c.Name != nil {
			out.Name = *c.Name
		}
		if c.KeysBeginWith != nil {
			out.KeysBeginWith = *c.KeysBeginWith
		}
		changes := was.changes(out.NewApp)
		if len(changes) == 0 {
			return nil
		}
		t := s.begin()
		t.authorizeMember(a, o)
		t.checkOrg(a, o)
		t.Update(appRow(o, app), table.All(attrName.Is(was.Name), attrKeysBeginWith.IsOrAbsent(was.KeysBeginWith)), table.Raced,
			attrName.Set(out.Name), attrKeysBeginWith.SetOrRemove(out.KeysBeginWith))
		t.audit(ctx, entry{org: o, at: s.now(), action: "app.updated", actor: a.id(), target: string(app), changes: changes})
		return t.Commit(ctx)
	})
	return out, err
}

// changes returns the differences between two states of an app, of the values that an admin can change.
func (a NewApp) changes(to NewApp) Changes {
	changes := Changes{}
	if a.Name != to.Name {
		changes["name"] = Change{webhook.OrNull(a.Name), to.Name}
	}
	if a.KeysBeginWith != to.KeysBeginWith {
		changes["keysBeginWith"] = Change{webhook.OrNull(a.KeysBeginWith), webhook.OrNull(to.KeysBeginWith)}
	}
	return changes
}

// RoleFor checks that the caller may act on an app of an org, and returns the caller's role: Admin for a service. Errors:
// org_not_found, insufficient_role, app_not_found.
func (s *Store) RoleFor(ctx context.Context, a Actor, o id.Org, app id.App) (org.Role, error) {
	rows, err := s.readAs(ctx, a, o, appRow(o, app))
	switch {
	case err != nil:
		return "", err
	case rows[appRow(o, app)] == nil:
		return "", errAppNotFound
	case a.Service != "":
		return org.Admin, nil
	}
	return table.Decode(rows[memberRow(o, a.User)], attrRole.From)
}

// Access is an API key with the app and the org that it gives access to.
type Access struct {
	Key APIKey
	App App
	Org Org
}

// AccessOf returns a key with its app and org, in one strong read. Error: key_not_found when one
// of them was deleted since the authorizer let the request in, or the deletion of the org has
// begun. The authorizer refuses the next request of the key.
func (s *Store) AccessOf(ctx context.Context, o id.Org, app id.App, k id.Key) (Access, error) {
	rows, err := s.db.Batch(ctx, apiKeyRow(o, k), appRow(o, app), orgRow(o))
	if err != nil {
		return Access{}, err
	}
	key, owner, meta := table.Read(rows[apiKeyRow(o, k)]), table.Read(rows[appRow(o, app)]), table.Read(rows[orgRow(o)])
	if key.Row == nil || owner.Row == nil || orgGone(meta.Row) {
		return Access{}, errKeyNotFound
	}
	access := Access{Key: apiKeyFrom(&key), App: appFrom(&owner), Org: orgFrom(&meta)}
	return access, errors.Join(key.Err(), owner.Err(), meta.Err())
}

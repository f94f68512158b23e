package store

import (
	"context"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

// App owns API keys, links and webhook endpoints in an org.
type App struct {
	ID        id.App
	Name      string
	IsDefault bool // created with the org; a key created without an app belongs to it
	CreatedAt int64
}

func appFrom(o id.Org, row item) App {
	a := id.App(trimmed(row.str(attrSK), skApp))
	return App{ID: a, Name: row.str(attrName), IsDefault: a == id.DefaultApp(o), CreatedAt: row.num(attrCreatedAt)}
}

// Apps lists an org's apps, newest first. It reads all of them, because there are few, and cuts
// the page from them. Errors: org_not_found, insufficient_role.
func (s *Store) Apps(ctx context.Context, a Actor, o id.Org, p Page) (apps []App, next string, err error) {
	own, err := s.get(ctx, memberKey(o, a.User))
	if err != nil {
		return nil, "", err
	}
	if err := a.admit(own); err != nil {
		return nil, "", err
	}
	rows, _, err := s.query(ctx, span{pk: pkOrg + string(o), prefix: skApp, limit: maxWholeMembers})
	if err != nil {
		return nil, "", err
	}
	apps = make([]App, len(rows))
	for i, row := range rows {
		apps[i] = appFrom(o, row)
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
// limit_reached.
func (s *Store) CreateApp(ctx context.Context, a Actor, o id.Org, name string, once Once[App]) (Created[App], error) {
	now := s.Now()
	app := App{ID: s.ids().NewApp(now), Name: name, CreatedAt: now.UnixMilli()}
	made, err := once.render(app)
	if err != nil {
		return made, err
	}
	t := &txn{}
	t.admit(s.table, a, o)
	if err := t.once(s, once.Request, made.Answer); err != nil {
		return made, err
	}
	t.create(s.table, appKey(o, app.ID), item{attrName: str(app.Name), attrCreatedAt: num(app.CreatedAt)})
	t.update(s.table, orgKey(o), expr{
		update: "SET apps = apps + :one", when: notDeleted + " AND apps < :max",
		values: item{":one": num(1), ":max": num(int64(s.Limits.Apps))},
	}, unlessGone(func(item) error {
		return problem.New(problem.LimitReached, "The org has as many apps as one may have.")
	}))
	s.audit(ctx, t, entry{
		org: o, at: app.CreatedAt, action: "app.created", actor: a.User, target: string(app.ID),
		changes: Changes{"name": {To: app.Name}},
	})
	return made.committed(s.commit(ctx, t))
}

// RenameApp changes the name of an app. For nil, or the name that the app has already, it writes
// nothing. Errors: org_not_found, insufficient_role, app_not_found.
func (s *Store) RenameApp(ctx context.Context, a Actor, o id.Org, app id.App, name *string) (App, error) {
	var out App
	err := retryRaced(ctx, func() error {
		own, meta, k := memberKey(o, a.User), orgKey(o), appKey(o, app)
		rows, err := s.getMany(ctx, own, meta, k)
		if err != nil {
			return err
		}
		if err := a.admitTo(rows[own], rows[meta]); err != nil {
			return err
		}
		if rows[k] == nil {
			return errAppNotFound(nil)
		}
		out = appFrom(o, rows[k])
		if name == nil || out.Name == *name {
			return nil
		}
		t := &txn{}
		t.admit(s.table, a, o)
		t.checkNotDeleted(s.table, o)
		t.rename(s.table, k, out.Name, *name)
		s.audit(ctx, t, entry{
			org: o, at: s.now(), action: "app.updated", actor: a.User, target: string(app),
			changes: Changes{"name": {From: out.Name, To: *name}},
		})
		out.Name = *name
		return s.commit(ctx, t)
	})
	return out, err
}

// rename changes the name of a row, if the row still has the name that was read, and is not that
// of an org whose deletion has begun since.
func (t *txn) rename(table *string, k key, from, to string) {
	t.update(table, k, expr{
		update: "SET #name = :new", when: "#name = :old AND attribute_not_exists(deletedAt)", names: map[string]string{"#name": attrName},
		values: item{":new": str(to), ":old": str(from)},
	}, raced)
}

func errAppNotFound(item) error {
	return problem.New(problem.AppNotFound, "The org has no such app.")
}

// Access is an API key with the app and the org that it gives access to.
type Access struct {
	Key APIKey
	App App
	Org Org
}

// AccessOf returns a key with its app and org, in one strong read. Error: key_not_found when one
// of them was deleted since the authorizer let the request in, or the deletion of the org has
// begun. The authorizer answers the next request.
func (s *Store) AccessOf(ctx context.Context, o id.Org, app id.App, k id.Key) (Access, error) {
	rows, err := s.getMany(ctx, apiKeyKey(o, k), appKey(o, app), orgKey(o))
	if err != nil {
		return Access{}, err
	}
	keyRow, appRow, orgRow := rows[apiKeyKey(o, k)], rows[appKey(o, app)], rows[orgKey(o)]
	if keyRow == nil || appRow == nil || orgGone(orgRow) {
		return Access{}, errKeyNotFound()
	}
	return Access{Key: apiKeyFrom(keyRow), App: appFrom(o, appRow), Org: orgFrom(orgRow)}, nil
}

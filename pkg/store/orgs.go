package store

import (
	"context"
	"maps"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// The attributes of orgs, memberships and the map of active keys.
const (
	attrName        = "name"
	attrCreatedAt   = "createdAt"
	attrRole        = "role"
	attrJoinedAt    = "joinedAt"
	attrAddedBy     = "addedBy" // of a membership: the user who added the member
	attrAdmins      = "admins"
	attrMembers     = "members"
	attrApps        = "apps"
	attrOrgsCreated = "orgsCreated"
	attrLive        = "live"
)

const (
	maxWholeOrgs = 1000 // how many orgs GET /v1/orgs returns without a page
	defaultApp   = "Default"
)

// Org is an org's row.
type Org struct {
	ID        id.Org
	Name      string
	CreatedAt int64 // milliseconds

	creator id.User
	deleted bool // its deletion has begun
}

// OrgOfUser is an org with the role that a user has in it.
type OrgOfUser struct {
	Org
	Role    org.Role
	AddedBy *Adder // nil: the user created the org
}

// Adder is the user who added a member to an org, as that member sees it.
type Adder struct {
	UserID      id.User
	Name, Email string // the verified email; "": none
}

// Page selects a part of a list. The zero value selects the whole list, up to the bound in the
// contract.
type Page struct {
	Limit int    // 1 to 100; 0: the whole list
	After string // the id behind which the page begins; "": at the beginning
}

// CreateOrg creates an org with its default app. The creator is its first admin.
//
// Errors: idempotency_key_reused; limit_reached when the user has created as many orgs as one
// user may.
func (s *Store) CreateOrg(ctx context.Context, creator id.User, name string, once Once[Org]) (Created[Org], error) {
	o := Org{ID: s.ids().NewOrg(), Name: name, CreatedAt: s.now()}
	made, err := once.render(o)
	if err != nil {
		return made, err
	}
	t := &txn{}
	if err := t.once(s, once.Request, made.Answer); err != nil {
		return made, err
	}
	t.update(s.table, userKey(creator), expr{
		update: "SET orgsCreated = if_not_exists(orgsCreated, :zero) + :one",
		when:   "attribute_exists(PK) AND (attribute_not_exists(orgsCreated) OR orgsCreated < :max)",
		values: item{":zero": num(0), ":one": num(1), ":max": num(int64(s.Limits.OrgsCreated))},
	}, func(item) error {
		return problem.New(problem.LimitReached, "You have created as many orgs as one user may.")
	})
	app := id.DefaultApp(o.ID)
	t.create(s.table, orgKey(o.ID), item{
		attrName: str(o.Name), attrCreatedAt: num(o.CreatedAt),
		attrAdmins: num(1), attrMembers: num(1), attrApps: num(1), attrCreatedBy: str(string(creator)),
	})
	s.putMembership(t, o.ID, creator, "", org.Admin, o.CreatedAt, nil)
	t.create(s.table, appKey(o.ID, app), item{attrName: str(defaultApp), attrCreatedAt: num(o.CreatedAt)})
	t.create(s.table, liveKeysKey(o.ID), item{attrLive: emptyMap()})
	s.audit(ctx, t, entry{
		org: o.ID, at: o.CreatedAt, action: "org.created", actor: creator, target: string(o.ID),
		changes: Changes{"name": {To: o.Name}},
	})
	return made.committed(s.commit(ctx, t))
}

// putMembership writes both rows of a membership: the org's and the user's. by is the user who
// added the member, "" for the org's creator.
func (s *Store) putMembership(t *txn, o id.Org, u, by id.User, r org.Role, at int64, exists refusal) {
	attrs := item{attrRole: str(string(r)), attrJoinedAt: num(at)}
	if by != "" {
		attrs[attrAddedBy] = str(string(by))
	}
	t.put(s.table, memberKey(o, u), attrs, expr{when: ifAbsent}, exists)
	t.put(s.table, userOrgKey(u, o), attrs, expr{}, nil)
}

// OrgsOf lists the orgs of a user: the whole list by time, newest first, or a page by id. next
// is the id behind which the next page begins, "" at the end.
func (s *Store) OrgsOf(ctx context.Context, u id.User, p Page) (orgs []OrgOfUser, next string, err error) {
	sp := span{pk: userKey(u).pk, prefix: skOrg, limit: p.Limit}
	if p.Limit == 0 {
		sp.limit = maxWholeOrgs
	}
	if p.After != "" {
		sp.after = skOrg + p.After
	}
	rows, more, err := s.query(ctx, sp)
	if err != nil {
		return nil, "", err
	}
	keys := make([]key, len(rows))
	wanted := map[key]bool{} // many were added by the same user
	for i, row := range rows {
		keys[i] = orgKey(id.Org(trimmed(row.str(attrSK), skOrg)))
		wanted[keys[i]] = true
		if by := row.str(attrAddedBy); by != "" {
			wanted[userKey(id.User(by))] = true
		}
	}
	found, err := s.getMany(ctx, slices.Collect(maps.Keys(wanted))...)
	if err != nil {
		return nil, "", err
	}
	orgs = make([]OrgOfUser, 0, len(rows))
	for i, row := range rows {
		meta, ok := found[keys[i]]
		if !ok {
			continue
		}
		o := OrgOfUser{Org: orgFrom(meta), Role: org.Role(row.str(attrRole))}
		if by := id.User(row.str(attrAddedBy)); by != "" {
			profile := found[userKey(by)]
			o.AddedBy = &Adder{UserID: by, Name: profile.str(attrName), Email: profile.str(attrEmail)}
		}
		orgs = append(orgs, o)
	}
	if more {
		next = trimmed(rows[len(rows)-1].str(attrSK), skOrg)
	}
	if p.Limit == 0 {
		slices.SortFunc(orgs, func(a, b OrgOfUser) int { return newestFirst(a.CreatedAt, b.CreatedAt, string(a.ID), string(b.ID)) })
	}
	return orgs, next, nil
}

// Org returns an org to one of its members. Errors: org_not_found, insufficient_role.
func (s *Store) Org(ctx context.Context, a Actor, o id.Org) (Org, error) {
	rows, err := s.getMany(ctx, memberKey(o, a.User), orgKey(o))
	if err != nil {
		return Org{}, err
	}
	if err := a.admit(rows[memberKey(o, a.User)]); err != nil {
		return Org{}, err
	}
	if rows[orgKey(o)] == nil {
		return Org{}, errOrgNotFound()
	}
	return orgFrom(rows[orgKey(o)]), nil
}

// RenameOrg changes the name of an org. For the name that the org has already, it writes
// nothing. Errors: org_not_found, insufficient_role.
func (s *Store) RenameOrg(ctx context.Context, a Actor, o id.Org, name string) (Org, error) {
	var out Org
	err := retryRaced(ctx, func() error {
		var err error
		out, err = s.Org(ctx, a, o)
		if err == nil && out.deleted {
			err = errOrgNotFound()
		}
		if err != nil || out.Name == name {
			return err
		}
		t := &txn{}
		t.admit(s.table, a, o)
		t.rename(s.table, orgKey(o), out.Name, name)
		s.audit(ctx, t, entry{
			org: o, at: s.now(), action: "org.updated", actor: a.User, target: string(o),
			changes: Changes{"name": {From: out.Name, To: name}},
		})
		out.Name = name
		return s.commit(ctx, t)
	})
	return out, err
}

func orgFrom(row item) Org {
	return Org{
		ID:   id.Org(trimmed(row.str(attrPK), pkOrg)),
		Name: row.str(attrName), CreatedAt: row.num(attrCreatedAt),
		creator: id.User(row.str(attrCreatedBy)), deleted: row.num(attrDeletedAt) != 0,
	}
}

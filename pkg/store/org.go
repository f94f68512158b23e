package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

const (
	orgsPage   = 1000      // orgs that OrgsOf returns without a limit
	defaultApp = "Default" // the name of an org's default app
)

// Org is an org's row.
type Org struct {
	ID          id.Org
	Name        string
	ExternalID  string   // the owner's id of the org. Services set it, and only admins and services see it; "": none
	CreatedAt   int64    // milliseconds
	State       OrgState // only admins and services see the allowance
	SuspendedAt int64    // milliseconds; 0: the org is not suspended

	creator   id.ShortUser // zero: not known
	deleted   bool         // its deletion has begun
	keysEnded bool         // its deletion has ended for keys and members
	admins    int

	revokedUpTo id.Key // DeleteOrg continues after this key; "": it begins with the first one
	spreading   bool   // not all keys have the state yet
	spreadAfter id.Key // see attrSpreadAfter
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

// CreateOrg creates an org with its default app. The creator is its first admin.
//
// Errors: idempotency_key_reused; limit_reached when the user has created the most orgs allowed;
// user_stopped when the user's erasure has begun.
func (s *Store) CreateOrg(ctx context.Context, creator id.User, name string, once Once[Org]) (Created[Org], error) {
	o := Org{ID: s.ids().NewOrg(), Name: name, CreatedAt: s.now()}
	made, err := once.render(o)
	if err != nil {
		return made, err
	}
	err = s.db.Retry(ctx, func() error {
		t := s.begin()
		t.once(once.Request, made.Answer)
		t.Update(userRow(creator), table.All(table.Exists, attrErasedAt.Absent(), table.Any(attrOrgsCreated.Absent(), attrOrgsCreated.Under(s.Limits.OrgsCreated))),
			func(found table.Row) error {
				if attrErasedAt.IsIn(found) {
					return errUserStopped
				}
				return errOrgLimit
			},
			table.Add(attrOrgsCreated, 1), attrEnded.SetIfAbsent(nil)) // DynamoDB writes an entry only into a map that exists
		t.putOrg(ctx, Actor{User: creator}, o, creator, attrCreatedBy.Set(creator.Short()))
		err := t.Commit(ctx)
		if problem.Is(err, problem.LimitReached) {
			return s.dropEnded(ctx, creator, err)
		}
		return err
	})
	return made.committed(err)
}

// putOrg writes the rows of a new org with its first admin, "" for none, and the audit entry. A service is not the admin, so
// another entry names the admin that the service has chosen.
func (t *txn) putOrg(ctx context.Context, by Actor, o Org, admin id.User, more table.Change) {
	admins := 0
	if admin != "" {
		admins = 1
	}
	t.Create(orgRow(o.ID),
		attrName.Set(o.Name), attrCreatedAt.Set(o.CreatedAt), attrAdmins.Set(admins), attrMembers.Set(admins), attrApps.Set(1), o.State.set(), more)
	if admin != "" {
		t.putMembership(o.ID, admin, Actor{Service: by.Service}, org.Admin, o.CreatedAt, nil)
		if by.Service != "" {
			t.auditAdded(ctx, by, o.ID, admin, org.Admin, o.CreatedAt)
		}
	}
	t.Create(appRow(o.ID, id.DefaultApp(o.ID)), attrName.Set(defaultApp), attrCreatedAt.Set(o.CreatedAt))
	t.Create(directoryRow(o.ID))
	t.Create(activeKeysRow(o.ID), attrLive.Set(nil), attrStateVersion.SetOrRemove(o.State.Version))
	changes := Changes{"name": {To: o.Name}}
	if o.ExternalID != "" {
		changes["externalId"] = Change{To: o.ExternalID}
	}
	if o.State.Allowance != "" {
		changes["allowance"] = Change{To: auditedLimits(o.State.Allowance)}
	}
	if o.State.Plan != "" {
		changes["plan"] = Change{To: o.State.Plan}
	}
	t.audit(ctx, entry{org: o.ID, at: o.CreatedAt, action: "org.created", actor: by.id(), target: string(o.ID), changes: changes})
}

// endedFor is the time for which a deleted org still counts in Limits.OrgsCreated of its creator, so that
// no one can make and delete orgs endlessly.
const endedFor = 24 * time.Hour

// dropEnded removes a user's orgs that were deleted more than a day ago from the count of orgs that the user has created. It returns
// table.ErrRaced when there were any, so that the use case tries again, and full when there were none.
func (s *Store) dropEnded(ctx context.Context, u id.User, full error) error {
	ended, _, err := lookup(ctx, s, userRow(u), attrEnded.OrZero)
	if err != nil {
		return err
	}
	before := s.now() - endedFor.Milliseconds()
	drops, unchanged := dropsOf(attrEnded, ended, func(at int64) bool { return at <= before })
	if drops == nil {
		return full
	}
	t := s.begin()
	t.Update(userRow(u), table.All(unchanged...), table.Raced, table.Changes(drops...), table.Add(attrOrgsCreated, -len(drops)))
	return cmp.Or(t.Commit(ctx), table.ErrRaced)
}

// dropsOf selects the entries of a map that are to be dropped, at most dropAtOnce. drop decides by the number
// of an entry. For each selected entry, dropsOf returns the change that removes it, and the condition that its
// number is as it was read.
func dropsOf(of table.Map[int64], entries map[string]int64, drop func(int64) bool) (drops []table.Change, unchanged []table.Condition) {
	for name, at := range entries {
		if drop(at) && len(drops) < dropAtOnce {
			entry := table.Entry(of, name)
			drops, unchanged = append(drops, entry.Remove()), append(unchanged, entry.Is(at))
		}
	}
	return drops, unchanged
}

// putMembership writes both rows of a membership: the org's and the user's. by is the actor who added the member, the zero value
// for the org's creator. The user's row never names a service. exists is the refusal for a user who is a member already.
func (t *txn) putMembership(o id.Org, u id.User, by Actor, r org.Role, at int64, exists table.Refusal) {
	membership := table.Changes(attrRole.Set(r), attrJoinedAt.Set(at))
	t.Put(memberRow(o, u), table.Absent, exists, membership, attrAddedBy.SetOrRemove(by.id()))
	t.Put(userOrgRow(u, o), nil, nil, membership, attrAddedBy.SetOrRemove(string(by.User)))
}

// OrgsOf lists the orgs of a user by id. Without a limit, a page has orgsPage orgs. next is After of the next
// page, "" at the end.
func (s *Store) OrgsOf(ctx context.Context, u id.User, p Page) (orgs []OrgOfUser, next string, err error) {
	all, next, err := list(ctx, s, p.span(userRow(u).PK, skOrg, orgsPage), orgOfUserFrom)
	if err != nil {
		return nil, "", err
	}
	wanted := map[table.Key]bool{} // a set: a batch may not have a key twice, and one adder may be in several rows
	for _, o := range all {
		wanted[orgRow(o.ID)] = true
		if o.AddedBy != nil {
			wanted[userRow(o.AddedBy.UserID)] = true
		}
	}
	found, err := s.db.Batch(ctx, slices.Collect(maps.Keys(wanted))...)
	if err != nil {
		return nil, "", err
	}
	orgs = make([]OrgOfUser, 0, len(all))
	for _, o := range all {
		meta := found[orgRow(o.ID)]
		if meta == nil { // the org's row is deleted, but not this row of a membership
			continue
		}
		if o.Org, err = table.Decode(meta, orgFrom); err != nil {
			return nil, "", err
		}
		if by := o.AddedBy; by != nil {
			adder, err := table.Decode(found[userRow(by.UserID)], profileFrom)
			if err != nil {
				return nil, "", err
			}
			by.Email, by.Name = adder.email, adder.name
		}
		orgs = append(orgs, o)
	}
	return orgs, next, nil
}

func orgOfUserFrom(r *table.Reading) OrgOfUser {
	o := OrgOfUser{Org: Org{ID: id.Org(r.SK(skOrg))}, Role: attrRole.From(r)}
	if by := attrAddedBy.OrZero(r); by != "" {
		o.AddedBy = &Adder{UserID: id.User(by)}
	}
	return o
}

// Org returns an org to one of its members, or to a service. Errors: org_not_found, insufficient_role.
func (s *Store) Org(ctx context.Context, a Actor, o id.Org) (Org, error) {
	rows, err := s.readAs(ctx, a, o, orgRow(o))
	if err != nil {
		return Org{}, err
	}
	found, err := decode(rows[orgRow(o)], orgFrom, errOrgNotFound)
	if err != nil || a.Service != "" {
		return found, err
	}
	role, err := table.Decode(rows[memberRow(o, a.User)], attrRole.From)
	if role != org.Admin {
		found.ExternalID, found.State.Allowance = "", ""
	}
	return found, err
}

// OrgChange is a change of an org. A nil member changes nothing.
type OrgChange struct {
	Name       *string
	ExternalID *string // "": none
	Allowance  *string // of limit.Rules.Text; "": none
	Plan       *string // "": none
	Suspended  *bool
}

// ChangeOrg changes an org. When nothing differs, it writes nothing. A changed allowance counts for every check of a key that
// begins after ChangeOrg has returned. After an error some keys may not have it yet: call ChangeOrg again. Errors: org_not_found,
// insufficient_role, conflict when another org has the external id.
func (s *Store) ChangeOrg(ctx context.Context, a Actor, o id.Org, c OrgChange) (Org, error) {
	var out Org
	err := s.db.Retry(ctx, func() error {
		was, err := s.Org(ctx, a, o)
		if err == nil && was.deleted {
			err = errOrgNotFound
		}
		if err != nil {
			return err
		}
		out = c.apply(was, s.now())
		changes := was.changes(out)
		if len(changes) == 0 {
			return nil
		}
		action := "org.updated"
		switch {
		case was.SuspendedAt == 0 && out.SuspendedAt != 0:
			action = "org.suspended"
		case was.SuspendedAt != 0 && out.SuspendedAt == 0:
			action = "org.resumed"
		}
		t := s.begin()
		t.authorizeMember(a, o)
		isNew := out.State != was.State
		t.Update(orgRow(o), table.All(was.asRead(), attrStateVersion.IsOrAbsent(was.State.Version), attrDeletedAt.Absent()), table.Raced, attrName.Set(out.Name),
			attrExternalID.SetOrRemove(out.ExternalID), table.If(isNew, out.setState()))
		if isNew {
			out.spreading, out.spreadAfter = true, ""
			t.Update(activeKeysRow(o), keysOpen(), unless(keysClosed, table.Raced), attrStateVersion.Set(out.State.Version))
		}
		if isLimited := out.State.Allowance != ""; isLimited != (was.State.Allowance != "") {
			t.markPartial(o, allKeys, s.now(), s.now())
		}
		t.moveExternalID(o, was.ExternalID, out.ExternalID)
		t.audit(ctx, entry{org: o, at: s.now(), action: action, actor: a.id(), target: string(o), changes: changes})
		return t.Commit(ctx)
	})
	if err == nil && c.ofState() {
		err = s.spreadState(ctx, out)
	}
	return out, err
}

// ofState reports whether the change concerns the values that the keys have a copy of.
func (c OrgChange) ofState() bool { return c.Allowance != nil || c.Plan != nil || c.Suspended != nil }

// apply returns an org with the change.
func (c OrgChange) apply(o Org, now int64) Org {
	was := o
	if c.Name != nil {
		o.Name = *c.Name
	}
	if c.ExternalID != nil {
		o.ExternalID = *c.ExternalID
	}
	if c.Allowance != nil {
		o.State.Allowance = *c.Allowance
	}
	if c.Plan != nil {
		o.State.Plan = *c.Plan
	}
	if c.Suspended != nil && *c.Suspended != (o.SuspendedAt != 0) {
		o.SuspendedAt = now
		if !*c.Suspended {
			o.SuspendedAt = 0
		}
	}
	if o.State != was.State || o.SuspendedAt != was.SuspendedAt {
		o.State.Version++
	}
	return o
}

// changes returns the differences between two states of an org.
func (o Org) changes(to Org) Changes {
	changes := Changes{}
	if o.Name != to.Name {
		changes["name"] = Change{From: o.Name, To: to.Name}
	}
	if o.ExternalID != to.ExternalID {
		changes["externalId"] = Change{webhook.OrNull(o.ExternalID), webhook.OrNull(to.ExternalID)}
	}
	if o.State.Allowance != to.State.Allowance {
		changes["allowance"] = Change{auditedLimits(o.State.Allowance), auditedLimits(to.State.Allowance)}
	}
	if o.State.Plan != to.State.Plan {
		changes["plan"] = Change{webhook.OrNull(o.State.Plan), webhook.OrNull(to.State.Plan)}
	}
	if o.SuspendedAt != to.SuspendedAt {
		changes["suspendedAt"] = Change{webhook.OrNull(o.SuspendedAt), webhook.OrNull(to.SuspendedAt)}
	}
	return changes
}

// asRead is the condition that the row of an org still has the name and the external id that were read.
func (o Org) asRead() table.Condition {
	return table.All(attrName.Is(o.Name), attrExternalID.IsOrAbsent(o.ExternalID))
}

func orgFrom(r *table.Reading) Org {
	return Org{
		ID: id.Org(r.PK(pkOrg)), Name: attrName.From(r), ExternalID: attrExternalID.OrZero(r), CreatedAt: attrCreatedAt.From(r),
		State: orgStateFrom(r), SuspendedAt: attrSuspendedAt.OrZero(r),
		revokedUpTo: attrRevokedUpTo.OrZero(r), spreading: attrSpreadAfter.IsIn(r.Row), spreadAfter: attrSpreadAfter.OrZero(r),
		creator: attrCreatedBy.OrZero(r), deleted: attrDeletedAt.OrZero(r) != 0, keysEnded: attrKeysEndedAt.IsIn(r.Row), admins: attrAdmins.OrZero(r),
	}
}

package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/table"
)

// maxWholeMembers is the number of members that GET …/members returns without a page: an org cannot
// have more.
const maxWholeMembers = 500

// Member is a user in an org.
type Member struct {
	UserID   id.User
	Email    string
	Name     string
	Role     org.Role
	JoinedAt int64  // milliseconds
	AddedBy  string // the id of a user, or service:NAME; "": the org's creator, or not known
}

func memberFrom(r *table.Reading) Member {
	return Member{UserID: id.User(r.SK(skMember)), Role: attrRole.From(r), JoinedAt: attrJoinedAt.From(r), AddedBy: attrAddedBy.OrZero(r)}
}

// Role reads the role of a user in an org, with one strong read. ok is false for a user who is not a
// member, and for an unknown org.
func (s *Store) Role(ctx context.Context, o id.Org, u id.User) (role org.Role, ok bool, err error) {
	return lookup(ctx, s, memberRow(o, u), attrRole.From)
}

// profile has the values that other users see of a user.
type profile struct{ email, name string }

// profileFrom reads a user's row. A user without a row has no email and no name.
func profileFrom(r *table.Reading) (p profile) {
	if r.Row != nil {
		p = profile{attrEmail.From(r), attrName.From(r)}
	}
	return p
}

// Members lists an org's members by id. next is After of the next page, "" at the end.
// Errors: org_not_found, insufficient_role.
func (s *Store) Members(ctx context.Context, a Actor, o id.Org, p Page) (members []Member, next string, err error) {
	members, next, err = listAs(ctx, s, a, o, p.span(pkOrg+string(o), skMember, maxWholeMembers), memberFrom)
	if err != nil {
		return nil, "", err
	}
	users := make([]table.Key, len(members))
	for i, m := range members {
		users[i] = userRow(m.UserID)
	}
	profiles, err := batch(ctx, s, users, profileFrom)
	if err != nil {
		return nil, "", err
	}
	for i, user := range users {
		members[i].Email, members[i].Name = profiles[user].email, profiles[user].name
	}
	return members, next, nil
}

// AddMember adds the user who has this verified and folded address. services are the accounts of services: such an account is not
// found as a user.
//
// Errors: org_not_found, insufficient_role, a.OldSignIn for a new admin, idempotency_key_reused, user_not_found, member_exists,
// limit_reached.
func (s *Store) AddMember(ctx context.Context, a Actor, o id.Org, folded string, r org.Role, once Once[id.User], services ...Enrolled) (Created[id.User], error) {
	var made Created[id.User]
	err := s.db.Retry(ctx, func() (err error) {
		made, err = s.addMember(ctx, a, o, folded, r, once, services)
		return err
	})
	return made.committed(err)
}

func (s *Store) addMember(ctx context.Context, a Actor, o id.Org, folded string, r org.Role, once Once[id.User], services []Enrolled) (made Created[id.User], err error) {
	email := emailRow(folded)
	// The order is caller, idempotency, account: a stranger must not learn whether an address has an account.
	rows, err := s.readToChange(ctx, a, o, once.Request.reads(email)...)
	if r == org.Admin {
		err = cmp.Or(err, a.OldSignIn)
	}
	if err != nil {
		return made, err
	}
	now := s.now()
	if err := once.Request.kept(rows[once.Request.row()], now); err != nil {
		return made, err
	}
	holder, err := decode(rows[email], addressFrom, errUserNotFound)
	isHolder := func(e Enrolled) bool { return identityRow(e.Issuer, e.Subject).PK == holder.identity }
	if err == nil && (holder.holder == "" || slices.ContainsFunc(services, isHolder)) {
		err = errUserNotFound
	}
	user := holder.holder
	if errors.Is(err, errUserNotFound) { // an earlier try may have added the user, and the user has given the address up since
		err = s.unlessKept(ctx, once.Request, err)
	}
	if err != nil {
		return made, err
	}
	if user == a.User {
		return made, errMemberExists
	}
	if made, err = once.render(user); err != nil {
		return made, err
	}
	t := s.begin()
	t.authorizeMember(a, o)
	t.once(once.Request, made.Answer)
	t.Check(email, attrUserID.Is(user), table.Raced)
	t.join(ctx, a, o, user, r)
	return made, t.Commit(ctx)
}

// join adds the writes of a new membership to a transaction.
func (t *txn) join(ctx context.Context, a Actor, o id.Org, user id.User, r org.Role) {
	now := t.s.now()
	t.putMembership(o, user, a, r, now, refuse(errMemberExists))
	open, refusal := a.orgIsOpen(refuse(errMemberLimit))
	t.Update(orgRow(o), table.All(open, attrMembers.Under(t.s.Limits.Members)), refusal,
		table.Add(attrMembers, 1), table.Add(attrAdmins, adminsIn(r)))
	t.auditAdded(ctx, a, o, user, r, now)
}

// auditAdded adds the entry of a new member to a transaction.
func (t *txn) auditAdded(ctx context.Context, a Actor, o id.Org, user id.User, r org.Role, at int64) {
	t.audit(ctx, entry{org: o, at: at, action: "member.added", actor: a.id(), target: string(user), changes: Changes{"role": {To: r}}})
}

// adminsIn returns 1 if a membership of this role counts as an admin, or else 0.
func adminsIn(r org.Role) int {
	if r == org.Admin {
		return 1
	}
	return 0
}

// ChangeRole changes the role of a member. If the member has the role already, ChangeRole writes nothing, and checks by a
// transaction that the member still has the role. Errors: org_not_found, insufficient_role, member_not_found, last_admin,
// a.OldSignIn for the role of an admin, and org_suspended for a stronger role.
func (s *Store) ChangeRole(ctx context.Context, a Actor, o id.Org, user id.User, to org.Role) (Member, error) {
	var out Member
	err := s.db.Retry(ctx, func() error {
		target, err := s.readTarget(ctx, a, o, user)
		if to == org.Admin {
			err = cmp.Or(err, a.OldSignIn)
		}
		if err != nil {
			return err
		}
		out = target
		by := a
		by.WhileSuspended = by.WhileSuspended || target.Role.AtLeast(to)
		t := s.begin()
		condition, refusal := t.unchanged(a, o, target)
		if target.Role == to {
			t.Check(memberRow(o, user), condition, refusal)
			t.checkOrg(by, o)
			return t.Commit(ctx)
		}
		out.Role = to
		t.Update(memberRow(o, user), condition, refusal, attrRole.Set(to))
		t.Update(userOrgRow(user, o), table.Exists, nil, attrRole.Set(to))
		t.countAdmins(by, o, adminsIn(to)-adminsIn(target.Role), 0)
		t.audit(ctx, entry{
			org: o, at: s.now(), action: "member.role_changed", actor: a.id(), target: string(user),
			changes: Changes{"role": {From: target.Role, To: to}},
		})
		return t.Commit(ctx)
	})
	return out, err
}

// RemoveMember removes a member from an org. Errors: org_not_found, insufficient_role,
// member_not_found, last_admin.
func (s *Store) RemoveMember(ctx context.Context, a Actor, o id.Org, user id.User) error {
	return s.removeMember(ctx, a, o, user, "member.removed")
}

// LeaveOrg removes the caller from an org. Errors: org_not_found, last_admin.
func (s *Store) LeaveOrg(ctx context.Context, a Actor, o id.Org) error {
	return s.removeMember(ctx, a, o, a.User, "member.left")
}

func (s *Store) removeMember(ctx context.Context, a Actor, o id.Org, user id.User, action string) error {
	a.WhileSuspended = true
	return s.db.Retry(ctx, func() error {
		target, err := s.readTarget(ctx, a, o, user)
		if err != nil {
			return err
		}
		t := s.begin()
		t.deleteMembership(ctx, a, o, target, action)
		return t.Commit(ctx)
	})
}

// deleteMembership adds the writes that end a membership to a transaction.
func (t *txn) deleteMembership(ctx context.Context, a Actor, o id.Org, m Member, action string) {
	condition, refusal := t.unchanged(a, o, m)
	t.Delete(memberRow(o, m.UserID), condition, refusal)
	t.Delete(userOrgRow(m.UserID, o), nil, nil)
	t.countAdmins(a, o, -adminsIn(m.Role), -1)
	t.audit(ctx, entry{
		org: o, at: t.s.now(), action: action, actor: a.id(), target: string(m.UserID),
		changes: Changes{"role": {From: m.Role}},
	})
}

// readTarget reads the caller's membership, the org's row and the member who is to be changed, in
// one batch. A batch does not read its rows at one moment. So before readTarget returns
// member_not_found, it checks in a transaction that the member does not exist. Errors: org_not_found,
// insufficient_role, member_not_found.
func (s *Store) readTarget(ctx context.Context, a Actor, o id.Org, user id.User) (m Member, err error) {
	membership := memberRow(o, user)
	rows, err := s.readToChange(ctx, a, o, membership, userRow(user))
	if err != nil {
		return m, err
	}
	if rows[membership] == nil {
		t := s.begin()
		t.authorizeMember(a, o)
		t.Check(membership, attrRole.Absent(), table.Raced)
		a.WhileSuspended = true // nothing is created, so a suspended org does not refuse it
		t.checkOrg(a, o)
		return m, cmp.Or[error](t.Commit(ctx), errMemberNotFound)
	}
	if m, err = table.Decode(rows[membership], memberFrom); err != nil {
		return m, err
	}
	p, err := table.Decode(rows[userRow(user)], profileFrom)
	m.Email, m.Name = p.email, p.name
	return m, err
}

// unchanged returns the condition that the target's role has not changed since it was read, and the refusal if it has. It also
// adds the check of the caller to the transaction. A transaction may name a row only once. So when the caller is the target, the
// check of the caller is a part of the condition: without it, a viewer could promote themselves.
func (t *txn) unchanged(a Actor, o id.Org, target Member) (table.Condition, table.Refusal) {
	same := attrRole.Is(target.Role)
	if target.UserID == a.User {
		_, allows, refusal := a.right(o)
		return table.All(allows, same), func(found table.Row) error {
			return cmp.Or(refusal(found), table.ErrRaced)
		}
	}
	t.authorizeMember(a, o)
	return same, func(found table.Row) error {
		if found == nil {
			return errMemberNotFound
		}
		return table.ErrRaced
	}
}

// countAdmins changes the org's counters of admins and members, if the org's deletion has not begun and the actor may act in it.
// The counter of admins falls only if it is more than one, so that the last admin stays.
func (t *txn) countAdmins(a Actor, o id.Org, admins, members int) {
	if admins == 0 && members == 0 {
		t.checkOrg(a, o)
		return
	}
	when, refusal := a.orgIsOpen(refuse(errLastAdmin))
	if admins < 0 {
		when = table.All(when, attrAdmins.Over(1))
	}
	t.Update(orgRow(o), when, refusal, table.Add(attrAdmins, admins), table.Add(attrMembers, members))
}

package store

import (
	"context"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// maxWholeMembers is how many members GET …/members returns without a page: all that an org may
// have.
const maxWholeMembers = 500

// Member is a user in an org.
type Member struct {
	UserID   id.User
	Email    string
	Name     string
	Role     org.Role
	JoinedAt int64 // milliseconds
}

func memberFrom(membership, user item) Member {
	return Member{
		UserID: id.User(trimmed(membership.str(attrSK), skMember)),
		Email:  user.str(attrEmail), Name: user.str(attrName),
		Role: org.Role(membership.str(attrRole)), JoinedAt: membership.num(attrJoinedAt),
	}
}

// Members lists an org's members: the whole list by time, newest first, or a page by id. next is
// the id behind which the next page begins, "" at the end. Errors: org_not_found,
// insufficient_role.
func (s *Store) Members(ctx context.Context, a Actor, o id.Org, p Page) (members []Member, next string, err error) {
	own, err := s.get(ctx, memberKey(o, a.User))
	if err != nil {
		return nil, "", err
	}
	if err := a.admit(own); err != nil {
		return nil, "", err
	}
	sp := span{pk: pkOrg + string(o), prefix: skMember, limit: p.Limit}
	if p.Limit == 0 {
		sp.limit = maxWholeMembers
	}
	if p.After != "" {
		sp.after = skMember + p.After
	}
	rows, more, err := s.query(ctx, sp)
	if err != nil {
		return nil, "", err
	}
	keys := make([]key, len(rows))
	for i, row := range rows {
		keys[i] = userKey(id.User(trimmed(row.str(attrSK), skMember)))
	}
	users, err := s.getMany(ctx, keys...)
	if err != nil {
		return nil, "", err
	}
	members = make([]Member, len(rows))
	for i, row := range rows {
		members[i] = memberFrom(row, users[keys[i]])
	}
	if more {
		next = string(members[len(members)-1].UserID)
	}
	if p.Limit == 0 {
		slices.SortFunc(members, func(a, b Member) int {
			return newestFirst(a.JoinedAt, b.JoinedAt, string(a.UserID), string(b.UserID))
		})
	}
	return members, next, nil
}

// AddMember adds the user who has this verified and folded address.
//
// Errors: org_not_found, insufficient_role, idempotency_key_reused,
// user_not_found, member_exists, limit_reached.
func (s *Store) AddMember(ctx context.Context, a Actor, o id.Org, folded string, r org.Role, once Once[id.User]) (Created[id.User], error) {
	var made Created[id.User]
	err := retryRaced(ctx, func() (err error) {
		made, err = s.addMember(ctx, a, o, folded, r, once)
		return err
	})
	return made.committed(err)
}

func (s *Store) addMember(ctx context.Context, a Actor, o id.Org, folded string, r org.Role, once Once[id.User]) (made Created[id.User], err error) {
	own, meta, email := memberKey(o, a.User), orgKey(o), emailKey(folded)
	wanted := []key{own, meta, email}
	if once.Request.keyed() {
		wanted = append(wanted, once.Request.rowKey())
	}
	rows, err := s.getMany(ctx, wanted...)
	if err != nil {
		return made, err
	}
	now := s.now()
	// In this order: caller, idempotency, account. A stranger must not learn who has an account.
	if err := a.admitTo(rows[own], rows[meta]); err != nil {
		return made, err
	}
	if err := once.Request.kept(rows[once.Request.rowKey()], now); err != nil {
		return made, err
	}
	if rows[email] == nil {
		return made, problem.New(problem.UserNotFound, "No account has this verified email. The person must sign in once first.")
	}
	user := id.User(rows[email].str(attrUserID))
	exists := func(item) error {
		return problem.New(problem.MemberExists, "This user is a member of the org already.")
	}
	if user == a.User {
		return made, exists(nil)
	}
	if made, err = once.render(user); err != nil {
		return made, err
	}
	t := &txn{}
	t.admit(s.table, a, o)
	if err := t.once(s, once.Request, made.Answer); err != nil {
		return made, err
	}
	t.check(s.table, email, expr{
		when: "userId = :user", values: item{":user": str(string(user))},
	}, func(item) error { return errRaced })
	s.putMembership(t, o, user, a.User, r, now, exists)
	t.update(s.table, meta, expr{
		update: "SET members = members + :one, admins = admins + :admins", when: notDeleted + " AND members < :max",
		values: item{":one": num(1), ":admins": num(adminsIn(r)), ":max": num(int64(s.Limits.Members))},
	}, unlessGone(func(item) error {
		return problem.New(problem.LimitReached, "The org has as many members as one may have.")
	}))
	s.audit(ctx, t, entry{
		org: o, at: now, action: "member.added", actor: a.User, target: string(user),
		changes: Changes{"role": {To: r}},
	})
	return made, s.commit(ctx, t)
}

// adminsIn returns how many admins a membership of this role counts for.
func adminsIn(r org.Role) int64 {
	if r == org.Admin {
		return 1
	}
	return 0
}

// ChangeRole changes the role of a member. For the role that the member has already, it writes
// nothing. Errors: org_not_found, insufficient_role, member_not_found, last_admin.
func (s *Store) ChangeRole(ctx context.Context, a Actor, o id.Org, user id.User, to org.Role) (Member, error) {
	var out Member
	err := retryRaced(ctx, func() error {
		target, err := s.target(ctx, a, o, user)
		if err != nil {
			return err
		}
		out = target
		if target.Role == to {
			return nil
		}
		out.Role = to
		t := &txn{}
		s.pinTarget(t, a, o, target, func(when string, values item, no refusal) {
			values[":new"] = str(string(to))
			t.update(s.table, memberKey(o, user), expr{
				update: "SET #role = :new", when: when, names: map[string]string{"#role": attrRole}, values: values,
			}, no)
		})
		t.update(s.table, userOrgKey(user, o), expr{
			update: "SET #role = :new", when: "attribute_exists(PK)",
			names: map[string]string{"#role": attrRole}, values: item{":new": str(string(to))},
		}, nil)
		s.countAdmins(t, o, adminsIn(to)-adminsIn(target.Role), 0)
		s.audit(ctx, t, entry{
			org: o, at: s.now(), action: "member.role_changed", actor: a.User, target: string(user),
			changes: Changes{"role": {From: target.Role, To: to}},
		})
		return s.commit(ctx, t)
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
	return retryRaced(ctx, func() error {
		target, err := s.target(ctx, a, o, user)
		if err != nil {
			return err
		}
		t := &txn{}
		s.pinTarget(t, a, o, target, func(when string, values item, no refusal) {
			t.remove(s.table, memberKey(o, user), expr{
				when: when, names: map[string]string{"#role": attrRole}, values: values,
			}, no)
		})
		t.remove(s.table, userOrgKey(user, o), expr{}, nil)
		s.countAdmins(t, o, -adminsIn(target.Role), -1)
		s.audit(ctx, t, entry{
			org: o, at: s.now(), action: action, actor: a.User, target: string(user),
			changes: Changes{"role": {From: target.Role}},
		})
		return s.commit(ctx, t)
	})
}

// target reads the caller's membership, the org's row and the member who is to be changed, in
// one batch. Errors: org_not_found, insufficient_role, member_not_found.
func (s *Store) target(ctx context.Context, a Actor, o id.Org, user id.User) (Member, error) {
	own, meta, membership, profile := memberKey(o, a.User), orgKey(o), memberKey(o, user), userKey(user)
	wanted := []key{own, meta, profile}
	if membership != own {
		wanted = append(wanted, membership)
	}
	rows, err := s.getMany(ctx, wanted...)
	if err != nil {
		return Member{}, err
	}
	if err := a.admitTo(rows[own], rows[meta]); err != nil {
		return Member{}, err
	}
	if rows[membership] == nil {
		return Member{}, errMemberNotFound()
	}
	return memberFrom(rows[membership], rows[profile]), nil
}

func errMemberNotFound() error {
	return problem.New(problem.MemberNotFound, "The org has no such member.")
}

// pinTarget adds the check of the caller, and the write of the target's membership on the
// condition that the target still has the role that was read. A transaction may name a row only
// once. So when both are the same row, the write also has the condition on the caller: otherwise
// a viewer could promote themselves.
func (s *Store) pinTarget(t *txn, a Actor, o id.Org, target Member, write func(when string, values item, no refusal)) {
	if target.UserID == a.User {
		when, values := a.condition()
		values[":old"] = str(string(target.Role))
		write(when+" AND #role = :old", values, func(found item) error {
			if err := a.admit(found); err != nil {
				return err
			}
			return errRaced
		})
		return
	}
	t.admit(s.table, a, o)
	write("#role = :old", item{":old": str(string(target.Role))}, func(found item) error {
		if found == nil {
			return errMemberNotFound()
		}
		return errRaced
	})
}

// countAdmins changes the org's counters with a membership, if the org's deletion has not begun.
// The last admin stays: the counter falls only from more than one.
func (s *Store) countAdmins(t *txn, o id.Org, admins, members int64) {
	if admins == 0 && members == 0 {
		t.checkNotDeleted(s.table, o)
		return
	}
	e := expr{
		update: "SET admins = admins + :admins, members = members + :members", when: notDeleted,
		values: item{":admins": num(admins), ":members": num(members)},
	}
	if admins < 0 {
		e.when += " AND admins > :one"
		e.values[":one"] = num(1)
	}
	t.update(s.table, orgKey(o), e, unlessGone(func(item) error {
		return problem.New(problem.LastAdmin, "The org would be left without an admin. Make another member admin first.")
	}))
}

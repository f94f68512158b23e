package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

const (
	// markedFor is the time for which an erasure refuses the tokens of earlier sign-ins. The backups of the table are kept as long.
	markedFor = 35 * 24 * time.Hour

	leftAtOnce = 10  // orgs that an erasure leaves at a time
	orgsNamed  = 100 // orgs that a refusal names at most
)

// EraseUser erases a person for a service. When it returns without an error, the person is a member of no org, and no row has an
// address, the name or an identity of the person. The person's id stays: in audit logs, in the rows that name the creator of an API key
// or the person who added a member, and as an empty row of the user. API keys that the person made stay good. An open session of the
// person brings nothing back: for 35 days each identity refuses tokens of earlier sign-ins. A person who signs in later is a new user.
//
// The first transaction stops the person and frees the person's addresses, so that no one can add the person to an org. After an error,
// call EraseUser again: it continues. For an erased person it writes nothing.
//
// Errors: unknown_user; last_admin, with the orgs, while the person is the only admin of an org. If the person becomes the only admin
// after the first transaction, the person stays stopped.
func (s *Store) EraseUser(ctx context.Context, a Actor, u id.User) error {
	was, err := find(ctx, s, userRow(u), userFrom, errUnknownUser)
	if err != nil || was.erased() {
		return err
	}
	if was.erasedAt == 0 {
		if err := s.refuseLastAdmin(ctx, u); err != nil {
			return err
		}
		if err := s.db.Retry(ctx, func() error { return s.beginErasure(ctx, u) }); err != nil {
			return err
		}
	}
	if err := s.leaveAll(ctx, a, u); err != nil {
		return err
	}
	return s.db.Retry(ctx, func() error { return s.endErasure(ctx, u) })
}

// onlyAdminOf returns the refusal to erase the only admin of some orgs; nil for none.
func onlyAdminOf(orgs map[id.Org]bool) error {
	if len(orgs) == 0 {
		return nil
	}
	refused := *errLastAdmin
	refused.Detail = "The person is the only admin of an org. Add another admin first, or delete the org."
	for _, o := range slices.Sorted(maps.Keys(orgs))[:min(len(orgs), orgsNamed)] {
		refused.Orgs = append(refused.Orgs, string(o))
	}
	return &refused
}

// refuseLastAdmin returns last_admin when a person is the only admin of an org. It reads no org in which the person has a weaker
// role: anyone can add the person to orgs, and thousands of them would take longer than a request may.
func (s *Store) refuseLastAdmin(ctx context.Context, u id.User) error {
	onlyAdmin := map[id.Org]bool{}
	asAdmin := table.Span{PK: userRow(u).PK, Prefix: skOrg, Filter: attrRole.Is(org.Admin)}
	rowOf := func(r *table.Reading) table.Key { return orgRow(id.Org(r.SK(skOrg))) }
	err := eachPage(ctx, s, asAdmin, rowOf, func(rows []table.Key) error {
		orgs, err := batch(ctx, s, rows, orgFrom)
		for _, o := range orgs {
			if (o.admins == 1 || o.deleted) && !o.keysEnded { // a deletion that was cut short needs an admin too
				onlyAdmin[o.ID] = true
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return onlyAdminOf(onlyAdmin)
}

// beginErasure stops a person, deletes their addresses, and writes that the erasure has begun. It returns table.ErrRaced when a
// sign-in or another mark was faster.
func (s *Store) beginErasure(ctx context.Context, u id.User) error {
	was, err := find(ctx, s, userRow(u), userFrom, errUnknownUser)
	if err != nil || was.erasedAt != 0 {
		return err
	}
	rows, identities, err := s.identitiesOf(ctx, was)
	if err != nil {
		return err
	}
	addresses, err := s.addressesOf(ctx, was, identities)
	if err != nil {
		return err
	}
	t := s.begin()
	t.Update(userRow(u), table.All(was.asRead(), attrEmail.Is(was.Email)), table.Raced,
		attrErasedAt.Set(s.now()), attrStoppedAt.SetIfAbsent(s.now()), attrEmail.Set(""))
	for _, row := range rows {
		i := identities[row]
		t.Put(row, table.All(i.asRead(), attrIssuedAt.Is(i.iat)), table.Raced,
			attrStoppedUser.Set(u), attrHolds.Set(false), attrIssuedAt.Set(i.iat), attrNotBefore.SetOrRemove(i.NotBefore))
	}
	for row, found := range addresses {
		t.Delete(row, found.asRead(), table.Raced)
	}
	return t.Commit(ctx)
}

// addressesOf reads the rows of addresses that a person has, or had and is shown with.
func (s *Store) addressesOf(ctx context.Context, u User, identities map[table.Key]Identity) (map[table.Key]address, error) {
	wanted := map[table.Key]bool{emailRow(strings.ToLower(u.Email)): u.Email != ""}
	for _, i := range identities {
		wanted[emailRow(i.folded)] = i.folded != ""
	}
	var rows []table.Key
	for row, isAddress := range wanted {
		if isAddress {
			rows = append(rows, row)
		}
	}
	found, err := batch(ctx, s, rows, addressFrom)
	for row, a := range found {
		if a.holder != u.ID && a.former != u.ID {
			delete(found, row)
		}
	}
	return found, err
}

// leaveAll removes a person from all orgs. The person must be stopped, so that no one can add the person again. It returns last_admin
// with the orgs that the person cannot leave, after it has left the others.
func (s *Store) leaveAll(ctx context.Context, a Actor, u id.User) error {
	onlyAdmin := map[id.Org]bool{}
	orgOf := func(r *table.Reading) id.Org { return id.Org(r.SK(skOrg)) }
	err := eachPage(ctx, s, table.Span{PK: userRow(u).PK, Prefix: skOrg}, orgOf, func(orgs []id.Org) error {
		var failed []error
		for n, err := range parallel.Each(leftAtOnce, orgs, func(_ int, o id.Org) error { return s.leaveErased(ctx, a, o, u) }) {
			if problem.Is(err, problem.LastAdmin) {
				onlyAdmin[orgs[n]] = true
			} else {
				failed = append(failed, err)
			}
		}
		return parallel.Joined(failed)
	})
	if err != nil {
		return err
	}
	return onlyAdminOf(onlyAdmin)
}

// leaveErased removes a person from an org. It also deletes a row of the membership that the deletion of the org has left. If the
// deletion has begun, but not ended, an admin may be the only person who can repeat it: last_admin.
func (s *Store) leaveErased(ctx context.Context, a Actor, o id.Org, u id.User) error {
	a.WhileSuspended = true
	var m Member
	err := s.db.Retry(ctx, func() (err error) {
		var ok bool
		if m, ok, err = lookup(ctx, s, memberRow(o, u), memberFrom); err != nil || !ok {
			return cmp.Or(err, error(errMemberNotFound))
		}
		t := s.begin()
		t.deleteMembership(ctx, a, o, m, "user.erased")
		return t.Commit(ctx)
	})
	if problem.Is(err, problem.OrgNotFound) && m.Role == org.Admin {
		found, _, failed := lookup(ctx, s, orgRow(o), orgFrom)
		if failed != nil || found.deleted && !found.keysEnded {
			return cmp.Or(failed, error(errLastAdmin))
		}
	}
	if problem.Is(err, problem.OrgNotFound) || problem.Is(err, problem.MemberNotFound) {
		t := s.begin()
		t.removeMembership(o, u)
		err = t.Commit(ctx)
	}
	return err
}

// endErasure empties the rows of a person who has left all orgs, and whose erasure has begun.
func (s *Store) endErasure(ctx context.Context, u id.User) error {
	was, err := find(ctx, s, userRow(u), userFrom, errUnknownUser)
	if err != nil || was.erased() {
		return err
	}
	rows, identities, err := s.identitiesOf(ctx, was)
	if err != nil {
		return err
	}
	t := s.begin()
	t.Update(userRow(u), was.asRead(), table.Raced,
		attrEmail.Set(""), attrName.Set(""), attrStoppedAt.Remove(), attrIdentities.Remove())
	for _, row := range rows {
		i := identities[row]
		ended := max(s.now(), i.NotBefore)
		t.Put(row, i.asRead(), table.Raced, attrNotBefore.Set(ended), attrPurgeAt.Set(time.UnixMilli(ended).Add(markedFor).Unix()))
	}
	return t.Commit(ctx)
}

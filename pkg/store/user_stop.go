package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/table"
)

const (
	auditedOrgs = 20  // a stop or a sign-out is written to the audit logs of the person's first orgs, up to this number
	orgsLeft    = 100 // OrgsLeft reads the person's first orgs, up to this number
)

// User is a person, as services see them.
type User struct {
	ID        id.User
	Name      string
	Email     string // the verified one; "": none
	CreatedAt int64  // milliseconds
	StoppedAt int64  // milliseconds; 0: the person is not stopped

	identities map[string]int64 // at most 20; none when the person is erased
	erasedAt   int64            // milliseconds; when the erasure began; 0: it has not begun
}

// erased reports whether the person's erasure has ended. The row then only keeps the id, which other rows name.
func (u User) erased() bool { return u.erasedAt != 0 && u.identities == nil }

func userFrom(r *table.Reading) User {
	shown := profileFrom(r)
	erasedAt := attrErasedAt.OrZero(r)
	identities := attrIdentities.OrZero
	if erasedAt == 0 {
		identities = attrIdentities.From
	}
	return User{
		ID: id.User(r.PK(pkUser)), Name: shown.name, Email: shown.email, CreatedAt: attrCreatedAt.From(r),
		StoppedAt: attrStoppedAt.OrZero(r), identities: identities(r), erasedAt: erasedAt,
	}
}

// User reads a person, for a service. Errors: unknown_user, also for an erased person.
func (s *Store) User(ctx context.Context, u id.User) (User, error) {
	found, err := find(ctx, s, userRow(u), userFrom, errUnknownUser)
	if err == nil && found.erased() {
		return User{}, errUnknownUser
	}
	return found, err
}

// UserByEmail reads, for a service, the person who proved a folded address last. ok is false when no person has the address.
func (s *Store) UserByEmail(ctx context.Context, folded string) (found User, ok bool, err error) {
	holder, _, err := lookup(ctx, s, emailRow(folded), addressFrom)
	if err != nil || holder.holder == "" {
		return User{}, false, err
	}
	return s.foundUser(ctx, holder.holder)
}

// UserBySubject reads, for a service, the person of an issuer's subject. ok is false for a subject that was never seen.
func (s *Store) UserBySubject(ctx context.Context, issuer, subject string) (found User, ok bool, err error) {
	known, ok, err := s.Identity(ctx, issuer, subject)
	if err != nil || !ok {
		return User{}, false, err
	}
	return s.foundUser(ctx, known.UserID)
}

// foundUser is User for a person who was found just now. ok is false when the person was erased since.
func (s *Store) foundUser(ctx context.Context, u id.User) (found User, ok bool, err error) {
	found, err = s.User(ctx, u)
	if errors.Is(err, errUnknownUser) {
		return User{}, false, nil
	}
	return found, err == nil, err
}

// StopUser stops a person: when it returns, all access tokens of the person are refused, until ResumeUser. It does not change API keys.
// For a stopped person it writes nothing. Errors: unknown_user.
func (s *Store) StopUser(ctx context.Context, a Actor, u id.User) (User, error) {
	return s.markUser(ctx, a, u, "user.stopped", func(was *User) (bool, markIdentity) {
		isNew := was.StoppedAt == 0
		if isNew {
			was.StoppedAt = s.now()
		}
		return isNew, func(i Identity) table.Change {
			return table.Changes(attrStoppedUser.Set(i.UserID), attrUserID.Remove())
		}
	})
}

// ResumeUser ends the stop of a person. For a person who is not stopped it writes nothing. Errors: unknown_user, conflict for a
// person whose erasure has begun.
func (s *Store) ResumeUser(ctx context.Context, a Actor, u id.User) (User, error) {
	return s.markUser(ctx, a, u, "user.resumed", func(was *User) (bool, markIdentity) {
		isNew := was.StoppedAt != 0
		was.StoppedAt = 0
		return isNew, func(i Identity) table.Change {
			return table.Changes(attrUserID.Set(i.UserID), attrStoppedUser.Remove())
		}
	})
}

// SignOutUser signs a person out everywhere: when it returns, all access tokens of earlier sign-ins are refused. For a person whose
// erasure has begun it writes nothing. Errors: unknown_user.
func (s *Store) SignOutUser(ctx context.Context, a Actor, u id.User) error {
	_, err := s.markUser(ctx, a, u, "user.signed_out", func(was *User) (bool, markIdentity) {
		return was.erasedAt == 0, func(i Identity) table.Change { return attrNotBefore.Set(max(s.now(), i.NotBefore)) }
	})
	return err
}

// markIdentity returns the change of an identity.
type markIdentity func(Identity) table.Change

// markUser changes a person's row and all identities of the person, in one transaction. mark changes was, and reports whether anything
// changes. If a sign-in runs at the same time, one of the two gets ErrRaced and reads again. When an operator adds an identity (the
// runbook, "Changing the issuer"), that write has a condition on the list of identities and on the stop.
func (s *Store) markUser(ctx context.Context, a Actor, u id.User, action string, mark func(was *User) (bool, markIdentity)) (out User, err error) {
	err = s.db.Retry(ctx, func() error {
		was, err := s.User(ctx, u)
		if err != nil {
			return err
		}
		out = was
		changes, change := mark(&out)
		switch {
		case !changes:
			return nil
		case was.erasedAt != 0:
			return errBeingErased
		}
		rows, identities, err := s.identitiesOf(ctx, was)
		if err != nil {
			return err
		}
		t := s.begin()
		t.Update(userRow(u), was.asRead(), table.Raced, attrStoppedAt.SetOrRemove(out.StoppedAt))
		for _, row := range rows {
			t.Update(row, identities[row].asRead(), table.Raced, change(identities[row]))
		}
		orgs, _, err := list(ctx, s, Page{Limit: auditedOrgs}.span(userRow(u).PK, skOrg, auditedOrgs), orgOfUserFrom)
		if err != nil {
			return err
		}
		for _, o := range orgs {
			t.audit(ctx, entry{org: o.ID, at: s.now(), action: action, actor: a.id(), target: string(u), changes: Changes{}})
		}
		return t.Commit(ctx)
	})
	return out, err
}

// asRead is the condition that the values of the person's row that decide about tokens are still as they were read.
func (u User) asRead() table.Condition {
	return table.All(table.Shorter(attrIdentities, len(u.identities)+1), attrStoppedAt.IsOrAbsent(u.StoppedAt), attrErasedAt.IsOrAbsent(u.erasedAt))
}

// identitiesOf reads all identities of a person. rows has their keys in order. Error: table.ErrRaced if the person has changed since u
// was read, for example by the end of an erasure.
func (s *Store) identitiesOf(ctx context.Context, u User) (rows []table.Key, found map[table.Key]Identity, err error) {
	for _, pk := range slices.Sorted(maps.Keys(u.identities)) {
		rows = append(rows, table.Key{PK: pk, SK: skMeta})
	}
	found, err = batch(ctx, s, rows, identityFrom)
	for _, row := range rows {
		if i, ok := found[row]; err == nil && (!ok || i.UserID != u.ID) {
			err = s.unlessChanged(ctx, u, fmt.Errorf("store: %s has no identity %s", u.ID, row.PK))
		}
	}
	return rows, found, err
}

// unlessChanged returns a fault, or table.ErrRaced if the person's row has changed since u was read.
func (s *Store) unlessChanged(ctx context.Context, u User, fault error) error {
	again, err := find(ctx, s, userRow(u.ID), userFrom, errUnknownUser)
	switch {
	case err != nil:
		return err
	case again.erasedAt != u.erasedAt || !maps.Equal(again.identities, u.identities):
		return table.ErrRaced
	}
	return fault
}

// OrgLeft is an org that someone must look after when a person is stopped.
type OrgLeft struct {
	ID           id.Org
	Name         string
	Keys         int  // active API keys that the person made
	NoOtherAdmin bool // the person is its only admin
}

// OrgsLeft lists the orgs in which a person made API keys that are active, and the orgs without another admin. It reads the person's
// first 100 orgs. more reports that the person has more orgs.
func (s *Store) OrgsLeft(ctx context.Context, u id.User) (left []OrgLeft, more bool, err error) {
	orgs, next, err := s.OrgsOf(ctx, u, Page{Limit: orgsLeft})
	if err != nil {
		return nil, false, err
	}
	all := make([]OrgLeft, len(orgs))
	errs := parallel.Each(10, orgs, func(n int, o OrgOfUser) error {
		keys, err := s.activeKeysBy(ctx, o.ID, u)
		all[n] = OrgLeft{o.ID, o.Name, keys, o.Role == org.Admin && o.admins == 1}
		return err
	})
	for n, err := range errs {
		if err != nil {
			return nil, false, err
		}
		if all[n].Keys > 0 || all[n].NoOtherAdmin {
			left = append(left, all[n])
		}
	}
	return left, next != "", nil
}

// activeKeysBy counts the active API keys of an org that a user made.
func (s *Store) activeKeysBy(ctx context.Context, o id.Org, u id.User) (count int, err error) {
	live, _, err := lookup(ctx, s, activeKeysRow(o), attrLive.OrZero)
	if err != nil {
		return 0, err
	}
	var rows []table.Key
	for k, expiresAt := range live {
		if expiresAt == 0 || expiresAt > s.now() {
			rows = append(rows, apiKeyRow(o, id.Key(k)))
		}
	}
	makers, err := batch(ctx, s, rows, attrCreatedBy.OrZero)
	for _, maker := range makers {
		if maker == u.Short() {
			count++
		}
	}
	return count, err
}

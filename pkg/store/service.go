package store

import (
	"context"
	"errors"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/table"
)

// Enrolled is a user that a service names by the issuer's subject. If the user has not signed in yet, Name is shown until the
// first sign-in, without an address.
type Enrolled struct{ Issuer, Subject, Name string }

// beforeAnyToken is the iat of an identity before the first token. Any token is newer, even a token without iat, which counts as 0.
const beforeAnyToken = -1

// enrolled is the user of an Enrolled: a known user, or a new one that seen describes.
type enrolled struct {
	user  id.User
	isNew bool
	seen  Seen
}

// enrol returns the user of a subject, or a new user. Error: unknown_user for a person who was erased and has not signed in since.
func (s *Store) enrol(ctx context.Context, e Enrolled) (enrolled, error) {
	known, ok, err := s.Identity(ctx, e.Issuer, e.Subject)
	switch {
	case err != nil || ok:
		return enrolled{user: known.UserID}, err
	case known.NotBefore != 0:
		return enrolled{}, errUnknownUser
	}
	return enrolled{s.ids().NewUser(), true, Seen{Issuer: e.Issuer, Subject: e.Subject, Name: e.Name, IssuedAt: beforeAnyToken}}, nil
}

// putUser writes the rows of a new enrolled user. It refuses with table.ErrRaced if the user signs in first, and with
// unknown_user for a known user whose erasure has begun.
func (t *txn) putUser(e enrolled) {
	if e.isNew {
		t.createUser(e.user, Identity{}, e.seen, false, "")
		return
	}
	t.Check(userRow(e.user), attrErasedAt.Absent(), refuse(errUnknownUser))
}

// NewOrg is an org that a service makes.
type NewOrg struct {
	Name       string
	ExternalID string    // "": none
	Admin      *Enrolled // nil: the org has no member yet
	Allowance  string    // of limit.Rules.Text; "": none
	Plan       string    // "": none
}

// CreateOrgAs creates an org for a service, with its default app. The limits of users are not checked. Errors: idempotency_key_reused,
// conflict when another org has the external id, unknown_user for an admin who was erased.
func (s *Store) CreateOrgAs(ctx context.Context, a Actor, n NewOrg, once Once[Org]) (Created[Org], error) {
	o := Org{ID: s.ids().NewOrg(), Name: n.Name, ExternalID: n.ExternalID, CreatedAt: s.now()}
	if n.Allowance != "" || n.Plan != "" {
		o.State = OrgState{n.Allowance, n.Plan, 1}
	}
	made, err := once.render(o)
	if err != nil {
		return made, err
	}
	err = s.db.Retry(ctx, func() error {
		var first enrolled
		if n.Admin != nil {
			first, err = s.enrol(ctx, *n.Admin)
			if errors.Is(err, errUnknownUser) {
				return s.unlessMade(ctx, once.Request, made.Answer, *n.Admin)
			}
			if err != nil {
				return err
			}
		}
		t := s.begin()
		t.once(once.Request, made.Answer)
		if n.Admin != nil {
			t.putUser(first)
		}
		t.moveExternalID(o.ID, "", o.ExternalID)
		t.putOrg(ctx, a, o, first.user, attrExternalID.SetOrRemove(o.ExternalID))
		return t.Commit(ctx)
	})
	return made.committed(err)
}

// unlessMade returns the kept answer if the same request was carried out before the erasure, or else unknown_user.
func (s *Store) unlessMade(ctx context.Context, r Request, answer secret.String, e Enrolled) error {
	if !r.keyed() {
		return errUnknownUser
	}
	// The transaction only reads, because the functions' roles allow no read of a record: no row fulfils its second condition.
	t := s.begin()
	t.once(r, answer)
	t.Check(identityRow(e.Issuer, e.Subject), table.All(attrIssuedAt.Present(), attrIssuedAt.Absent()), func(identity table.Row) error {
		if attrIssuedAt.IsIn(identity) {
			return table.ErrRaced // the person has signed in meanwhile
		}
		return errUnknownUser
	})
	return t.Commit(ctx)
}

// moveExternalID writes the org of an external id (to), and removes the org's earlier external id (from); "" for none.
func (t *txn) moveExternalID(o id.Org, from, to string) {
	if from == to {
		return
	}
	if from != "" {
		t.Delete(externalRow(from), attrOrgID.Is(o), table.Raced)
	}
	if to != "" {
		t.Put(externalRow(to), table.Absent, refuse(errExternalIDTaken), attrOrgID.Set(o))
	}
}

// OrgByExternalID returns the org that has an external id. ok is false when there is no such org. An org whose deletion has
// begun is found until the deletion has ended.
func (s *Store) OrgByExternalID(ctx context.Context, a Actor, x string) (found Org, ok bool, err error) {
	o, ok, err := lookup(ctx, s, externalRow(x), attrOrgID.From)
	if err != nil || !ok {
		return Org{}, false, err
	}
	found, err = s.Org(ctx, a, o)
	if problem.Is(err, problem.OrgNotFound) { // it was deleted after the first read
		return Org{}, false, nil
	}
	return found, err == nil, err
}

// EnrolMember adds a user of the issuer's subject to an org, for a service. Errors: org_not_found, insufficient_role,
// idempotency_key_reused, member_exists, limit_reached, unknown_user for a person who was erased.
func (s *Store) EnrolMember(ctx context.Context, a Actor, o id.Org, e Enrolled, r org.Role, once Once[id.User]) (Created[id.User], error) {
	var made Created[id.User]
	err := s.db.Retry(ctx, func() error {
		rows, err := s.readToChange(ctx, a, o, once.Request.reads()...)
		if err != nil {
			return err
		}
		if err := once.Request.kept(rows[once.Request.row()], s.now()); err != nil {
			return err
		}
		who, err := s.enrol(ctx, e)
		if err != nil {
			return err
		}
		if made, err = once.render(who.user); err != nil {
			return err
		}
		t := s.begin()
		t.authorizeMember(a, o)
		t.once(once.Request, made.Answer)
		t.putUser(who)
		t.join(ctx, a, o, who.user, r)
		return t.Commit(ctx)
	})
	return made.committed(err)
}

package store

import (
	"cmp"
	"context"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// Actor is who calls: a user, or a service of the owner. A service may do in every org what an admin may.
type Actor struct {
	User    id.User
	Service string     // the name of the service; "": a user
	May     []org.Role // of which a user needs one, by the table of routes
}

// id returns the text by which audit entries name the actor.
func (a Actor) id() string {
	if a.Service != "" {
		return principal.Principal{Kind: principal.Service, Name: a.Service}.ID()
	}
	return string(a.User)
}

// Changer is who changes something of an app: one of its API keys, or an actor of its org.
type Changer struct {
	Key   id.Key
	Actor Actor // the zero value: Key
}

// ByKey returns the changer that is an API key.
func ByKey(k id.Key) Changer { return Changer{Key: k} }

// isKey reports whether the changer is an API key, which the authorizer let in.
func (c Changer) isKey() bool { return c.Actor.User == "" && c.Actor.Service == "" }

// id returns the text by which audit entries name the changer.
func (c Changer) id() string {
	if c.isKey() {
		return string(c.Key)
	}
	return c.Actor.id()
}

// starts adds to a transaction what an act of an actor has beside its change: the check of authorize, that the org's deletion has
// not begun, and the audit entry. An API key has none of them.
func (t *txn) starts(ctx context.Context, c Changer, o id.Org, action, target string) {
	if c.isKey() {
		return
	}
	t.authorizeBesideOrg(c.Actor, o)
	t.checkNotDeleted(o)
	t.acted(ctx, c, o, action, target)
}

// acted adds the audit entry of an act that has no changes to show.
func (t *txn) acted(ctx context.Context, c Changer, o id.Org, action, target string) {
	t.audit(ctx, entry{org: o, at: t.s.now(), action: action, actor: c.id(), target: target, changes: Changes{}})
}

// row returns the row that decides whether the actor may act in an org: a user's membership, or for a service the org itself.
func (a Actor) row(o id.Org) table.Key {
	if a.Service != "" {
		return orgRow(o)
	}
	return memberRow(o, a.User)
}

// allowed is the condition on this row. A deleted org is gone for a service when the deletion has reached its end, as it
// then is for its last admin.
func (a Actor) allowed() table.Condition {
	if a.Service != "" {
		return table.All(table.Exists, attrKeysEndedAt.Absent())
	}
	return attrRole.In(a.May...)
}

// authorize checks this row, nil for none, which was read before. Errors: org_not_found, insufficient_role.
func (a Actor) authorize(found table.Row) error {
	switch {
	case found == nil:
		return errOrgNotFound
	case a.Service != "" && attrKeysEndedAt.IsIn(found):
		return errOrgNotFound
	case a.Service != "":
		return nil
	}
	role, err := table.Decode(found, attrRole.From)
	if err != nil {
		return err
	}
	if !slices.Contains(a.May, role) {
		return problem.New(problem.InsufficientRole, "Your role in this org does not allow this.")
	}
	return nil
}

// authorize adds the check of Actor.authorize to a transaction, so that the moment of the write
// decides.
func (t *txn) authorize(a Actor, o id.Org) { t.Check(a.row(o), a.allowed(), a.authorize) }

// authorizeBesideOrg is authorize for a transaction with a condition of its own on the org's row, that the org is not deleted:
// this one decides for a service, because a transaction names a row only once.
func (t *txn) authorizeBesideOrg(a Actor, o id.Org) {
	if a.Service == "" {
		t.authorize(a, o)
	}
}

// authorize checks that the caller may act in an org. Errors: org_not_found, insufficient_role.
func (s *Store) authorize(ctx context.Context, a Actor, o id.Org) error {
	found, err := s.db.Get(ctx, a.row(o))
	if err != nil {
		return err
	}
	return a.authorize(found)
}

// beside checks that the caller has one of the roles in an org, and makes reads at the same time. It
// returns the error of the check, or else the first error of the reads. A refusal cancels the reads
// that have no answer yet. A read may have its result before the refusal: use the results only when
// beside returns no error.
func (s *Store) beside(ctx context.Context, a Actor, o id.Org, reads ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	check := func(ctx context.Context) error {
		err := s.authorize(ctx, a, o)
		if err != nil {
			cancel()
		}
		return err
	}
	all := append([]func(context.Context) error{check}, reads...)
	return cmp.Or(parallel.Each(len(all), all, func(_ int, read func(context.Context) error) error { return read(ctx) })...)
}

// listAs is list for a caller who has one of the roles in an org. Errors: org_not_found,
// insufficient_role.
func listAs[T any](ctx context.Context, s *Store, a Actor, o id.Org, page table.Span, from func(*table.Reading) T) (found []T, next string, err error) {
	err = s.beside(ctx, a, o, func(ctx context.Context) (err error) {
		found, next, err = list(ctx, s, page, from)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return found, next, nil
}

// readAs reads rows for a caller who has one of the roles in an org. Errors: org_not_found,
// insufficient_role.
func (s *Store) readAs(ctx context.Context, a Actor, o id.Org, rows ...table.Key) (map[table.Key]table.Row, error) {
	own := a.row(o)
	if !slices.Contains(rows, own) {
		rows = append(rows, own)
	}
	found, err := s.db.Batch(ctx, rows...)
	if err != nil {
		return nil, err
	}
	return found, a.authorize(found[own])
}

// MayChange checks that a caller may change something in an org. Errors: org_not_found, insufficient_role.
func (s *Store) MayChange(ctx context.Context, a Actor, o id.Org) error {
	_, err := s.readToChange(ctx, a, o)
	return err
}

// readToChange is readAs for a use case that changes something in an org. It reads the org's row too:
// an org that is deleted, or being deleted, takes no change. Errors: those of readAs, and
// org_not_found for such an org.
func (s *Store) readToChange(ctx context.Context, a Actor, o id.Org, rows ...table.Key) (map[table.Key]table.Row, error) {
	found, err := s.readAs(ctx, a, o, append(rows, orgRow(o))...)
	if err == nil && orgGone(found[orgRow(o)]) {
		err = errOrgNotFound
	}
	return found, err
}

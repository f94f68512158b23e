package store

import (
	"cmp"
	"context"
	"slices"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// Actor is the user who calls, and the roles that the route allows. The user needs one of them in the
// org; the row of the membership decides.
type Actor struct {
	User id.User
	May  []org.Role // from the table of routes (pkg/route)
}

// authorize checks that a membership's row, which was read before, has one of the roles. Errors:
// org_not_found when there is no row, insufficient_role.
func (a Actor) authorize(membership table.Row) error {
	if membership == nil {
		return errOrgNotFound
	}
	role, err := table.Decode(membership, attrRole.From)
	if err != nil {
		return err
	}
	if !slices.Contains(a.May, role) {
		return problem.New(problem.InsufficientRole, "Your role in this org does not allow this.")
	}
	return nil
}

// authorize adds the check of Actor.authorize to a transaction: the role at the moment of the write
// decides.
func (t *txn) authorize(a Actor, o id.Org) {
	t.Check(memberRow(o, a.User), attrRole.In(a.May...), a.authorize)
}

// authorize checks that the caller has one of the roles in an org. Errors: org_not_found,
// insufficient_role.
func (s *Store) authorize(ctx context.Context, a Actor, o id.Org) error {
	membership, err := s.db.Get(ctx, memberRow(o, a.User))
	if err != nil {
		return err
	}
	return a.authorize(membership)
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
	own := memberRow(o, a.User)
	if !slices.Contains(rows, own) {
		rows = append(rows, own)
	}
	found, err := s.db.Batch(ctx, rows...)
	if err != nil {
		return nil, err
	}
	return found, a.authorize(found[own])
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

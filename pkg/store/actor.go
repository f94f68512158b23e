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

// Actor is the caller: a user, or a service of the owner. In every org, a service may do what an admin may.
type Actor struct {
	User    id.User
	Service string     // the name of the service; "": a user
	May     []org.Role // a user needs one of these, by the table of routes

	// OldSignIn refuses a use case that gives more than there was: power over the org, a key or more rights of a key, or a receiver of
	// events. nil: the user has signed in recently, or need not. An actor without the role gets the refusal of the role instead.
	OldSignIn error

	// WhileSuspended lets the actor act in a suspended org, by the table of routes. Without it a use case still ends things and
	// removes rights there, and refuses to make or widen anything: org_suspended.
	WhileSuspended bool

	endedAfter int64 // a service reads an org whose deletion has reached its end after this time too (milliseconds); 0: none
}

// id returns the actor's name in audit entries.
func (a Actor) id() string {
	if a.Service != "" {
		return principal.Principal{Kind: principal.Service, Name: a.Service}.ID()
	}
	return string(a.User)
}

// Changer is the author of a change in an app: one of its API keys, or an actor of its org.
type Changer struct {
	Key   id.Key
	Actor Actor // the zero value: Key
}

// ByKey returns the changer that is an API key.
func ByKey(k id.Key) Changer { return Changer{Key: k} }

// isKey reports whether the changer is an API key, which the authorizer let in.
func (c Changer) isKey() bool { return c.Actor.User == "" && c.Actor.Service == "" }

// id returns the changer's name in audit entries.
func (c Changer) id() string {
	if c.isKey() {
		return string(c.Key)
	}
	return c.Actor.id()
}

// starts adds the operations of an actor beside the change to a transaction: the check of right, checkOrg, and the audit entry. An
// API key has none of them. A request with a kept answer gets it before checkOrg refuses.
func (t *txn) starts(ctx context.Context, c Changer, o id.Org, action, target string, once func()) {
	if c.isKey() {
		once()
		return
	}
	t.authorizeBesideOrg(c.Actor, o)
	once()
	t.checkOrg(c.Actor, o)
	t.acted(ctx, c, o, action, target)
}

// acted adds the audit entry of an act that has no changes to show.
func (t *txn) acted(ctx context.Context, c Changer, o id.Org, action, target string) {
	t.audit(ctx, entry{org: o, at: t.s.now(), action: action, actor: c.id(), target: target, changes: Changes{}})
}

// right returns the row that decides whether the actor may act in an org, the condition on it, and the refusal of a row that does
// not meet the condition: org_not_found, insufficient_role. The row is a user's membership, for a service the org itself. A deleted
// org is gone for a service when the deletion has reached its end, as it then is for its last admin.
//
// t.Check(a.right(o)) adds the check to a transaction, so that the moment of the write decides.
func (a Actor) right(o id.Org) (row table.Key, allows table.Condition, refusal table.Refusal) {
	if a.Service != "" {
		return orgRow(o), table.All(table.Exists, attrKeysEndedAt.Absent()), func(found table.Row) error {
			r := table.Read(found)
			ended := attrKeysEndedAt.OrZero(&r)
			isGone := ended != 0 && (a.endedAfter == 0 || ended <= a.endedAfter)
			if found == nil || isGone {
				return errOrgNotFound
			}
			return r.Err()
		}
	}
	return memberRow(o, a.User), attrRole.In(a.May...), func(found table.Row) error {
		role, err := decode(found, attrRole.From, errOrgNotFound)
		if err == nil && !slices.Contains(a.May, role) {
			err = problem.New(problem.InsufficientRole, a.refused())
		}
		return err
	}
}

// refused returns the reason why a user's role is refused: only services of the owner may call some use cases.
func (a Actor) refused() string {
	if len(a.May) == 0 {
		return "Only a service of the owner can do this."
	}
	return "Your role in this org does not allow this."
}

// authorizeBesideOrg adds the check of right to a transaction that already checks on the org's row that the org is not deleted. For a
// service this condition is enough, and a transaction may name a row only once.
func (t *txn) authorizeBesideOrg(a Actor, o id.Org) {
	if a.Service == "" {
		t.Check(a.right(o))
	}
}

// beside checks that the caller has one of the roles in an org, and makes reads at the same time. It
// returns the error of the check, or else the first error of the reads. A refusal cancels the reads
// that have no answer yet. A read may have its result before the refusal: use the results only when
// beside returns no error.
func (s *Store) beside(ctx context.Context, a Actor, o id.Org, reads ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	check := func(ctx context.Context) error {
		row, _, refusal := a.right(o)
		found, err := s.db.Get(ctx, row)
		if err = cmp.Or(err, refusal(found)); err != nil {
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
	own, _, refusal := a.right(o)
	if !slices.Contains(rows, own) {
		rows = append(rows, own)
	}
	found, err := s.db.Batch(ctx, rows...)
	if err != nil {
		return nil, err
	}
	return found, refusal(found[own])
}

// readToChange is readAs for a use case that changes something in an org. It reads the org's row too:
// an org that is deleted, or being deleted, cannot be changed. Errors: the errors of readAs, and
// org_not_found for such an org.
func (s *Store) readToChange(ctx context.Context, a Actor, o id.Org, rows ...table.Key) (map[table.Key]table.Row, error) {
	found, err := s.readAs(ctx, a, o, append(rows, orgRow(o))...)
	if err == nil && orgGone(found[orgRow(o)]) {
		err = errOrgNotFound
	}
	return found, err
}

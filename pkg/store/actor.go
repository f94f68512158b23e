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

	// OldSignIn is the error of a use case that adds power over the org, an API key, rights of a key, or a receiver of events.
	// nil: the user has signed in recently, or does not need to. An actor without the role gets the refusal of the role instead.
	OldSignIn error

	// WhileSuspended lets the actor act in a suspended org, by the table of routes. Without it, a use case in a suspended org can
	// still end things and remove rights. But it cannot create anything or add rights: org_suspended.
	WhileSuspended bool

	endedAfter int64 // a service can also read a deleted org if its deletion ended after this time (milliseconds); 0: no deleted org
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
	Actor Actor // the zero value: the author is Key
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

// startChange adds to a transaction the operations that every change by an actor needs: the check of right, checkOrg, and the audit
// entry. A change by an API key needs none of them. once adds the idempotency record; nil: there is none. It comes before checkOrg,
// so that a repeated request gets its kept answer also when checkOrg would refuse it.
func (t *txn) startChange(ctx context.Context, c Changer, o id.Org, action, target string, once func()) {
	if !c.isKey() {
		t.authorizeMember(c.Actor, o)
	}
	if once != nil {
		once()
	}
	if c.isKey() {
		return
	}
	t.checkOrg(c.Actor, o)
	t.auditAction(ctx, c, o, action, target)
}

// auditAction adds the audit entry of an action that has no changes to show.
func (t *txn) auditAction(ctx context.Context, c Changer, o id.Org, action, target string) {
	t.audit(ctx, entry{org: o, at: t.s.now(), action: action, actor: c.id(), target: target, changes: Changes{}})
}

// right returns the row that decides whether the actor may act in an org, the condition on it, and the refusal of a row that does
// not meet the condition: org_not_found, insufficient_role. The row is a user's membership, or for a service the org itself. For a
// service, as for the last admin, a deleted org is gone when the deletion has ended.
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

// authorizeMember adds the check of right for a user. For a service it adds nothing, because the transaction must already check on the
// org's row that the org is not deleted. This is enough for a service, and a transaction may name a row only once.
func (t *txn) authorizeMember(a Actor, o id.Org) {
	if a.Service == "" {
		t.Check(a.right(o))
	}
}

// checkWhileReading checks that the caller has one of the roles in an org, and makes reads at the same time. It
// returns the error of the check, or else the first error of the reads. A refusal cancels the reads
// that have no answer yet. A read may have its result before the refusal: use the results only when
// checkWhileReading returns no error.
func (s *Store) checkWhileReading(ctx context.Context, a Actor, o id.Org, reads ...func(context.Context) error) error {
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
	err = s.checkWhileReading(ctx, a, o, func(ctx context.Context) (err error) {
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

package store

import (
	"context"

	"latchkey/pkg/id"
)

// Suspended reads whether an org is suspended, with one strong read. An unknown org is not suspended.
func (s *Store) Suspended(ctx context.Context, o id.Org) (bool, error) {
	at, _, err := lookup(ctx, s, orgRow(o), attrSuspendedAt.OrZero)
	return at != 0, err
}

package pipeline

import (
	"context"
	"log/slog"

	"latchkey/pkg/store"
)

// closing deletes a part of the rest of a deleted org, whose keys are refused already.
func (r *run) closing(ctx context.Context, d store.Due) (more bool, err error) {
	more, cutShort, err := r.Store.EndOrg(ctx, d.Org)
	if cutShort {
		slog.WarnContext(ctx, "the deletion of an org was cut short: an admin must repeat it", "org", d.Org)
	}
	return more, err
}

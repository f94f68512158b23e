package pipeline

import (
	"context"
	"errors"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// Handle reads the due rows of these kinds and processes them one after the other, as one run does. It returns how many rows
// there were, and how many deliveries the run may still queue.
func (s Sweep) Handle(ctx context.Context, kinds ...store.DueKind) (handled, left int, err error) {
	r := &run{Sweep: s, parked: map[id.Endpoint]int64{}}
	r.left.Store(int64(s.Store.Limits.Queued))
	for _, kind := range kinds {
		rows, failed := s.Store.DueBefore(ctx, kind, s.Store.Now(), readPerShard)
		err = errors.Join(err, failed)
		for _, row := range rows {
			_, failed := r.handle(ctx, row)
			err = errors.Join(err, failed)
		}
		handled += len(rows)
	}
	r.flush(ctx, 1)
	return handled, int(r.left.Load()), err
}

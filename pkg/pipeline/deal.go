package pipeline

import (
	"context"
	"fmt"
	"sync"

	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/store"
)

// queueKey names a queue, which has the due rows of one kind and one org. In the queue, the org's apps take turns.
type queueKey struct {
	kind store.DueKind
	org  id.Org
}

// dealer hands out the rows that are due, one of each queue in turn, so that many rows of one
// org do not delay the rows of another.
type dealer struct {
	mu     sync.Mutex
	queues map[queueKey]*roundRobin[id.App, store.Due]
	turns  []queueKey // the queues that have rows; the first is next
	failed []error    // the errors since the beginning; deal returns them
}

func newDealer() *dealer { return &dealer{queues: map[queueKey]*roundRobin[id.App, store.Due]{}} }

// add puts rows at the end of their queues.
func (d *dealer) add(rows ...store.Due) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, row := range rows {
		key := queueKey{row.Kind, row.Org}
		if d.queues[key] == nil {
			d.queues[key] = &roundRobin[id.App, store.Due]{queues: map[id.App][]store.Due{}}
		}
		if len(d.queues[key].turns) == 0 {
			d.turns = append(d.turns, key)
		}
		d.queues[key].add(row.App, row)
	}
}

// seen returns how many rows wait, how many of them are strays (store.DueStray), and when the oldest other row
// was due, in milliseconds; 0: there is no other row.
func (d *dealer) seen() (n, strays int, oldest int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, apps := range d.queues {
		for _, rows := range apps.queues {
			n += len(rows)
			if key.kind == store.DueStray {
				strays += len(rows)
				continue
			}
			for _, row := range rows {
				if oldest == 0 || row.At < oldest {
					oldest = row.At
				}
			}
		}
	}
	return n, strays, oldest
}

// next returns the next row of the next queue. ok is false when no row waits.
func (d *dealer) next() (row store.Due, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.turns) == 0 {
		return store.Due{}, false
	}
	key := d.turns[0]
	d.turns = d.turns[1:]
	row = d.queues[key].next()
	if len(d.queues[key].turns) > 0 {
		d.turns = append(d.turns, key)
	}
	return row, true
}

// roundRobin has queues, and returns one item of each queue in turn.
type roundRobin[K comparable, T any] struct {
	queues map[K][]T
	turns  []K // the queues that have items; the first is next
}

// add puts an item at the end of a queue.
func (r *roundRobin[K, T]) add(to K, item T) {
	if len(r.queues[to]) == 0 {
		r.turns = append(r.turns, to)
	}
	r.queues[to] = append(r.queues[to], item)
}

// next returns the first item of the next queue. There must be one.
func (r *roundRobin[K, T]) next() (item T) {
	from := r.turns[0]
	r.turns = r.turns[1:]
	item, r.queues[from] = r.queues[from][0], r.queues[from][1:]
	if len(r.queues[from]) > 0 {
		r.turns = append(r.turns, from)
	}
	return item
}

// failure records an error. what names a row, or a kind of rows that cannot be read. A nil error is ignored.
func (d *dealer) failure(what string, err error) {
	if err == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = append(d.failed, fmt.Errorf("%s: %w", what, err))
}

// deal calls do for several rows at once, until no row waits or ctx ends. When do reports that the row needs more work,
// the row goes to the end of its app's rows. A row that fails does not come again in this run and does not stop the
// others; the error names the first failures.
func (d *dealer) deal(ctx context.Context, atOnce int, do func(store.Due) (more bool, err error)) error {
	parallel.Work(atOnce, func() bool {
		if ctx.Err() != nil {
			return false
		}
		row, ok := d.next()
		if !ok {
			return false
		}
		more, err := do(row)
		d.failure(fmt.Sprint(row.Kind, " ", row), err)
		if more && err == nil {
			d.add(row)
		}
		return true
	})
	return parallel.Joined(d.failed)
}

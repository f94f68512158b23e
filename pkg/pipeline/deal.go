package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"latchkey/pkg/parallel"
	"latchkey/pkg/store"
)

// lane is the rows of one kind that one tenant has.
type lane struct {
	kind   store.DueKind
	tenant string // an app or, for keys and deleted orgs, an org
}

// dealer hands out the rows that are due, one of each lane in turn, so that many rows of one
// tenant do not hold up those of another.
type dealer struct {
	mu     sync.Mutex
	rows   map[lane][]store.Due
	turns  []lane // the lanes that have rows; the first is next
	failed []error
}

func laneOf(kind store.DueKind, d store.Due) lane { return lane{kind, string(d.App) + string(d.Org)} }

// add puts rows at the end of their lanes.
func (d *dealer) add(kind store.DueKind, rows ...store.Due) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, row := range rows {
		l := laneOf(kind, row)
		if len(d.rows[l]) == 0 {
			d.turns = append(d.turns, l)
		}
		d.rows[l] = append(d.rows[l], row)
	}
}

// seen returns how many rows wait, and since when the oldest is due, in milliseconds; 0 when
// no row waits.
func (d *dealer) seen() (n int, oldest int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, rows := range d.rows {
		n += len(rows)
		for _, row := range rows {
			if oldest == 0 || row.At < oldest {
				oldest = row.At
			}
		}
	}
	return n, oldest
}

// next returns the first row of the next lane. ok is false when no row waits.
func (d *dealer) next() (kind store.DueKind, row store.Due, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.turns) == 0 {
		return "", store.Due{}, false
	}
	l := d.turns[0]
	d.turns = d.turns[1:]
	row, d.rows[l] = d.rows[l][0], d.rows[l][1:]
	if len(d.rows[l]) > 0 {
		d.turns = append(d.turns, l)
	}
	return l.kind, row, true
}

// failure records an error with the kind of row, or the row, that it belongs to.
func (d *dealer) failure(what string, err error) {
	if err == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = append(d.failed, fmt.Errorf("%s: %w", what, err))
}

// deal calls do for several rows at once, until no row waits or ctx ends. A row for which do
// reports that more is to be done comes again, behind those of its lane. A row that fails
// does not stop the others; the error names every failure.
func (d *dealer) deal(ctx context.Context, atOnce int, do func(store.DueKind, store.Due) (more bool, err error)) error {
	parallel.Work(atOnce, func() bool {
		if ctx.Err() != nil {
			return false
		}
		kind, row, ok := d.next()
		if !ok {
			return false
		}
		more, err := do(kind, row)
		d.failure(fmt.Sprint(kind, " ", row), err)
		if more && err == nil {
			d.add(kind, row)
		}
		return true
	})
	return errors.Join(d.failed...)
}

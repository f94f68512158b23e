package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/metric"
	"latchkey/pkg/queue"
	"latchkey/pkg/store"
)

const (
	// readPerShard is how many rows of a kind and shard a run reads: 80,000 of a kind.
	// Of those that are due up to there each tenant has its turn (ADR 20).
	readPerShard = 10_000

	sweepAtOnce = 16              // rows that are dealt with at once
	beforeEnd   = 5 * time.Second // of its time, from when on a run begins with no other row
)

// Sweep does, once a minute, what has become due and what was lost on the way: the
// rows are the truth, stream and queue only hurry.
type Sweep struct {
	Store  *store.Store
	FanOut FanOut
	Queue  queue.Sender
}

// Run reads all that is due and deals with it, one row of each tenant in turn, as far
// as its time goes: the next run goes on. A row that fails does not stop the others;
// the error names them all.
func (s Sweep) Run(ctx context.Context) error {
	r := &run{Sweep: s, dealt: make(map[id.Endpoint]int64)}
	r.left.Store(int64(s.Store.Limits.Queued))
	due := dealer{rows: make(map[lane][]store.Due)}
	var wg sync.WaitGroup
	for _, kind := range store.DueKinds() {
		wg.Go(func() {
			rows, err := s.Store.DueBefore(ctx, kind, s.Store.Now(), readPerShard)
			due.failure(string(kind), err)
			if len(rows) >= readPerShard {
				slog.WarnContext(ctx, "so much is due that a run may not read all of it", "kind", kind, "rows", len(rows))
			}
			due.add(kind, rows...)
		})
	}
	wg.Wait()
	rows, oldest := due.seen()
	slog.InfoContext(ctx, "due", append(metric.OldestDue.With(int64(s.age(oldest).Seconds())), "rows", rows)...)
	begin := ctx // until when rows are begun with
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		begin, cancel = context.WithDeadline(ctx, end.Add(-beforeEnd))
		defer cancel()
	}
	err := due.deal(begin, sweepAtOnce, func(kind store.DueKind, d store.Due) (bool, error) { return r.do(ctx, kind, d) })
	r.flush(ctx, 1)
	return err
}

// age is for how long a row has been due, 0 when there is none.
func (s Sweep) age(dueAt int64) time.Duration {
	if dueAt == 0 {
		return 0
	}
	return max(s.Store.Now().Sub(time.UnixMilli(dueAt)), 0)
}

// run is one run of the sweep.
type run struct {
	Sweep
	left atomic.Int64 // deliveries that it may queue still

	mu    sync.Mutex
	moved []queue.Message       // overdue deliveries, to be queued
	dealt map[id.Endpoint]int64 // the begin of the parked delivery dealt with last
}

// passed notes how far the parked deliveries of an endpoint were dealt with (0: no
// further), and tells it; 0: none was.
func (r *run) passed(h id.Endpoint, at int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at != 0 {
		r.dealt[h] = at
	}
	return r.dealt[h]
}

// do deals with one row, and reports whether there is more to do for it now.
func (r *run) do(ctx context.Context, kind store.DueKind, d store.Due) (more bool, err error) {
	switch kind {
	case store.DueEvent:
		return false, r.FanOut.Event(ctx, d.App, d.Event)
	case store.DueDelivery:
		return false, r.delivery(ctx, d)
	case store.DueLink:
		return false, r.Store.ExpireLink(ctx, d.App, d.Link)
	case store.DueKey:
		return false, r.Store.WarnOfKey(ctx, d.Org, d.Key)
	case store.DueEndpoint:
		return r.endpoint(ctx, d)
	case store.DueOrg:
		return false, r.closing(ctx, d)
	}
	return false, fmt.Errorf("pipeline: nothing is known of kind %q", kind)
}

// take gives the right to queue up to n deliveries; what is not used is given back.
func (r *run) take(n int) int {
	for {
		left := r.left.Load()
		got := min(int64(n), left)
		if r.left.CompareAndSwap(left, left-got) {
			return int(got)
		}
	}
}

func (r *run) giveBack(n int) { r.left.Add(int64(n)) }

// batchOf is how many messages are sent at once (SQS, SendMessageBatch).
const batchOf = 10

// delivery queues one that is overdue, if this run was the one to move its time.
func (r *run) delivery(ctx context.Context, d store.Due) error {
	if r.take(1) == 0 {
		return nil
	}
	ok, err := r.Store.Requeue(ctx, d)
	if !ok {
		r.giveBack(1)
		return err
	}
	r.mu.Lock()
	r.moved = append(r.moved, queue.Message{App: d.App, Endpoint: d.Endpoint, Event: d.Event})
	r.mu.Unlock()
	r.flush(ctx, batchOf)
	return nil
}

// flush queues the moved deliveries once there are so many.
func (r *run) flush(ctx context.Context, many int) {
	r.mu.Lock()
	var batch []queue.Message
	if len(r.moved) >= many {
		batch, r.moved = r.moved, nil
	}
	r.mu.Unlock()
	wake(ctx, r.Queue, 0, batch...)
}

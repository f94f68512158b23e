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
	"latchkey/pkg/parallel"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const (
	// readPerShard is how many rows of a kind a run reads from each of the 8 shards: at most 80,000 rows of a kind.
	// Each tenant has its turn among the rows that were read (ADR 20).
	readPerShard = 10_000

	sweepAtOnce = 16              // rows that are processed at the same time
	beforeEnd   = 5 * time.Second // a run begins no new row in this time before its end
)

// Sweep does the due work, once a minute. So it also repairs the losses of the stream and the queue: the rows of the
// table decide, and the stream and the queue only make the work faster.
type Sweep struct {
	Store  *store.Store
	FanOut FanOut
	Queue  webhook.Queue
}

// Run reads all due rows and processes them, one row of each tenant in turn, until its time ends. The next run
// continues. A row that fails does not stop the others; the error names the first failures.
func (s Sweep) Run(ctx context.Context) error {
	r := &run{Sweep: s, parked: make(map[id.Endpoint]int64)}
	r.left.Store(int64(s.Store.Limits.Queued))
	due := newDealer()
	kinds := store.DueKinds()
	parallel.Each(len(kinds), kinds, func(_ int, kind store.DueKind) error {
		rows, err := s.Store.DueBefore(ctx, kind, s.Store.Now(), readPerShard)
		due.failure(string(kind), err)
		if len(rows) >= readPerShard { // if all of them are of one shard, it has more rows
			slog.WarnContext(ctx, "so much is due that a run may not read all of it", "kind", kind, "rows", len(rows))
		}
		due.add(rows...)
		return nil
	})
	rows, strays, oldest := due.seen()
	if strays > 0 {
		slog.WarnContext(ctx, "rows are in the index that do not belong there", append(metric.StraysDue.With(int64(strays)), "rows", strays)...)
	}
	slog.InfoContext(ctx, "due", append(metric.OldestDue.With(int64(s.age(oldest).Seconds())), "rows", rows)...)
	mayBegin := ctx // ends when the run may begin no other row
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		mayBegin, cancel = context.WithDeadline(ctx, end.Add(-beforeEnd))
		defer cancel()
	}
	err := due.deal(mayBegin, sweepAtOnce, func(d store.Due) (bool, error) { return r.handle(ctx, d) })
	r.flush(ctx, 1) // the last, incomplete batch
	return err
}

// age returns how long ago a row became due. dueAt is in milliseconds since the epoch; for 0, which means no row, age returns 0.
func (s Sweep) age(dueAt int64) time.Duration {
	if dueAt == 0 {
		return 0
	}
	return max(s.Store.Now().Sub(time.UnixMilli(dueAt)), 0)
}

// run is one run of the sweep.
type run struct {
	Sweep
	left atomic.Int64 // how many deliveries the run may still queue

	mu     sync.Mutex
	moved  []webhook.Message     // overdue deliveries that flush will queue
	parked map[id.Endpoint]int64 // the progress in each endpoint's parked deliveries: see parkedUpTo
}

// parkedUpTo returns the progress in an endpoint's parked deliveries. These are listed by the time (milliseconds) when their
// round of attempts began, and parkedUpTo returns this time of the last processed delivery, or 0. The run does not begin the
// list again, because the index may still show deliveries that were processed.
func (r *run) parkedUpTo(endpoint id.Endpoint) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parked[endpoint]
}

func (r *run) setParkedUpTo(endpoint id.Endpoint, at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parked[endpoint] = at
}

// handle processes one row, and reports whether the row needs more work in this run.
func (r *run) handle(ctx context.Context, d store.Due) (more bool, err error) {
	switch d.Kind {
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
	case store.DueBar:
		return r.Store.CleanLinks(ctx, d.App, d.Key)
	case store.DueOrg:
		return r.closing(ctx, d)
	case store.DueStray:
		return false, r.Store.DropStray(ctx, d)
	}
	return false, fmt.Errorf("pipeline: unknown kind %q", d.Kind)
}

// reserve returns how many of n deliveries the caller may queue, and subtracts them from the run's limit.
// The caller gives back the unused ones.
func (r *run) reserve(n int) int {
	for {
		left := r.left.Load()
		got := min(int64(n), left)
		if r.left.CompareAndSwap(left, left-got) {
			return int(got)
		}
	}
}

func (r *run) giveBack(n int) { r.left.Add(int64(n)) }

// messagesPerCall is how many messages are sent in one call (SQS, SendMessageBatch).
const messagesPerCall = 10

// delivery queues an overdue delivery, if this run succeeds in moving its due time. So of two concurrent runs only one
// queues it. When the run may queue no more deliveries, the delivery waits for the next run.
func (r *run) delivery(ctx context.Context, d store.Due) error {
	if r.reserve(1) == 0 {
		return nil
	}
	ok, err := r.Store.Deliveries().Requeue(ctx, d)
	if !ok {
		r.giveBack(1)
		return err
	}
	r.mu.Lock()
	r.moved = append(r.moved, webhook.Message{Org: d.Org, DeliveryID: d.Delivery()})
	r.mu.Unlock()
	r.flush(ctx, messagesPerCall)
	return nil
}

// flush queues the moved deliveries if there are at least minimum of them.
func (r *run) flush(ctx context.Context, minimum int) {
	r.mu.Lock()
	var batch []webhook.Message
	if len(r.moved) >= minimum {
		batch, r.moved = r.moved, nil
	}
	r.mu.Unlock()
	wake(ctx, r.Queue, 0, batch...)
}

// closing deletes a part of a deleted org's rows. The org's keys are refused already.
func (r *run) closing(ctx context.Context, d store.Due) (more bool, err error) {
	more, cutShort, err := r.Store.EndOrg(ctx, d.Org)
	if cutShort {
		slog.WarnContext(ctx, "the deletion of an org was cut short: an admin must repeat it", "org", d.Org)
	}
	return more, err
}

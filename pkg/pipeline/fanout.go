package pipeline

import (
	"context"
	"log/slog"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// FanOut turns an event into deliveries, one for each endpoint that subscribes to its type.
type FanOut struct {
	Store *store.Store
	Queue webhook.Queue
}

// Record handles a row that the stream brought: it fans out an event, or writes the event of a notice.
func (f FanOut) Record(ctx context.Context, pk, sk string) error {
	if store.IsNotice(pk) {
		return f.Store.Tell(ctx, pk, sk)
	}
	app, event, ok := store.EventOf(pk, sk)
	if !ok {
		return nil // the mapping's filter lets nothing else through
	}
	return f.Event(ctx, app, event)
}

// Event fans out one event. A second call for the same event changes nothing.
func (f FanOut) Event(ctx context.Context, app id.App, event id.Event) error {
	send, err := f.Store.Deliveries().FanOut(ctx, app, event)
	if err != nil {
		return unlessBusy(ctx, err)
	}
	messages := make([]webhook.Message, len(send))
	var late time.Duration // the delay of the first attempt, the same for all deliveries of an event
	for i, d := range send {
		late = time.Duration(d.NextAttempt-d.StartedAt) * time.Millisecond
		messages[i] = webhook.Message{Org: d.Org, DeliveryID: d.DeliveryID}
	}
	wake(ctx, f.Queue, late, messages...)
	return nil
}

// unlessBusy returns err, or nil when err means that each try lost a race for a row. Such a row stays due, so the
// sweep finds it: nothing is lost, and no race ends in the dead-letter queue.
func unlessBusy(ctx context.Context, err error) error {
	if !store.Busy(err) {
		return err
	}
	slog.WarnContext(ctx, "a row is left to the sweep", "error", err)
	return nil
}

// wake queues deliveries. When the queue refuses them, wake returns no error, because the sweep wakes them a
// minute later.
func wake(ctx context.Context, q webhook.Queue, delay time.Duration, messages ...webhook.Message) {
	if len(messages) == 0 {
		return
	}
	if err := q.Send(ctx, delay, messages...); err != nil {
		slog.WarnContext(ctx, "deliveries are left to the sweep", "error", err)
	}
}

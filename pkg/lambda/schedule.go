package lambda

import (
	"context"
	"encoding/json"
	"log/slog"

	"latchkey/pkg/problem"
)

// StartSchedule calls run for each event of a schedule, and for each call by hand. It ignores the content of
// the event. Lambda counts an error of run; the next run continues the work.
// StartSchedule does not return.
func StartSchedule(run func(context.Context) error) {
	start(schedule(run))
}

// schedule returns the handler of StartSchedule.
func schedule(run func(context.Context) error) func(context.Context, json.RawMessage) error {
	return func(ctx context.Context, _ json.RawMessage) error {
		ctx, cancel := prepared(ctx, "")
		defer cancel()
		err := guarded(ctx, func() error { return run(ctx) })
		if err != nil {
			slog.ErrorContext(ctx, "the scheduled run failed", "error", err, "requestId", problem.RequestID(ctx))
		}
		return err
	}
}

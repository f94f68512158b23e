package lambdaevent

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambda"

	"latchkey/pkg/metric"
	"latchkey/pkg/problem"
)

// StartSchedule serves run as the target of a schedule, or of a call by hand:
// what the event says does not matter. An error is the function's, so that
// Lambda counts it; the next run does the rest. It does not return.
func StartSchedule(run func(context.Context) error) {
	metric.Started()
	lambda.Start(schedule(run))
}

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

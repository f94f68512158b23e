package lambdaevent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"latchkey/pkg/problem"
)

// StartSchedule serves run as the target of a schedule, or of a call by hand:
// what the event says does not matter. An error is the function's, so that
// Lambda tries again and counts it. It does not return.
func StartSchedule(run func(context.Context) error) { lambda.Start(schedule(run)) }

func schedule(run func(context.Context) error) func(context.Context, json.RawMessage) error {
	return func(ctx context.Context, _ json.RawMessage) (err error) {
		if lc, ok := lambdacontext.FromContext(ctx); ok {
			ctx = problem.WithRequestID(ctx, lc.AwsRequestID)
		}
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-deadlineReserve))
			defer cancel()
		}
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
				slog.ErrorContext(ctx, "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()), "requestId", problem.RequestID(ctx))
			}
		}()
		if err = run(ctx); err != nil {
			slog.ErrorContext(ctx, "the scheduled run failed", "error", err, "requestId", problem.RequestID(ctx))
		}
		return err
	}
}

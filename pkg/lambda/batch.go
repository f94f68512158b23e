package lambda

import (
	"context"
	"log/slog"
	"slices"

	"latchkey/pkg/parallel"
	"latchkey/pkg/problem"
)

// The structs of events have only the fields that are read, because decoding the structs of
// aws-lambda-go costs twice as much time.

type (
	streamEvent struct{ Records []streamRecord }

	streamRecord struct {
		DynamoDB struct {
			Keys struct {
				PK, SK struct{ S string }
			}
			SequenceNumber string
		} `json:"dynamodb"`
	}

	queueEvent struct{ Records []queueRecord }

	queueRecord struct {
		MessageID string `json:"messageId"`
		Body      string `json:"body"`
	}
)

// batchAnswer names the failed items of a batch (Lambda, "ReportBatchItemFailures").
type batchAnswer struct {
	Failures []batchFailure `json:"batchItemFailures"`
}

type batchFailure struct {
	Item string `json:"itemIdentifier"`
}

// StartStream calls run with the key of each new row of the table's stream. It calls run for
// all rows of a batch at the same time: otherwise a shard would be as slow as its rows one
// after the other. When a row fails, Lambda sends the batch again from that row on, so run
// gets some rows a second time. StartStream does not return.
func StartStream(run func(ctx context.Context, pk, sk string) error) {
	start(stream(run))
}

// stream returns the handler of StartStream.
func stream(run func(ctx context.Context, pk, sk string) error) func(context.Context, streamEvent) (batchAnswer, error) {
	return func(ctx context.Context, e streamEvent) (batchAnswer, error) {
		ctx, cancel := prepared(ctx, "")
		defer cancel()
		errs := parallel.Each(len(e.Records), e.Records, func(_ int, r streamRecord) error {
			keys := r.DynamoDB.Keys
			err := guarded(ctx, func() error { return run(ctx, keys.PK.S, keys.SK.S) })
			if err != nil {
				slog.ErrorContext(ctx, "a record failed", "error", err, "pk", keys.PK.S, "sk", keys.SK.S, "requestId", problem.RequestID(ctx))
			}
			return err
		})
		// Only the first failed row is named: Lambda sends this row and all later rows again.
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return batchAnswer{[]batchFailure{{e.Records[i].DynamoDB.SequenceNumber}}}, nil
		}
		return batchAnswer{[]batchFailure{}}, nil
	}
}

// StartQueue calls run with the body of each message of a queue, for all messages of a batch
// at the same time, so that a slow one does not delay the others. StartQueue does not return.
func StartQueue(run func(ctx context.Context, body string) error) {
	start(messages(run))
}

// messages returns the handler of StartQueue.
func messages(run func(ctx context.Context, body string) error) func(context.Context, queueEvent) (batchAnswer, error) {
	return func(ctx context.Context, e queueEvent) (batchAnswer, error) {
		ctx, cancel := prepared(ctx, "")
		defer cancel()
		errs := parallel.Each(len(e.Records), e.Records, func(_ int, r queueRecord) error {
			err := guarded(ctx, func() error { return run(ctx, r.Body) })
			if err != nil {
				slog.ErrorContext(ctx, "a message failed", "error", err, "body", r.Body, "requestId", problem.RequestID(ctx))
			}
			return err
		})
		out := batchAnswer{[]batchFailure{}}
		for i, r := range e.Records {
			if errs[i] != nil {
				out.Failures = append(out.Failures, batchFailure{r.MessageID})
			}
		}
		return out, nil
	}
}

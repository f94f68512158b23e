// Command fanout makes deliveries of the events that the table's stream brings.
package main

import (
	"log/slog"
	"os"

	"latchkey/pkg/env"
	"latchkey/pkg/lambdaevent"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/queue/sqs"
	"latchkey/pkg/store"
)

func main() {
	slog.SetDefault(env.Logger())
	e := env.New()
	cfg := e.AWS()
	f := pipeline.FanOut{
		Store: store.New(e.DynamoDB(cfg), e.Required("TABLE")),
		Queue: sqs.New(cfg, e.Optional("AWS_ENDPOINT_URL_SQS", ""), e.Required("QUEUE_URL")),
	}
	if err := e.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	lambdaevent.StartStream(f.Record)
}

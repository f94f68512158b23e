// Command sweep does, once a minute, what is due, and repairs what was lost.
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
	table := store.New(e.DynamoDB(cfg), e.Required("TABLE"))
	queue := sqs.New(cfg, e.Optional("AWS_ENDPOINT_URL_SQS", ""), e.Required("QUEUE_URL"))
	if err := e.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	s := pipeline.Sweep{Store: table, Queue: queue, FanOut: pipeline.FanOut{Store: table, Queue: queue}}
	lambdaevent.StartSchedule(s.Run)
}

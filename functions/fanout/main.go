// Command fanout reads events from the table's stream, and writes one delivery of each event for each endpoint.
package main

import (
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/queue"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		cfg := e.AWS()
		s := store.New(e.DynamoDB(cfg), e.Required("TABLE"))
		s.Limits.ReadBudgets(e)
		f := pipeline.FanOut{
			Store: s,
			Queue: queue.New(cfg, e.Required("QUEUE_URL")),
		}
		return func() { lambda.StartStream(f.Record) }
	})
}

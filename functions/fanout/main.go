// Command fanout writes one delivery for each endpoint of each event that the table's stream brings.
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

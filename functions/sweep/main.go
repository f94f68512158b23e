// Command sweep does, once a minute, what is due, and repairs what was lost.
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
		table := store.New(e.DynamoDB(cfg), e.Required("TABLE"))
		table.Limits.ReadBudgets(e)
		queue := queue.New(cfg, e.Optional("AWS_ENDPOINT_URL_SQS", ""), e.Required("QUEUE_URL"))
		return func() {
			s := pipeline.Sweep{Store: table, Queue: queue, FanOut: pipeline.FanOut{Store: table, Queue: queue}}
			lambda.StartSchedule(s.Run)
		}
	})
}

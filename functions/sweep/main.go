// Command sweep does the work that is due, once a minute. It also fans out events that the stream lost, and queues
// deliveries again that the queue lost.
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
		deliveries := queue.New(cfg, e.Required("QUEUE_URL"))
		return func() {
			fanOut := pipeline.FanOut{Store: s, Queue: deliveries}
			lambda.StartSchedule(pipeline.Sweep{Store: s, Queue: deliveries, FanOut: fanOut}.Run)
		}
	})
}

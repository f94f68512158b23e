// Command sweep does, once a minute, what is due, and repairs what was lost.
package main

import (
	"latchkey/pkg/env"
	"latchkey/pkg/lambdaevent"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/queue/sqs"
	"latchkey/pkg/store"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		cfg := e.AWS()
		table := store.New(e.DynamoDB(cfg), e.Required("TABLE"))
		queue := sqs.New(cfg, e.Optional("AWS_ENDPOINT_URL_SQS", ""), e.Required("QUEUE_URL"))
		return func() {
			s := pipeline.Sweep{Store: table, Queue: queue, FanOut: pipeline.FanOut{Store: table, Queue: queue}}
			lambdaevent.StartSchedule(s.Run)
		}
	})
}

// Command fanout makes deliveries of the events that the table's stream brings.
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
		f := pipeline.FanOut{
			Store: store.New(e.DynamoDB(cfg), e.Required("TABLE")),
			Queue: sqs.New(cfg, e.Optional("AWS_ENDPOINT_URL_SQS", ""), e.Required("QUEUE_URL")),
		}
		return func() { lambdaevent.StartStream(f.Record) }
	})
}

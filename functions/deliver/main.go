// Command deliver signs webhooks and sends them.
package main

import (
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/pipeline/queue"
	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		cfg := e.AWS()
		allow, err := outbound.ParseCIDRs(e.List("WEBHOOK_ALLOW_CIDRS"))
		if err != nil {
			e.Reject("WEBHOOK_ALLOW_CIDRS", err.Error()) // boot.Run then ends the process
		}
		d := pipeline.Deliver{
			Store:  store.New(e.DynamoDB(cfg), e.Required("TABLE")),
			Queue:  queue.New(cfg, e.Required("QUEUE_URL")),
			Signer: signing.New(signing.Client(cfg), e.Required("STACK")),
			Post:   outbound.NewSender(outbound.NewGuard(allow)),
			Issuer: e.Required("WEBHOOK_ISSUER"),
		}
		return func() { lambda.StartQueue(d.Body) }
	})
}

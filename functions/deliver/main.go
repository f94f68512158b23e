// Command deliver signs webhooks and sends them.
package main

import (
	"latchkey/pkg/env"
	"latchkey/pkg/lambdaevent"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/queue/sqs"
	"latchkey/pkg/signing/kms"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook/outbound"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		cfg := e.AWS()
		allow, err := outbound.ParseCIDRs(e.List("WEBHOOK_ALLOW_CIDRS"))
		if err != nil {
			e.Reject("WEBHOOK_ALLOW_CIDRS", err.Error())
		}
		d := pipeline.Deliver{
			Store:  store.New(e.DynamoDB(cfg), e.Required("TABLE")),
			Queue:  sqs.New(cfg, e.Optional("AWS_ENDPOINT_URL_SQS", ""), e.Required("QUEUE_URL")),
			Signer: kms.New(kms.Client(cfg, e.Optional("AWS_ENDPOINT_URL_KMS", "")), e.Required("STACK")),
			Post:   outbound.NewSender(outbound.NewGuard(allow)),
			Issuer: e.Required("WEBHOOK_ISSUER"),
		}
		return func() { lambdaevent.StartQueue(d.Body) }
	})
}

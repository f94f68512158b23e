// Command webhooks serves an app's webhook endpoints, its events and their deliveries.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/pipeline/queue"
	"latchkey/pkg/service"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		cfg := e.AWS()
		s := store.New(e.DynamoDB(cfg), e.Required("TABLE"))
		deliveries := queue.New(cfg, e.Required("QUEUE_URL"))
		allow, err := outbound.ParseCIDRs(e.List("WEBHOOK_ALLOW_CIDRS"))
		if err != nil {
			e.Reject("WEBHOOK_ALLOW_CIDRS", err.Error()) // boot.Run then ends the process
		}
		s.Limits.ReadBudgets(e)
		consoleOrigins, maxAuthAge := e.List("CONSOLE_ORIGINS"), e.Seconds("MAX_AUTH_AGE")
		rights := service.RightsFrom(e)
		return func() {
			lambda.StartHTTP(api.Webhooks(s, outbound.NewGuard(allow).Refusal, deliveries, consoleOrigins, rights, maxAuthAge))
		}
	})
}

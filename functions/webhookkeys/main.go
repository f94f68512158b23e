// Command webhookkeys serves the public reads: the keys that verify webhooks,
// the OpenAPI document, and the preflights of browsers.
package main

import (
	"latchkey/infra"
	"latchkey/pkg/api"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		consoleOrigins := e.List("CONSOLE_ORIGINS")
		return func() { lambda.StartHTTP(api.WebhookKeys(s, infra.OpenAPI, consoleOrigins)) }
	})
}

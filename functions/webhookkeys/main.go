// Command webhookkeys serves the public reads: the keys by which receivers verify
// webhooks, the OpenAPI document, and the preflights of browsers.
package main

import (
	"latchkey/infra"
	"latchkey/pkg/api"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
	"latchkey/pkg/store"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		console := e.List("CONSOLE_ORIGINS")
		return func() { lambdahttp.Start(api.WebhookKeys(table, infra.OpenAPI, console)) }
	})
}

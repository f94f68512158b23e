// Command webhookkeys serves the public reads: the keys that receivers verify
// webhooks by, and the contract.
package main

import (
	"log/slog"
	"os"

	"latchkey/infra"
	"latchkey/pkg/api"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
	"latchkey/pkg/store"
)

func main() {
	slog.SetDefault(env.Logger())
	e := env.New()
	table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
	if err := e.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	lambdahttp.Start(api.WebhookKeys(table, infra.OpenAPI))
}

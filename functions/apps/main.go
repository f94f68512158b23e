// Command apps serves an org's apps, and describes an API key to its owner.
package main

import (
	"log/slog"
	"os"

	"latchkey/pkg/api"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
	"latchkey/pkg/store"
)

func main() {
	slog.SetDefault(env.Logger())
	e := env.New()
	table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
	console := e.List("CONSOLE_ORIGINS")
	if err := e.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	lambdahttp.Start(api.Apps(table, console))
}

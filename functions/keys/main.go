// Command keys serves an org's API keys.
package main

import (
	"log/slog"
	"os"

	"latchkey/pkg/api"
	"latchkey/pkg/apikey"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
	"latchkey/pkg/store"
)

func main() {
	slog.SetDefault(env.Logger())
	e := env.New()
	table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
	prefix := e.Optional("KEY_PREFIX", "lk")
	if !apikey.ValidPrefix(prefix) {
		e.Reject("KEY_PREFIX", "must be a lower-case letter and up to 15 letters or digits")
	}
	console := e.List("CONSOLE_ORIGINS")
	if err := e.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	lambdahttp.Start(api.Keys(table, prefix, console))
}

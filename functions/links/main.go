// Command links serves an app's links, and the claims of client SDKs.
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
	budget := &table.Limits.Budget
	budget.PerSecond, budget.Burst = e.Int("DELIVERIES_PER_SECOND", budget.PerSecond, 1), e.Int("DELIVERIES_BURST", budget.Burst, 1)
	if err := e.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	lambdahttp.Start(api.Links(table))
}

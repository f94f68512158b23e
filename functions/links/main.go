// Command links serves an app's links, and the claims of client SDKs.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
	"latchkey/pkg/store"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		budget := &table.Limits.Budget
		budget.PerSecond, budget.Burst = e.Int("DELIVERIES_PER_SECOND", budget.PerSecond, 1), e.Int("DELIVERIES_BURST", budget.Burst, 1)
		return func() { lambdahttp.Start(api.Links(table)) }
	})
}

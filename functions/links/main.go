// Command links serves an app's links, and the claims of client SDKs.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		budget := &table.Limits.Budget
		budget.PerSecond, budget.Burst = e.Int("DELIVERIES_PER_SECOND", budget.PerSecond, 1), e.Int("DELIVERIES_BURST", budget.Burst, 1)
		return func() { lambda.StartHTTP(api.Links(table)) }
	})
}

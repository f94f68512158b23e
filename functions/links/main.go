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
		table.Limits.ReadBudgets(e)
		consoleOrigins := e.List("CONSOLE_ORIGINS")
		return func() { lambda.StartHTTP(api.Links(table, consoleOrigins)) }
	})
}

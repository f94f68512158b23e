// Command links serves an app's links, and lets client SDKs claim them.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/service"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		s.Limits.ReadBudgets(e)
		consoleOrigins := e.List("CONSOLE_ORIGINS")
		rights := service.RightsFrom(e)
		return func() { lambda.StartHTTP(api.Links(s, consoleOrigins, rights)) }
	})
}

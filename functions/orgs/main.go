// Command orgs serves orgs and their audit logs.
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
		consoleOrigins := e.List("CONSOLE_ORIGINS")
		return func() { lambda.StartHTTP(api.Orgs(table, consoleOrigins)) }
	})
}

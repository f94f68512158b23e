// Command orgs serves orgs and their audit logs.
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
		console := e.List("CONSOLE_ORIGINS")
		return func() { lambdahttp.Start(api.Orgs(table, console)) }
	})
}

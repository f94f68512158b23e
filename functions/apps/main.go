// Command apps serves an org's apps, and describes an API key to its owner.
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
		return func() { lambdahttp.Start(api.Apps(table, console)) }
	})
}

// Command members serves an org's members.
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
		return func() { lambdahttp.Start(api.Members(table, console)) }
	})
}

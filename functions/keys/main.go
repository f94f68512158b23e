// Command keys serves an org's API keys.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/apikey"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
	"latchkey/pkg/store"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		prefix := e.Optional("KEY_PREFIX", "lk")
		if !apikey.ValidPrefix(prefix) {
			e.Reject("KEY_PREFIX", "must be a lower-case letter and up to 15 letters or digits")
		}
		console := e.List("CONSOLE_ORIGINS")
		return func() { lambdahttp.Start(api.Keys(table, prefix, console)) }
	})
}

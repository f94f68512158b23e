// Command apps serves an org's apps, and describes an API key and its app to the server that sends the key.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/apikey"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/secret"
	"latchkey/pkg/service"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		prefix := e.Optional("KEY_PREFIX", "lk")
		if !apikey.ValidPrefix(prefix) {
			e.Reject("KEY_PREFIX", secret.ErrPrefix.Error())
		}
		consoleOrigins := e.List("CONSOLE_ORIGINS")
		rights := service.RightsFrom(e)
		return func() { lambda.StartHTTP(api.Apps(s, prefix, consoleOrigins, rights)) }
	})
}

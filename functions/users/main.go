// Command users serves people: it finds, stops, signs out and erases them.
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
		consoleOrigins := e.List("CONSOLE_ORIGINS")
		rights := service.RightsFrom(e)
		issuer := e.Required("ISSUER")
		return func() { lambda.StartHTTP(api.Users(s, consoleOrigins, rights, issuer)) }
	})
}

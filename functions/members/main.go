// Command members serves an org's members.
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
		maxAuthAge := e.Seconds("MAX_AUTH_AGE")
		issuer := e.Required("ISSUER")
		services := service.Subjects(service.From(e), issuer)
		return func() { lambda.StartHTTP(api.Members(s, consoleOrigins, rights, maxAuthAge, issuer, services)) }
	})
}

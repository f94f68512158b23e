// Command deleteorg deletes orgs.
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
		return func() { lambda.StartHTTP(api.DeleteOrg(s, consoleOrigins, rights, maxAuthAge)) }
	})
}

// Command orgs serves orgs and their audit logs.
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
		services := service.Subjects(service.From(e), issuer)
		byServices := e.Choice("ORGS_BY", "anyone", "services") == "services"
		return func() { lambda.StartHTTP(api.Orgs(s, consoleOrigins, rights, issuer, services, byServices)) }
	})
}

// Command console serves the pages of the console.
package main

import (
	"embed"
	"io/fs"

	"latchkey/pkg/api"
	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/boot"
	"latchkey/pkg/clock"
	"latchkey/pkg/console"
	"latchkey/pkg/lambda"
)

//go:embed dist
var dist embed.FS

func main() {
	boot.Run(func(e *boot.Reader) func() {
		settings := console.Settings{
			Issuer: e.Required("ISSUER"), ClientID: e.Optional("CONSOLE_CLIENT_ID", ""), Scope: e.Optional("CONSOLE_SCOPE", ""),
			Parameters: e.Optional("CONSOLE_PARAMETERS", ""), MaxKeyDays: e.Int("MAX_KEY_DAYS", 0, 0),
			OrgsBy: e.Choice("ORGS_BY", "anyone", "services"), KeyPrefix: e.Optional("KEY_PREFIX", "lk"),
			ProductName: e.Optional("PRODUCT_NAME", "Latchkey"), SupportURL: e.Optional("SUPPORT_URL", ""), Accent: e.Optional("ACCENT", ""),
		}
		for _, f := range settings.Faults() {
			e.Reject(f.Parameter, f.Err.Error())
		}
		files, _ := fs.Sub(dist, "dist") // fails only for a malformed path
		issuer := jwks.NewDiscovery(settings.Issuer, boot.NewIssuerClient(), jwks.Patient, clock.Now)
		pages, err := console.New(files, settings, issuer.Get)
		if err != nil {
			e.Reject("CONSOLE_PARAMETERS", err.Error())
		}
		return func() { lambda.StartHTTP(api.Console(pages)) }
	})
}

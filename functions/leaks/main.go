// Command leaks serves GitHub's reports of API keys that were found in public.
package main

import (
	"latchkey/pkg/api"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/leaks"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		effect := e.Choice("LEAK_REPORTS", "off", "tell", "revoke")
		imports := e.Bool("IMPORTED_KEYS", false)
		keys := leaks.New(outbound.NewSender(outbound.NewGuard(nil)), leaks.GitHubKeys)
		return func() { lambda.StartHTTP(api.Leaks(s, effect, keys.Verify, imports)) }
	})
}

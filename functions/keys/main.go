// Command keys serves an org's API keys.
package main

import (
	"time"

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
		maxAuthAge := e.Seconds("MAX_AUTH_AGE")
		imports := e.Bool("IMPORTED_KEYS", false)
		maxLife := time.Duration(e.Int("MAX_KEY_DAYS", 0, 0)) * 24 * time.Hour // 0: keys may live without an end
		return func() { lambda.StartHTTP(api.Keys(s, prefix, imports, maxLife, consoleOrigins, rights, maxAuthAge)) }
	})
}

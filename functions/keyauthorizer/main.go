// Command keyauthorizer is an authorizer for other APIs of the owner. It lets them accept our API keys.
package main

import (
	"latchkey/pkg/authn"
	"latchkey/pkg/boot"
	"latchkey/pkg/guard"
	"latchkey/pkg/guard/shared"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		allowFor := e.Seconds("ALLOW_FOR_SECONDS") // how long an Allow is valid if a gateway caches it against our advice; 0: without end
		acceptsImported, countsRequests := e.Bool("IMPORTED_KEYS", false), e.Bool("COUNT_REQUESTS", false)
		return func() {
			keysOnly := authn.New(s, nil) // without access tokens
			if acceptsImported {
				keysOnly.TakeImported(nil, 0)
			}
			if countsRequests {
				keysOnly.CountRequests()
			}
			lambda.StartSharedAuthorizer(shared.Key(guard.On(keysOnly)), allowFor)
		}
	})
}

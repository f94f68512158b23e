// Command keyauthorizer lets other APIs of Latchkey's owner take API keys: their API Gateway calls it as
// their authorizer.
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
		allowFor := e.Seconds("ALLOW_FOR_SECONDS") // for how long an Allow holds where a gateway keeps it against our advice; 0: without end
		takesImported, counts := e.Bool("IMPORTED_KEYS", false), e.Bool("COUNT_REQUESTS", false)
		return func() {
			keysOnly := authn.New(s, nil) // without access tokens
			if takesImported {
				keysOnly.TakeImported(nil, 0)
			}
			if counts {
				keysOnly.CountRequests()
			}
			lambda.StartSharedAuthorizer(shared.Key(guard.On(keysOnly)), allowFor)
		}
	})
}

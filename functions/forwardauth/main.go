// Command forwardauth checks credentials for proxies and programs, at a function URL.
package main

import (
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/clock"
	"latchkey/pkg/forwardauth"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := accesstoken.ConfigFrom(e)
		owner := id.Org(e.Optional("OWNER_ORG_ID", "")) // API keys of this org may introspect; "": no key may
		secrets := e.List("SECRET")                     // a request must have one of them in its header; empty: no secret is needed
		acceptsImported, countsRequests := e.Bool("IMPORTED_KEYS", false), e.Bool("COUNT_REQUESTS", false)
		return func() {
			a := authn.New(s, accesstoken.New(tokens.ForUsers(), boot.NewIssuerClient(), clock.Now))
			if acceptsImported {
				a.TakeImported(nil, 0)
			}
			if countsRequests {
				a.CountRequests()
			}
			lambda.StartURL(forwardauth.New(guard.On(a), owner, secrets...))
		}
	})
}

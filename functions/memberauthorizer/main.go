// Command memberauthorizer is an authorizer for other APIs of the owner. It lets them accept access tokens of an org's members.
package main

import (
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/clock"
	"latchkey/pkg/guard"
	"latchkey/pkg/guard/shared"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := accesstoken.ConfigFrom(e)
		orgParameter := e.Required("ORG_PARAMETER") // the name of the path parameter that has the org's id in routes of those APIs
		allowFor := e.Seconds("ALLOW_FOR_SECONDS")  // how long an Allow is valid if a gateway caches it against our advice; 0: without end
		return func() {
			g := guard.On(authn.New(s, accesstoken.New(tokens.ForUsers(), boot.NewIssuerClient(), clock.Now)))
			lambda.StartSharedAuthorizer(shared.Member(g, orgParameter), allowFor)
		}
	})
}

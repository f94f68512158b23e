// Command memberauthorizer lets the owner's other APIs take access tokens of an org's members: their
// API Gateway calls it as their authorizer.
package main

import (
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/guard"
	"latchkey/pkg/guard/shared"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := accesstoken.ConfigFrom(e)
		orgParameter := e.Required("ORG_PARAMETER") // names the path parameter with the org's id in routes of those APIs
		allowFor := e.Seconds("ALLOW_FOR_SECONDS")  // for how long an Allow holds where a gateway keeps it against our advice; 0: without end
		return func() {
			g := guard.On(authn.New(s, accesstoken.New(tokens.ForUsers(), boot.NewIssuerClient(), time.Now)))
			lambda.StartSharedAuthorizer(shared.Member(g, orgParameter), allowFor)
		}
	})
}

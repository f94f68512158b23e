// Command authorizer turns credentials into principals. API Gateway calls it for every
// request on a route that accepts a credential.
package main

import (
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/clock"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := accesstoken.ConfigFrom(e)
		// Only this function records users, so only it needs their profiles and names.
		tokens.UserinfoURL, tokens.NameClaim = e.Optional("USERINFO_URL", ""), e.Optional("NAME_CLAIM", "")
		acceptsImported, countsRequests := e.Bool("IMPORTED_KEYS", false), e.Bool("COUNT_REQUESTS", false)
		return func() {
			a := authn.New(s, accesstoken.New(tokens, boot.NewIssuerClient(), clock.Now))
			if acceptsImported {
				a.TakeImported(nil, 0) // no fallback, as only package guard has one
			}
			if countsRequests {
				a.CountRequests()
			}
			lambda.StartAuthorizer(a.AuthorizeRoute)
		}
	})
}

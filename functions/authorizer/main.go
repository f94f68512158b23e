// Command authorizer turns credentials into principals: API Gateway calls it on every
// request of a route that accepts a credential.
package main

import (
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		s := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := accesstoken.ConfigFrom(e)
		// Only this function records users. The others need neither profile nor name.
		tokens.UserinfoURL, tokens.NameClaim = e.Optional("USERINFO_URL", ""), e.Optional("NAME_CLAIM", "")
		takesImported, counts := e.Bool("IMPORTED_KEYS", false), e.Bool("COUNT_REQUESTS", false)
		return func() {
			a := authn.New(s, accesstoken.New(tokens, boot.NewIssuerClient(), time.Now))
			if takesImported {
				a.TakeImported(nil, 0)
			}
			if counts {
				a.CountRequests()
			}
			lambda.StartAuthorizer(a.AuthorizeRoute)
		}
	})
}

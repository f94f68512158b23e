// Command authorizer turns credentials into principals: API Gateway calls it on every
// request of a route that takes a credential.
package main

import (
	"time"

	"latchkey/pkg/authz"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdaevent"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/token"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := token.Config{
			Issuer:              e.Required("ISSUER"),
			JWKSURL:             e.Optional("JWKS_URL", ""),
			UserinfoURL:         e.Optional("USERINFO_URL", ""),
			Audience:            e.Optional("AUDIENCE", ""),
			ClientIDs:           e.List("CLIENT_IDS"),
			EmailClaim:          e.Optional("EMAIL_CLAIM", ""),
			EmailVerifiedClaim:  e.Optional("EMAIL_VERIFIED_CLAIM", ""),
			NameClaim:           e.Optional("NAME_CLAIM", ""),
			EmailsAreVerified:   e.Bool("EMAILS_ARE_VERIFIED", false),
			AllowUnmarkedTokens: e.Bool("ALLOW_UNMARKED_TOKENS", false),
		}
		return func() {
			a := authz.New(table, token.New(tokens, env.NewIssuerClient(), time.Now))
			lambdaevent.StartAuthorizer(a.Authorize, route.CredentialOf)
		}
	})
}

// Command authorizer turns credentials into principals: API Gateway calls it on every
// request of a route that takes a credential.
package main

import (
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		tokens := accesstoken.Config{
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
			a := authn.New(table, accesstoken.New(tokens, boot.NewIssuerClient(), time.Now))
			lambda.StartAuthorizer(a.Authorize, route.CredentialOf)
		}
	})
}

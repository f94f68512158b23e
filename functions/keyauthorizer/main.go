// Command keyauthorizer lets the owner's other APIs take API keys: their API Gateway calls it as
// their authorizer.
package main

import (
	"context"

	"latchkey/pkg/authn"
	"latchkey/pkg/boot"
	"latchkey/pkg/guard"
	"latchkey/pkg/lambda"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		table := store.New(e.DynamoDB(e.AWS()), e.Required("TABLE"))
		allowFor := e.Seconds("ALLOW_FOR_SECONDS")
		return func() {
			g := guard.On(authn.New(table, nil))
			lambda.StartSharedAuthorizer(func(ctx context.Context, headers []string, _ map[string]string) (string, map[string]string, error) {
				p, err := g.Key(ctx, headers)
				return p.ID(), p.Fields(), err
			}, allowFor)
		}
	})
}

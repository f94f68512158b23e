package principal

import "context"

// Claim is a service's statement about its request: the person of the owner who acts through it, and the reason. Nothing checks it.
type Claim struct{ Operator, Reason string }

type claimKey struct{}

// WithClaim returns a context that holds a service's claim, for the audit entries of its request.
func WithClaim(ctx context.Context, c Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimOf returns the claim that WithClaim has stored in the context, or the zero value.
func ClaimOf(ctx context.Context) Claim {
	c, _ := ctx.Value(claimKey{}).(Claim)
	return c
}

package principal

import "context"

// Claim is what a service says of its own act: who of the owner's people acts through it, and why. Nothing checks it.
type Claim struct{ Operator, Reason string }

type claimKey struct{}

// WithClaim returns a context that holds a service's claim, for the audit entries of its request.
func WithClaim(ctx context.Context, c Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimOf returns the claim that WithClaim put there, or the zero value.
func ClaimOf(ctx context.Context) Claim {
	c, _ := ctx.Value(claimKey{}).(Claim)
	return c
}

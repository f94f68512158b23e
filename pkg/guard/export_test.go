package guard

import "latchkey/pkg/authn"

// WithReports returns a Guard that uses an authorizer, and that reports as settings say.
func WithReports(a *authn.Authorizer, settings Config) *Guard {
	g := New(settings)
	g.checks = a
	return g
}

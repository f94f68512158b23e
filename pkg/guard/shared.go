package guard

import (
	"context"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
)

// SharedKey is the check of the shared authorizer that takes API keys. It returns the principal's id and its
// fields. headers are the values of the request's Authorization headers, path its path parameters. Errors: those of Key.
func (g *Guard) SharedKey(ctx context.Context, headers []string, _ map[string]string) (id string, fields map[string]string, err error) {
	p, err := g.Key(ctx, headers)
	return p.ID(), p.Fields(), err
}

// SharedMember returns the check of the shared authorizer that takes access tokens: the user must be a member of the
// org in this path parameter. Errors: those of Member, and a principal.MisconfiguredError for a route whose path
// lacks the parameter.
func (g *Guard) SharedMember(parameter string) func(ctx context.Context, headers []string, path map[string]string) (id string, fields map[string]string, err error) {
	return func(ctx context.Context, headers []string, path map[string]string) (string, map[string]string, error) {
		o, ok := path[parameter]
		if !ok {
			return "", nil, principal.MisconfiguredError("the route's path has no parameter " + parameter)
		}
		p, err := g.Member(ctx, headers, o, org.Viewer)
		return p.ID(), p.Fields(), err
	}
}

// Package shared has the checks of the shared authorizers. Other APIs of the owner use these authorizers. It is for our own functions only.
package shared

import (
	"context"

	"latchkey/pkg/guard"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
)

// Check decides on a request. headers are the values of its Authorization headers, path its path parameters, and allowsSuspended is
// true when its API allows suspended orgs. It returns the id and the fields of the principal.
type Check = func(ctx context.Context, headers []string, path map[string]string, allowsSuspended bool) (id string, fields map[string]string, err error)

// Key returns the check of the authorizer that accepts API keys. It returns the errors of Guard.Key.
func Key(g *guard.Guard) Check {
	return func(ctx context.Context, headers []string, _ map[string]string, _ bool) (string, map[string]string, error) {
		p, err := g.Key(ctx, headers)
		return p.ID(), p.Fields(), err
	}
}

// Member returns the check of the authorizer that accepts access tokens: the user must be a member of the org whose id is in the path
// parameter orgParameter. It returns the errors of Guard.Member, and a principal.MisconfiguredError for a path without the parameter.
func Member(g *guard.Guard, orgParameter string) Check {
	return func(ctx context.Context, headers []string, path map[string]string, allowsSuspended bool) (string, map[string]string, error) {
		orgID, ok := path[orgParameter]
		if !ok {
			return "", nil, principal.MisconfiguredError("the route's path has no parameter " + orgParameter)
		}
		var options []guard.Need
		if allowsSuspended {
			options = append(options, guard.AllowSuspended())
		}
		p, err := g.Member(ctx, headers, orgID, org.Viewer, options...) // any role is at least viewer
		return p.ID(), p.Fields(), err
	}
}

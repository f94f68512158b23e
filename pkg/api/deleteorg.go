package api

import (
	"context"
	"net/http"
	"time"

	"latchkey/pkg/store"
)

// deletion serves the deletion of an org. It is a function of its own, because it takes
// longer than any other route of an org's admin and needs other rights.
type deletion struct{ store *store.Store }

// DeleteOrg returns the handler of functions/deleteorg. console is that of Orgs. maxAge is how long ago the sign-in of
// who deletes an org may be; 0: any.
func DeleteOrg(s *store.Store, console []string, maxAge time.Duration) http.Handler {
	d := deletion{s}
	g := newGroup("deleteorg", map[string]handler{"deleteOrg": handle(d.deleteOrg)}, console)
	g.maxAge = maxAge
	return g
}

func (d deletion) deleteOrg(ctx context.Context, c *call, _ none) (none, error) {
	if err := c.recent(); err != nil {
		return none{}, err
	}
	return none{}, d.store.DeleteOrg(ctx, c.actor(), c.org)
}

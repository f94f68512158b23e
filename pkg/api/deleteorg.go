package api

import (
	"context"
	"net/http"

	"latchkey/pkg/store"
)

// deletion serves the deletion of an org. It is a function of its own, because it takes
// longer than any other route of an org's admin and needs other rights.
type deletion struct{ store *store.Store }

// DeleteOrg returns the handler of functions/deleteorg. console is that of Orgs.
func DeleteOrg(s *store.Store, console []string) http.Handler {
	d := deletion{s}
	return newGroup("deleteorg", map[string]handler{"deleteOrg": handle(d.deleteOrg)}, console)
}

func (d deletion) deleteOrg(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, d.store.DeleteOrg(ctx, c.actor(), c.org)
}

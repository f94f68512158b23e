package api

import (
	"context"
	"net/http"

	"latchkey/pkg/store"
)

// deletion serves the end of an org, which takes longer than all else that an org's
// admin may ask for, and other rights.
type deletion struct{ store *store.Store }

// DeleteOrg gives the handler of functions/deleteorg. console is as of Orgs.
func DeleteOrg(s *store.Store, console []string) http.Handler {
	d := deletion{s}
	return newGroup("deleteorg", map[string]handler{"deleteOrg": handle(d.deleteOrg)}, console)
}

func (d deletion) deleteOrg(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, d.store.DeleteOrg(ctx, c.actor(), c.org)
}

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
	return newGroup("deleteorg", map[string]handler{"DELETE /v1/orgs/{orgId}": d.deleteOrg}, console)
}

func (d deletion) deleteOrg(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	if err := d.store.DeleteOrg(ctx, c.actor(), orgID); err != nil {
		return answer{}, err
	}
	return noContent(), nil
}

package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// orgs serves the routes of orgs and of their audit logs.
type orgs struct{ store *store.Store }

// Orgs returns the handler of functions/orgs. console lists the origins whose pages may call
// the routes under /v1: those of the owner's console.
func Orgs(s *store.Store, console []string) http.Handler {
	o := orgs{s}
	return newGroup("orgs", map[string]handler{
		"listOrgs":  handle(o.list),
		"createOrg": handle(o.create),
		"getOrg":    handle(o.get),
		"updateOrg": handle(o.rename),
		"listAudit": handle(o.audit),
	}, console)
}

type orgBody struct {
	ID        id.Org `json:"id"`
	Name      string `json:"name"`
	CreatedAt int64  `json:"createdAt"` // milliseconds
}

type orgOfUserBody struct {
	ID        id.Org     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	CreatedAt int64      `json:"createdAt"` // milliseconds
	AddedBy   *adderBody `json:"addedBy"`   // null for the org's creator
}

type adderBody struct {
	UserID id.User `json:"userId"`
	Name   string  `json:"name"`
	Email  string  `json:"email"` // verified, or ""
}

func orgBodyOf(o store.Org) orgBody { return orgBody{o.ID, o.Name, o.CreatedAt} }

func (o orgs) list(ctx context.Context, c *call, _ none) (list[orgOfUserBody], error) {
	p, err := c.pageOrAll(isID(id.ParseOrg))
	if err != nil {
		return list[orgOfUserBody]{}, err
	}
	found, next, err := o.store.OrgsOf(ctx, c.caller.UserID, p)
	return listOf("orgs", found, next, func(f store.OrgOfUser) orgOfUserBody {
		return orgOfUserBody{f.ID, f.Name, string(f.Role), f.CreatedAt, (*adderBody)(f.AddedBy)}
	}), err
}

func (o orgs) create(ctx context.Context, c *call, in newNameIn) (answer, error) {
	once, err := onceOf(c, orgBodyOf)
	if err != nil {
		return answer{}, err
	}
	return created(o.store.CreateOrg(ctx, c.caller.UserID, *in.Name, once))
}

func (o orgs) get(ctx context.Context, c *call, _ none) (orgBody, error) {
	found, err := o.store.Org(ctx, c.actor(), c.org)
	return orgBodyOf(found), err
}

func (o orgs) rename(ctx context.Context, c *call, in nameIn) (orgBody, error) {
	if in.Name == nil { // nothing to change; a read checks the caller's role as well
		return o.get(ctx, c, none{})
	}
	renamed, err := o.store.RenameOrg(ctx, c.actor(), c.org, *in.Name)
	return orgBodyOf(renamed), err
}

type subjectBody struct {
	Type string `json:"type"` // user, org, key, app or endpoint; of an actor: user or api_key
	ID   string `json:"id"`
}

type auditBody struct {
	ID        id.Audit        `json:"id"`
	At        int64           `json:"at"` // milliseconds
	Action    string          `json:"action"`
	Actor     subjectBody     `json:"actor"`
	Target    subjectBody     `json:"target"`
	Changes   json.RawMessage `json:"changes"`
	RequestID string          `json:"requestId"`
}

func (o orgs) audit(ctx context.Context, c *call, _ none) (list[auditBody], error) {
	p, err := c.page(isID(id.ParseAudit)) // not pageOrAll: the length of the log has no limit
	if err != nil {
		return list[auditBody]{}, err
	}
	found, next, err := o.store.AuditLog(ctx, c.actor(), c.org, p)
	return listOf("entries", found, next, func(e store.AuditEntry) auditBody {
		return auditBody{
			ID: e.ID, At: e.At, Action: e.Action, Actor: actorOf(e.ActorID), Target: subject(e.TargetID),
			Changes: e.Changes, RequestID: e.RequestID,
		}
	}), err
}

// subject returns an id with its type, which the id's prefix shows.
func subject(id string) subjectBody {
	prefix, _, _ := strings.Cut(id, "_")
	names := map[string]string{"usr": "user", "org": "org", "key": "key", "app": "app", "whe": "endpoint"}
	return subjectBody{Type: names[prefix], ID: id}
}

// actorOf returns an actor with its type: user or api_key, which is key as a target.
func actorOf(id string) subjectBody {
	actor := subject(id)
	if actor.Type == "key" {
		actor.Type = "api_key"
	}
	return actor
}

// deletion serves the deletion of an org. It is a function of its own, because it takes
// longer than any other route of an org's admin and needs other rights.
type deletion struct{ store *store.Store }

// DeleteOrg returns the handler of functions/deleteorg. console lists origins, as for Orgs. A caller who deletes an org
// must have signed in within maxAge; 0: at any time.
func DeleteOrg(s *store.Store, console []string, maxAge time.Duration) http.Handler {
	d := deletion{s}
	g := newGroup("deleteorg", map[string]handler{"deleteOrg": handle(d.deleteOrg)}, console)
	g.maxAge = maxAge
	return g
}

func (d deletion) deleteOrg(ctx context.Context, c *call, _ none) (none, error) {
	if err := c.needRecentSignIn(); err != nil {
		return none{}, err
	}
	return none{}, d.store.DeleteOrg(ctx, c.actor(), c.org)
}

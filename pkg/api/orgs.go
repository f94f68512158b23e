package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// orgs serves the routes of orgs and of their audit logs.
type orgs struct{ store *store.Store }

// Orgs gives the handler of functions/orgs. console lists the origins whose
// pages may call it.
func Orgs(s *store.Store, console []string) http.Handler {
	o := orgs{s}
	return newGroup("orgs", map[string]handler{
		"GET /v1/orgs":               o.list,
		"POST /v1/orgs":              o.create,
		"GET /v1/orgs/{orgId}":       o.get,
		"PATCH /v1/orgs/{orgId}":     o.rename,
		"GET /v1/orgs/{orgId}/audit": o.audit,
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

func (o orgs) list(ctx context.Context, c *call) (answer, error) {
	p, err := c.page(true, func(s string) bool { _, err := id.ParseOrg(s); return err == nil })
	if err != nil {
		return answer{}, err
	}
	found, next, err := o.store.OrgsOf(ctx, c.caller.UserID, p)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Orgs       []orgOfUserBody `json:"orgs"`
		NextCursor string          `json:"nextCursor,omitempty"`
	}{make([]orgOfUserBody, len(found)), cursor(next)}
	for i, f := range found {
		body.Orgs[i] = orgOfUserBody{f.ID, f.Name, string(f.Role), f.CreatedAt, (*adderBody)(f.AddedBy)}
	}
	return ok(body), nil
}

func (o orgs) create(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Name *string `json:"name"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	name, err := requiredName("/name", in.Name)
	if err != nil {
		return answer{}, err
	}
	made := o.store.Draft(name)
	body, err := render(orgBody{made.ID, made.Name, made.CreatedAt})
	if err != nil {
		return answer{}, err
	}
	once, err := c.once(body)
	if err != nil {
		return answer{}, err
	}
	kept, err := o.store.CreateOrg(ctx, c.caller.UserID, made, once)
	if err != nil {
		return answer{}, err
	}
	return created(body, kept), nil
}

func (o orgs) get(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	found, err := o.store.Org(ctx, c.actor(), orgID)
	if err != nil {
		return answer{}, err
	}
	return ok(orgBodyOf(found)), nil
}

func (o orgs) rename(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Name *string `json:"name"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	name := ""
	if in.Name != nil {
		var err error
		if name, err = cleanName("/name", *in.Name); err != nil {
			return answer{}, err
		}
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	if in.Name == nil {
		found, err := o.store.Org(ctx, c.actor(), orgID)
		if err != nil {
			return answer{}, err
		}
		return ok(orgBodyOf(found)), nil
	}
	renamed, err := o.store.RenameOrg(ctx, c.actor(), orgID, name)
	if err != nil {
		return answer{}, err
	}
	return ok(orgBodyOf(renamed)), nil
}

type subjectBody struct {
	Type string `json:"type"` // user, org, key, app or endpoint; of an actor user or api_key
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

func (o orgs) audit(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	p, err := c.page(false, func(s string) bool { _, err := id.ParseAudit(s); return err == nil })
	if err != nil {
		return answer{}, err
	}
	found, next, err := o.store.AuditLog(ctx, c.actor(), orgID, p)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Entries    []auditBody `json:"entries"`
		NextCursor string      `json:"nextCursor,omitempty"`
	}{make([]auditBody, len(found)), cursor(next)}
	for i, e := range found {
		body.Entries[i] = auditBody{
			ID: e.ID, At: e.At, Action: e.Action, Actor: actorOf(e.ActorID), Target: subject(e.TargetID),
			Changes: e.Changes, RequestID: e.RequestID,
		}
	}
	return ok(body), nil
}

// subject names what an id stands for by its prefix.
func subject(id string) subjectBody {
	prefix, _, _ := strings.Cut(id, "_")
	names := map[string]string{"usr": "user", "org": "org", "key": "key", "app": "app", "whe": "endpoint"}
	return subjectBody{Type: names[prefix], ID: id}
}

// actorOf names who did it: a user, or an API key.
func actorOf(id string) subjectBody {
	actor := subject(id)
	if actor.Type == "key" {
		actor.Type = "api_key"
	}
	return actor
}

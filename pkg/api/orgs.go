package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/text"
)

// orgs serves the routes of orgs and of their audit logs.
type orgs struct{ store *store.Store }

// users is the issuer of the users' access tokens.
type users struct {
	issuer   string
	services []string // the subjects of services, which are not users
}

// ofServices returns the services as subjects of the issuer.
func (u users) ofServices() (all []store.Enrolled) {
	for _, subject := range u.services {
		all = append(all, store.Enrolled{Issuer: u.issuer, Subject: subject})
	}
	return all
}

// Orgs returns the handler of functions/orgs. console lists the origins of the owner's console: pages of these origins may call
// the routes under /v1. rights has the rights of the services. issuer signs the users' access tokens. services lists the
// subjects of tokens that belong to services and not to users. byServices lets only services create orgs.
func Orgs(s *store.Store, console []string, rights route.Rights, issuer string, services []string, byServices bool) http.Handler {
	o := orgs{s}
	return newGroup("orgs", map[string]handler{
		"listOrgs":   handle(o.list),
		"createOrg":  handleAs[newOrgIn](o.create),
		"getOrg":     handle(o.get),
		"updateOrg":  handleAs[orgIn](o.change),
		"suspendOrg": handle(o.suspend),
		"resumeOrg":  handle(o.resume),
		"listAudit":  fromQuery(handleAs[auditIn](o.audit)),
	}, console, options{rights: rights, users: users{issuer, services}, byServices: byServices})
}

type orgBody struct {
	ID         id.Org `json:"id"`
	Name       string `json:"name"`
	ExternalID string `json:"externalId,omitempty"` // only admins and services see it
	CreatedAt  int64  `json:"createdAt"`            // milliseconds

	Allowance   []limitBody `json:"allowance,omitempty"` // only admins and services see it
	Plan        string      `json:"plan,omitempty"`
	SuspendedAt int64       `json:"suspendedAt,omitempty"` // milliseconds; missing when the org is not suspended
}

type orgOfUserBody struct {
	ID        id.Org     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	CreatedAt int64      `json:"createdAt"` // milliseconds
	AddedBy   *adderBody `json:"addedBy"`   // null for the org's creator

	ExternalID  string       `json:"externalId,omitempty"`  // only for services
	Plan        string       `json:"plan,omitempty"`        // only for services
	State       store.Status `json:"state,omitempty"`       // only for services
	SuspendedAt int64        `json:"suspendedAt,omitempty"` // milliseconds; missing when the org is not suspended
}

type adderBody struct {
	UserID id.User `json:"userId"`
	Name   string  `json:"name"`
	Email  string  `json:"email"` // verified, or ""
}

func orgBodyOf(o store.Org) orgBody {
	return orgBody{o.ID, o.Name, o.ExternalID, o.CreatedAt, limitBodiesOf(o.State.Allowance), o.State.Plan, o.SuspendedAt}
}

func (o orgs) list(ctx context.Context, c *call, _ none) (answer, error) {
	if c.caller.Kind == principal.Service {
		return o.ofService(ctx, c)
	}
	if c.URL.Query().Has("externalId") {
		return answer{}, errParameter(problem.Field{Pointer: "?externalId", Code: "unknown", Message: "Only a service can find orgs by externalId."})
	}
	return rendered(reading[store.OrgOfUser, orgOfUserBody]{
		name: "orgs", valid: isID(id.ParseOrg), toEnd: true,
		rows: func(p store.Page) ([]store.OrgOfUser, string, error) { return o.store.OrgsOf(ctx, c.caller.UserID, p) },
		shown: func(f store.OrgOfUser) orgOfUserBody {
			return orgOfUserBody{ID: f.ID, Name: f.Name, Role: string(f.Role), CreatedAt: f.CreatedAt, AddedBy: (*adderBody)(f.AddedBy), SuspendedAt: f.SuspendedAt}
		},
		id: func(b orgOfUserBody) string { return string(b.ID) },
		order: func(a, b orgOfUserBody) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
		},
	}.answer(c))
}

// ofService lists the org with the externalId of the query. Without an externalId it lists the orgs of all customers.
func (o orgs) ofService(ctx context.Context, c *call) (answer, error) {
	values, hasExternalID := c.URL.Query()["externalId"]
	if !hasExternalID {
		return rendered(reading[store.Org, orgOfUserBody]{
			name: "orgs", valid: isID(id.ParseOrg), toEnd: true, rows: func(p store.Page) ([]store.Org, string, error) { return o.store.AllOrgs(ctx, p) },
			shown: orgOfServiceBody,
			id:    func(b orgOfUserBody) string { return string(b.ID) },
		}.answer(c))
	}
	if len(values) != 1 || !isVisible(values[0], 1, maxExternalID) {
		return answer{}, problem.New(problem.MissingParameter, "Send one externalId to get one org, or no externalId to get all orgs.")
	}
	found, ok, err := o.store.OrgByExternalID(ctx, c.actor(), values[0])
	orgs := []store.Org{found}
	if !ok {
		orgs = nil
	}
	return rendered(listOf("orgs", orgs, "", orgOfServiceBody), err)
}

// orgOfServiceBody shows an org to a service. The role is admin, because a service has the rights of an admin.
func orgOfServiceBody(o store.Org) orgOfUserBody {
	return orgOfUserBody{
		ID: o.ID, Name: o.Name, Role: string(org.Admin), CreatedAt: o.CreatedAt, ExternalID: o.ExternalID, Plan: o.State.Plan, State: o.Status(),
		SuspendedAt: o.SuspendedAt,
	}
}

// newOrgIn is a body that creates an org. Only a service may send more than a name.
type newOrgIn struct {
	Name       *string   `json:"name"`
	ExternalID *string   `json:"externalId"`
	Admin      *personIn `json:"admin"`
	Allowance  []limitIn `json:"allowance"`
	Plan       *string   `json:"plan"`
}

// personIn names a user by the issuer's subject.
type personIn struct {
	Subject *string `json:"subject"`
	Name    *string `json:"name"`
}

func (in newOrgIn) parse(c *call) (n store.NewOrg, err error) {
	if c.byServices && c.caller.Kind != principal.Service {
		return n, problem.New(problem.InsufficientRole, "In this deployment only the owner can create orgs.")
	}
	name, err := newNameIn{in.Name}.parse(c)
	if err != nil {
		return n, err
	}
	if (in.ExternalID != nil || in.Admin != nil || in.Allowance != nil || in.Plan != nil) && c.caller.Kind != principal.Service {
		return n, problem.New(problem.InsufficientRole, "Only a service can set the externalId of an org, its first admin, its allowance and its plan.")
	}
	if in.Allowance != nil || in.Plan != nil {
		if err := c.needs(route.OrgsLimit); err != nil {
			return n, err
		}
	}
	allowance, err := limitsOf("/allowance", in.Allowance)
	if err != nil {
		return n, err
	}
	n = store.NewOrg{Name: name, Allowance: orZero(allowance)}
	if in.Plan != nil {
		if n.Plan, err = parsePlan(*in.Plan); err != nil {
			return n, err
		}
	}
	if in.ExternalID != nil {
		if n.ExternalID, err = parseExternalID(*in.ExternalID); err != nil {
			return n, err
		}
	}
	if in.Admin != nil {
		n.Admin, err = in.Admin.parse(c, "/admin")
	}
	return n, err
}

// parse returns the user at a pointer of the body. It refuses the subject of a service, because the rules of users and of services
// would both apply to it.
func (in personIn) parse(c *call, at string) (*store.Enrolled, error) {
	if err := required(at+"/subject", in.Subject); err != nil {
		return nil, err
	}
	if err := checkSubject(at+"/subject", *in.Subject); err != nil {
		return nil, err
	}
	if slices.Contains(c.users.services, *in.Subject) {
		return nil, problem.Invalid(at+"/subject", "conflict", "The value is the sub of a service. A service cannot be a user.")
	}
	return &store.Enrolled{Issuer: c.users.issuer, Subject: *in.Subject, Name: org.CleanedName(orZero(in.Name))}, nil
}

// checkSubject refuses a text that cannot be the subject of a user's tokens. Error: validation_failed.
func checkSubject(pointer, s string) error {
	if !principal.IsSubject(s) {
		return problem.Invalid(pointer, "format", "The value must be the sub of a user's access tokens: 1 to 255 bytes without control characters.")
	}
	return nil
}

// maxExternalID is the largest number of characters in an externalId.
const maxExternalID = 128

func parseExternalID(s string) (string, error) {
	if !isVisible(s, 1, maxExternalID) {
		return "", problem.Invalid("/externalId", "format", "The value must have 1 to 128 visible ASCII characters.")
	}
	return s, nil
}

func parsePlan(s string) (string, error) {
	if !org.ValidPlan(s) {
		return "", problem.Invalid("/plan", "format", "The value must have 1 to 16 of the characters a to z, 0 to 9 and -.")
	}
	return s, nil
}

func (o orgs) create(ctx context.Context, c *call, n store.NewOrg) (answer, error) {
	once, err := onceOf(c, orgBodyOf)
	if err != nil {
		return answer{}, err
	}
	if c.caller.Kind != principal.Service {
		return created(o.store.CreateOrg(ctx, c.caller.UserID, n.Name, once))
	}
	return created(o.store.CreateOrgAs(ctx, c.actor(), n, once))
}

func (o orgs) get(ctx context.Context, c *call, _ none) (orgBody, error) {
	found, err := o.store.Org(ctx, c.actor(), c.org)
	return orgBodyOf(found), err
}

// orgIn is a change of an org.
type orgIn struct {
	Name       *string         `json:"name"`
	ExternalID json.RawMessage `json:"externalId"` // a string, or null to clear it
	Allowance  []limitIn       `json:"allowance"`  // an empty list clears it
	Plan       json.RawMessage `json:"plan"`       // a string, or null to clear it
}

func (in orgIn) parse(c *call) (change store.OrgChange, err error) {
	limits := in.Allowance != nil || in.Plan != nil
	if in.Name != nil || in.ExternalID != nil || !limits {
		err = c.needs(route.OrgsWrite)
	}
	if err == nil && limits {
		err = c.needs(route.OrgsLimit)
	}
	if err != nil {
		return change, err
	}
	if change.Name, err = (nameIn{in.Name}).parse(c); err != nil {
		return change, err
	}
	if (in.ExternalID != nil || limits) && c.caller.Kind != principal.Service {
		return change, problem.New(problem.InsufficientRole, "Only a service can set the externalId of an org, its allowance and its plan.")
	}
	if change.Allowance, err = limitsOf("/allowance", in.Allowance); err != nil {
		return change, err
	}
	if change.ExternalID, err = clearable("/externalId", in.ExternalID, parseExternalID); err != nil {
		return change, err
	}
	change.Plan, err = clearable("/plan", in.Plan, parsePlan)
	return change, err
}

// clearable returns the text of a member that a change may clear: "" for null, which clears it, and nil when the member was not
// sent.
func clearable(pointer string, in json.RawMessage, parse func(string) (string, error)) (*string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // the member may be left out
	}
	var sent *string
	if err := json.Unmarshal(in, &sent); err != nil {
		return nil, problem.Invalid(pointer, "type", "The value must be a string or null.")
	}
	if sent == nil {
		return new(string), nil
	}
	value, err := parse(*sent)
	return &value, err
}

// reasonIn is a body that suspends an org, or stops a person.
type reasonIn struct {
	Reason *string `json:"reason"`
}

// claimed returns a context that has the reason of the body instead of the header's.
func (in reasonIn) claimed(ctx context.Context) context.Context {
	reason := text.Cleaned(orZero(in.Reason), maxReason)
	if reason == "" {
		return ctx
	}
	claim := principal.ClaimOf(ctx)
	claim.Reason = reason
	return principal.WithClaim(ctx, claim)
}

func (o orgs) suspend(ctx context.Context, c *call, in reasonIn) (orgBody, error) {
	return o.change(in.claimed(ctx), c, store.OrgChange{Suspended: new(true)})
}

func (o orgs) resume(ctx context.Context, c *call, _ none) (none, error) {
	_, err := o.change(ctx, c, store.OrgChange{Suspended: new(false)})
	return none{}, err
}

func (o orgs) change(ctx context.Context, c *call, change store.OrgChange) (orgBody, error) {
	changed, err := o.store.ChangeOrg(ctx, c.actor(), c.org, change)
	return orgBodyOf(changed), err
}

// deletion serves the deletion of an org. It has a Lambda function of its own, because it takes longer than an admin's other
// routes and needs other rights.
type deletion struct{ store *store.Store }

// DeleteOrg returns the handler of functions/deleteorg. console lists the allowed origins, as in Orgs. A caller who deletes an
// org must have signed in within maxAge; 0: any age.
func DeleteOrg(s *store.Store, console []string, rights route.Rights, maxAge time.Duration) http.Handler {
	d := deletion{s}
	return newGroup("deleteorg", map[string]handler{"deleteOrg": handle(d.deleteOrg)}, console, options{rights: rights, maxAge: maxAge})
}

func (d deletion) deleteOrg(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, d.store.DeleteOrg(ctx, c.actor(), c.org)
}

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/email"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// members serves the routes of an org's members.
type members struct{ store *store.Store }

// Members returns the handler of functions/members. console lists the allowed origins, as in Orgs. A caller who makes a user an
// admin must have signed in within maxAge; 0: any age. issuer and services have the same meaning as in Orgs.
func Members(s *store.Store, console []string, rights route.Rights, maxAge time.Duration, issuer string, services []string) http.Handler {
	m := members{s}
	return newGroup("members", map[string]handler{
		"listMembers":  handle(m.list),
		"addMember":    handleAs[memberIn](m.add),
		"updateMember": handleAs[roleIn](m.changeRole),
		"removeMember": handle(m.remove),
		"leaveOrg":     handle(m.leave),
	}, console, options{rights: rights, maxAge: maxAge, users: users{issuer, services}})
}

type memberBody struct {
	UserID   id.User  `json:"userId"`
	Email    string   `json:"email"`
	Name     string   `json:"name"`
	Role     org.Role `json:"role"`
	JoinedAt int64    `json:"joinedAt"` // milliseconds
	AddedBy  string   `json:"addedBy,omitempty"`
}

func memberBodyOf(m store.Member) memberBody {
	return memberBody{m.UserID, m.Email, m.Name, m.Role, m.JoinedAt, m.AddedBy}
}

func (m members) list(ctx context.Context, c *call, _ none) (list[json.RawMessage], error) {
	return reading[store.Member, memberBody]{
		name: "members", valid: isID(id.ParseUser), shown: memberBodyOf,
		rows: func(p store.Page) ([]store.Member, string, error) { return m.store.Members(ctx, c.actor(), c.org, p) },
		id:   func(b memberBody) string { return string(b.UserID) },
		order: func(a, b memberBody) int {
			return cmp.Or(cmp.Compare(b.JoinedAt, a.JoinedAt), cmp.Compare(b.UserID, a.UserID))
		},
	}.answer(c)
}

// memberIn is a body that names a user and the role of the new member. Without a role the user becomes a member. Users name the
// user by email. Services may name the user by subject instead.
type memberIn struct {
	Email   *string `json:"email"`
	Subject *string `json:"subject"`
	Name    *string `json:"name"` // only with a subject
	Role    *string `json:"role"`
}

// invitation is a checked memberIn.
type invitation struct {
	email string          // in the form of email.Fold, which makes addresses comparable
	user  *store.Enrolled // nil: email names the user
	role  org.Role
}

func (in memberIn) parse(c *call) (i invitation, err error) {
	i.role = org.Member
	if in.Role != nil {
		if i.role, err = parseRole(*in.Role); err != nil {
			return i, err
		}
	}
	if in.Subject != nil || in.Name != nil {
		switch {
		case c.caller.Kind != principal.Service:
			return i, problem.New(problem.InsufficientRole, "Only a service can add a member by subject.")
		case in.Email != nil:
			return i, problem.Invalid("/email", "conflict", "Send either email or subject.")
		}
		i.user, err = personIn{in.Subject, in.Name}.parse(c, "")
		return i, err
	}
	if err := required("/email", in.Email); err != nil {
		return i, err
	}
	i.email, err = foldEmail("/email", strings.TrimSpace(*in.Email))
	return i, err
}

// foldEmail returns an address in the form of email.Fold, which makes addresses comparable. Error: validation_failed.
func foldEmail(pointer, s string) (string, error) {
	folded, isUsable := email.Fold(s)
	if !isUsable {
		return "", problem.Invalid(pointer, "format", "The value must be one plain email address of at most 254 bytes. The part before the @ must be ASCII.")
	}
	return folded, nil
}

func (m members) add(ctx context.Context, c *call, i invitation) (answer, error) {
	once, err := onceOf(c, func(id.User) okBody { return okBody{true} })
	if err != nil {
		return answer{}, err
	}
	if i.user != nil {
		return created(m.store.EnrolMember(ctx, c.actor(), c.org, *i.user, i.role, once))
	}
	return created(m.store.AddMember(ctx, c.actor(), c.org, i.email, i.role, once, c.users.ofServices()...))
}

func parseRole(s string) (org.Role, error) {
	r, ok := org.ParseRole(s)
	if !ok {
		return "", problem.Invalid("/role", "enum", "The value must be admin, member or viewer.")
	}
	return r, nil
}

// roleIn is a body with a role.
type roleIn struct {
	Role *string `json:"role"`
}

func (in roleIn) parse(*call) (org.Role, error) {
	if err := required("/role", in.Role); err != nil {
		return "", err
	}
	return parseRole(*in.Role)
}

func (m members) changeRole(ctx context.Context, c *call, role org.Role) (memberBody, error) {
	changed, err := m.store.ChangeRole(ctx, c.actor(), c.org, c.userID(), role)
	return memberBodyOf(changed), err
}

func (m members) leave(ctx context.Context, c *call, _ none) (none, error) {
	if c.caller.Kind == principal.Service {
		return none{}, problem.New(problem.InsufficientRole, "A service is not a member of an org, so it cannot leave the org.")
	}
	return none{}, m.store.LeaveOrg(ctx, c.actor(), c.org)
}

func (m members) remove(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, m.store.RemoveMember(ctx, c.actor(), c.org, c.userID())
}

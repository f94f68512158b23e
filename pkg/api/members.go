package api

import (
	"context"
	"net/http"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// members serves the routes of an org's members.
type members struct{ store *store.Store }

// Members gives the handler of functions/members. console is as of Orgs.
func Members(s *store.Store, console []string) http.Handler {
	m := members{s}
	return newGroup("members", map[string]handler{
		"GET /v1/orgs/{orgId}/members":             m.list,
		"POST /v1/orgs/{orgId}/members":            m.add,
		"PATCH /v1/orgs/{orgId}/members/{userId}":  m.changeRole,
		"DELETE /v1/orgs/{orgId}/members/{userId}": m.remove,
		"POST /v1/orgs/{orgId}/leave":              m.leave,
	}, console)
}

type memberBody struct {
	UserID   id.User  `json:"userId"`
	Email    string   `json:"email"`
	Name     string   `json:"name"`
	Role     org.Role `json:"role"`
	JoinedAt int64    `json:"joinedAt"` // milliseconds
}

func memberBodyOf(m store.Member) memberBody {
	return memberBody{m.UserID, m.Email, m.Name, m.Role, m.JoinedAt}
}

func (m members) list(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	p, err := c.page(true, func(s string) bool { _, err := id.ParseUser(s); return err == nil })
	if err != nil {
		return answer{}, err
	}
	found, next, err := m.store.Members(ctx, c.actor(), orgID, p)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Members    []memberBody `json:"members"`
		NextCursor string       `json:"nextCursor,omitempty"`
	}{make([]memberBody, len(found)), cursor(next)}
	for i, f := range found {
		body.Members[i] = memberBodyOf(f)
	}
	return ok(body), nil
}

func (m members) add(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Email *string `json:"email"`
		Role  *string `json:"role"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Email == nil {
		return answer{}, problem.Invalid("/email", "required", "The value is required.")
	}
	folded, valid := org.FoldEmail(*in.Email)
	if !valid {
		return answer{}, problem.Invalid("/email", "format", "The value must be one plain email address of at most 254 ASCII characters.")
	}
	role := org.Member
	if in.Role != nil {
		var err error
		if role, err = parseRole(*in.Role); err != nil {
			return answer{}, err
		}
	}
	body := raw(`{"ok":true}`)
	once, err := c.once(body)
	if err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	kept, err := m.store.AddMember(ctx, c.actor(), orgID, folded, role, once)
	if err != nil {
		return answer{}, err
	}
	return created(body, kept), nil
}

func parseRole(s string) (org.Role, error) {
	r, ok := org.ParseRole(s)
	if !ok {
		return "", problem.Invalid("/role", "enum", "The value must be admin, member or viewer.")
	}
	return r, nil
}

func (m members) changeRole(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Role *string `json:"role"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Role == nil {
		return answer{}, problem.Invalid("/role", "required", "The value is required.")
	}
	role, err := parseRole(*in.Role)
	if err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	changed, err := m.store.ChangeRole(ctx, c.actor(), orgID, c.userID(), role)
	if err != nil {
		return answer{}, err
	}
	return ok(memberBodyOf(changed)), nil
}

func (m members) leave(ctx context.Context, c *call) (answer, error) {
	if err := c.decode(&struct{}{}); err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	if err := m.store.LeaveOrg(ctx, c.actor(), orgID); err != nil {
		return answer{}, err
	}
	return noContent(), nil
}

func (m members) remove(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	if err := m.store.RemoveMember(ctx, c.actor(), orgID, c.userID()); err != nil {
		return answer{}, err
	}
	return noContent(), nil
}

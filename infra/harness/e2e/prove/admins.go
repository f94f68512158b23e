package main

import (
	"strconv"
	"strings"
)

// Roles in an org, as orgState has them.
const (
	none   = '-'
	viewer = 'v'
	member = 'm'
	admin  = 'a'
)

var roleNames = map[byte]string{viewer: "viewer", member: "member", admin: "admin"}

// orgState has the role of each of the history's users, one letter each.
type orgState string

func (s orgState) with(user int, role byte) orgState {
	roles := []byte(s)
	roles[user] = role
	return orgState(roles)
}

// lastAdmin reports whether a user is the only admin.
func (s orgState) lastAdmin(user int) bool {
	admins := 0
	for i := range s {
		if s[i] == admin {
			admins++
		}
	}
	return s[user] == admin && admins == 1
}

// answer is what a change by one user of another's role is answered, and the state after it. "leave" and "remove" make the
// role none; "add" gives one to a user who is no member. "list" reads the members, and "enter" asks a door of the owner's
// own endpoints, which lets admins and members in and tells others nothing.
func (s orgState) answer(do string, by, of int, to byte) (string, orgState) {
	reader := s[by] == admin || s[by] == member
	switch {
	case do == "enter" && !reader:
		return "insufficient_role", s
	case s[by] == none:
		return "org_not_found", s
	case do == "list" && !reader:
		return "insufficient_role", s
	case do == "list" || do == "enter":
		return "done", s
	case do != "leave" && s[by] != admin:
		return "insufficient_role", s
	case do == "add" && s[of] != none:
		return "member_exists", s
	case do != "add" && s[of] == none:
		return "member_not_found", s
	case s.lastAdmin(of) && to != admin:
		return "last_admin", s
	}
	return "done", s.with(of, to)
}

// adminsModel: the org's rules of roles, with the role of the caller at the moment of the change. The last admin stays.
var adminsModel = model{
	first: orgState("amv-"),
	reads: []string{"list", "enter"},
	step: func(state any, in input, out string) (bool, any) {
		s, by, of := state.(orgState), int(in.arg[0]-'0'), int(in.arg[1]-'0')
		want, next := s.answer(in.do, by, of, in.arg[2])
		return out == want || out == unsure, next
	},
}

// admins has users of an org promote, demote, remove and add each other, leave, read and enter, all at once.
func admins(h *history) {
	users := h.people
	org := h.org(`,"admin":{"subject":"` + users[0].email + `"}`)
	base := "/v1/orgs/" + org
	for n, role := range []string{"member", "viewer"} {
		h.must(request{
			method: "POST", path: base + "/members", bearer: h.billing, body: `{"subject":"` + users[n+1].email + `","role":"` + role + `"}`,
		}, "member.added", users[n+1].id)
	}
	h.together(func(client int) {
		for range 5 {
			by, of := h.chance(4), h.chance(4)
			if h.chance(2) == 0 {
				by = h.chance(2) // those who are admins more often
			}
			to := []byte{viewer, member, admin, admin}[h.chance(4)]
			h.changeRole(client, base, []string{"set", "set", "set", "remove", "add", "leave", "list", "enter"}[h.chance(8)], by, of, to)
		}
	})
	h.check(adminsModel)
}

// changeRole makes one change, and records it.
func (h *history) changeRole(client int, base, do string, by, of int, to byte) {
	path := base + "/members/" + h.people[of].id
	q := request{bearer: h.people[by].token, method: "GET", path: base + "/members"}
	ask, action := func() reply { return h.api.ask(h.ctx, q) }, ""
	switch do {
	case "enter":
		d := h.members[h.chance(len(h.members))]
		ask = func() reply { return d.enter(h.ctx, strings.TrimPrefix(base, "/v1/orgs/"), q.bearer) }
		of, to = by, none
	case "list":
		of, to = by, none
	case "set":
		q.method, q.path, q.body = "PATCH", path, `{"role":"`+roleNames[to]+`"}`
	case "remove":
		q.method, q.path, to, action = "DELETE", path, none, "member.removed"
	case "leave":
		q.method, q.path, q.body, to, of, action = "POST", base+"/leave", "", none, by, "member.left"
	case "add":
		q.method, q.path, q.body, action = "POST", base+"/members", `{"email":"`+h.people[of].email+`","role":"`+roleNames[to]+`"}`, "member.added"
	}
	arg := strconv.Itoa(by) + strconv.Itoa(of) + string(to)
	h.record(client, input{"org", do, arg}, func() string {
		r := ask()
		if action != "" { // a role that is so already is not written, and not audited
			h.note(action, h.people[of].id, r)
		}
		return r.outcome()
	})
}

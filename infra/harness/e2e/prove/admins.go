package main

import (
	"net/http"
	"strconv"
	"strings"
)

// The letters of the roles in an orgState.
const (
	none   = '-'
	viewer = 'v'
	member = 'm'
	admin  = 'a'
)

var roleNames = map[byte]string{viewer: "viewer", member: "member", admin: "admin"}

// orgState has one letter for each user of the history: the user's role.
type orgState string

// with returns the state with another role of a user.
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

// answer returns the answer to an operation by one user on the role of another, and the state after it. "leave" and "remove" make
// the role none; "add" gives a role to a user who is not a member. "list" reads the members. "enter" is a request to a door
// for members: it accepts admins and members, and gives all others the same answer.
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

// adminsModel has the rules about roles. A change is decided by the caller's role at the moment of the change. An org keeps its
// last admin.
var adminsModel = model{
	first: orgState("amv-"), // an admin, a member, a viewer, and a user who is not in the org
	reads: []string{"list", "enter"},
	step: func(state any, in input, out string) (bool, any) {
		// arg has three characters: the numbers of the two users, and the letter of the new role.
		s, by, of := state.(orgState), int(in.arg[0]-'0'), int(in.arg[1]-'0')
		want, next := s.answer(in.do, by, of, in.arg[2])
		return out == want || out == unsure, next
	},
}

// admins: the users of an org change each other's roles, remove and add each other, leave, read and enter, all at once.
func admins(h *history) {
	users := h.people
	org := h.org(`,"admin":{"subject":"` + users[0].email + `"}`)
	h.note("member.added", users[0].id, reply{status: http.StatusCreated})
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
				by = h.chance(2) // the first two users are admins more often
			}
			to := []byte{viewer, member, admin, admin}[h.chance(4)]
			h.changeRole(client, base, []string{"set", "set", "set", "remove", "add", "leave", "list", "enter"}[h.chance(8)], by, of, to)
		}
	})
	h.check(adminsModel)
}

// changeRole makes one operation, and records it.
func (h *history) changeRole(client int, base, do string, by, of int, to byte) {
	path := base + "/members/" + h.people[of].id
	q := request{bearer: h.people[by].token, method: "GET", path: base + "/members"}
	send, action := func() reply { return h.api.send(h.ctx, q) }, ""
	switch do {
	case "enter":
		d := h.members[h.chance(len(h.members))]
		send = func() reply { return d.enter(h.ctx, strings.TrimPrefix(base, "/v1/orgs/"), q.bearer) }
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
		r := send()
		if action != "" { // a set has no action here: if the member already has the role, nothing is written or audited
			h.note(action, h.people[of].id, r)
		}
		return r.outcome()
	})
}

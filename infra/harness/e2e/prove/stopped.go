package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// tokenState is the state of a token: its person is stopped, or has signed out after the token's sign-in.
type tokenState struct{ stopped, ended bool }

// stoppedModel: from the answers on, a token is refused while its person is stopped, and after a sign-out that was later than the
// token's sign-in.
var stoppedModel = model{
	first: tokenState{},
	reads: []string{"check"},
	step: func(state any, in input, out string) (bool, any) {
		s := state.(tokenState)
		switch in.do {
		case "check": // a stopped person's token is always answered user_stopped
			return out == cmp.Or(map[tokenState]string{{}: "done", {ended: true}: "token_ended"}[s], "user_stopped"), s
		case "sign out":
			return out == "done", tokenState{s.stopped, true}
		}
		return out == "done", tokenState{in.do == "stop", s.ended}
	},
}

// The tokens of a history's person, as objects:
//   - known is used everywhere before the first change, so that each process has seen it.
//   - renamed is many tokens. Each has a new name and a later time of issue, and is first used during a change: its sign-in and the change
//     write the same row.
//   - refreshed has the sign-in of known, and is issued after the sign-out.
//   - new has a sign-in after the sign-out.
var (
	endedTokens = []string{"known", "renamed", "refreshed"}
	allTokens   = append(slices.Clone(endedTokens), "new")
)

// signedIn is the person of a history.
type signedIn struct {
	*history
	org, id, email string
	places         []door // /v1, and the doors for members
	ring           *keyring
	begun          time.Time    // the time of known's sign-in
	names          atomic.Int64 // the number of renamed tokens
}

// stopped stops a person, signs them out and resumes them, while all clients use the person's tokens. Some changes come one by one, and
// some at once.
func stopped(h *history) {
	const after, later = 4, 2 // the checks by each client at each place: after a change, and after a new sign-in
	orders := [][][]string{
		{{"stop"}, {"sign out"}, {"resume"}}, {{"sign out"}, {"stop"}, {"resume"}},
		{{"stop", "sign out"}, {"resume"}}, {{"stop"}, {"sign out", "resume"}},
	}
	p := h.newPerson()
	p.signIn("known", "Known", p.begun, p.begun)
	p.checkEverywhere(1)
	for _, changes := range orders[h.chance(len(orders))] {
		var left atomic.Int64
		left.Store(int64(len(changes)))
		h.together(func(client int) {
			if client < len(changes) {
				p.change(client, changes[client])
				left.Add(-1)
			}
			for left.Load() > 0 && h.ctx.Err() == nil {
				p.use(client)
			}
		})
		p.checkEverywhere(after)
		if slices.Contains(changes, "sign out") {
			now := nextSecond() // tokens have whole seconds, so a sign-in in the same second would count as before the sign-out
			p.signIn("refreshed", "Refreshed", p.begun, now)
			p.signIn("new", "New", now, now)
			p.checkEverywhere(later)
		}
	}
	h.check(stoppedModel)
}

// newPerson makes an org with one admin, who has not signed in.
func (h *history) newPerson() *signedIn {
	org := h.org("")
	p := &signedIn{
		history: h, org: org, email: org + "@example.com", begun: time.Now().Add(-10 * time.Hour),
		ring:   &keyring{objects: allTokens, keys: map[string]string{}},
		places: append([]door{{"API", h.api, request{method: "GET", path: "/v1/orgs"}}}, h.members...),
	}
	h.must(request{method: "POST", path: "/v1/orgs/" + org + "/members", bearer: h.billing, body: `{"subject":"` + p.email + `","role":"admin"}`}, "", "")
	for _, user := range h.must(request{method: "GET", path: "/v1/users?subject=" + p.email, bearer: h.billing}, "", "").list("users") {
		p.id = fmt.Sprint(user["id"])
	}
	return p
}

// signIn gets a token, which is an object of the history from then on.
func (p *signedIn) signIn(object, name string, at, issued time.Time) (token string) {
	token, err := p.SignIn(p.ctx, p.email, name, at, issued)
	if err != nil {
		p.violate("no token: %v", err)
		token = "none"
	}
	p.ring.add(object, token)
	return token
}

// nextSecond waits for the next whole second, and returns it.
func nextSecond() time.Time {
	next := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(next))
	return next
}

// use makes a check during a change. The last four clients make it with a renamed token.
func (p *signedIn) use(client int) {
	const withNewNames = 4
	if client < clients-withNewNames {
		p.check(client, p.places[p.chance(len(p.places))])
		return
	}
	at := p.begun.Add(time.Duration(p.names.Add(1)) * time.Second)
	p.checkToken(client, "renamed", p.signIn("renamed", at.Format(time.TimeOnly), at, at), p.places[0])
}

// change stops the person, signs them out or resumes them.
func (p *signedIn) change(client int, do string) {
	path, objects := "/v1/users/"+p.id, allTokens
	q, action := request{method: "POST", path: path + "/stop", bearer: p.billing}, "user.stopped"
	switch do {
	case "resume":
		q.method, action = "DELETE", "user.resumed"
	case "sign out":
		q.path, q.each, action, objects = path+"/signout", true, "user.signed_out", endedTokens
	}
	p.changeAll(client, objects, do, q, action, p.id)
}

// checkEverywhere: each client checks n tokens at each place.
func (p *signedIn) checkEverywhere(n int) {
	p.together(func(client int) {
		for range n {
			for _, d := range p.places {
				p.check(client, d)
			}
		}
	})
}

func (p *signedIn) check(client int, at door) {
	object, token := p.ring.any(p.history)
	p.checkToken(client, object, token, at)
}

func (p *signedIn) checkToken(client int, object, token string, at door) {
	p.record(client, input{object, "check", "at " + at.name}, func() string { return at.enter(p.ctx, p.org, token).outcome() })
}

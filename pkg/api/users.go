package api

import (
	"context"
	"net/http"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// people serves the routes about people, which are for services, and the sign-out of the caller.
type people struct{ store *store.Store }

// Users returns the handler of functions/users. console, rights and issuer have the same meaning as in Orgs.
func Users(s *store.Store, console []string, rights route.Rights, issuer string) http.Handler {
	p := people{s}
	return newGroup("users", map[string]handler{
		"findUser":    ofServices(handle(p.find)),
		"getUser":     ofServices(handle(p.get)),
		"eraseUser":   ofServices(handle(p.erase)),
		"stopUser":    ofServices(handle(p.stop)),
		"resumeUser":  ofServices(handle(p.resume)),
		"signOutUser": ofServices(handle(p.signOut)),
		"signOutMe":   handle(p.signOutMe),
	}, console, options{rights: rights, users: users{issuer: issuer}})
}

// ofServices lets a route refuse every user. The route is not about one org, so no role could decide. Error: insufficient_role.
func ofServices(h handler) handler {
	return func(ctx context.Context, c *call) (answer, error) {
		if c.caller.Kind != principal.Service {
			return answer{}, problem.New(problem.InsufficientRole, "Only services can use this route.")
		}
		return h(ctx, c)
	}
}

type userBody struct {
	ID        id.User       `json:"id"`
	Name      string        `json:"name"`
	Email     string        `json:"email"`               // verified, or ""
	CreatedAt int64         `json:"createdAt"`           // milliseconds
	StoppedAt int64         `json:"stoppedAt,omitempty"` // milliseconds; missing when the person is not stopped
	Orgs      []orgOfPerson `json:"orgs"`
	More      bool          `json:"more"` // the person has more orgs
}

type orgOfPerson struct {
	ID   id.Org   `json:"id"`
	Name string   `json:"name"`
	Role org.Role `json:"role"`
}

// bodyOf returns the body of a person, with the orgs that it reads.
func (p people) bodyOf(ctx context.Context, u store.User) (userBody, error) {
	orgs, next, err := p.store.OrgsOf(ctx, u.ID, store.Page{})
	body := userBody{u.ID, u.Name, u.Email, u.CreatedAt, u.StoppedAt, make([]orgOfPerson, len(orgs)), next != ""}
	for i, o := range orgs {
		body.Orgs[i] = orgOfPerson{o.ID, o.Name, o.Role}
	}
	return body, err
}

// find lists the person who has the email or the subject of the query. The list is empty if there is none.
func (p people) find(ctx context.Context, c *call, _ none) (list[userBody], error) {
	found, ok, err := p.lookUp(ctx, c)
	if err != nil || !ok {
		return listOf("users", nil, "", func(b userBody) userBody { return b }), err
	}
	body, err := p.bodyOf(ctx, found)
	return listOf("users", []userBody{body}, "", func(b userBody) userBody { return b }), err
}

func (p people) lookUp(ctx context.Context, c *call) (found store.User, ok bool, err error) {
	emails, subjects := c.URL.Query()["email"], c.URL.Query()["subject"]
	if len(emails)+len(subjects) != 1 {
		return found, false, problem.New(problem.MissingParameter, "Send one email or one subject of a user. There is no list of all users.")
	}
	if len(subjects) == 1 {
		if err := checkSubject("?subject", subjects[0]); err != nil {
			return found, false, err
		}
		return p.store.UserBySubject(ctx, c.users.issuer, subjects[0])
	}
	folded, err := foldEmail("?email", emails[0])
	if err != nil {
		return found, false, err
	}
	return p.store.UserByEmail(ctx, folded)
}

func (p people) get(ctx context.Context, c *call, _ none) (userBody, error) {
	found, err := p.store.User(ctx, c.userID())
	if err != nil {
		return userBody{}, err
	}
	return p.bodyOf(ctx, found)
}

func (p people) erase(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, p.store.EraseUser(ctx, c.actor(), c.userID())
}

type stopBody struct {
	ID        id.User   `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`     // verified, or ""
	StoppedAt int64     `json:"stoppedAt"` // milliseconds
	Orgs      []orgLeft `json:"orgs"`      // with active keys of the person, or without another admin
	More      bool      `json:"more"`      // the person has more than 100 orgs, and the others were not checked
}

type orgLeft struct {
	ID         id.Org `json:"id"`
	Name       string `json:"name"`
	ActiveKeys int    `json:"activeKeys"` // keys that the person created
	OnlyAdmin  bool   `json:"onlyAdmin"`  // the org has no other admin
}

func (p people) stop(ctx context.Context, c *call, in reasonIn) (stopBody, error) {
	stopped, err := p.store.StopUser(in.claimed(ctx), c.actor(), c.userID())
	if err != nil {
		return stopBody{}, err
	}
	left, more, err := p.store.OrgsLeft(ctx, stopped.ID)
	body := stopBody{stopped.ID, stopped.Name, stopped.Email, stopped.StoppedAt, make([]orgLeft, len(left)), more}
	for i, o := range left {
		body.Orgs[i] = orgLeft{o.ID, o.Name, o.Keys, o.NoOtherAdmin}
	}
	return body, err
}

func (p people) resume(ctx context.Context, c *call, _ none) (none, error) {
	_, err := p.store.ResumeUser(ctx, c.actor(), c.userID())
	return none{}, err
}

func (p people) signOut(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, p.store.SignOutUser(ctx, c.actor(), c.userID())
}

func (p people) signOutMe(ctx context.Context, c *call, _ none) (none, error) {
	return none{}, p.store.SignOutUser(ctx, c.actor(), c.caller.UserID)
}

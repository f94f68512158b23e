package authn_test

import (
	"context"
	"testing"
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

func TestAMemberIsAUserWithARoleAndNothingIsWritten(t *testing.T) {
	o := id.Source{}.NewOrg()
	_, f := minted(t)
	f.Known, f.Org, f.InRole = &store.Identity{UserID: newUser}, o, org.Viewer
	m, err := authn.New(f, &authntest.Tokens{}).Member(context.Background(), []string{"Bearer " + jwt}, string(o))
	if want := (authn.Member{UserID: newUser, Role: org.Viewer}); err != nil || m != want {
		t.Errorf("%+v, %v", m, err)
	}
	if f.Reads != 2 || f.Signed != nil {
		t.Errorf("%d reads, signed in: %v", f.Reads, f.Signed)
	}
}

// TestWhoIsNoMemberGetsOneAnswer: it must not say which orgs there are.
func TestWhoIsNoMemberGetsOneAnswer(t *testing.T) {
	o := id.Source{}.NewOrg()
	for name, c := range map[string]struct {
		known *store.Identity
		role  org.Role
		org   string
	}{
		"an unknown user":   {nil, org.Admin, string(o)},
		"another's org":     {&store.Identity{UserID: newUser}, "", string(o)},
		"no such org":       {&store.Identity{UserID: newUser}, org.Admin, string(id.Source{}.NewOrg())},
		"no id":             {&store.Identity{UserID: newUser}, org.Admin, "acme"},
		"no org":            {&store.Identity{UserID: newUser}, org.Admin, ""},
		"an id with a tail": {&store.Identity{UserID: newUser}, org.Admin, string(o) + "\n"},
	} {
		_, f := minted(t)
		f.Known, f.Org, f.InRole = c.known, o, c.role
		m, err := authn.New(f, &authntest.Tokens{}).Member(context.Background(), []string{"Bearer " + jwt}, c.org)
		if m != (authn.Member{}) || err == nil || err.Error() != authn.NoRole().Error() || !problem.Is(err, problem.InsufficientRole) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestAMemberNeedsAnAccessToken(t *testing.T) {
	key, f := minted(t)
	f.Known, f.Org, f.InRole = &store.Identity{UserID: newUser}, f.Key.OrgID, org.Admin
	ask := func(tokens authn.Tokens, header string) error {
		_, err := authn.New(f, tokens).Member(context.Background(), []string{header}, string(f.Org))
		return err
	}
	wants(t, ask(&authntest.Tokens{}, "Bearer "+key), problem.UserTokenRequired)
	wants(t, ask(&authntest.Tokens{}, ""), problem.MissingCredentials)
	wants(t, ask(&authntest.Tokens{Err: problem.New(problem.TokenExpired, "x")}, "Bearer "+jwt), problem.TokenExpired)
	if f.Reads != 0 {
		t.Errorf("%d reads", f.Reads)
	}
	if _, refused := ask(nil, "Bearer "+jwt).(*problem.Error); refused { //nolint:errorlint // no wrapped one either
		t.Error("a refusal without an issuer: it is our own fault")
	}
	f.Down = problem.New(problem.Unavailable, "down")
	wants(t, ask(&authntest.Tokens{}, "Bearer "+jwt), problem.Unavailable)
}

// TestAMembersEmailIsProved: an owner lets people in by it.
func TestAMembersEmailIsProved(t *testing.T) {
	o := id.Source{}.NewOrg()
	const ada = "ada@example.com"
	proved := store.Identity{UserID: newUser, Email: ada, Verified: true, Holds: true}
	taken, unverified := proved, proved
	taken.Holds = false // another user has proved the address since
	unverified.Verified = false
	for name, c := range map[string]struct {
		row    store.Identity
		claims accesstoken.Claims
		want   string
	}{
		"the token has none":          {proved, accesstoken.Claims{}, ada},
		"the token has the same":      {proved, accesstoken.Claims{Email: ada, EmailVerified: true}, ada},
		"the token has another":       {proved, accesstoken.Claims{Email: "eve@example.com", EmailVerified: true}, ""},
		"the token says not verified": {proved, accesstoken.Claims{Email: ada}, ""},
		"taken by another user":       {taken, accesstoken.Claims{Email: ada, EmailVerified: true}, ""},
		"never verified":              {unverified, accesstoken.Claims{Email: ada, EmailVerified: true}, ""},
	} {
		_, f := minted(t)
		f.Known, f.Org, f.InRole = &c.row, o, org.Member
		m, err := authn.New(f, &authntest.Tokens{Claims: c.claims}).Member(context.Background(), []string{"Bearer " + jwt}, string(o))
		if err != nil || m.Email != c.want {
			t.Errorf("%s: %q, %v", name, m.Email, err)
		}
	}
}

// TestTheTimeOfTheSignInReachesTheFunctions by the authorizer's context: for a new user, for a known one, and for one with
// nothing new to note.
func TestTheTimeOfTheSignInReachesTheFunctions(t *testing.T) {
	for _, at := range []int64{0, 1_790_000_000} {
		_, f := minted(t)
		tokens := &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s", Email: "ada@example.com", EmailVerified: true, SignedInAt: at}}
		known := &store.Identity{UserID: newUser}
		for _, f.Known = range []*store.Identity{nil, known, {UserID: newUser, AskedAt: time.Now().UnixMilli()}} {
			if f.Known != nil && f.Known.AskedAt != 0 {
				tokens.Claims.Email = ""
			}
			p, err := authn.New(f, tokens).Authorize(t.Context(), principal.UserToken, []string{"Bearer " + jwt})
			if err != nil {
				t.Fatal(err)
			}
			sent := map[string]any{}
			for name, value := range p.Context() {
				sent[name] = value
			}
			got, err := principal.Parse(sent)
			if _, has := sent["signedInAt"]; err != nil || got.UserID != newUser || got.SignedInAt != at || has != (at != 0) {
				t.Errorf("%+v of %v, %v: want %d", got, sent, err, at)
			}
		}
	}
}

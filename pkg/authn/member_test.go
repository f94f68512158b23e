package authn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

func TestAMemberIsFoundWithoutAWrite(t *testing.T) {
	o := id.Source{}.NewOrg()
	_, table := minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: newUser}, o, org.Viewer
	m, err := authn.New(table, &authntest.Tokens{}).Member(context.Background(), []string{"Bearer " + jwt}, string(o), false)
	if want := (authn.Member{UserID: newUser, Role: org.Viewer}); err != nil || m != want {
		t.Errorf("%+v, %v", m, err)
	}
	if table.Reads != 2 || table.OrgRead != 1 || table.Signed != nil {
		t.Errorf("%d and %d reads, signed in: %v", table.Reads, table.OrgRead, table.Signed)
	}
}

// TestNonMembersGetOneAnswer: the answer must not show which orgs exist.
func TestNonMembersGetOneAnswer(t *testing.T) {
	o := id.Source{}.NewOrg()
	for name, c := range map[string]struct {
		known *store.Identity // nil: the user is unknown
		role  org.Role        // in the org o
		org   string          // the org of the request
	}{
		"an unknown user":    {nil, org.Admin, string(o)},
		"no role in the org": {&store.Identity{UserID: newUser}, "", string(o)},
		"no such org":        {&store.Identity{UserID: newUser}, org.Admin, string(id.Source{}.NewOrg())},
		"not an org's id":    {&store.Identity{UserID: newUser}, org.Admin, "acme"},
		"no id":              {&store.Identity{UserID: newUser}, org.Admin, ""},
		"an id with a tail":  {&store.Identity{UserID: newUser}, org.Admin, string(o) + "\n"},
	} {
		_, table := minted(t)
		table.Known, table.Org, table.InRole = c.known, o, c.role
		for _, table.IsSuspended = range []bool{false, true} {
			m, err := authn.New(table, &authntest.Tokens{}).Member(context.Background(), []string{"Bearer " + jwt}, c.org, false)
			isSameAnswer := problem.Is(err, problem.InsufficientRole) && err.Error() == authn.NoRole().Error()
			if m != (authn.Member{}) || !isSameAnswer {
				t.Errorf("%s, suspended %v: %+v, %v", name, table.IsSuspended, m, err)
			}
		}
	}
}

func TestAMemberOfASuspendedOrgNeedsARouteThatAllowsIt(t *testing.T) {
	_, table := minted(t)
	table.Known, table.Org, table.InRole, table.IsSuspended = &store.Identity{UserID: newUser}, table.Key.OrgID, org.Viewer, true
	a := authn.New(table, &authntest.Tokens{})
	_, err := a.Member(t.Context(), []string{"Bearer " + jwt}, string(table.Org), false)
	wantCode(t, err, problem.OrgSuspended)
	if m, err := a.Member(t.Context(), []string{"Bearer " + jwt}, string(table.Org), true); err != nil || m.Role != org.Viewer || table.OrgRead != 1 {
		t.Errorf("allowed: %+v, %v, %d reads of the org", m, err, table.OrgRead)
	}
}

// atOnce is a table that answers Role and Suspended only after both were called. The error is for Suspended.
type atOnce struct {
	*authntest.Table
	calls *sync.WaitGroup
	org   error
}

func (t atOnce) Role(ctx context.Context, o id.Org, u id.User) (org.Role, bool, error) {
	t.calls.Done()
	t.calls.Wait()
	return t.Table.Role(ctx, o, u)
}

func (t atOnce) Suspended(context.Context, id.Org) (bool, error) {
	t.calls.Done()
	t.calls.Wait()
	return false, t.org
}

func TestTheOrgAndTheRoleAreReadAtTheSameTime(t *testing.T) {
	_, table := minted(t)
	table.Known, table.Org = &store.Identity{UserID: newUser}, table.Key.OrgID
	down := problem.New(problem.Unavailable, "down")
	for _, c := range []struct {
		role org.Role
		org  error        // returned by Suspended
		want problem.Code // "": the user is a member
	}{{org.Viewer, nil, ""}, {org.Viewer, down, problem.Unavailable}, {"", down, problem.InsufficientRole}} {
		both := atOnce{table, &sync.WaitGroup{}, c.org}
		both.calls.Add(2)
		table.InRole = c.role
		_, err := authn.New(both, &authntest.Tokens{}).Member(t.Context(), []string{"Bearer " + jwt}, string(table.Org), false)
		if c.want == "" && err != nil || c.want != "" && !problem.Is(err, c.want) {
			t.Errorf("%q, %v: %v", c.role, c.org, err)
		}
	}
}

// TestAServiceIsNeverAMember: its subject may have a role from the time before it was configured as a service.
func TestAServiceIsNeverAMember(t *testing.T) {
	for _, role := range org.AllRoles() {
		_, table := minted(t)
		table.Known, table.Org, table.InRole = &store.Identity{UserID: newUser}, table.Key.OrgID, role
		a := authn.New(table, &authntest.Tokens{Claims: accesstoken.Claims{Service: "billing"}})
		m, err := a.Member(t.Context(), []string{"Bearer " + jwt}, string(table.Org), false)
		wantCode(t, err, problem.InsufficientRole)
		if m != (authn.Member{}) || table.Reads != 0 {
			t.Errorf("%+v after %d reads", m, table.Reads)
		}
	}
}

func TestAMemberNeedsAnAccessToken(t *testing.T) {
	key, table := minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: newUser}, table.Key.OrgID, org.Admin
	memberError := func(tokens authn.Tokens, header string) error {
		_, err := authn.New(table, tokens).Member(context.Background(), []string{header}, string(table.Org), false)
		return err
	}
	wantCode(t, memberError(&authntest.Tokens{}, "Bearer "+key), problem.UserTokenRequired)
	wantCode(t, memberError(&authntest.Tokens{}, ""), problem.MissingCredentials)
	wantCode(t, memberError(&authntest.Tokens{Err: problem.New(problem.TokenExpired, "x")}, "Bearer "+jwt), problem.TokenExpired)
	if table.Reads != 0 {
		t.Errorf("%d reads", table.Reads)
	}
	var refused *problem.Error
	if err := memberError(nil, "Bearer "+jwt); err == nil || errors.As(err, &refused) {
		t.Errorf("without a configured issuer: %v, want no refusal", err)
	}
	table.Down = problem.New(problem.Unavailable, "down")
	wantCode(t, memberError(&authntest.Tokens{}, "Bearer "+jwt), problem.Unavailable)
}

// TestAMemberHasOnlyAProvedEmail: an owner may let people in by their email.
func TestAMemberHasOnlyAProvedEmail(t *testing.T) {
	o := id.Source{}.NewOrg()
	const ada = "ada@example.com"
	proved := store.Identity{UserID: newUser, Email: ada, Verified: true, Holds: true}
	takenOver, unverified := proved, proved
	takenOver.Holds = false // another user has proved the address since
	unverified.Verified = false
	for name, c := range map[string]struct {
		row    store.Identity
		claims accesstoken.Claims // of this request's token
		want   string             // the member's email
	}{
		"the token has no email":        {proved, accesstoken.Claims{}, ada},
		"the token has the same email":  {proved, accesstoken.Claims{Email: ada, EmailVerified: true}, ada},
		"the token's email is unusable": {proved, accesstoken.Claims{OddEmail: true}, ""},
		"the token has another email":   {proved, accesstoken.Claims{Email: "eve@example.com", EmailVerified: true}, ""},
		"the token's is not verified":   {proved, accesstoken.Claims{Email: ada}, ""},
		"taken by another user":         {takenOver, accesstoken.Claims{Email: ada, EmailVerified: true}, ""},
		"never verified":                {unverified, accesstoken.Claims{Email: ada, EmailVerified: true}, ""},
	} {
		_, table := minted(t)
		table.Known, table.Org, table.InRole = &c.row, o, org.Member
		m, err := authn.New(table, &authntest.Tokens{Claims: c.claims}).Member(context.Background(), []string{"Bearer " + jwt}, string(o), false)
		if err != nil || m.Email != c.want {
			t.Errorf("%s: %q, %v", name, m.Email, err)
		}
	}
}

// TestTheTimeOfTheSignInReachesTheFunctions: the authorizer's context has this time for a new user, for a known user, and
// for a known user without new data.
func TestTheTimeOfTheSignInReachesTheFunctions(t *testing.T) {
	for _, at := range []int64{0, 1_790_000_000} {
		_, table := minted(t)
		tokens := &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s", Email: "ada@example.com", EmailVerified: true, SignedInAt: at}}
		known := &store.Identity{UserID: newUser}
		nothingNew := &store.Identity{UserID: newUser, AskedAt: time.Now().UnixMilli()}
		for _, table.Known = range []*store.Identity{nil, known, nothingNew} {
			if table.Known == nothingNew {
				tokens.Claims.Email = "" // userinfo was called just now, so it is not called again
			}
			p, err := authn.New(table, tokens).Authorize(t.Context(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
			if err != nil {
				t.Fatal(err)
			}
			sent := map[string]any{}
			for name, value := range p.Context() {
				sent[name] = value
			}
			got, err := principal.Parse(sent)
			_, has := sent["signedInAt"]
			if err != nil || got.UserID != newUser || got.SignedInAt != at || has != (at != 0) {
				t.Errorf("%+v of %v, %v: want %d", got, sent, err, at)
			}
		}
	}
}

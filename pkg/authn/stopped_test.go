package authn_test

import (
	"testing"
	"time"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// codeOf returns the code of an error, "" for nil.
func codeOf(err error) problem.Code {
	if err == nil {
		return ""
	}
	return problem.From(err).Code
}

// TestAStoppedOrSignedOutPersonIsRefusedAtEachDoor: without another read, and before userinfo is called.
func TestAStoppedOrSignedOutPersonIsRefusedAtEachDoor(t *testing.T) {
	const notBefore = 1_000_500 // in the middle of the second 1000
	for name, c := range map[string]struct {
		stopped              bool
		signedInAt, issuedAt int64 // seconds; 0: the token has none
		want                 problem.Code
	}{
		"stopped":                     {true, 5000, 5000, problem.UserStopped},
		"a sign-in before":            {false, 999, 999, problem.TokenEnded},
		"the same second":             {false, 1000, 1000, problem.TokenEnded},
		"a refreshed token":           {false, 999, 5000, problem.TokenEnded},
		"an old token, no auth_time":  {false, 0, 1000, problem.TokenEnded},
		"neither time":                {false, 0, 0, problem.TokenEnded},
		"a later sign-in":             {false, 1001, 1001, ""},
		"a later iat and no sign-in":  {false, 0, 1001, ""},
		"a later sign-in without iat": {false, 1001, 0, ""},
	} {
		claims := accesstoken.Claims{SignedInAt: c.signedInAt}
		if c.issuedAt != 0 {
			claims.IssuedAt = time.Unix(c.issuedAt, 0)
		}
		_, table := minted(t)
		table.Known = &store.Identity{UserID: newUser, Stopped: c.stopped, NotBefore: notBefore}
		table.Org, table.InRole = table.Key.OrgID, org.Admin
		tokens := &authntest.Tokens{Claims: claims}
		a := authn.New(table, tokens)
		_, err := a.Member(t.Context(), []string{"Bearer " + jwt}, string(table.Org), false)
		if got := codeOf(err); got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want != "" && table.Reads != 1 {
			t.Errorf("%s: %d reads", name, table.Reads)
		}
		table.Reads = 0
		_, err = a.AuthorizeRoute(t.Context(), "GET", "/v1/orgs", []string{"Bearer " + jwt})
		if got := codeOf(err); got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if calls := c.want == ""; (tokens.Asked == 1) != calls || table.Reads != 1 || c.want != "" && table.Signed != nil {
			t.Errorf("%s: userinfo was called %d times, %d reads, %+v", name, tokens.Asked, table.Reads, table.Signed)
		}
	}
}

func TestATokenWithoutATimeIsAcceptedBeforeASignOut(t *testing.T) {
	_, table := minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: newUser}, table.Key.OrgID, org.Admin
	if _, err := authn.New(table, &authntest.Tokens{}).Member(t.Context(), []string{"Bearer " + jwt}, string(table.Org), false); err != nil {
		t.Error(err)
	}
}

func TestSignInGetsTheTimeOfTheSignIn(t *testing.T) {
	for _, claims := range []accesstoken.Claims{{SignedInAt: 7, IssuedAt: time.Unix(9, 0)}, {IssuedAt: time.Unix(7, 0)}} {
		_, table := minted(t)
		claims.Email = "a@example.com"
		_, err := authn.New(table, &authntest.Tokens{Claims: claims}).AuthorizeRoute(t.Context(), "GET", "/v1/orgs", []string{"Bearer " + jwt})
		if err != nil || table.Signed.SignedInAt != 7 {
			t.Errorf("%+v, %v", table.Signed, err)
		}
	}
}

// TestAnErasedPersonsTokenIsRefusedAtEachDoor: an old token does not create the person again. A later sign-in creates a new user.
func TestAnErasedPersonsTokenIsRefusedAtEachDoor(t *testing.T) {
	for signedInAt, want := range map[int64][2]problem.Code{1000: {problem.TokenEnded, problem.TokenEnded}, 1001: {problem.InsufficientRole, ""}} {
		_, table := minted(t)
		table.Known = &store.Identity{NotBefore: 1_000_500}
		a := authn.New(table, &authntest.Tokens{Claims: accesstoken.Claims{Email: "a@example.com", SignedInAt: signedInAt, IssuedAt: time.Unix(5000, 0)}})
		_, atDoor := a.Member(t.Context(), []string{"Bearer " + jwt}, string(table.Key.OrgID), false)
		p, err := a.AuthorizeRoute(t.Context(), "GET", "/v1/orgs", []string{"Bearer " + jwt})
		if got := [2]problem.Code{codeOf(atDoor), codeOf(err)}; got != want || (p.UserID != "") != (want[1] == "") {
			t.Errorf("%d: %v, %v of %q; want %q", signedInAt, atDoor, err, p.UserID, want)
		}
	}
}

package store_test

import (
	"fmt"
	"sync"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

const issuer = "https://issuer.test"

// signIn signs a user in, as the authorizer does for a request with an access token. verified means that the issuer has
// verified the email. iat is when the token was issued, in seconds: a test needs only the order of its tokens.
func signIn(t *testing.T, tb *storetest.Table, subject, email string, verified bool, iat int64) id.User {
	t.Helper()
	known, ok, err := tb.Identity(ctx, issuer, subject)
	if err != nil {
		t.Fatal(err)
	}
	u, err := tb.SignIn(ctx, known, ok, store.Seen{
		Issuer: issuer, Subject: subject, Email: email, Folded: email, Verified: verified,
		Name: org.NameFor("", email), IssuedAt: iat,
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// holder returns the user who has the address, "" for none. It invites the address to a new org, and returns the user
// that this adds.
func holder(t *testing.T, tb *storetest.Table, email string) id.User {
	t.Helper()
	ada := tb.NewUser(t, "inviter@example.com")
	tb.Limits.OrgsCreated = 1000 // a test calls holder many times
	o := tb.NewOrg(t, ada)
	_, err := tb.AddMember(ctx, admin(ada), o, email, org.Viewer, store.Once[id.User]{})
	if problem.Is(err, problem.UserNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	members, _, err := tb.Members(ctx, admin(ada), o, store.Page{})
	if err != nil || len(members) != 2 {
		t.Fatalf("Members = %v, %v", members, err)
	}
	for _, m := range members {
		if m.UserID != ada {
			return m.UserID
		}
	}
	return ""
}

func TestAUserIsTheIdentityNotTheEmail(t *testing.T) {
	tb := storetest.New(t)
	a := signIn(t, tb, "a", "x@example.com", true, 100)
	if again := signIn(t, tb, "a", "x@example.com", true, 200); again != a {
		t.Errorf("the same identity became %s after %s", again, a)
	}
	if other := signIn(t, tb, "b", "x@example.com", true, 50); other == a { // by an older token
		t.Error("another identity with the same email is the same user")
	}
	if got := holder(t, tb, "x@example.com"); got != a {
		t.Errorf("an older token took the address: %s", got)
	}
}

func TestAnUnverifiedEmailIsNotFoundByAnInvite(t *testing.T) {
	tb := storetest.New(t)
	signIn(t, tb, "a", "x@example.com", false, 100)
	if got := holder(t, tb, "x@example.com"); got != "" {
		t.Errorf("found %s", got)
	}
	u := signIn(t, tb, "a", "x@example.com", true, 200)
	if got := holder(t, tb, "x@example.com"); got != u {
		t.Errorf("after verification: %q, want %s", got, u)
	}
}

// TestMembersAreShownWithTheirLastVerifiedEmail: an unverified address is never shown. A later token without a name
// does not remove the name from the list of members, and a later token with an unverified address does not remove the
// verified address.
func TestMembersAreShownWithTheirLastVerifiedEmail(t *testing.T) {
	tb := storetest.New(t)
	u := signIn(t, tb, "ceo", "ceo@example.com", false, 100)
	o := tb.NewOrg(t, u)
	checkShown := func(email, name string) { // in the list of members
		t.Helper()
		members, _, err := tb.Members(ctx, admin(u), o, store.Page{})
		if err != nil || len(members) != 1 || members[0].Email != email || members[0].Name != name {
			t.Errorf("shown %+v, %v; want %q, %q", members, err, email, name)
		}
	}
	token := func(seen store.Seen) { // signs u in with a token that shows this
		t.Helper()
		known, ok, err := tb.Identity(ctx, issuer, "ceo")
		if err != nil {
			t.Fatal(err)
		}
		seen.Issuer, seen.Subject, seen.Folded = issuer, "ceo", seen.Email
		noError(t, errorOf(tb.SignIn(ctx, known, ok, seen)))
	}
	checkShown("", "ceo") // signIn makes this name of the email
	token(store.Seen{Email: "mallory@example.com", Verified: true, Name: "Mallory", IssuedAt: 200})
	checkShown("mallory@example.com", "Mallory")
	token(store.Seen{Email: "ceo@example.com", IssuedAt: 300})
	checkShown("mallory@example.com", "Mallory")
	token(store.Seen{Email: "ceo@example.com", Name: "The CEO", IssuedAt: 400})
	checkShown("mallory@example.com", "The CEO")
	// But an invitation no longer finds the address, because the last token does not prove it.
	if got := holder(t, tb, "mallory@example.com"); got != "" {
		t.Errorf("an invitation to the address finds %s", got)
	}
}

// TestASecondFirstRequestFindsTheNewUser: two requests of a new user come at once. The second request found no
// identity, because it read before the first one wrote. It returns the user that the first one created.
func TestASecondFirstRequestFindsTheNewUser(t *testing.T) {
	tb := storetest.New(t)
	u := signIn(t, tb, "a", "a@example.com", true, 100)
	again, err := tb.SignIn(ctx, store.Identity{}, false, store.Seen{
		Issuer: issuer, Subject: "a", Email: "a@example.com", Folded: "a@example.com", Verified: true, Name: "a", IssuedAt: 200,
	})
	if err != nil || again != u {
		t.Errorf("%s, %v; want %s", again, err, u)
	}
}

func TestAChangedEmailMovesWithItsUser(t *testing.T) {
	tb := storetest.New(t)
	u := signIn(t, tb, "a", "old@example.com", true, 100)
	signIn(t, tb, "a", "new@example.com", true, 200)
	if got := holder(t, tb, "old@example.com"); got != "" {
		t.Errorf("the old address still finds %s", got)
	}
	if got := holder(t, tb, "new@example.com"); got != u {
		t.Errorf("the new address finds %q", got)
	}
	signIn(t, tb, "a", "old@example.com", true, 150) // a token from before the change
	signIn(t, tb, "a", "old@example.com", true, 0)   // a token without iat
	if got := holder(t, tb, "old@example.com"); got != "" {
		t.Error("an old token took its address back")
	}
}

func TestAnAddressBelongsToTheIdentityThatProvedItLast(t *testing.T) {
	tb := storetest.New(t)
	a := signIn(t, tb, "a", "x@example.com", true, 100)
	b := signIn(t, tb, "b", "x@example.com", true, 200)
	if got := holder(t, tb, "x@example.com"); got != b {
		t.Fatalf("holder %s, want the later %s", got, b)
	}
	signIn(t, tb, "a", "x@example.com", true, 150)
	if got := holder(t, tb, "x@example.com"); got != b {
		t.Fatal("an older proof took the address back")
	}
	signIn(t, tb, "a", "x@example.com", true, 300)
	if got := holder(t, tb, "x@example.com"); got != a {
		t.Fatal("a later proof did not take the address")
	}
	// The address of b changes. b held x@example.com before, and must not take it away from a.
	signIn(t, tb, "b", "y@example.com", true, 400)
	if got := holder(t, tb, "x@example.com"); got != a {
		t.Fatalf("holder %q after the address of b changed", got)
	}
}

// TestTheFirstTokenOfASecondKeepsTheAddress: iat counts seconds. A new and a known user show an address
// with the same iat as its holder, and do not get it.
func TestTheFirstTokenOfASecondKeepsTheAddress(t *testing.T) {
	tb := storetest.New(t)
	a := signIn(t, tb, "a", "x@example.com", true, 100)
	signIn(t, tb, "new", "x@example.com", true, 100)
	signIn(t, tb, "known", "y@example.com", true, 50)
	signIn(t, tb, "known", "x@example.com", true, 100)
	if got := holder(t, tb, "x@example.com"); got != a {
		t.Errorf("holder %q, want the first %s", got, a)
	}
}

// TestAnInvitationFollowsAnAddressThatMoves: between the reads of an invitation and its transaction, another
// user proves the invited address. The invitation adds this user.
func TestAnInvitationFollowsAnAddressThatMoves(t *testing.T) {
	c := connect(t)
	former := signIn(t, c.Table, "former", "x@example.com", true, 100)
	var now id.User
	c.Faults.Before("TransactWriteItems", func() { now = signIn(t, c.Table, "now", "x@example.com", true, 200) })
	made, err := c.AddMember(ctx, admin(c.ada), c.org, "x@example.com", org.Admin, store.Once[id.User]{})
	if err != nil || made.Made != now || c.Faults.Pending() {
		t.Errorf("%s was added, %v; want %s", made.Made, err, now)
	}
	if role, ok, err := c.Role(ctx, c.org, former); ok || err != nil {
		t.Errorf("the former holder of the address is %s, %v", role, err)
	}
}

func TestTwoFirstRequestsAtOnceMakeOneUser(t *testing.T) {
	tb := storetest.New(t)
	for round := range 5 {
		subject := fmt.Sprint("user", round)
		users := make(chan id.User, 8)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				u, err := tb.SignIn(ctx, store.Identity{}, false, store.Seen{
					Issuer: issuer, Subject: subject, Email: subject + "@example.com", Folded: subject + "@example.com",
					Verified: true, Name: subject, IssuedAt: 100,
				})
				if err != nil {
					t.Error(err)
				}
				users <- u
			})
		}
		wg.Wait()
		close(users)
		first := <-users
		for u := range users {
			if u != first {
				t.Fatalf("round %d: users %s and %s", round, first, u)
			}
		}
	}
}

// TestAKnownUserCostsNoWrite: a newer token that shows nothing new costs one read.
func TestAKnownUserCostsNoWrite(t *testing.T) {
	tb := storetest.New(t)
	signIn(t, tb, "a", "x@example.com", true, 100)
	tb.Faults.Calls() // forgets the calls so far
	signIn(t, tb, "a", "x@example.com", true, 200)
	if calls := tb.Faults.Calls(); len(calls) != 1 || calls[0] != "GetItem" {
		t.Errorf("calls: %v, want one GetItem", calls)
	}
}

func TestANewerNameReachesTheMembersList(t *testing.T) {
	tb := storetest.New(t)
	u := signIn(t, tb, "a", "x@example.com", true, 100)
	o := tb.NewOrg(t, u)
	known, _, err := tb.Identity(ctx, issuer, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tb.SignIn(ctx, known, true, store.Seen{
		Issuer: issuer, Subject: "a", Email: "x@example.com", Folded: "x@example.com", Verified: true, Name: "Xenia", IssuedAt: 200,
	}); err != nil {
		t.Fatal(err)
	}
	members, _, err := tb.Members(ctx, admin(u), o, store.Page{})
	if err != nil || members[0].Name != "Xenia" {
		t.Errorf("Members = %+v, %v", members, err)
	}
}

// TestAnAddressProvedMeanwhileStaysShown: Bob proves a new address by his second identity while Mallory claims his old one.
func TestAnAddressProvedMeanwhileStaysShown(t *testing.T) {
	c := connect(t)
	a := signIn(t, c.Table, "a", "x@example.com", true, 100)
	c.adopt(t, a, "second")
	c.Faults.Before("TransactWriteItems", func() { signIn(t, c.Table, "second", "y@example.com", true, 4_000_000_000) })
	signIn(t, c.Table, "b", "x@example.com", true, 4_000_000_000)
	if u, err := c.User(ctx, a); err != nil || u.Email != "y@example.com" || c.Faults.Pending() {
		t.Errorf("%+v, %v", u, err)
	}
}

package store_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"latchkey/pkg/email"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// shows has the claims of a subject's access token.
type shows struct {
	subject, email string
	verified       bool
	iat            int64
}

// seen returns the claims as the authorizer gives them to the store.
func (k shows) seen() store.Seen {
	folded, _ := email.Fold(k.email)
	return store.Seen{Issuer: issuer, Subject: k.subject, Email: k.email, Folded: folded, Verified: k.verified, Name: k.subject, IssuedAt: k.iat}
}

// signsIn signs in with a token, and returns the user.
func (k shows) signsIn(t *testing.T, tb *storetest.Table) id.User {
	t.Helper()
	known, ok, err := tb.Identity(ctx, issuer, k.subject)
	noError(t, err)
	u, err := tb.SignIn(ctx, known, ok, k.seen())
	noError(t, err)
	return u
}

// shown makes an org with the subjects as members. They have signed in before. It returns the addresses in the list of members, by
// the name of the member.
func shown(t *testing.T, tb *storetest.Table, subjects ...string) map[string]string {
	t.Helper()
	owner := shows{"owner", "owner@example.com", true, 1}.signsIn(t, tb)
	o, err := tb.CreateOrg(ctx, owner, "Acme", store.Once[store.Org]{})
	noError(t, err)
	for _, subject := range subjects {
		who := store.Enrolled{Issuer: issuer, Subject: subject}
		noError(t, errorOf(tb.EnrolMember(ctx, billing, o.Made.ID, who, org.Member, store.Once[id.User]{})))
	}
	members, _, err := tb.Members(ctx, admin(owner), o.Made.ID, store.Page{})
	noError(t, err)
	out := map[string]string{}
	for _, m := range members {
		if m.Name != "owner" {
			out[m.Name] = m.Email
		}
	}
	return out
}

// TestAnAddressIsShownAtOneMember: the list of members shows an address at the user who proved it last, and at no other.
func TestAnAddressIsShownAtOneMember(t *testing.T) {
	const x, y, z = "x@example.com", "y@example.com", "z@example.com"
	for name, c := range map[string]struct {
		tokens []shows
		want   map[string]string
	}{
		"a new user proves it":              {[]shows{{"ada", x, true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": "", "bob": x}},
		"a known user proves it":            {[]shows{{"ada", x, true, 1}, {"bob", y, true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": "", "bob": x}},
		"another user, other spelling":      {[]shows{{"ada", "X@Example.com", true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": "", "bob": x}},
		"the other form of its domain":      {[]shows{{"ada", "ada@bücher.example", true, 1}, {"bob", "ada@xn--bcher-kva.example", true, 2}}, map[string]string{"ada": "", "bob": "ada@xn--bcher-kva.example"}},
		"a Unicode domain, shown in ASCII":  {[]shows{{"ada", "Ada@xn--bcher-kva.example", true, 1}, {"bob", "Ada@BÜCHER.example", true, 2}}, map[string]string{"ada": "", "bob": "ada@xn--bcher-kva.example"}},
		"a known user, a Unicode domain":    {[]shows{{"ada", x, true, 1}, {"ada", "ada@рф", true, 2}, {"bob", "ada@xn--p1ai", true, 3}}, map[string]string{"ada": "", "bob": "ada@xn--p1ai"}},
		"the first user proves it again":    {[]shows{{"ada", x, true, 1}, {"bob", x, true, 2}, {"ada", x, true, 3}}, map[string]string{"ada": x, "bob": ""}},
		"three users prove it":              {[]shows{{"ada", x, true, 1}, {"bob", x, true, 2}, {"eve", x, true, 3}}, map[string]string{"ada": "", "bob": "", "eve": x}},
		"the first user has another":        {[]shows{{"ada", x, true, 1}, {"ada", y, true, 2}, {"bob", x, true, 3}}, map[string]string{"ada": y, "bob": x}},
		"the first user gets another":       {[]shows{{"ada", x, true, 1}, {"bob", x, true, 2}, {"ada", y, true, 3}}, map[string]string{"ada": y, "bob": x}},
		"two users swap addresses":          {[]shows{{"ada", x, true, 1}, {"bob", y, true, 1}, {"ada", y, true, 2}, {"bob", x, true, 3}}, map[string]string{"ada": y, "bob": x}},
		"an older token of a new user":      {[]shows{{"ada", x, true, 2}, {"bob", x, true, 1}}, map[string]string{"ada": x, "bob": ""}},
		"an older token of a known user":    {[]shows{{"ada", x, true, 9}, {"bob", y, true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": x, "bob": y}},
		"a token of the same second":        {[]shows{{"ada", x, true, 2}, {"bob", x, true, 2}}, map[string]string{"ada": x, "bob": ""}},
		"an unverified token":               {[]shows{{"ada", x, true, 1}, {"bob", x, false, 2}}, map[string]string{"ada": x, "bob": ""}},
		"no longer verified for the first":  {[]shows{{"ada", x, true, 1}, {"ada", x, false, 2}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"the first has an unverified one":   {[]shows{{"ada", x, true, 1}, {"ada", y, false, 2}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"the first has an unusable one":     {[]shows{{"ada", x, true, 1}, {"ada", "", false, 2}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"given up, proved by older token":   {[]shows{{"ada", x, true, 5}, {"ada", y, false, 6}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"given up for an address not won":   {[]shows{{"ada", x, true, 9}, {"bob", y, true, 1}, {"bob", x, true, 2}, {"eve", y, true, 3}}, map[string]string{"ada": x, "bob": "", "eve": y}},
		"given up, and proved again":        {[]shows{{"ada", x, true, 1}, {"ada", y, false, 2}, {"ada", x, true, 3}, {"bob", z, true, 1}}, map[string]string{"ada": x, "bob": z}},
		"given up, lost, and proved again":  {[]shows{{"ada", x, true, 1}, {"ada", y, false, 2}, {"bob", x, true, 3}, {"ada", x, true, 4}}, map[string]string{"ada": x, "bob": ""}},
		"given up for one that is verified": {[]shows{{"ada", x, true, 1}, {"ada", y, false, 2}, {"ada", z, true, 3}, {"bob", x, true, 4}}, map[string]string{"ada": z, "bob": x}},
		"given up, and no one proves it":    {[]shows{{"ada", x, true, 1}, {"ada", y, false, 2}, {"bob", y, true, 3}}, map[string]string{"ada": x, "bob": y}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := storetest.New(t)
			for _, k := range c.tokens {
				k.signsIn(t, tb)
			}
			if got := shown(t, tb, slices.Collect(maps.Keys(c.want))...); !maps.Equal(got, c.want) {
				t.Errorf("shown %v, want %v", got, c.want)
			}
		})
	}
}

// TestAUserWhoLosesAnAddressKeepsANewerOne: Bob's sign-in takes Ada's address. Between its reads and its transaction, Ada signs in
// too.
func TestAUserWhoLosesAnAddressKeepsANewerOne(t *testing.T) {
	const x, y = "x@example.com", "y@example.com"
	for name, c := range map[string]struct {
		first, meanwhile shows
		want             map[string]string
	}{
		"with another address":   {shows{"ada", x, true, 1}, shows{"ada", y, true, 2}, map[string]string{"ada": y, "bob": x}},
		"with an unverified one": {shows{"ada", x, true, 1}, shows{"ada", y, false, 2}, map[string]string{"ada": "", "bob": x}},
		"with another spelling":  {shows{"ada", x, true, 1}, shows{"ada", "X@example.com", true, 2}, map[string]string{"ada": "", "bob": x}},
		"with a newer token":     {shows{"ada", "X@example.com", true, 1}, shows{"ada", x, true, 9}, map[string]string{"ada": x, "bob": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := storetest.New(t)
			c.first.signsIn(t, tb)
			tb.Faults.Before("TransactWriteItems", func() { c.meanwhile.signsIn(t, tb) })
			shows{"bob", x, true, 5}.signsIn(t, tb)
			if got := shown(t, tb, "ada", "bob"); !maps.Equal(got, c.want) || tb.Faults.Pending() {
				t.Errorf("shown %v, want %v", got, c.want)
			}
		})
	}
}

// TestConcurrentSignInsShowTheAddressOnce: five users prove one address at once, each with two tokens. At the end Bob has the
// newest token.
func TestConcurrentSignInsShowTheAddressOnce(t *testing.T) {
	tb := storetest.New(t)
	subjects := []string{"ada", "bob", "eve", "dan", "zoe"}
	for _, subject := range subjects {
		shows{subject, subject + "@example.com", true, 1}.signsIn(t, tb)
	}
	var wg sync.WaitGroup
	for n, subject := range subjects {
		for round := range int64(2) {
			k := shows{subject, "X@example.com", true, 10*round + int64(n) + 2}
			wg.Go(func() {
				known, ok, err := tb.Identity(ctx, issuer, k.subject)
				if err == nil {
					_, err = tb.SignIn(ctx, known, ok, k.seen())
				}
				if err != nil && !store.Busy(err) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	shows{"bob", "x@example.com", true, 99}.signsIn(t, tb)
	for subject, address := range shown(t, tb, subjects...) {
		if folded, _ := email.Fold(address); (folded == "x@example.com") != (subject == "bob") {
			t.Errorf("%s is shown with %q", subject, address)
		}
	}
}

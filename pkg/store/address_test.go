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

// claims has the claims of a subject's access token.
type claims struct {
	subject, email string
	verified       bool
	iat            int64
}

// seen returns the claims as the authorizer gives them to the store.
func (k claims) seen() store.Seen {
	folded, _ := email.Fold(k.email)
	return store.Seen{Issuer: issuer, Subject: k.subject, Email: k.email, Folded: folded, Verified: k.verified, Name: k.subject, IssuedAt: k.iat}
}

// signsIn signs in with a token, and returns the user.
func (k claims) signsIn(t *testing.T, tb *storetest.Table) id.User {
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
	owner := claims{"owner", "owner@example.com", true, 1}.signsIn(t, tb)
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

// TestAnAddressIsShownOnlyForItsLastProver: the list of members shows an address only for the user who proved it last.
func TestAnAddressIsShownOnlyForItsLastProver(t *testing.T) {
	const x, y, z = "x@example.com", "y@example.com", "z@example.com"
	for name, c := range map[string]struct {
		tokens []claims
		want   map[string]string
	}{
		"a new user proves it":              {[]claims{{"ada", x, true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": "", "bob": x}},
		"a known user proves it":            {[]claims{{"ada", x, true, 1}, {"bob", y, true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": "", "bob": x}},
		"another user, other spelling":      {[]claims{{"ada", "X@Example.com", true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": "", "bob": x}},
		"the other form of its domain":      {[]claims{{"ada", "ada@bücher.example", true, 1}, {"bob", "ada@xn--bcher-kva.example", true, 2}}, map[string]string{"ada": "", "bob": "ada@xn--bcher-kva.example"}},
		"a Unicode domain, shown in ASCII":  {[]claims{{"ada", "Ada@xn--bcher-kva.example", true, 1}, {"bob", "Ada@BÜCHER.example", true, 2}}, map[string]string{"ada": "", "bob": "ada@xn--bcher-kva.example"}},
		"a known user, a Unicode domain":    {[]claims{{"ada", x, true, 1}, {"ada", "ada@рф", true, 2}, {"bob", "ada@xn--p1ai", true, 3}}, map[string]string{"ada": "", "bob": "ada@xn--p1ai"}},
		"the first user proves it again":    {[]claims{{"ada", x, true, 1}, {"bob", x, true, 2}, {"ada", x, true, 3}}, map[string]string{"ada": x, "bob": ""}},
		"three users prove it":              {[]claims{{"ada", x, true, 1}, {"bob", x, true, 2}, {"eve", x, true, 3}}, map[string]string{"ada": "", "bob": "", "eve": x}},
		"the first user has another":        {[]claims{{"ada", x, true, 1}, {"ada", y, true, 2}, {"bob", x, true, 3}}, map[string]string{"ada": y, "bob": x}},
		"the first user gets another":       {[]claims{{"ada", x, true, 1}, {"bob", x, true, 2}, {"ada", y, true, 3}}, map[string]string{"ada": y, "bob": x}},
		"two users swap addresses":          {[]claims{{"ada", x, true, 1}, {"bob", y, true, 1}, {"ada", y, true, 2}, {"bob", x, true, 3}}, map[string]string{"ada": y, "bob": x}},
		"an older token of a new user":      {[]claims{{"ada", x, true, 2}, {"bob", x, true, 1}}, map[string]string{"ada": x, "bob": ""}},
		"an older token of a known user":    {[]claims{{"ada", x, true, 9}, {"bob", y, true, 1}, {"bob", x, true, 2}}, map[string]string{"ada": x, "bob": y}},
		"a token of the same second":        {[]claims{{"ada", x, true, 2}, {"bob", x, true, 2}}, map[string]string{"ada": x, "bob": ""}},
		"an unverified token":               {[]claims{{"ada", x, true, 1}, {"bob", x, false, 2}}, map[string]string{"ada": x, "bob": ""}},
		"no longer verified for the first":  {[]claims{{"ada", x, true, 1}, {"ada", x, false, 2}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"the first has an unverified one":   {[]claims{{"ada", x, true, 1}, {"ada", y, false, 2}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"the first has an unusable one":     {[]claims{{"ada", x, true, 1}, {"ada", "", false, 2}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"given up, proved by older token":   {[]claims{{"ada", x, true, 5}, {"ada", y, false, 6}, {"bob", x, true, 3}}, map[string]string{"ada": "", "bob": x}},
		"given up for an address not won":   {[]claims{{"ada", x, true, 9}, {"bob", y, true, 1}, {"bob", x, true, 2}, {"eve", y, true, 3}}, map[string]string{"ada": x, "bob": "", "eve": y}},
		"given up, and proved again":        {[]claims{{"ada", x, true, 1}, {"ada", y, false, 2}, {"ada", x, true, 3}, {"bob", z, true, 1}}, map[string]string{"ada": x, "bob": z}},
		"given up, lost, and proved again":  {[]claims{{"ada", x, true, 1}, {"ada", y, false, 2}, {"bob", x, true, 3}, {"ada", x, true, 4}}, map[string]string{"ada": x, "bob": ""}},
		"given up for one that is verified": {[]claims{{"ada", x, true, 1}, {"ada", y, false, 2}, {"ada", z, true, 3}, {"bob", x, true, 4}}, map[string]string{"ada": z, "bob": x}},
		"given up, and no one proves it":    {[]claims{{"ada", x, true, 1}, {"ada", y, false, 2}, {"bob", y, true, 3}}, map[string]string{"ada": x, "bob": y}},
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
		first, meanwhile claims
		want             map[string]string
	}{
		"with another address":   {claims{"ada", x, true, 1}, claims{"ada", y, true, 2}, map[string]string{"ada": y, "bob": x}},
		"with an unverified one": {claims{"ada", x, true, 1}, claims{"ada", y, false, 2}, map[string]string{"ada": "", "bob": x}},
		"with another spelling":  {claims{"ada", x, true, 1}, claims{"ada", "X@example.com", true, 2}, map[string]string{"ada": "", "bob": x}},
		"with a newer token":     {claims{"ada", "X@example.com", true, 1}, claims{"ada", x, true, 9}, map[string]string{"ada": x, "bob": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := storetest.New(t)
			c.first.signsIn(t, tb)
			tb.Faults.Before("TransactWriteItems", func() { c.meanwhile.signsIn(t, tb) })
			claims{"bob", x, true, 5}.signsIn(t, tb)
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
		claims{subject, subject + "@example.com", true, 1}.signsIn(t, tb)
	}
	var wg sync.WaitGroup
	for n, subject := range subjects {
		for round := range int64(2) {
			k := claims{subject, "X@example.com", true, 10*round + int64(n) + 2}
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
	claims{"bob", "x@example.com", true, 99}.signsIn(t, tb)
	for subject, address := range shown(t, tb, subjects...) {
		if folded, _ := email.Fold(address); (folded == "x@example.com") != (subject == "bob") {
			t.Errorf("%s is shown with %q", subject, address)
		}
	}
}

package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// person makes Bob, an admin of Ada's org. He has a second identity and a second address. He has made an org (own) and added Eve to it
// as an admin. He was signed out an hour ago.
func (c *connected) person(t *testing.T) (bob, eve id.User, own id.Org) {
	t.Helper()
	bob = addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Admin)
	c.adopt(t, bob, "second")
	own = c.NewOrg(t, bob)
	eve = addMember(t, c.Table, own, bob, "eve@example.com", org.Admin)
	noError(t, c.SignOutUser(ctx, billing, bob))
	c.advanceClock(time.Hour)
	return bob, eve, own
}

// allText returns every text and number of an attribute.
func allText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		var all []string
		for name, of := range v.Value {
			all = append(all, name, allText(of))
		}
		return strings.Join(all, " ")
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return fmt.Sprint(v)
}

// erasureFaults returns the faults of the table after the erasure of Bob: an address, a name, an identity or a membership of Bob, a row
// of a membership without the second row, or an address that another user has lost.
func (c *connected) erasureFaults(t *testing.T, bob id.User) (faults []string) {
	t.Helper()
	all := map[string]dbRow{}
	for _, r := range c.Rows(t) {
		all[text(r, "PK")+" "+text(r, "SK")] = r
	}
	members := map[string]int{}
	for at, r := range all {
		pk, sk := text(r, "PK"), text(r, "SK")
		isOfNewUser := text(r, "userId") != "" && text(r, "userId") != string(bob) || strings.HasPrefix(pk, "USER#") && !strings.HasSuffix(pk, string(bob))
		whole := at
		for name, v := range r {
			whole += " " + name + " " + allText(v)
		}
		for _, secret := range []string{"bob@example", "second@example", "Bob"} {
			if strings.Contains(whole, secret) && !isOfNewUser {
				faults = append(faults, at+" has "+secret)
			}
		}
		if strings.HasPrefix(pk, "IDN#") && (text(r, "userId") == string(bob) || r["stoppedUser"] != nil) {
			faults = append(faults, at+" is Bob's")
		}
		if v, isBool := r["holds"].(*types.AttributeValueMemberBOOL); isBool && v.Value && text(all["EMAIL#"+text(r, "folded")+" META"], "userId") != text(r, "userId") {
			faults = append(faults, at+" has lost its address")
		}
		if user, isMember := strings.CutPrefix(sk, "MEM#"); isMember {
			members[pk]++
			if all["USER#"+user+" "+pk] == nil || user == string(bob) {
				faults = append(faults, at)
			}
		}
		if o, isOrg := strings.CutPrefix(sk, "ORG#"); isOrg && (all["ORG#"+o+" MEM#"+strings.TrimPrefix(pk, "USER#")] == nil || pk == "USER#"+string(bob)) {
			faults = append(faults, at)
		}
	}
	for pk, n := range members {
		if got := text(all[pk+" META"], "members"); got != fmt.Sprint(n) && all[pk+" META"]["deletedAt"] == nil {
			faults = append(faults, fmt.Sprintf("%s counts %s members of %d", pk, got, n))
		}
	}
	meta := all["USER#"+string(bob)+" META"]
	if meta == nil || text(meta, "name")+text(meta, "email") != "" || meta["stoppedAt"] != nil || meta["identities"] != nil || text(meta, "orgsCreated") == "" {
		faults = append(faults, fmt.Sprint("the user's row is ", meta))
	}
	return faults
}

func TestAnErasedPersonIsForgotten(t *testing.T) {
	c := connect(t)
	bob, eve, own := c.person(t)
	key := makeKey(t, c.Table, c.org, bob, 0)
	noError(t, errorOf(c.StopUser(ctx, billing, bob))) // a stopped person can be erased too
	noError(t, c.EraseUser(ctx, billing, bob))
	noError(t, c.EraseUser(ctx, billing, bob)) // writes nothing
	if faults := c.erasureFaults(t, bob); faults != nil {
		t.Error(faults)
	}
	now := c.Now()
	for _, r := range c.rowsOf(t, "IDN#") {
		if text(r, "userId") == "" && (len(r) != 4 || text(r, "notBefore") != fmt.Sprint(now.UnixMilli()) || text(r, "purgeAt") != fmt.Sprint(now.Add(35*24*time.Hour).Unix())) {
			t.Errorf("an identity is %v", r)
		}
	}
	for _, subject := range []string{"sub-bob@example.com", "second"} {
		mark, ok, err := c.Identity(ctx, issuer, subject)
		noError(t, err)
		if ok || mark.UserID != "" {
			t.Errorf("%s is known: %+v", subject, mark)
		}
		expectCode(t, mark.Refusal(now.Unix()), problem.TokenEnded)
		expectCode(t, errorOf(c.EnrolMember(ctx, billing, c.org, store.Enrolled{Issuer: issuer, Subject: subject, Name: "Bob"}, org.Member, store.Once[id.User]{})), problem.UnknownUser)
		expectCode(t, errorOf(c.CreateOrgAs(ctx, billing, store.NewOrg{Name: "Late", Admin: &store.Enrolled{Issuer: issuer, Subject: subject}}, store.Once[store.Org]{})), problem.UnknownUser)
	}
	expectCode(t, errorOf(c.AddMember(ctx, admin(c.ada), c.org, "bob@example.com", org.Member, store.Once[id.User]{})), problem.UserNotFound)
	expectCode(t, errorOf(c.User(ctx, bob)), problem.UnknownUser)
	expectCode(t, errorOf(c.StopUser(ctx, billing, bob)), problem.UnknownUser)
	expectCode(t, c.SignOutUser(ctx, billing, bob), problem.UnknownUser)
	expectCode(t, errorOf(c.CreateOrg(ctx, bob, "Late", store.Once[store.Org]{})), problem.UserStopped) // a request in flight
	expectCode(t, c.EraseUser(ctx, billing, "usr_none"), problem.UnknownUser)

	orgs, _, err := c.OrgsOf(ctx, eve, store.Page{})
	noError(t, err)
	if len(orgs) != 1 || orgs[0].AddedBy == nil || *orgs[0].AddedBy != (store.Adder{UserID: bob}) {
		t.Errorf("Eve, whom Bob had added, sees %+v", orgs)
	}
	if got := c.refusalOf(t, key.Minted.Key.Reveal()); got != "" {
		t.Errorf("the key that Bob made is refused: %s", got)
	}
	entries := c.audited(t, "user.erased")
	if len(entries) != 1 || entries[0].Target.ID != string(bob) || entries[0].Actor.Name != "billing" {
		t.Errorf("%+v", entries)
	}
	noError(t, c.DeleteOrg(ctx, admin(eve), own)) // Bob made this org
}

// TestASignInAfterAnErasureMakesANewUser: tokens of earlier sign-ins stay refused.
func TestASignInAfterAnErasureMakesANewUser(t *testing.T) {
	c := connect(t)
	bob, _, _ := c.person(t)
	noError(t, c.EraseUser(ctx, billing, bob))
	mark, _, err := c.Identity(ctx, issuer, "sub-bob@example.com")
	noError(t, err)
	seen := store.Seen{Issuer: issuer, Subject: "sub-bob@example.com", Email: "bob@example.com", Folded: "bob@example.com", Verified: true,
		IssuedAt: 4_000_000_000, SignedInAt: c.Now().Unix()}
	expectCode(t, errorOf(c.SignIn(ctx, mark, false, seen)), problem.TokenEnded)
	seen.SignedInAt++
	var other id.User
	c.Faults.Before("TransactWriteItems", func() { other, err = c.SignIn(ctx, mark, false, seen) }) // at the same moment
	again, failed := c.SignIn(ctx, mark, false, seen)
	noError(t, errors.Join(err, failed))
	if again == bob || again == "" || again != other {
		t.Errorf("Bob is %s, then %s and %s", bob, again, other)
	}
	now := c.known(t, "sub-bob@example.com")
	expectCode(t, now.Refusal(c.Now().Unix()), problem.TokenEnded)
	noError(t, now.Refusal(seen.SignedInAt))
	for _, r := range c.rowsOf(t, "IDN#") {
		if text(r, "userId") == string(again) && r["purgeAt"] != nil {
			t.Errorf("DynamoDB will delete %v", r)
		}
	}
	if got := holder(t, c.Table, "bob@example.com"); got != again {
		t.Errorf("the address is of %s", got)
	}
	if faults := c.erasureFaults(t, bob); faults != nil {
		t.Error(faults)
	}
}

// TestTwoFirstSignInsAfterAnErasureMakeOneUser: the tokens have no address, so the address does not decide which of them is first. In
// one case the user is stopped in between.
func TestTwoFirstSignInsAfterAnErasureMakeOneUser(t *testing.T) {
	for want, stops := range map[problem.Code]bool{"": false, problem.UserStopped: true} {
		c := connect(t)
		noError(t, c.EraseUser(ctx, billing, c.NewUser(t, "bob@example.com")))
		mark, _, err := c.Identity(ctx, issuer, "sub-bob@example.com")
		noError(t, err)
		seen := store.Seen{Issuer: issuer, Subject: "sub-bob@example.com", Name: "Bob", IssuedAt: 4_000_000_000, SignedInAt: c.Now().Unix() + 1}
		var first id.User
		c.Faults.Before("TransactWriteItems", func() {
			if first, err = c.SignIn(ctx, mark, false, seen); stops {
				noError(t, errorOf(c.StopUser(ctx, billing, first)))
			}
		})
		expectCode(t, errorOf(c.SignIn(ctx, mark, false, seen)), want)
		noError(t, err)
		if got := c.known(t, "sub-bob@example.com"); got.UserID != first || got.Stopped != stops {
			t.Errorf("%s, then %+v", first, got)
		}
	}
}

// TestAnErasureFindsEachAddress: the person's tokens have shown these addresses before.
func TestAnErasureFindsEachAddress(t *testing.T) {
	for name, tokens := range map[string][]claims{
		"in the issuer's spelling": {{"bob", "Bob@Example.com", true, 1}},
		"given up":                 {{"bob", "Bob@Example.com", true, 1}, {"bob", "bob@example.net", false, 2}},
		"given up, then another":   {{"bob", "Bob@Example.com", true, 1}, {"bob", "bob@example.net", false, 2}, {"bob", "bob@example.org", true, 3}},
		"of another identity":      {{"bob", "Bob@Example.com", true, 1}, {"second", "bob@example.net", true, 2}},
		"given up by another":      {{"bob", "Bob@Example.com", true, 1}, {"second", "bob@example.net", true, 2}, {"second", "bob@example.org", false, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t)
			bob := tokens[0].signsIn(t, c.Table)
			c.adopt(t, bob, "second")
			for _, token := range tokens[1:] {
				token.signsIn(t, c.Table)
			}
			noError(t, c.EraseUser(ctx, billing, bob))
			for _, r := range append(c.rowsOf(t, "EMAIL#bob"), c.rowsOf(t, "EMAIL#second")...) {
				t.Errorf("%s stays", text(r, "PK"))
			}
		})
	}
}

// TestAResumeDuringAnErasureIsRefused: the erasure of a stopped person begins, and is cut short, between the reads of the resume and
// its transaction.
func TestAResumeDuringAnErasureIsRefused(t *testing.T) {
	c := connect(t)
	bob, _, _ := c.person(t)
	stopped, err := c.StopUser(ctx, billing, bob)
	noError(t, err)
	c.advanceClock(time.Hour)
	c.Faults.Before("TransactWriteItems", func() {
		c.letPass("TransactWriteItems")
		c.Faults.Before("TransactWriteItems", func() { c.Faults.Plan("TransactWriteItems", storetest.Malformed, -1) })
		err = c.EraseUser(ctx, billing, bob)
		c.Faults.Heal()
	})
	expectCode(t, errorOf(c.ResumeUser(ctx, billing, bob)), problem.Conflict)
	if u, failed := c.User(ctx, bob); err == nil || failed != nil || u.StoppedAt != stopped.StoppedAt {
		t.Errorf("in the middle: %+v, %v, %v", u, err, failed)
	}
	for _, subject := range []string{"sub-bob@example.com", "second"} {
		expectCode(t, c.known(t, subject).Refusal(4_000_000_000), problem.UserStopped)
	}
	noError(t, c.EraseUser(ctx, billing, bob))
	if faults := c.erasureFaults(t, bob); faults != nil {
		t.Error(faults)
	}
}

func TestAnErasureKeepsALaterSignOut(t *testing.T) {
	c := connect(t)
	bob, _, _ := c.person(t)
	noError(t, c.SignOutUser(ctx, billing, bob))
	at := c.Now().UnixMilli()
	c.advanceClock(-time.Hour) // the clock of another process is slow
	noError(t, c.EraseUser(ctx, billing, bob))
	mark, _, err := c.Identity(ctx, issuer, "second")
	if err != nil || mark.NotBefore != at {
		t.Errorf("%+v, %v", mark, err)
	}
}

// duringErasure lists requests that may come during the erasure of Bob. Each may be refused, because his membership, his tokens or his
// address may be gone.
func duringErasure() map[string]func(*connected, id.User, id.User, id.Org) error {
	bobsToken := func(subject, email string) func(*connected, id.User, id.User, id.Org) error {
		return func(c *connected, _, _ id.User, _ id.Org) error {
			known, ok, err := c.Identity(ctx, issuer, subject)
			if err != nil {
				return err
			}
			return errorOf(c.SignIn(ctx, known, ok, store.Seen{Issuer: issuer, Subject: subject, Email: email, Folded: email, Verified: true, Name: "Bob B.",
				IssuedAt: 4_000_000_000, SignedInAt: c.Now().Unix()}))
		}
	}
	return map[string]func(c *connected, bob, eve id.User, own id.Org) error{
		"added by address": func(c *connected, _, _ id.User, _ id.Org) error {
			third := c.NewOrgOf(c.ada)
			return errorOf(c.AddMember(ctx, admin(c.ada), third, "bob@example.com", org.Admin, store.Once[id.User]{}))
		},
		"enrolled by subject": func(c *connected, _, _ id.User, _ id.Org) error {
			third := c.NewOrgOf(c.ada)
			return errorOf(c.EnrolMember(ctx, billing, third, store.Enrolled{Issuer: issuer, Subject: "second"}, org.Member, store.Once[id.User]{}))
		},
		"enrolled with an org": func(c *connected, _, _ id.User, _ id.Org) error {
			return errorOf(c.CreateOrgAs(ctx, billing, store.NewOrg{Name: "Late", Admin: &store.Enrolled{Issuer: issuer, Subject: "second"}}, store.Once[store.Org]{}))
		},
		"makes an org": func(c *connected, bob, _ id.User, _ id.Org) error {
			return errorOf(c.CreateOrg(ctx, bob, "Late", store.Once[store.Org]{}))
		},
		"promoted": func(c *connected, bob, _ id.User, _ id.Org) error {
			return errorOf(c.ChangeRole(ctx, admin(c.ada), c.org, bob, org.Viewer))
		},
		"leaves": func(c *connected, bob, _ id.User, _ id.Org) error {
			return c.LeaveOrg(ctx, store.Actor{User: bob, May: anyMember}, c.org)
		},
		"removed": func(c *connected, bob, _ id.User, _ id.Org) error {
			return c.RemoveMember(ctx, admin(c.ada), c.org, bob)
		},
		"deletes the org":               func(c *connected, bob, _ id.User, own id.Org) error { return c.DeleteOrg(ctx, admin(bob), own) },
		"its org is deleted":            func(c *connected, _, eve id.User, own id.Org) error { return c.DeleteOrg(ctx, admin(eve), own) },
		"signs in with a new name":      bobsToken("sub-bob@example.com", "bob@example.com"),
		"signs in with another address": bobsToken("sub-bob@example.com", "bob@example.net"),
		"another identity proves it":    bobsToken("second", "bob@example.com"),
		"another person proves it":      bobsToken("another", "bob@example.com"),
		"another person proves one":     bobsToken("another", "second@example.com"),
		"stopped":                       func(c *connected, bob, _ id.User, _ id.Org) error { return errorOf(c.StopUser(ctx, billing, bob)) },
		"resumed":                       func(c *connected, bob, _ id.User, _ id.Org) error { return errorOf(c.ResumeUser(ctx, billing, bob)) },
		"signed out":                    func(c *connected, bob, _ id.User, _ id.Org) error { return c.SignOutUser(ctx, billing, bob) },
		"erased by another request":     func(c *connected, bob, _ id.User, _ id.Org) error { return c.EraseUser(ctx, billing, bob) },
		"adds a member to the org": func(c *connected, bob, _ id.User, _ id.Org) error {
			return errorOf(c.EnrolMember(ctx, admin(bob), c.org, store.Enrolled{Issuer: issuer, Subject: "fay"}, org.Member, store.Once[id.User]{}))
		},
	}
}

// NewOrgOf makes an org of a user. It ignores errors, because it runs in the middle of another request.
func (c *connected) NewOrgOf(u id.User) id.Org {
	made, _ := c.CreateOrg(ctx, u, "Third", store.Once[store.Org]{})
	return made.Made.ID
}

// TestAnErasureIsCompleteDespiteConcurrentRequests: each request of duringErasure comes before each transaction of the erasure (place is
// 0 or more), or the erasure comes before a transaction of the request (place is negative).
func TestAnErasureIsCompleteDespiteConcurrentRequests(t *testing.T) {
	for name, meanwhile := range duringErasure() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for place := -2; place < 5; place++ {
				c := connect(t)
				bob, eve, own := c.person(t)
				happened := false
				do := func() { happened = true; _ = meanwhile(c, bob, eve, own) } // it may be refused
				erase := func() error {
					err := c.EraseUser(ctx, billing, bob)
					if e := problem.From(err); err != nil && e.Code == problem.LastAdmin { // Bob made an org, or was made the admin of one
						deleted := c.DeleteOrg(ctx, billing, id.Org(e.Orgs[0]))
						if !problem.Is(deleted, problem.OrgNotFound) { // another erasure may have ended it before
							noError(t, deleted)
						}
						err = c.EraseUser(ctx, billing, bob)
					}
					return err
				}
				if place < 0 { // the erasure comes before a transaction of the request
					for range -place - 1 {
						c.letPass("TransactWriteItems")
					}
					c.Faults.Before("TransactWriteItems", func() { happened = true; noError(t, erase()) })
					do()
				} else {
					for range place {
						c.letPass("TransactWriteItems")
					}
					c.Faults.Before("TransactWriteItems", do)
				}
				noError(t, erase())
				if !happened && place < 2 {
					t.Errorf("place %d: the test proves nothing: the two did not meet", place)
				}
				c.Faults.Heal()
				noError(t, erase())
				if faults := c.erasureFaults(t, bob); faults != nil {
					t.Errorf("place %d: %v", place, faults)
				}
				_, _, err := c.OrgsOf(ctx, eve, store.Page{})
				noError(t, err)
			}
		})
	}
}

// TestACreateCanBeRepeatedAfterItsAdminsErasure: the same request gets its first answer, and another request is refused.
func TestACreateCanBeRepeatedAfterItsAdminsErasure(t *testing.T) {
	c := connect(t)
	create := func(key string) (store.Created[store.Org], error) {
		return c.CreateOrgAs(ctx, billing, store.NewOrg{Name: "Acme", Admin: &store.Enrolled{Issuer: issuer, Subject: "gil"}}, once[store.Org](c, key, "{}", `{"id":1}`))
	}
	made, err := create(idempotencyKey)
	noError(t, err)
	gil := c.known(t, "gil").UserID
	noError(t, errorOf(c.AddMember(ctx, billing, made.Made.ID, "ada@example.com", org.Admin, store.Once[id.User]{})))
	noError(t, c.EraseUser(ctx, billing, gil))
	again, err := create(idempotencyKey)
	if noError(t, err); !again.Replayed || again.Answer.Reveal() != `{"id":1}` {
		t.Errorf("%+v", again)
	}
	expectCode(t, errorOf(create(idempotencyKey[:32]+"x")), problem.UnknownUser)
}

// TestACreateBesideTheNextSignInOfAnErasedAdminIsReal: no record has the answer of an org that was not made.
func TestACreateBesideTheNextSignInOfAnErasedAdminIsReal(t *testing.T) {
	c := connect(t)
	gil := c.NewUser(t, "gil@example.com")
	noError(t, c.EraseUser(ctx, billing, gil))
	create := func() (store.Created[store.Org], error) {
		return c.CreateOrgAs(ctx, billing, store.NewOrg{Name: "Acme", Admin: &store.Enrolled{Issuer: issuer, Subject: "sub-gil@example.com"}}, once[store.Org](c, idempotencyKey, "{}", `{"id":1}`))
	}
	mark, _, err := c.Identity(ctx, issuer, "sub-gil@example.com")
	noError(t, err)
	c.Faults.Before("TransactWriteItems", func() {
		_, err = c.SignIn(ctx, mark, false, store.Seen{Issuer: issuer, Subject: "sub-gil@example.com", IssuedAt: 4_000_000_000, SignedInAt: c.Now().Unix() + 1})
		noError(t, err)
	})
	made, err := create()
	if problem.Is(err, problem.UnknownUser) {
		made, err = create() // the refusal was right when it was decided, and the same request can be sent again
	}
	noError(t, err)
	if _, err := c.Org(ctx, billing, made.Made.ID); err != nil || made.Replayed {
		t.Errorf("replayed: %t, the org: %v", made.Replayed, err)
	}
}

// TestAnErasureThatEndsMeanwhileIsNoFault: a second erasure, a stop and a sign-out read the person's row before it, and the identities
// after it.
func TestAnErasureThatEndsMeanwhileIsNoFault(t *testing.T) {
	for name, do := range map[string]func(*connected, id.User) error{
		"":             func(c *connected, u id.User) error { return c.EraseUser(ctx, billing, u) },
		"unknown_user": func(c *connected, u id.User) error { return errorOf(c.StopUser(ctx, billing, u)) },
	} {
		c := connect(t)
		gil := c.NewUser(t, "gil@example.com")
		c.Faults.Before("BatchGetItem", func() { noError(t, c.EraseUser(ctx, billing, gil)) })
		if err := do(c, gil); name == "" && err != nil || name != "" && !problem.Is(err, problem.Code(name)) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

// TestTwoIdentitiesOfOnePersonProveOneAddress: one identity proves the other's address. Afterwards each of them can prove another address.
func TestTwoIdentitiesOfOnePersonProveOneAddress(t *testing.T) {
	c := connect(t)
	c.adopt(t, c.ada, "second")
	signIn(t, c.Table, "second", "ada@example.com", true, 4_000_000_000)
	signIn(t, c.Table, "second", "new@example.com", true, 4_000_000_001)
	signIn(t, c.Table, "sub-ada@example.com", "other@example.com", true, 4_000_000_002)
	for _, email := range []string{"new@example.com", "other@example.com"} {
		if got := holder(t, c.Table, email); got != c.ada {
			t.Errorf("%s is of %s", email, got)
		}
	}
}

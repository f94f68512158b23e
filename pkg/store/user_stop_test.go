package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// known reads the identity of a subject.
func (c *connected) known(t *testing.T, subject string) store.Identity {
	t.Helper()
	known, ok, err := c.Identity(ctx, issuer, subject)
	if !ok || err != nil {
		t.Fatalf("%s: %v, %v", subject, ok, err)
	}
	return known
}

// adopt gives a user a second identity, as the runbook's "Changing the issuer" does. The second identity has proved the address
// <subject>@example.com. The user is still shown with the first address.
func (c *connected) adopt(t *testing.T, u id.User, subject string) {
	t.Helper()
	signIn(t, c.Table, subject, subject+"@example.com", true, 1)
	made := c.known(t, subject).UserID
	rows := c.rowsOf(t, "IDN#")
	row := rows[slices.IndexFunc(rows, func(r dbRow) bool { return text(r, "userId") == string(made) })]
	row["userId"] = &types.AttributeValueMemberS{Value: string(u)}
	c.putRow(t, row)
	address := c.rowsOf(t, "EMAIL#"+subject+"@example.com")[0]
	address["userId"] = row["userId"]
	c.putRow(t, address)
	for _, user := range c.rowsOf(t, "USER#"+string(u)) {
		if text(user, "SK") == "META" {
			user["identities"].(*types.AttributeValueMemberM).Value[text(row, "PK")] = &types.AttributeValueMemberN{Value: "1"}
			c.putRow(t, user)
		}
	}
}

func TestAStopRefusesEachIdentityUntilItIsResumed(t *testing.T) {
	c := connect(t)
	subjects := []string{"sub-ada@example.com", "second"}
	c.adopt(t, c.ada, "second")
	checkRefusal := func(want problem.Code) {
		t.Helper()
		for _, subject := range subjects {
			i := c.known(t, subject)
			if got := i.Refusal(4_000_000_000); i.UserID != c.ada || want == "" && got != nil || want != "" && !problem.Is(got, want) {
				t.Errorf("%s: %v of %s, want %q", subject, got, i.UserID, want)
			}
		}
	}
	checkRefusal("")
	stopped, err := c.StopUser(ctx, billing, c.ada)
	if noError(t, err); stopped.StoppedAt != c.Now().UnixMilli() {
		t.Errorf("%+v", stopped)
	}
	checkRefusal(problem.UserStopped)
	for _, r := range c.rowsOf(t, "IDN#") { // an older program, which does not know stops, reads userId
		if r["userId"] != nil {
			t.Errorf("an older program lets in %v", r)
		}
	}
	c.advanceClock(time.Hour)
	again, err := c.StopUser(ctx, billing, c.ada) // writes nothing
	if noError(t, err); again.StoppedAt != stopped.StoppedAt {
		t.Errorf("%+v", again)
	}
	resumed, err := c.ResumeUser(ctx, billing, c.ada)
	if noError(t, err); resumed.StoppedAt != 0 {
		t.Errorf("%+v", resumed)
	}
	noError(t, errorOf(c.ResumeUser(ctx, billing, c.ada)))
	checkRefusal("")
	for action, want := range map[string]int{"user.stopped": 1, "user.resumed": 1} {
		found := c.audited(t, action)
		if len(found) != want || found[0].Target.ID != string(c.ada) || found[0].Actor.Name != "billing" {
			t.Errorf("%s: %+v", action, found)
		}
	}
	expectCode(t, errorOf(c.StopUser(ctx, billing, id.User("usr_none"))), problem.UnknownUser)
}

func TestASignOutRefusesEarlierSignIns(t *testing.T) {
	c := connect(t)
	c.adopt(t, c.ada, "second")
	at := c.Now().Unix()
	noError(t, c.SignOutUser(ctx, store.Actor{User: c.ada}, c.ada))
	for _, subject := range []string{"sub-ada@example.com", "second"} {
		for signedInAt, ended := range map[int64]bool{0: true, at - 1: true, at: true, at + 1: false} {
			if got := problem.Is(c.known(t, subject).Refusal(signedInAt), problem.TokenEnded); got != ended {
				t.Errorf("%s, %d: %v", subject, signedInAt-at, got)
			}
		}
	}
	if found := c.audited(t, "user.signed_out"); len(found) != 1 || found[0].Actor.ID != string(c.ada) {
		t.Errorf("%+v", found)
	}
	c.now = c.now.Add(-time.Hour) // the clock of another process is slow
	noError(t, c.SignOutUser(ctx, billing, c.ada))
	if got := c.known(t, "second").NotBefore; got < at*1000 {
		t.Errorf("the later sign-out was replaced by an earlier time: %d", got)
	}
}

// seenAs returns the values of a new token of Ada, with a name.
func (c *connected) seenAs(name string, signedInAt int64) store.Seen {
	return store.Seen{Issuer: issuer, Subject: "sub-ada@example.com", Email: "ada@example.com", Folded: "ada@example.com", Verified: true,
		Name: name, IssuedAt: 4_000_000_000, SignedInAt: signedInAt}
}

func TestAChangedNameKeepsASignOut(t *testing.T) {
	c := connect(t)
	noError(t, c.SignOutUser(ctx, billing, c.ada))
	was := c.known(t, "sub-ada@example.com")
	noError(t, errorOf(c.SignIn(ctx, was, true, c.seenAs("Ada L.", c.Now().Unix()+1))))
	now := c.known(t, "sub-ada@example.com")
	if now.Name != "Ada L." || now.NotBefore != c.Now().UnixMilli() {
		t.Errorf("%+v", now)
	}
	expectCode(t, now.Refusal(c.Now().Unix()-10), problem.TokenEnded)
}

// TestASignInKeepsAStopOrSignOutMeanwhile: a token was accepted just before a stop or a sign-out. Its changed name, or the answer of
// userinfo, would be written after it: the sign-in is refused instead.
func TestASignInKeepsAStopOrSignOutMeanwhile(t *testing.T) {
	for what, seen := range map[string]func(*connected) store.Seen{
		"a changed name": func(c *connected) store.Seen { return c.seenAs("Ada L.", 1) },
		"userinfo": func(c *connected) store.Seen {
			seen := c.seenAs("ada", 1)
			seen.IssuedAt, seen.AskedAt = 0, 5
			return seen
		},
	} {
		for want, mark := range map[problem.Code]func(*connected) error{
			problem.UserStopped: func(c *connected) error { return errorOf(c.StopUser(ctx, billing, c.ada)) },
			problem.TokenEnded:  func(c *connected) error { return c.SignOutUser(ctx, billing, c.ada) },
		} {
			c := connect(t)
			was := c.known(t, "sub-ada@example.com")
			var inner error
			c.Faults.Before("TransactWriteItems", func() { inner = mark(c) })
			expectCode(t, errorOf(c.SignIn(ctx, was, true, seen(c))), want)
			noError(t, inner)
			if got := c.known(t, "sub-ada@example.com"); got.Name == "Ada L." || !problem.Is(got.Refusal(1), want) {
				t.Errorf("%s during %s: %+v", what, want, got)
			}
		}
	}
}

// TestAStopCountsDespiteASignInMeanwhile: a sign-in comes between the reads of a stop and its transaction.
func TestAStopCountsDespiteASignInMeanwhile(t *testing.T) {
	c := connect(t)
	was := c.known(t, "sub-ada@example.com")
	var inner error
	c.Faults.Before("TransactWriteItems", func() { inner = errorOf(c.SignIn(ctx, was, true, c.seenAs("Ada L.", 1))) })
	noError(t, errorOf(c.StopUser(ctx, billing, c.ada)))
	noError(t, inner)
	if got := c.known(t, "sub-ada@example.com"); got.Name != "Ada L." || !got.Stopped {
		t.Errorf("%+v", got)
	}
}

func TestAnIdentityAddedDuringAStopIsStopped(t *testing.T) {
	c := connect(t)
	c.Faults.Before("TransactWriteItems", func() { c.adopt(t, c.ada, "second") })
	noError(t, errorOf(c.StopUser(ctx, billing, c.ada)))
	if !c.known(t, "second").Stopped {
		t.Error("the new identity is good")
	}
}

func TestAPersonIsFoundByAddressSubjectAndID(t *testing.T) {
	c := connect(t)
	for _, stopped := range []bool{false, true} {
		if stopped {
			noError(t, errorOf(c.StopUser(ctx, billing, c.ada)))
		}
		byEmail, ok, err := c.UserByEmail(ctx, "ada@example.com")
		bySubject, found, otherErr := c.UserBySubject(ctx, issuer, "sub-ada@example.com")
		if !ok || !found || err != nil || otherErr != nil || byEmail.ID != c.ada || bySubject.ID != c.ada || byEmail.Email != "ada@example.com" ||
			(byEmail.StoppedAt != 0) != stopped {
			t.Errorf("%+v, %v; %+v, %v", byEmail, err, bySubject, otherErr)
		}
	}
	_, ok, err := c.UserByEmail(ctx, "absent@example.com")
	_, found, otherErr := c.UserBySubject(ctx, issuer, "absent")
	if ok || found || err != nil || otherErr != nil {
		t.Errorf("%v %v, %v %v", ok, err, found, otherErr)
	}
	expectCode(t, errorOf(c.User(ctx, id.User("usr_none"))), problem.UnknownUser)
}

// TestOrgsLeftHasOrgsWithKeysOrNoOtherAdmin: the first org has an active key of the person. The second org has no other admin. The
// third org is not listed.
func TestOrgsLeftHasOrgsWithKeysOrNoOtherAdmin(t *testing.T) {
	c := connect(t)
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Admin)
	alone := c.NewOrg(t, bob)
	makeKey(t, c.Table, alone, bob, 0)
	neither := c.NewOrg(t, c.ada)
	noError(t, errorOf(c.AddMember(ctx, admin(c.ada), neither, "bob@example.com", org.Viewer, store.Once[id.User]{})))
	makeKey(t, c.Table, c.org, bob, 0)
	makeKey(t, c.Table, c.org, bob, time.Minute)
	makeKey(t, c.Table, c.org, c.ada, 0)
	noError(t, c.RevokeKey(ctx, admin(bob), c.org, makeKey(t, c.Table, c.org, bob, 0).ID))
	c.advanceClock(time.Hour)
	left, more, err := c.OrgsLeft(ctx, bob)
	noError(t, err)
	want := []store.OrgLeft{{ID: c.org, Name: "Acme", Keys: 1}, {ID: alone, Name: "Acme", Keys: 1, NoOtherAdmin: true}}
	slices.SortFunc(want, func(a, b store.OrgLeft) int { return strings.Compare(string(a.ID), string(b.ID)) })
	if more || !slices.Equal(left, want) {
		t.Errorf("%+v, %v; want %+v", left, more, want)
	}
}

package store_test

import (
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

const usersIssuer = "https://issuer.test"

// billing is a service that calls a route for admins and services.
var billing = store.Actor{Service: "billing", May: []org.Role{org.Admin}}

func ofSubject(sub string) store.Enrolled {
	return store.Enrolled{Issuer: usersIssuer, Subject: sub, Name: "Name of " + sub}
}

// orgOfService makes an org as a service does.
func (c *connected) orgOfService(t *testing.T, n store.NewOrg) id.Org {
	t.Helper()
	n.Name = "Customer"
	made, err := c.CreateOrgAs(ctx, billing, n, store.Once[store.Org]{})
	noError(t, err)
	return made.Made.ID
}

// TestASubjectIsAMemberBeforeTheFirstSignIn: the list shows the name that the service gave until the first sign-in. The sign-in
// finds the same user.
func TestASubjectIsAMemberBeforeTheFirstSignIn(t *testing.T) {
	for name, token := range map[string]store.Seen{
		"with iat":    {Issuer: usersIssuer, Subject: "zoe", Email: "Zoe@example.com", Folded: "zoe@example.com", Verified: true, Name: "Zoe", IssuedAt: 1_700_000_000},
		"without iat": {Issuer: usersIssuer, Subject: "zoe", Email: "Zoe@example.com", Folded: "zoe@example.com", Verified: true, Name: "Zoe"},
	} {
		c := connect(t)
		admin := ofSubject("zoe")
		o := c.orgOfService(t, store.NewOrg{Admin: &admin})
		members := func() []store.Member {
			found, _, err := c.Members(ctx, billing, o, store.Page{})
			noError(t, err)
			return found
		}
		before := members()
		if len(before) != 1 || before[0].Name != "Name of zoe" || before[0].Email != "" || before[0].Role != org.Admin {
			t.Fatalf("%s: before: %+v", name, before)
		}
		known, ok, err := c.Identity(ctx, usersIssuer, "zoe")
		noError(t, err)
		user, err := c.SignIn(ctx, known, ok, token)
		noError(t, err)
		if after := members(); user != before[0].UserID || len(after) != 1 || after[0].Name != "Zoe" || after[0].Email != "Zoe@example.com" {
			t.Errorf("%s: %s signed in: %+v", name, user, after)
		}
		expectCode(t, errorOf(c.AddMember(ctx, store.Actor{User: user, May: []org.Role{org.Admin}}, o, "zoe@example.com", org.Viewer, store.Once[id.User]{})), problem.MemberExists)
	}
}

// TestTheAuditNamesTheAdminOfAServicesOrg: the entry org.created names the service. The entry member.added names the admin, also an
// admin who is a user already, as it names every other member.
func TestTheAuditNamesTheAdminOfAServicesOrg(t *testing.T) {
	c := connect(t)
	for range 2 { // the second time, the admin is a known user
		admin := ofSubject("zoe")
		o := c.orgOfService(t, store.NewOrg{Admin: &admin})
		found, _, err := c.Identity(ctx, usersIssuer, "zoe")
		noError(t, err)
		entries, _, err := c.AuditLog(ctx, billing, o, store.AuditFilter{Action: "member.added"}, store.Page{})
		noError(t, err)
		if len(entries) != 1 || entries[0].Target.ID != string(found.UserID) || entries[0].Actor.Name != "billing" ||
			string(entries[0].Changes) != `{"role":{"from":null,"to":"admin"}}` {
			t.Errorf("%+v", entries)
		}
	}
	entries, _, err := c.AuditLog(ctx, billing, c.orgOfService(t, store.NewOrg{}), store.AuditFilter{}, store.Page{})
	noError(t, err)
	if len(entries) != 1 || entries[0].Action != "org.created" {
		t.Errorf("without an admin: %+v", entries)
	}
}

// TestASignInMeanwhileIsTheSameUser: a person signs in between the reads and the transaction of a use case that names the person.
func TestASignInMeanwhileIsTheSameUser(t *testing.T) {
	c := connect(t)
	o := c.orgOfService(t, store.NewOrg{})
	var user id.User
	signIn := func(sub string) func() {
		return func() {
			var err error
			user, err = c.SignIn(ctx, store.Identity{}, false, store.Seen{Issuer: usersIssuer, Subject: sub, IssuedAt: 1})
			noError(t, err)
		}
	}
	c.Faults.Before("TransactWriteItems", signIn("ann"))
	made, err := c.EnrolMember(ctx, billing, o, ofSubject("ann"), org.Viewer, store.Once[id.User]{})
	if noError(t, err); made.Made != user {
		t.Errorf("the member is %s, and %s signed in", made.Made, user)
	}
	c.Faults.Before("TransactWriteItems", signIn("ben"))
	admin := ofSubject("ben")
	other := c.orgOfService(t, store.NewOrg{Admin: &admin})
	if role, ok, err := c.Role(ctx, other, user); err != nil || !ok || role != org.Admin {
		t.Errorf("the user who signed in is not an admin: %s, %v", role, err)
	}
}

// TestAServicesOrgCanLackAnAdminOnlyAtFirst: once the org has an admin, not even a service can remove the last one.
func TestAServicesOrgCanLackAnAdminOnlyAtFirst(t *testing.T) {
	c := connect(t)
	o := c.orgOfService(t, store.NewOrg{})
	enrol := func(sub string, r org.Role) id.User {
		made, err := c.EnrolMember(ctx, billing, o, ofSubject(sub), r, store.Once[id.User]{})
		noError(t, err)
		return made.Made
	}
	viewer := enrol("ann", org.Viewer)
	expectCode(t, errorOf(c.EnrolMember(ctx, billing, o, ofSubject("ann"), org.Admin, store.Once[id.User]{})), problem.MemberExists)
	noError(t, c.RemoveMember(ctx, billing, o, viewer))
	admin := enrol("ben", org.Admin)
	expectCode(t, errorOf(c.ChangeRole(ctx, billing, o, admin, org.Member)), problem.LastAdmin)
	expectCode(t, c.RemoveMember(ctx, billing, o, admin), problem.LastAdmin)
	enrol("cid", org.Admin)
	noError(t, errorOf(c.ChangeRole(ctx, billing, o, admin, org.Member)))
}

func TestAnExternalIDNamesOneOrgUntilItsDeletion(t *testing.T) {
	c := connect(t)
	checkOrg := func(x string, want id.Org) {
		t.Helper()
		found, ok, err := c.OrgByExternalID(ctx, billing, x)
		if err != nil || ok != (want != "") || found.ID != want {
			t.Errorf("%s: %s, %v, want %s", x, found.ID, err, want)
		}
	}
	change := func(o id.Org, to string) error {
		return errorOf(c.ChangeOrg(ctx, billing, o, store.OrgChange{ExternalID: &to}))
	}
	first, other := c.orgOfService(t, store.NewOrg{ExternalID: "cus_1"}), c.orgOfService(t, store.NewOrg{})
	checkOrg("cus_1", first)
	expectCode(t, errorOf(c.CreateOrgAs(ctx, billing, store.NewOrg{Name: "x", ExternalID: "cus_1"}, store.Once[store.Org]{})), problem.Conflict)
	expectCode(t, change(other, "cus_1"), problem.Conflict)
	noError(t, change(first, "cus_2"))
	checkOrg("cus_1", "")
	checkOrg("cus_2", first)
	noError(t, change(other, "cus_1"))
	noError(t, change(other, ""))
	checkOrg("cus_1", "")
	c.Faults.Before("TransactWriteItems", func() { noError(t, change(first, "cus_3")) }) // right before the deletion begins
	c.Faults.Before("TransactWriteItems", func() {})                                     // the transaction of that change
	c.Faults.Before("TransactWriteItems", func() { checkOrg("cus_3", first) })           // right before the deletion ends
	noError(t, c.DeleteOrg(ctx, billing, first))
	checkOrg("cus_3", "")
	c.orgOfService(t, store.NewOrg{ExternalID: "cus_3"})
	if c.Faults.Pending() {
		t.Error("the test proves nothing: there were fewer transactions")
	}
}

// TestTwoDeletionsFreeAnExternalIDOnce: a deletion frees the external id, and another org gets it. A second deletion of the first
// org, which began before, does not free it again.
func TestTwoDeletionsFreeAnExternalIDOnce(t *testing.T) {
	c := connect(t)
	o := c.orgOfService(t, store.NewOrg{ExternalID: "cus_1"})
	var next id.Org
	c.Faults.Before("TransactWriteItems", func() {}) // the transaction that closes the org
	c.Faults.Before("TransactWriteItems", func() {
		noError(t, c.DeleteOrg(ctx, billing, o))
		next = c.orgOfService(t, store.NewOrg{ExternalID: "cus_1"})
	})
	noError(t, c.DeleteOrg(ctx, billing, o))
	if found, ok, err := c.OrgByExternalID(ctx, billing, "cus_1"); err != nil || !ok || found.ID != next {
		t.Errorf("the external id is of %s, %v, want %s", found.ID, err, next)
	}
}

// TestAServiceCanRepeatACutShortDeletion cuts the deletion of an org without members before each of its transactions. Until the
// deletion has ended, the sweep deletes nothing and reports that it was cut short, and the service can repeat it.
func TestAServiceCanRepeatACutShortDeletion(t *testing.T) {
	c := connect(t)
	c.org = c.orgOfService(t, store.NewOrg{ExternalID: "cus_1"})
	c.app = id.DefaultApp(c.org)
	key, err := c.CreateKey(ctx, billing, c.org, wantedKey(0), store.Once[store.MintedKey]{})
	noError(t, err)
	for n := 0; c.crashDeletionAs(billing, n) != nil; n++ {
		if n == 0 {
			continue // the deletion has not begun
		}
		if row(t, c.Table, c.org, key.Made.ID).RevokedAt == 0 && !c.sweepOrg(t) {
			t.Fatalf("after %d transactions the sweep ends an org with a good key", n)
		}
		noError(t, errorOf(c.Org(ctx, billing, c.org))) // it can repeat the deletion
		if n == 10 {
			t.Fatal("the deletion does not end")
		}
	}
	if row(t, c.Table, c.org, key.Made.ID).RevokedAt == 0 || c.sweepOrg(t) {
		t.Error("the deletion has ended, and the key is good or the deletion is shown as cut short")
	}
	expectCode(t, c.DeleteOrg(ctx, billing, c.org), problem.OrgNotFound)
}

func TestADeletedOrgIsNotFoundByAService(t *testing.T) {
	s := populate(t)
	noError(t, errorOf(s.Org(ctx, billing, s.org)))
	noError(t, s.DeleteOrg(ctx, billing, s.org))
	for name, do := range map[string]func() error{
		"reads":   func() error { return errorOf(s.Org(ctx, billing, s.org)) },
		"deletes": func() error { return s.DeleteOrg(ctx, billing, s.org) },
		"revokes": func() error { return s.RevokeKey(ctx, billing, s.org, s.key.ID) },
		"makes a key": func() error {
			return errorOf(s.CreateKey(ctx, billing, s.org, wantedKey(0), store.Once[store.MintedKey]{}))
		},
		"makes an app": func() error {
			return errorOf(s.CreateApp(ctx, billing, s.org, store.NewApp{Name: "x"}, store.Once[store.App]{}))
		},
		"adds a member": func() error {
			return errorOf(s.EnrolMember(ctx, billing, s.org, ofSubject("x"), org.Admin, store.Once[id.User]{}))
		},
	} {
		if err := do(); !problem.Is(err, problem.OrgNotFound) {
			t.Errorf("a service %s: %v", name, err)
		}
	}
	if n := s.memberRows(t); n != 0 {
		t.Errorf("%d rows of memberships are left", n)
	}
}

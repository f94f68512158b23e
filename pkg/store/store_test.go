package store_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

var (
	ctx       = context.Background()
	anyMember = []org.Role{org.Admin, org.Member, org.Viewer}
	admins    = []org.Role{org.Admin}
)

// admin returns a caller of a route that only admins may call. The store decides whether the user is one.
func admin(u id.User) store.Actor { return store.Actor{User: u, May: admins} }

// noError ends the test if there is an error.
func noError(t *testing.T, err error) {
	t.Helper()
	expectCode(t, err, "")
}

// expectCode ends the test unless err has the code; "" means no error.
func expectCode(t *testing.T, err error, code problem.Code) {
	t.Helper()
	if code == "" && err != nil || code != "" && !problem.Is(err, code) {
		t.Fatalf("got %v, want %q", err, code)
	}
}

// addMember creates a user with this email, and has the admin by add them to the org.
func addMember(t *testing.T, tb *storetest.Table, o id.Org, by id.User, email string, r org.Role) id.User {
	t.Helper()
	u := tb.NewUser(t, email)
	if _, err := tb.AddMember(ctx, admin(by), o, email, r, store.Once[id.User]{}); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestTheCreatorOfAnOrgIsItsAdmin(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	orgs, next, err := tb.OrgsOf(ctx, ada, store.Page{})
	if err != nil || next != "" || len(orgs) != 1 || orgs[0].ID != o || orgs[0].Role != org.Admin {
		t.Fatalf("OrgsOf = %+v, %q, %v", orgs, next, err)
	}
	apps, _, err := tb.Apps(ctx, admin(ada), o, store.Page{})
	if err != nil || len(apps) != 1 || !apps[0].IsDefault {
		t.Fatalf("Apps = %+v, %v", apps, err)
	}
}

func TestOutsiderSees404NotForbidden(t *testing.T) {
	tb := storetest.New(t)
	ada, eve := tb.NewUser(t, "ada@example.com"), tb.NewUser(t, "eve@example.com")
	o := tb.NewOrg(t, ada)
	for whose, target := range map[string]id.Org{"another's org": o, "no org": id.Source{}.NewOrg()} {
		for method, err := range map[string]error{
			"Org":          errorOf(tb.Org(ctx, store.Actor{User: eve, May: anyMember}, target)),
			"ChangeOrg":    errorOf(tb.ChangeOrg(ctx, admin(eve), target, named("Eve's"))),
			"UpdateKey":    errorOf(tb.UpdateKey(ctx, admin(eve), target, id.NoKey, store.KeyChange{})),
			"RevokeKey":    tb.RevokeKey(ctx, admin(eve), target, id.NoKey),
			"ChangeRole":   errorOf(tb.ChangeRole(ctx, admin(eve), target, ada, org.Viewer)),
			"RemoveMember": tb.RemoveMember(ctx, admin(eve), target, ada),
			"AddMember":    errorOf(tb.AddMember(ctx, admin(eve), target, "eve@example.com", org.Admin, store.Once[id.User]{})),
			"CreateApp":    errorOf(tb.CreateApp(ctx, admin(eve), target, store.NewApp{Name: "x"}, store.Once[store.App]{})),
			"CreateKey":    errorOf(tb.CreateKey(ctx, admin(eve), target, wantedKey(0), store.Once[store.MintedKey]{})),
		} {
			if !problem.Is(err, problem.OrgNotFound) {
				t.Errorf("%s, %s: %v", whose, method, err)
			}
		}
	}
}

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

func TestTheLastAdminCannotLeaveOrBeDemoted(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	bob := addMember(t, tb, o, ada, "bob@example.com", org.Member)
	expectCode(t, errorOf(tb.ChangeRole(ctx, admin(ada), o, ada, org.Member)), problem.LastAdmin)
	expectCode(t, tb.RemoveMember(ctx, admin(ada), o, ada), problem.LastAdmin)
	noError(t, errorOf(tb.ChangeRole(ctx, admin(ada), o, bob, org.Admin)))
	noError(t, tb.RemoveMember(ctx, admin(ada), o, ada))
	expectCode(t, tb.RemoveMember(ctx, admin(bob), o, bob), problem.LastAdmin)
	expectCode(t, errorOf(tb.ChangeRole(ctx, admin(ada), o, bob, org.Viewer)), problem.OrgNotFound) // she is not a member now
}

func TestEveryMemberButTheLastAdminMayLeave(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	leave := func(u id.User) error { return tb.LeaveOrg(ctx, store.Actor{User: u, May: anyMember}, o) }
	bob, eve := addMember(t, tb, o, ada, "bob@example.com", org.Viewer), tb.NewUser(t, "eve@example.com")
	expectCode(t, leave(ada), problem.LastAdmin)
	expectCode(t, leave(eve), problem.OrgNotFound) // she was never a member
	noError(t, leave(bob))
	expectCode(t, leave(bob), problem.OrgNotFound)
	addMember(t, tb, o, ada, "carol@example.com", org.Admin)
	noError(t, leave(ada)) // Carol is left as an admin
}

func TestAMemberSeesWhoAddedThem(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	bob := addMember(t, tb, o, ada, "bob@example.com", org.Viewer)
	addedBy := map[id.User]*store.Adder{
		ada: nil, // she created the org
		bob: {UserID: ada, Name: "ada", Email: "ada@example.com"},
	}
	for u, want := range addedBy {
		orgs, _, err := tb.OrgsOf(ctx, u, store.Page{})
		if err != nil || len(orgs) != 1 || !reflect.DeepEqual(orgs[0].AddedBy, want) {
			t.Errorf("%s: %+v, %v; want %+v", u, orgs, err, want)
		}
	}
}

func TestAViewerCannotPromoteThemselves(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	bob := addMember(t, tb, o, ada, "bob@example.com", org.Viewer)
	expectCode(t, errorOf(tb.ChangeRole(ctx, admin(bob), o, bob, org.Admin)), problem.InsufficientRole)
}

func TestAnInviteFindsAUserOnlyAfterASignIn(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	expectCode(t, errorOf(tb.AddMember(ctx, admin(ada), o, "bob@example.com", org.Member, store.Once[id.User]{})), problem.UserNotFound)
	tb.NewUser(t, "bob@example.com")
	noError(t, errorOf(tb.AddMember(ctx, admin(ada), o, "bob@example.com", org.Member, store.Once[id.User]{})))
	expectCode(t, errorOf(tb.AddMember(ctx, admin(ada), o, "bob@example.com", org.Member, store.Once[id.User]{})), problem.MemberExists)
	expectCode(t, errorOf(tb.AddMember(ctx, admin(ada), o, "ada@example.com", org.Member, store.Once[id.User]{})), problem.MemberExists)
}

func TestARenameIsAudited(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	noError(t, errorOf(tb.ChangeOrg(ctx, admin(ada), o, named("Acme 2"))))
	noError(t, errorOf(tb.ChangeOrg(ctx, admin(ada), o, named("Acme 2")))) // the same name: no entry
	entries, _, err := tb.AuditLog(ctx, admin(ada), o, store.AuditFilter{}, store.Page{Limit: 50})
	// The log has two entries, newest first: the rename, and the creation of the org.
	if err != nil || len(entries) != 2 || entries[0].Action != "org.updated" || string(entries[0].Changes) != `{"name":{"from":"Acme","to":"Acme 2"}}` {
		t.Fatalf("AuditLog = %+v, %v", entries, err)
	}
}

// TestMakeGenerateChangesNothing compares the table of infra/docs/design.md with the access patterns of the code.
// "make generate" runs it to write the table.
func TestMakeGenerateChangesNothing(t *testing.T) {
	table := "| Item | PK | SK | Serves |\n|---|---|---|---|\n"
	for _, p := range store.AccessPatterns() {
		table += fmt.Sprintf("| %s | `%s` | `%s` | %s |\n", p.Item, p.PK, p.SK, p.Serves)
	}
	servicetest.Generated(t, "../../infra/docs/design.md", func(text string) (string, error) {
		return servicetest.Insert(text, "access patterns", table)
	})
}

// TestOnlyPackageTableWritesExpressions reads the string literals in the store's files. A literal with a word of
// DynamoDB's expressions, or an import of the SDK, belongs in pkg/table.
func TestOnlyPackageTableWritesExpressions(t *testing.T) {
	language := regexp.MustCompile(`attribute_(not_)?exists|if_not_exists|begins_with|\b(SET|REMOVE|ADD|BETWEEN) |size\(| AND `)
	files, err := filepath.Glob("[^.]*.go")
	if err != nil || len(files) < 20 { // the store has many more files
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && (language.MatchString(text.Value) || strings.Contains(text.Value, "aws-sdk-go")) {
				t.Errorf("%s: %s", file, text.Value)
			}
			return true
		})
	}
}

func TestAccessNeedsTheKeyTheAppAndTheOrg(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	if access, err := c.AccessOf(ctx, c.org, c.app, k); err != nil || access.Key.ID != k || access.App.ID != c.app || access.Org.ID != c.org {
		t.Errorf("%+v, %v", access, err)
	}
	expectCode(t, errorOf(c.AccessOf(ctx, c.org, c.app, id.NoKey)), problem.KeyNotFound)
	expectCode(t, errorOf(c.AccessOf(ctx, c.org, id.NoApp, k)), problem.KeyNotFound)
	expectCode(t, errorOf(c.AccessOf(ctx, c.NewOrg(t, c.ada), c.app, k)), problem.KeyNotFound)
}

// TestAnUnchangedAppNameIsNotWritten: an update without a name, or with the same name, only reads.
func TestAnUnchangedAppNameIsNotWritten(t *testing.T) {
	c := connect(t)
	was, err := c.UpdateApp(ctx, admin(c.ada), c.org, c.app, store.AppChange{})
	noError(t, err)
	c.forgetCalls()
	for _, name := range []*string{nil, &was.Name} { // one BatchGetItem each
		if is, err := c.UpdateApp(ctx, admin(c.ada), c.org, c.app, store.AppChange{Name: name}); is != was || err != nil {
			t.Errorf("%+v, %v, want %+v", is, err, was)
		}
	}
	if calls := fmt.Sprint(c.Faults.Calls()); calls != "[BatchGetItem BatchGetItem]" {
		t.Errorf("an unchanged name is written: %s", calls)
	}
}

func TestEndpointsArePagedNewestFirst(t *testing.T) {
	c := connect(t)
	var want, got []id.Endpoint
	for range 3 {
		want = append([]id.Endpoint{c.endpoint(t).ID}, want...)
		c.advanceClock(time.Second)
	}
	p := store.Page{Limit: 1}
	for more := true; more; more = p.After != "" {
		found, next, err := c.Endpoints(ctx, c.app, p)
		if err != nil || len(found) != 1 {
			t.Fatalf("after %q: %v, %v", p.After, found, err)
		}
		got, p.After = append(got, found[0].ID), next
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// named returns the change of an org's name.
func named(name string) store.OrgChange { return store.OrgChange{Name: &name} }

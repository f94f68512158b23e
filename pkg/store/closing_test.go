package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// TestEveryKeyOfADeletedOrgIsRefused deletes an org that has the most keys and members allowed. Each request crashes
// before its second transaction, and the same admin repeats it. So each request commits one transaction.
func TestEveryKeyOfADeletedOrgIsRefused(t *testing.T) {
	c, keys := fullOrg(t)
	authorizers := c.warmAuthorizers(t, 4, keys)
	expectCode(t, c.crashDeletion(0), problem.Unavailable)
	if n := countNotRevoked(authorizers, keys, 4, len(keys)); n != int64(len(keys)) {
		t.Fatalf("%d keys are refused before anything is done", len(keys)-int(n))
	}
	crashes := 1
	for ; c.crashDeletion(1) != nil; crashes++ {
		if crashes == 100 {
			t.Fatal("the deletion does not end")
		}
		noError(t, errorOf(c.Org(ctx, admin(c.ada), c.org))) // she is still an admin, and can repeat the request
	}
	// One transaction closes the org. Six revoke 250 keys, and twelve remove 499 members, 45 in each. One removes
	// the caller.
	if crashes != 20 {
		t.Errorf("%d crashes, want one before each of 20 transactions", crashes)
	}
	c.forgetCalls()
	if n := countNotRevoked(authorizers, keys, 16, 1000); n != 0 {
		t.Errorf("%d of 1,000 requests were accepted", n)
	}
	calls := c.Faults.Calls()
	// A process notes the first refusal of a key. Each of the 4 processes checks 125 keys.
	notes := len(slices.DeleteFunc(calls, func(call string) bool { return call == "GetItem" }))
	if len(calls)-notes != 1000 || notes != 500 {
		t.Errorf("%d calls of 1,000 checks; %d of them note a refusal", len(calls), notes)
	}
	if n := c.memberRows(t); n != 0 {
		t.Errorf("%d rows of memberships are left", n)
	}
	expectCode(t, c.DeleteOrg(ctx, admin(c.ada), c.org), problem.OrgNotFound)
	orgs, _, err := c.OrgsOf(ctx, c.ada, store.Page{})
	if err != nil || len(orgs) != 0 {
		t.Errorf("the orgs of the admin who deleted it: %v, %v", orgs, err)
	}
}

// TestADeletionFitsIntoItsRequest deletes an org that has the most keys and members allowed, in one request. API
// Gateway waits 29 seconds. The test bounds the number of calls, because the time on a test's machine proves nothing.
func TestADeletionFitsIntoItsRequest(t *testing.T) {
	c, _ := fullOrg(t)
	c.forgetCalls()
	begun := time.Now()
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
	calls := c.Faults.Calls()
	t.Logf("%d calls in %s", len(calls), time.Since(begun))
	if len(calls) != 23 { // one read, a page of keys, a page of members, and twenty transactions
		t.Errorf("%d calls: %v", len(calls), calls)
	}
	const orgCreated, keysCreated, keysRotated = 1, 200, 50
	const orgDeleted = 1 // but no entries for the keys and members
	if n := len(c.rowsOf(t, "AUD#")); n != orgCreated+keysCreated+keysRotated+orgDeleted {
		t.Errorf("%d audit entries", n)
	}
}

// TestAnOrgOfSeveralPagesIsDeletedCompletely deletes an org with more keys, members and apps than are read at once. One of
// its keys expired a second ago, so an authorizer whose clock is slow still accepts it: it must be revoked too.
func TestAnOrgOfSeveralPagesIsDeletedCompletely(t *testing.T) {
	c := connect(t)
	c.SetClosingPage(2)
	c.addMembers(t, 6)
	apps := []id.App{c.app}
	for range 4 {
		made, err := c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "x"}, store.Once[store.App]{})
		noError(t, err)
		apps = append(apps, made.Made.ID)
		// Two more keys: one in its grace, and its successor.
		rotate(t, c.Table, c.org, c.ada, makeKey(t, c.Table, c.org, c.ada, 0).ID, time.Hour, "")
	}
	makeKey(t, c.Table, c.org, c.ada, time.Minute)
	for _, app := range apps {
		c.app = app
		c.endpoint(t)
	}
	c.advanceClock(time.Minute + time.Second)
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
	for _, r := range c.rowsOf(t, "KEYS#") {
		if strings.HasPrefix(text(r, "SK"), "KEY#") && text(r, "revokedAt") == "" {
			t.Errorf("%s is not revoked", text(r, "SK"))
		}
	}
	if n := c.memberRows(t); n != 0 {
		t.Errorf("%d rows of memberships are left", n)
	}
	for range 2 { // the second sweep begins when all requests in flight have ended, and deletes the apps
		c.sweepOrg(t)
		c.advanceClock(2 * time.Minute)
	}
	for _, r := range c.rowsOf(t, "HOOKS#") {
		if text(r, "deletedAt") == "" {
			t.Errorf("%s is not deleted", text(r, "SK"))
		}
	}
	if left := c.apps(t); len(left) != 0 || c.dueOrg(t) {
		t.Errorf("the apps %v are left, or the org is due", left)
	}
}

// TestADeletionOfManyDeadKeysContinues: an org has more dead keys than one call has the time to read. Each call continues after the
// last key that the call before has read, so the newest key is revoked too.
func TestADeletionOfManyDeadKeysContinues(t *testing.T) {
	c := connect(t)
	first := makeKey(t, c.Table, c.org, c.ada, 0).ID
	var dead []map[string]string
	for n := range 95 {
		dead = append(dead, map[string]string{"PK": "KEYS#" + string(c.org), "SK": fmt.Sprintf("KEY#%s_%06d", first, n), "revokedAt": "1"})
	}
	write(t, c.Table, dead)
	c.advanceClock(time.Second)
	last := makeKey(t, c.Table, c.org, c.ada, 0).ID
	c.SetClosingPage(10)
	c.SetClosingWithin(0)
	c.forgetCalls()
	calls := 1
	for ; ; calls++ {
		err := c.DeleteOrg(ctx, admin(c.ada), c.org)
		if err == nil || calls == 20 {
			break
		}
		expectCode(t, err, problem.Unavailable)
	}
	queries := len(slices.DeleteFunc(c.Faults.Calls(), func(call string) bool { return call != "Query" }))
	if !slices.Equal(c.revoked(t, first, last), []bool{true, true}) || calls != 10 || queries != 10+1 { // 97 rows of keys, and the members
		t.Errorf("revoked: %v after %d calls with %d queries", c.revoked(t, first, last), calls, queries)
	}
}

// TestTwoDeletionsOfManyKeysBothEnd: two admins delete an org at once. Each call has the time for only one page.
func TestTwoDeletionsOfManyKeysBothEnd(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	var keys []id.Key
	for range 12 {
		keys = append(keys, makeKey(t, c.Table, c.org, c.ada, 0).ID)
	}
	c.SetClosingPage(3)
	c.SetClosingWithin(0)
	for _, err := range atOnce(2, func(i int) error {
		for range 30 {
			if err := c.DeleteOrg(ctx, admin([]id.User{c.ada, eve}[i]), c.org); !problem.Is(err, problem.Unavailable) {
				return err
			}
		}
		return fmt.Errorf("the deletion does not end")
	}) {
		if err != nil && !problem.Is(err, problem.OrgNotFound) { // the other admin was faster
			t.Error(err)
		}
	}
	if slices.Contains(c.revoked(t, keys...), false) {
		t.Errorf("revoked: %v", c.revoked(t, keys...))
	}
}

// TestADeletionContinuesWhenAKeyIsRevokedMeanwhile: another admin revokes one of two keys after the deletion has
// read both, and right before the transaction that revokes both.
func TestADeletionContinuesWhenAKeyIsRevokedMeanwhile(t *testing.T) {
	s := populate(t)
	s.letPass("TransactWriteItems") // the transaction that closes the org
	s.Faults.Before("TransactWriteItems", func() { noError(t, s.RevokeKey(ctx, admin(s.eve), s.org, s.key.ID)) })
	noError(t, s.DeleteOrg(ctx, admin(s.ada), s.org))
	if row(t, s.Table, s.org, s.old.ID).RevokedAt == 0 || s.Faults.Pending() {
		t.Error("the other key is not revoked")
	}
}

// sweepOrg does the work of the sweep for a deleted org, and reports whether the request that deleted it was cut short.
func (c *connected) sweepOrg(t *testing.T) (cutShort bool) {
	t.Helper()
	for more := true; more; {
		var err error
		more, cutShort, err = c.EndOrg(ctx, c.org)
		noError(t, err)
	}
	return cutShort
}

// dueOrg reports whether the org is due for the sweep within a day. (The org's use is deleted after 90 days.)
func (c *connected) dueOrg(t *testing.T) bool {
	t.Helper()
	return slices.ContainsFunc(c.rowsOf(t, "ORG#"+string(c.org)), func(r dbRow) bool {
		at, _ := strconv.ParseInt(text(r, "dueAt"), 10, 64)
		return has("due")(r) && at < c.Now().Add(dayLong).UnixMilli()
	})
}

// TestAnOrgWithoutMembersIsKeptUntilItsKeysEnd: the deletion was cut short, so keys may still be good although the members are gone.
func TestAnOrgWithoutMembersIsKeptUntilItsKeysEnd(t *testing.T) {
	s := populate(t)
	late := s.endpoint(t)
	s.cutDeletion(t)
	for _, r := range s.rowsOf(t, "ORG#"+string(s.org)) {
		if strings.HasPrefix(text(r, "SK"), "MEM#") {
			_, err := s.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Name, Key: map[string]types.AttributeValue{"PK": r["PK"], "SK": r["SK"]}})
			noError(t, err)
		}
	}
	s.advanceClock(time.Hour)
	if !s.sweepOrg(t) || !s.dueOrg(t) {
		t.Error("the deletion is not reported as cut short")
	}
	noError(t, errorOf(s.Endpoint(ctx, s.app, late.ID)))
}

// TestAppsStayTwoMinutesAfterTheKeysEnd: the apps of a deleted org stay for two minutes after the end of its keys,
// because an earlier request of a key may still create an endpoint. Here the deletion is cut short, and repeated
// hours later. The two minutes begin with the end of the keys, not with the deletion.
func TestAppsStayTwoMinutesAfterTheKeysEnd(t *testing.T) {
	s := populate(t)
	s.cutDeletion(t)
	s.advanceClock(time.Hour)
	if !s.sweepOrg(t) {
		t.Error("an org with members is not reported as cut short")
	}
	s.advanceClock(time.Hour)
	noError(t, s.DeleteOrg(ctx, admin(s.ada), s.org))
	s.sweepOrg(t) // finds no members: the two minutes begin
	s.advanceClock(2*time.Minute - time.Millisecond)
	late := s.endpoint(t) // by a request that began before the deletion
	s.sweepOrg(t)
	// The sweep deletes an endpoint at once, but an app only after the two minutes.
	if len(s.apps(t)) == 0 || !s.dueOrg(t) {
		t.Error("the apps are deleted before requests in flight have ended")
	}
	expectCode(t, errorOf(s.Endpoint(ctx, s.app, late.ID)), problem.EndpointNotFound)
	s.advanceClock(time.Millisecond)
	s.sweepOrg(t)
	if left := s.apps(t); len(left) != 0 || s.dueOrg(t) {
		t.Errorf("two minutes after the end of the keys: %v", left)
	}
}

// TestChangesDuringADeletionAreRefusedOrDeleted makes every change, by another admin, right before transaction n of
// a deletion, counted from 0. Before transaction 0, which closes the org, all changes succeed, and the deletion
// ends the new keys and members too. Later, all changes are refused. With n = 4 the test shows that the deletion
// has only four transactions.
func TestChangesDuringADeletionAreRefusedOrDeleted(t *testing.T) {
	const transactions = 4 // to close the org, revoke the keys, remove the other members, and remove the caller
	for n := range transactions + 1 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			s := populate(t)
			for range n {
				s.letPass("TransactWriteItems")
			}
			done := map[string]error{}
			s.Faults.Before("TransactWriteItems", func() {
				for _, c := range changes() {
					// The deletion needs Ada as an admin, and the later changes need Eve.
					takesAdminAway := strings.Contains(c.name, "removal") || strings.Contains(c.name, "leaving") || c.name == "a demotion"
					if !takesAdminAway {
						done[c.name] = c.do(s)
					}
				}
			})
			noError(t, s.DeleteOrg(ctx, admin(s.ada), s.org))
			if n == transactions {
				if !s.Faults.Pending() {
					t.Fatal("a deletion has more transactions: the test does not see them")
				}
				return
			}
			want := problem.OrgNotFound
			if n == 0 {
				want = "" // the org is not closed yet
			}
			for name, err := range done {
				if want == "" && err != nil || want != "" && !problem.Is(err, want) {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, r := range s.rowsOf(t, "KEYS#") {
				if strings.HasPrefix(text(r, "SK"), "KEY#") && text(r, "revokedAt") == "" {
					t.Errorf("%s is not revoked", text(r, "SK"))
				}
			}
			if n := s.memberRows(t); n != 0 {
				t.Errorf("%d rows of memberships are left", n)
			}
		})
	}
}

// TestAKeyMadeWhileItsOrgIsDeletedIsRefused runs eight creates of a key and two deletions, one by each admin,
// at the same time. Each key is either not made, or made and revoked.
func TestAKeyMadeWhileItsOrgIsDeletedIsRefused(t *testing.T) {
	s := populate(t)
	const creators = 8
	tried := make([]store.MintedKey, creators)
	errs := atOnce(creators+2, func(n int) error {
		switch n {
		case creators:
			return persistent(func() error { return s.DeleteOrg(ctx, admin(s.ada), s.org) })
		case creators + 1:
			return persistent(func() error { return s.DeleteOrg(ctx, admin(s.eve), s.org) })
		}
		return persistent(func() error {
			return errorOf(s.CreateKey(ctx, admin(s.ada), s.org, wantedKey(0), recording(&tried[n])))
		})
	})
	for n, err := range errs {
		if err != nil && !problem.Is(err, problem.OrgNotFound) {
			t.Errorf("%d: %v", n, err)
		}
	}
	if errs[creators] != nil && errs[creators+1] != nil {
		t.Error("no admin deleted the org")
	}
	for n, k := range tried {
		found, exists, err := s.APIKey(ctx, s.org, k.ID)
		answeredAsMade, active := errs[n] == nil, exists && found.RevokedAt == 0
		if err != nil || exists != answeredAsMade || active {
			t.Errorf("key %d: %v, %+v, %v", n, errs[n], found, err)
		}
	}
}

func TestOnlyAnAdminContinuesADeletion(t *testing.T) {
	s := populate(t)
	s.NewUser(t, "stranger@example.com")
	expectCode(t, s.DeleteOrg(ctx, admin(s.bob), s.org), problem.InsufficientRole)
	s.cutDeletion(t) // by Ada
	expectCode(t, s.DeleteOrg(ctx, admin(s.bob), s.org), problem.InsufficientRole)
	expectCode(t, s.DeleteOrg(ctx, admin(id.NoUser), s.org), problem.OrgNotFound)
	noError(t, s.DeleteOrg(ctx, admin(s.eve), s.org))
	expectCode(t, s.DeleteOrg(ctx, admin(s.ada), s.org), problem.OrgNotFound)
}

// TestADeletionRevokesKeysExpiredWithinAMinute: the deletion of an org leaves a key that expired more than
// a minute ago. A key that expired a second ago is revoked, because an authorizer whose clock is slow still
// accepts it.
func TestADeletionRevokesKeysExpiredWithinAMinute(t *testing.T) {
	c := connect(t)
	early, late := makeKey(t, c.Table, c.org, c.ada, time.Hour), makeKey(t, c.Table, c.org, c.ada, time.Hour+2*time.Minute)
	c.advanceClock(time.Hour + 2*time.Minute + time.Second)
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
	if row(t, c.Table, c.org, early.ID).RevokedAt != 0 || row(t, c.Table, c.org, late.ID).RevokedAt == 0 {
		t.Error("want only the key revoked that expired within the last minute")
	}
}

// TestADeletedOrgMakesRoomForItsCreator: a deleted org counts for one more day in its creator's limit of created
// orgs. It never counts for another admin, who deletes it here.
func TestADeletedOrgMakesRoomForItsCreator(t *testing.T) {
	c := connect(t)
	c.Limits.OrgsCreated = 1 // Ada has created one
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	create := func(u id.User) error { return errorOf(c.CreateOrg(ctx, u, "x", store.Once[store.Org]{})) }
	expectCode(t, create(c.ada), problem.LimitReached)
	c.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1) // closing is tried twice, and gives one place back
	noError(t, c.DeleteOrg(ctx, admin(eve), c.org))
	c.advanceClock(dayLong - time.Millisecond)
	expectCode(t, create(c.ada), problem.LimitReached)
	c.advanceClock(time.Millisecond)
	noError(t, create(c.ada))
	expectCode(t, create(c.ada), problem.LimitReached)
	noError(t, create(eve))
	expectCode(t, create(eve), problem.LimitReached)
}

func TestTwoDeletedOrgsMakeRoomForTwo(t *testing.T) {
	c := connect(t)
	c.Limits.OrgsCreated = 3 // one is there already, and stays
	create := func() (store.Created[store.Org], error) { return c.CreateOrg(ctx, c.ada, "x", store.Once[store.Org]{}) }
	for range 2 {
		made, err := create()
		noError(t, err)
		noError(t, c.DeleteOrg(ctx, admin(c.ada), made.Made.ID))
	}
	c.advanceClock(dayLong)
	for range 2 {
		noError(t, errorOf(create()))
	}
	expectCode(t, errorOf(create()), problem.LimitReached)
}

// TestADeletionNeedsNoMapOfDeletedOrgs: the row of the org's creator may lack the map of deleted orgs
// (ended), if an older release wrote the row or a backup was restored.
func TestADeletionNeedsNoMapOfDeletedOrgs(t *testing.T) {
	c := connect(t)
	_, err := c.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &c.Name, UpdateExpression: aws.String("REMOVE ended"), Key: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "USER#" + string(c.ada)}, "SK": &types.AttributeValueMemberS{Value: "META"},
	}})
	noError(t, err)
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
}

// TestADeletedOrgMakesRoomForOnlyOne: two creates find the place of a deleted org at the same time. The first
// try of a create is refused by the limit. Its second transaction removes the deleted org from the count. The other
// create runs before this transaction.
func TestADeletedOrgMakesRoomForOnlyOne(t *testing.T) {
	c := connect(t)
	c.Limits.OrgsCreated = 1
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
	c.advanceClock(dayLong)
	create := func() error { return errorOf(c.CreateOrg(ctx, c.ada, "x", store.Once[store.Org]{})) }
	c.letPass("TransactWriteItems") // the first try
	c.Faults.Before("TransactWriteItems", func() { noError(t, create()) })
	expectCode(t, create(), problem.LimitReached)
	if orgs, _, err := c.OrgsOf(ctx, c.ada, store.Page{}); err != nil || len(orgs) != 1 || c.Faults.Pending() {
		t.Errorf("%d orgs of at most 1, %v", len(orgs), err)
	}
}

// TestADeletionIsAuditedOnce makes the first transaction, which closes the org, fail in every way after which it is
// repeated.
func TestADeletionIsAuditedOnce(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.Forgotten, storetest.Late, storetest.LostAfter, storetest.Conflict} {
		s := populate(t)
		s.Faults.Plan("TransactWriteItems", fault, 1)
		noError(t, s.DeleteOrg(ctx, admin(s.ada), s.org))
		var found []string
		for _, r := range s.rowsOf(t, "AUD#"+string(s.org)) {
			if text(r, "action") == "org.deleted" {
				found = append(found, fmt.Sprint(text(r, "actor"), text(r, "target"), text(r, "changes")))
			}
		}
		want := string(s.ada) + string(s.org) + `{"name":{"from":"Acme","to":null}}`
		if len(found) != 1 || found[0] != want || s.Faults.Pending() {
			t.Errorf("%s: %v", fault, found)
		}
	}
}

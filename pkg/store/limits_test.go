package store_test

import (
	"fmt"
	"slices"
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

func TestDefaultLimitsMatchTheContract(t *testing.T) {
	want := store.Limits{
		ActiveKeys: 200, Apps: 20, Members: 500, OrgsCreated: 20, Endpoints: 20,
		Held: 1000, Queued: 5000, Redelivered: 500, Budget: store.Budget{PerSecond: 100, Burst: 2000}, OrgBudget: store.Budget{PerSecond: 300, Burst: 6000},
	}
	if got := store.New(nil, "t").Limits; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// bounded is something that the store counts, up to a limit.
type bounded struct {
	name    string
	limit   func(*store.Limits) *int
	add     func(c *connected, n int) error // creates one more; each n makes a different one
	pk      func(c *connected) string       // of the row META with the counter
	counter string                          // the attribute of this row
	// rows returns the partition key of the counted rows, and the prefix of their sort keys.
	rows func(c *connected) (pk, prefix string)
}

// bounds returns the things that have a counter: members, apps and orgs. connect has made one of each.
func bounds() []bounded {
	orgPK := func(c *connected) string { return "ORG#" + string(c.org) }
	userPK := func(c *connected) string { return "USER#" + string(c.ada) }
	return []bounded{
		{
			name: "members", limit: func(l *store.Limits) *int { return &l.Members },
			add: func(c *connected, n int) error {
				return errorOf(c.AddMember(ctx, admin(c.ada), c.org, memberEmail(n), org.AllRoles()[n%3], store.Once[id.User]{}))
			},
			pk: orgPK, counter: "members",
			rows: func(c *connected) (string, string) { return orgPK(c), "MEM#" },
		},
		{
			name: "apps", limit: func(l *store.Limits) *int { return &l.Apps },
			add: func(c *connected, _ int) error {
				return errorOf(c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "x"}, store.Once[store.App]{}))
			},
			pk: orgPK, counter: "apps",
			rows: func(c *connected) (string, string) { return orgPK(c), "APP#" },
		},
		{
			name: "orgs", limit: func(l *store.Limits) *int { return &l.OrgsCreated },
			add: func(c *connected, _ int) error {
				return errorOf(c.CreateOrg(ctx, c.ada, "x", store.Once[store.Org]{}))
			},
			pk: userPK, counter: "orgsCreated",
			rows: func(c *connected) (string, string) { return userPK(c), "ORG#" },
		},
	}
}

// memberEmail returns the email of user n, who is to become a member.
func memberEmail(n int) string { return fmt.Sprintf("member%d@example.com", n) }

// count returns the counter of a limit, and the number of rows that it counts.
func (b bounded) count(t *testing.T, c *connected) (counter string, rows int) {
	t.Helper()
	pk, prefix := b.rows(c)
	for _, r := range c.Rows(t) {
		if text(r, "PK") == b.pk(c) && text(r, "SK") == "META" {
			counter = text(r, b.counter)
		}
		if text(r, "PK") == pk && strings.HasPrefix(text(r, "SK"), prefix) {
			rows++
		}
	}
	return counter, rows
}

// checkCount fails unless the counter of a limit and its rows are n.
func (b bounded) checkCount(t *testing.T, c *connected, n int) {
	t.Helper()
	if counter, rows := b.count(t, c); counter != fmt.Sprint(n) || rows != n {
		t.Errorf("the counter is %s and there are %d rows, want %d", counter, rows, n)
	}
}

// TestLimitsAreExactOneByOne fills each limit one by one: the last place can be used, and the next
// create is refused.
func TestLimitsAreExactOneByOne(t *testing.T) {
	const full = 4
	for _, b := range bounds() {
		t.Run(b.name, func(t *testing.T) {
			c := connect(t) // has one member, one app and one org
			for n := range full {
				c.NewUser(t, memberEmail(n))
			}
			*b.limit(&c.Limits) = full
			for n := 1; n < full; n++ {
				noError(t, b.add(c, n))
				b.checkCount(t, c, n+1)
			}
			expectCode(t, b.add(c, 0), problem.LimitReached)
			b.checkCount(t, c, full)
			*b.limit(&c.Limits) = full + 1 // only the limit was the reason of the refusal
			noError(t, b.add(c, 0))
			b.checkCount(t, c, full+1)
		})
	}
}

// TestLimitsAreExactAtOnce makes sixteen calls at once for three places. Eight of their transactions get a
// conflict, which happens on AWS but never in DynamoDB Local.
func TestLimitsAreExactAtOnce(t *testing.T) {
	const calls, places, full = 16, 3, 4 // one of the four places is used already
	for _, b := range bounds() {
		t.Run(b.name, func(t *testing.T) {
			c := connect(t)
			for n := range calls {
				c.NewUser(t, memberEmail(n))
			}
			*b.limit(&c.Limits) = full
			c.Faults.Plan("TransactWriteItems", storetest.Conflict, calls/2)
			got := tally(atOnce(calls, func(n int) error { return persistent(func() error { return b.add(c, n) }) }))
			if got[""] != places || got[problem.LimitReached] != calls-places {
				t.Errorf("%v, want %d made and the rest refused", got, places)
			}
			b.checkCount(t, c, full)
		})
	}
}

// TestAKeyExtendedMeanwhileStaysInTheMap: when the limit refuses a create, the create removes expired keys from the map
// of active keys, and tries again. Here the only key has expired when the map is read, but lives for another hour when
// the map is written. So the key stays in the map, and the create is refused.
func TestAKeyExtendedMeanwhileStaysInTheMap(t *testing.T) {
	c := connect(t)
	c.Limits.ActiveKeys = 1
	k := makeKey(t, c.Table, c.org, c.ada, time.Hour).ID
	c.advanceClock(time.Hour)
	rows := c.rowsOf(t, "KEYS#")
	activeKeys := rows[slices.IndexFunc(rows, func(r dbRow) bool { return text(r, "SK") == "META" })]
	activeKeys["live"] = &types.AttributeValueMemberM{Value: dbRow{string(k): number(c.Now().Add(time.Hour).UnixMilli())}}
	create := func() error {
		return errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{}))
	}
	c.letPass("TransactWriteItems") // the first try
	c.Faults.Before("TransactWriteItems", func() { c.putRow(t, activeKeys) })
	expectCode(t, create(), problem.LimitReached)
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no expired key was to be removed")
	}
	c.advanceClock(time.Hour)
	noError(t, create())
}

// TestARemovedMemberMakesRoomForOne: in a full org, a removal makes room for one member. A second removal of
// the same member makes no more room.
func TestARemovedMemberMakesRoomForOne(t *testing.T) {
	c := connect(t)
	c.Limits.Members = 3
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Admin)
	addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Viewer)
	c.NewUser(t, "kim@example.com")
	join := func() error {
		return errorOf(c.AddMember(ctx, admin(c.ada), c.org, "kim@example.com", org.Admin, store.Once[id.User]{}))
	}
	expectCode(t, join(), problem.LimitReached)
	noError(t, c.RemoveMember(ctx, admin(c.ada), c.org, bob))
	expectCode(t, c.RemoveMember(ctx, admin(c.ada), c.org, bob), problem.MemberNotFound)
	noError(t, join())
	expectCode(t, join(), problem.MemberExists) // the org is full again, but this refusal comes before limit_reached
	bounds()[0].checkCount(t, c, 3)             // members
	for _, r := range c.rowsOf(t, "ORG#"+string(c.org)) {
		if text(r, "SK") == "META" && text(r, "admins") != "2" {
			t.Errorf("%s admins, want 2", text(r, "admins"))
		}
	}
	// The limit of another org is separate.
	other := c.NewOrg(t, c.ada)
	noError(t, errorOf(c.AddMember(ctx, admin(c.ada), other, "kim@example.com", org.Viewer, store.Once[id.User]{})))
}

// variables are the variables of a function's environment.
type variables map[string]int

func (v variables) Int(name string, _, _ int) int { return v[name] }

func TestAnOrgsBudgetIsThreeTimesAnApps(t *testing.T) {
	var l store.Limits
	l.ReadBudgets(variables{"DELIVERIES_PER_SECOND": 7, "DELIVERIES_BURST": 50})
	if l.Budget != (store.Budget{PerSecond: 7, Burst: 50}) || l.OrgBudget != (store.Budget{PerSecond: 21, Burst: 150}) {
		t.Errorf("%+v", l)
	}
	if l := store.DefaultLimits(); l.OrgBudget != (store.Budget{PerSecond: 3 * l.Budget.PerSecond, Burst: 3 * l.Budget.Burst}) {
		t.Errorf("by default %+v", l)
	}
}

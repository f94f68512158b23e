package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// underOrg is a list under an org, with the calls by which it is read.
type underOrg struct {
	name   string
	atOnce []string // the calls of the first round trip
	then   []string // the calls after it, in turn
	read   func(store.Actor) error
}

// lists returns the lists under the org.
func (c *connected) lists(p store.Page) []underOrg {
	role, query, batch := "GetItem", "Query", "BatchGetItem"
	audit := p
	if audit.Limit == 0 {
		audit.Limit = 2 // the audit log is never read whole
	}
	return []underOrg{
		{"keys", []string{role, query, query}, nil, func(a store.Actor) error {
			_, _, err := c.Keys(ctx, a, c.org, "", p)
			return err
		}},
		{"members", []string{role, query}, []string{batch}, func(a store.Actor) error {
			_, _, err := c.Members(ctx, a, c.org, p)
			return err
		}},
		{"apps", []string{role, query}, nil, func(a store.Actor) error {
			_, _, err := c.Apps(ctx, a, c.org, p)
			return err
		}},
		{"audit", []string{role, query}, nil, func(a store.Actor) error {
			_, _, err := c.AuditLog(ctx, a, c.org, audit)
			return err
		}},
	}
}

// TestAListIsReadBesideItsCallersRole answers none of the calls of the first round trip before all
// of them have begun, and counts the calls after it.
func TestAListIsReadBesideItsCallersRole(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0)
	c.NoteUse(ctx, row(t, c.Table, c.org, k.ID), c.Now().UnixMilli())
	for _, p := range []store.Page{{}, {Limit: 1}} {
		for _, l := range c.lists(p) {
			c.Faults.Calls()
			c.Faults.Together(l.atOnce...)
			wants(t, l.read(admin(c.ada)), "")
			calls, first := c.Faults.Calls(), len(l.atOnce)
			if slices.Sort(calls[:min(first, len(calls))]); c.Faults.Pending() || !slices.Equal(calls, slices.Concat(l.atOnce, l.then)) {
				t.Fatalf("%s, page %+v: the calls %v, want %v at once, then %v", l.name, p, calls, l.atOnce, l.then)
			}
		}
	}
}

// unanswered is an HTTP transport that answers no query. It fails the test when a query is not given
// up by its caller.
type unanswered struct {
	t    *testing.T
	next http.RoundTripper
}

func (u unanswered) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.Query" {
		return u.next.RoundTrip(r)
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(5 * time.Second):
		u.t.Error("a refusal waits for the query beside it")
		return nil, errors.New("not answered")
	}
}

// TestARefusalWaitsForNoQuery: a caller who may not read a list does not wait for a query that has
// no answer yet.
func TestARefusalWaitsForNoQuery(t *testing.T) {
	c := connect(t)
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Viewer)
	eve := c.NewUser(t, "eve@example.com")
	c.Faults.Next = unanswered{t, c.Faults.Next}
	for _, l := range c.lists(store.Page{}) {
		for user, code := range map[id.User]problem.Code{bob: problem.InsufficientRole, eve: problem.OrgNotFound} {
			c.Faults.Together(l.atOnce...)
			if err := l.read(admin(user)); !problem.Is(err, code) || c.Faults.Pending() {
				t.Fatalf("%s: %v, want %s; pending: %v", l.name, err, code, c.Faults.Pending())
			}
		}
	}
}

// TestTheErrorOfTheRoleComesFirst: the faults of the two reads have different codes.
func TestTheErrorOfTheRoleComesFirst(t *testing.T) {
	c := connect(t)
	eve := c.NewUser(t, "eve@example.com")
	for _, l := range c.lists(store.Page{}) {
		for _, want := range []struct {
			caller      id.User
			role, query storetest.Fault // "": none
			code        problem.Code
		}{
			{c.ada, storetest.Malformed, storetest.LostBefore, problem.Internal},
			{c.ada, storetest.LostBefore, storetest.Malformed, problem.Unavailable},
			{c.ada, "", storetest.LostBefore, problem.Unavailable},
			{c.ada, "", storetest.Malformed, problem.Internal},
			{eve, "", storetest.Malformed, problem.OrgNotFound},
		} {
			c.Faults.Plan("GetItem", want.role, -1)
			c.Faults.Plan("Query", want.query, -1)
			c.Faults.Together(l.atOnce...)
			if got := problem.From(l.read(admin(want.caller))).Code; got != want.code {
				t.Errorf("%s, the role's read %q and the query %q: %s, want %s", l.name, want.role, want.query, got, want.code)
			}
			c.Faults.Heal()
		}
	}
}

// TestNoLastUseIsMissed has rows of last uses whose keys are gone, more of them between two keys
// than a page has.
func TestNoLastUseIsMissed(t *testing.T) {
	c := connect(t)
	used := map[id.Key]int64{}
	for range 3 {
		for range 4 {
			c.pass(time.Second)
			c.NoteUse(ctx, store.APIKey{ID: id.Source{}.NewKey(c.Now()), OrgID: c.org}, 1)
		}
		c.pass(time.Second)
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		used[k.ID] = c.Now().UnixMilli()
		c.NoteUse(ctx, row(t, c.Table, c.org, k.ID), used[k.ID])
		c.pass(time.Second)
		used[makeKey(t, c.Table, c.org, c.ada, 0).ID] = 0
	}
	for limit := range 8 {
		p, left := store.Page{Limit: limit}, len(used)
		for more := true; more; more = p.After != "" {
			keys, next, err := c.Keys(ctx, admin(c.ada), c.org, "", p)
			wants(t, err, "")
			for _, k := range keys {
				if k.LastUsedAt != used[k.ID] {
					t.Errorf("pages of %d: the key was used at %d, want %d", limit, k.LastUsedAt, used[k.ID])
				}
			}
			p.After, left = next, left-len(keys)
		}
		if left != 0 {
			t.Errorf("pages of %d: %d keys are missing", limit, left)
		}
	}
	c.Faults.Calls()
	_, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{Limit: 3})
	wants(t, err, "")
	if calls := fmt.Sprint(c.Faults.Calls()[3:]); calls != "[BatchGetItem]" {
		t.Errorf("after the first round trip: %s, want one batch", calls)
	}
}

const retried = "6f2d9b0c-1111-4222-8333-444455556666"

// TestNoTryThatMayStillArriveIsRefusedForGood: in one call, the SDK's first try hangs, and its second meets the limit.
// The answer is unavailable, not limit_reached, because the first try arrives later, when there is room again. The
// second call shows that the limit was met.
func TestNoTryThatMayStillArriveIsRefusedForGood(t *testing.T) {
	c := connect(t)
	c.Limits.ActiveKeys = 1
	first := makeKey(t, c.Table, c.org, c.ada, 0).ID
	c.Faults.Plan("TransactWriteItems", storetest.Delayed, 1)
	var made store.MintedKey
	wants(t, second(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), seeing(&made))), problem.Unavailable)
	wants(t, second(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{})), problem.LimitReached)
	wants(t, c.RevokeKey(ctx, admin(c.ada), c.org, first), "")
	wants(t, c.Faults.Arrive(), "")
	if _, ok, err := c.APIKey(ctx, c.org, made.ID); !ok || err != nil {
		t.Errorf("the test proves nothing: the first try was not carried out, %v", err)
	}
}

// TestARevocationIsFinalWhateverIsOnItsWay: Ada's first try hangs, Eve revokes the key, and Ada's second try succeeds.
func TestARevocationIsFinalWhateverIsOnItsWay(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	c.Faults.Before("TransactWriteItems", func() { wants(t, c.RevokeKey(ctx, admin(eve), c.org, k), "") })
	c.Faults.Plan("TransactWriteItems", "", 1) // Eve's
	c.Faults.Plan("TransactWriteItems", storetest.Delayed, 1)
	wants(t, c.RevokeKey(ctx, admin(c.ada), c.org, k), "")
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no try was delayed")
	}
}

// TestARepeatedRotationAnswersTheSameWhileTheFirstIsCommitted reads the record from before the first rotation's commit,
// and the key's row from after it.
func TestARepeatedRotationAnswersTheSameWhileTheFirstIsCommitted(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	rotate := func(answer string) (string, error) {
		r := store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}
		made, err := c.RotateKey(ctx, admin(c.ada), c.org, r, once[store.MintedKey](c, retried, "{}", answer))
		return keptOf(made), err
	}
	if kept, err := rotate("first"); err != nil || kept != "" {
		t.Fatalf("%q, %v", kept, err)
	}
	c.Faults.Plan("BatchGetItem", storetest.Torn, 1)
	if kept, err := rotate("second"); err != nil || kept != "first" || c.Faults.Pending() {
		t.Errorf("%q, %v", kept, err)
	}
	c.Faults.Plan("BatchGetItem", storetest.Torn, 1)
	r := store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}
	wants(t, second(c.RotateKey(ctx, admin(c.ada), c.org, r, once[store.MintedKey](c, retried, `{"graceSeconds":1}`, ""))), problem.IdempotencyKeyReused)
	wants(t, second(c.RotateKey(ctx, admin(c.ada), c.org, r, store.Once[store.MintedKey]{})), problem.KeyNotActive)
}

// TestARepeatedInviteAnswersTheSameThoughTheAddressMoved: the record is read from before the first invite's commit.
func TestARepeatedInviteAnswersTheSameThoughTheAddressMoved(t *testing.T) {
	c := connect(t)
	kim := c.NewUser(t, "kim@example.com")
	invite := func() error {
		return second(c.AddMember(ctx, admin(c.ada), c.org, "kim@example.com", org.Member, once[id.User](c, retried, "{}", "{}")))
	}
	wants(t, invite(), "")
	known, ok, err := c.Identity(ctx, "https://issuer.test", "sub-kim@example.com")
	if err != nil || !ok || known.UserID != kim {
		t.Fatal(known, err)
	}
	wants(t, second(c.SignIn(ctx, known, true, store.Seen{
		Issuer: "https://issuer.test", Subject: "sub-kim@example.com", Email: "new@example.com", Folded: "new@example.com", Verified: true,
		IssuedAt: time.Now().Add(time.Minute).Unix(),
	})), "")
	c.Faults.Plan("BatchGetItem", storetest.Torn, 1)
	wants(t, invite(), "")
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no batch was torn")
	}
}

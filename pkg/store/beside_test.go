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

// orgList is a list of an org, with the database calls that read it.
type orgList struct {
	name   string
	atOnce []string // the first calls, made at the same time
	then   []string // the calls after these, one after the other
	read   func(store.Actor) error
}

// lists returns the lists of the org. Each reads page p.
func (c *connected) lists(p store.Page) []orgList {
	role, query, batch := "GetItem", "Query", "BatchGetItem" // role reads the caller's membership
	audit := p
	if audit.Limit == 0 {
		audit.Limit = 2 // the audit log is never read whole
	}
	return []orgList{
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
			_, _, err := c.AuditLog(ctx, a, c.org, store.AuditFilter{}, audit)
			return err
		}},
	}
}

// TestAListAndTheCallersRoleAreReadAtOnce: a list is read at the same time as the caller's role, not after it. The test
// holds back the answers until all these calls have begun.
func TestAListAndTheCallersRoleAreReadAtOnce(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0)
	c.NoteUse(ctx, row(t, c.Table, c.org, k.ID), c.Now().UnixMilli())
	for _, p := range []store.Page{{}, {Limit: 1}} {
		for _, l := range c.lists(p) {
			c.forgetCalls()
			c.Faults.Together(l.atOnce...)
			noError(t, l.read(admin(c.ada)))
			calls := c.Faults.Calls()
			slices.Sort(calls[:min(len(l.atOnce), len(calls))]) // calls at the same time come in any order
			if c.Faults.Pending() || !slices.Equal(calls, slices.Concat(l.atOnce, l.then)) {
				t.Fatalf("%s, page %+v: the calls %v, want %v at once, then %v", l.name, p, calls, l.atOnce, l.then)
			}
		}
	}
}

// unanswered is an HTTP transport that answers no query. It fails the test when the caller of a query does not end
// the query within five seconds.
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
		u.t.Error("a refusal waits for the query of the list")
		return nil, errors.New("not answered")
	}
}

// TestARefusalDoesNotWaitForTheQuery: a caller who may not read a list gets the refusal although the query of the list
// has no answer.
func TestARefusalDoesNotWaitForTheQuery(t *testing.T) {
	c := connect(t)
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Viewer)
	eve := c.NewUser(t, "eve@example.com") // not a member
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

// TestTheErrorOfTheRoleComesFirst: when the reads of the role and of the list both fail, the caller gets the error of
// the role. The fault Malformed becomes internal, and LostBefore becomes unavailable.
func TestTheErrorOfTheRoleComesFirst(t *testing.T) {
	c := connect(t)
	eve := c.NewUser(t, "eve@example.com") // not a member
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

// TestNoLastUseIsMissed: to list n keys, the store queries n last uses. Some of these rows are of keys that no
// longer exist. So the query ends before the last key of the page, and a batch must read the rest.
func TestNoLastUseIsMissed(t *testing.T) {
	c := connect(t)
	used := map[id.Key]int64{}
	for range 3 {
		for range 4 {
			c.advanceClock(time.Second)
			gone := store.APIKey{ID: id.Source{}.NewKey(c.Now()), OrgID: c.org}
			c.NoteUse(ctx, gone, c.Now().UnixMilli())
		}
		c.advanceClock(time.Second)
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		used[k.ID] = c.Now().UnixMilli()
		c.NoteUse(ctx, row(t, c.Table, c.org, k.ID), used[k.ID])
		noError(t, c.leak(t, k.ID, "", false))
		c.advanceClock(time.Second)
		used[makeKey(t, c.Table, c.org, c.ada, 0).ID] = 0 // never used
	}
	for limit := range 8 { // 0: the whole list
		p, left := store.Page{Limit: limit}, len(used)
		for more := true; more; more = p.After != "" {
			keys, next, err := c.Keys(ctx, admin(c.ada), c.org, "", p)
			noError(t, err)
			for _, k := range keys {
				if k.LastUsedAt != used[k.ID] || k.LeakedAt != used[k.ID] {
					t.Errorf("pages of %d: the key was used at %d, want %d", limit, k.LastUsedAt, used[k.ID])
				}
			}
			p.After, left = next, left-len(keys)
		}
		if left != 0 {
			t.Errorf("pages of %d: %d keys are missing", limit, left)
		}
	}
	c.forgetCalls()
	_, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{Limit: 3})
	noError(t, err)
	// The first three calls are made at the same time.
	if calls := fmt.Sprint(c.Faults.Calls()[3:]); calls != "[BatchGetItem]" {
		t.Errorf("after the first round trip: %s, want one batch", calls)
	}
}

// TestACreateThatMayStillArriveIsUnavailable: in one create, the SDK's first try hangs, and its second try is refused by
// the limit. The first try arrives later, when there is room again, and makes the key. So the answer must be unavailable:
// limit_reached would mean that no key was made. The second create shows that the limit was reached.
func TestACreateThatMayStillArriveIsUnavailable(t *testing.T) {
	c := connect(t)
	c.Limits.ActiveKeys = 1
	first := makeKey(t, c.Table, c.org, c.ada, 0).ID
	c.Faults.Plan("TransactWriteItems", storetest.Delayed, 1)
	var made store.MintedKey
	expectCode(t, errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), recording(&made))), problem.Unavailable)
	expectCode(t, errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{})), problem.LimitReached)
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, first))
	noError(t, c.Faults.Arrive())
	if _, ok, err := c.APIKey(ctx, c.org, made.ID); !ok || err != nil { // recording has filled made, although the create failed
		t.Errorf("the test proves nothing: the first try was not carried out, %v", err)
	}
}

// TestARevocationSucceedsAlthoughATryMayStillArrive: before Ada's transaction, Eve revokes the key. Then Ada's first try
// hangs, and may still arrive. Her second try finds the key revoked. Her call succeeds, because nothing undoes
// a revocation.
func TestARevocationSucceedsAlthoughATryMayStillArrive(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	c.Faults.Before("TransactWriteItems", func() { noError(t, c.RevokeKey(ctx, admin(eve), c.org, k)) })
	c.Faults.Plan("TransactWriteItems", "", 1)                // Eve's transaction has no fault
	c.Faults.Plan("TransactWriteItems", storetest.Delayed, 1) // Ada's first try
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k))
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no try was delayed")
	}
}

// TestNoDelayedTryUndoesARevocation: the only try of a change or a rotation that is not lost hangs, and arrives after the revocation.
// Without a revocation it has its effect.
func TestNoDelayedTryUndoesARevocation(t *testing.T) {
	change := func(c *connected, k id.Key) error {
		return errorOf(c.UpdateKey(ctx, admin(c.ada), c.org, k, store.KeyChange{Scopes: ptr("a")}))
	}
	rotate := func(c *connected, k id.Key) error {
		return errorOf(c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{}))
	}
	for name, late := range map[string]func(*connected, id.Key) error{"change": change, "rotation": rotate} {
		for _, isRevoked := range []bool{false, true} {
			c := connect(t)
			k := makeKey(t, c.Table, c.org, c.ada, 0).ID
			c.Faults.Plan("TransactWriteItems", storetest.Delayed, 1)
			c.Faults.Plan("TransactWriteItems", storetest.LostBefore, -1)
			expectCode(t, late(c, k), problem.Unavailable)
			c.Faults.Heal()
			if isRevoked {
				noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k))
			}
			noError(t, c.Faults.Arrive())
			keys, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{Limit: 10})
			noError(t, err)
			good := slices.DeleteFunc(keys, func(found store.APIKey) bool { return found.RevokedAt != 0 })
			hasEffect := len(good) == 2 || len(good) == 1 && good[0].Scopes == "a"
			if isRevoked && len(good) != 0 || !isRevoked && !hasEffect {
				t.Errorf("%s, revoked %t: %+v", name, isRevoked, good)
			}
		}
	}
}

// TestARepeatedRotationGetsTheFirstAnswer: a request is sent again while its first rotation is committed. A batch can
// read rows of different moments. Here the fault Torn makes the second rotation read no idempotency record, as before the
// commit, and a rotated key, as after it.
func TestARepeatedRotationGetsTheFirstAnswer(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	rotate := func(answer string) (string, error) {
		r := store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}
		made, err := c.RotateKey(ctx, admin(c.ada), c.org, r, once[store.MintedKey](c, idempotencyKey, "{}", answer))
		return replayedAnswer(made), err
	}
	if kept, err := rotate("first"); err != nil || kept != "" {
		t.Fatalf("%q, %v", kept, err)
	}
	c.Faults.Plan("BatchGetItem", storetest.Torn, 1)
	if kept, err := rotate("second"); err != nil || kept != "first" || c.Faults.Pending() {
		t.Errorf("%q, %v", kept, err)
	}
	// Another body with the same Idempotency-Key, and a request without one, are still refused.
	c.Faults.Plan("BatchGetItem", storetest.Torn, 1)
	r := store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}
	expectCode(t, errorOf(c.RotateKey(ctx, admin(c.ada), c.org, r, once[store.MintedKey](c, idempotencyKey, `{"graceSeconds":1}`, ""))), problem.IdempotencyKeyReused)
	expectCode(t, errorOf(c.RotateKey(ctx, admin(c.ada), c.org, r, store.Once[store.MintedKey]{})), problem.KeyNotActive)
}

// TestARepeatedInviteGetsTheFirstAnswer: Kim changes her address after the invite, so no user has the invited address.
// The same request still gets the first answer, also when it does not read the idempotency record at first (Torn).
func TestARepeatedInviteGetsTheFirstAnswer(t *testing.T) {
	c := connect(t)
	kim := c.NewUser(t, "kim@example.com")
	invite := func() error {
		return errorOf(c.AddMember(ctx, admin(c.ada), c.org, "kim@example.com", org.Member, once[id.User](c, idempotencyKey, "{}", "{}")))
	}
	noError(t, invite())
	known, ok, err := c.Identity(ctx, "https://issuer.test", "sub-kim@example.com")
	if err != nil || !ok || known.UserID != kim {
		t.Fatal(known, err)
	}
	noError(t, errorOf(c.SignIn(ctx, known, true, store.Seen{
		Issuer: "https://issuer.test", Subject: "sub-kim@example.com", Email: "new@example.com", Folded: "new@example.com", Verified: true,
		IssuedAt: time.Now().Add(time.Minute).Unix(),
	})))
	c.Faults.Plan("BatchGetItem", storetest.Torn, 1)
	noError(t, invite())
	if c.Faults.Pending() {
		t.Error("the test proves nothing: no batch was torn")
	}
}

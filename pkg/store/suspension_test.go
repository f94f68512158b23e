package store_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// refusalOf returns the refusal of a key by its text, "" for a good key.
func (c *connected) refusalOf(t *testing.T, text string) problem.Code {
	t.Helper()
	a := authn.New(c.Store, nil)
	a.Now = c.Now
	a.TakeImported(nil, 0)
	_, err := a.Key(ctx, []string{"Bearer " + text})
	refused, _ := problem.Refusal(err)
	switch {
	case err == nil:
		return ""
	case refused == nil:
		t.Fatal(err)
	}
	return refused.Code
}

// TestASuspendedOrgsKeysAreGoodAgainAfterAResume: during a suspension all good keys are refused. After it, each key is as it would be
// without the suspension.
func TestASuspendedOrgsKeysAreGoodAgainAfterAResume(t *testing.T) {
	c := connect(t)
	texts := map[string]string{"imported": "sk_a"}
	ids := map[string]id.Key{}
	for name, life := range map[string]time.Duration{"active": 0, "revoked": 0, "revoked meanwhile": 0, "expired": time.Hour, "expiring": 2 * time.Hour, "rotated": 0, "orphan": 0} {
		k := makeKey(t, c.Table, c.org, c.ada, life)
		texts[name], ids[name] = k.Minted.Key.Reveal(), k.ID
	}
	keys, _ := c.importKeys(t, c.org, foreign("sk_a"), store.Once[store.MintedKey]{})
	ids["imported"] = keys[0]
	heir := map[string]id.Key{}
	for _, name := range []string{"rotated", "orphan"} { // in their grace for three hours
		made, err := c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: ids[name], Grace: 3 * time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{})
		noError(t, err)
		heir[name] = made.Made.ID
		texts[name+"'s heir"] = made.Made.Minted.Key.Reveal()
	}
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, heir["orphan"])) // the map of active keys has neither the orphan nor its heir
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, ids["revoked"]))
	c.advanceClock(time.Hour)

	checkAll := func(want map[string]problem.Code) {
		t.Helper()
		for name, text := range texts {
			if got := c.refusalOf(t, text); got != want[name] {
				t.Errorf("%s: %q, want %q", name, got, want[name])
			}
		}
	}
	ended := map[string]problem.Code{"revoked": problem.KeyRevoked, "orphan's heir": problem.KeyRevoked, "expired": problem.KeyExpired}
	checkAll(ended)
	noError(t, c.suspend(true))
	during := maps.Clone(ended)
	for name := range texts {
		if during[name] == "" {
			during[name] = problem.KeySuspended
		}
	}
	checkAll(during)
	if got := c.refusalOf(t, texts["active"][:len(texts["active"])-1]+"0"); got != problem.InvalidCredentials {
		t.Errorf("another text of the key: %q", got) // only a caller with the secret learns of the suspension
	}
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, ids["revoked meanwhile"]))
	c.advanceClock(time.Hour)
	ended["revoked meanwhile"], ended["expiring"] = problem.KeyRevoked, problem.KeyExpired
	noError(t, c.suspend(true)) // writes nothing
	noError(t, c.suspend(false))
	checkAll(ended)
	for action, want := range map[string]int{"org.suspended": 1, "org.resumed": 1, "org.updated": 0} {
		if n := len(c.audited(t, action)); n != want {
			t.Errorf("%d entries %s", n, action)
		}
	}
	listed, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{})
	if noError(t, err); len(listed) != 10 {
		t.Errorf("%d keys", len(listed))
	}
}

// audited returns the audit entries of an action.
func (c *connected) audited(t *testing.T, action string) (found []store.AuditEntry) {
	t.Helper()
	all, _, err := c.AuditLog(ctx, admin(c.ada), c.org, store.AuditFilter{}, store.Page{Limit: 100})
	noError(t, err)
	return slices.DeleteFunc(all, func(e store.AuditEntry) bool { return e.Action != action })
}

// verdicts counts the keys of the org by their verdicts.
func (c *connected) verdicts(t *testing.T) map[apikey.Verdict]int {
	t.Helper()
	keys, _, err := c.Keys(ctx, billing, c.org, "", store.Page{})
	noError(t, err)
	found := map[apikey.Verdict]int{}
	for _, k := range keys {
		found[k.Verdict(c.Now().UnixMilli())]++
	}
	return found
}

// TestASuspensionLeavesNoKeyBehind: another request comes before each transaction of a suspension, and of a resume. Afterwards each key
// has the state of its org.
func TestASuspensionLeavesNoKeyBehind(t *testing.T) {
	const good, held, revoked = apikey.Good, apikey.Suspended, apikey.Revoked
	type verdicts = map[apikey.Verdict]int
	for name, meanwhile := range map[string]struct {
		do      func(*connected, id.Key) error // the other request
		before  verdicts                       // after the suspension, if the request came before its first transaction
		refused problem.Code                   // the request's error in a suspended org
		within  verdicts                       // after the suspension, if the request came before a later transaction
		resumed map[bool]verdicts              // after a resume, by whether the request came after its first transaction; nil: not tried
	}{
		"a creation": {func(c *connected, _ id.Key) error {
			return errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{}))
		}, verdicts{held: 4}, problem.OrgSuspended, verdicts{held: 3}, nil},
		"a rotation": {func(c *connected, k id.Key) error {
			return errorOf(c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{}))
		}, verdicts{held: 4}, problem.OrgSuspended, verdicts{held: 3}, nil},
		"an import": {func(c *connected, _ id.Key) error {
			return errorOf(c.ImportKeys(ctx, billing, c.org, foreign("sk_a"), store.Once[store.MintedKey]{}))
		}, verdicts{held: 4}, problem.OrgSuspended, verdicts{held: 3}, nil},
		"a revocation": {func(c *connected, k id.Key) error { return c.RevokeKey(ctx, admin(c.ada), c.org, k) },
			verdicts{held: 2, revoked: 1}, "", verdicts{held: 2, revoked: 1}, map[bool]verdicts{false: {good: 2, revoked: 1}, true: {good: 2, revoked: 1}}},
		"a change": {func(c *connected, k id.Key) error { return c.update(k, store.KeyChange{Name: ptr("b")}) },
			verdicts{held: 3}, "", verdicts{held: 3}, map[bool]verdicts{false: {good: 3}, true: {good: 3}}},
		"an allowance": {func(c *connected, _ id.Key) error { return c.setAllowance("5/d") },
			verdicts{held: 3}, "", verdicts{held: 3}, map[bool]verdicts{false: {good: 3}, true: {good: 3}}},
		"a plan": {func(c *connected, _ id.Key) error { return c.changeOrg(store.OrgChange{Plan: ptr("pro")}) },
			verdicts{held: 3}, "", verdicts{held: 3}, map[bool]verdicts{false: {good: 3}, true: {good: 3}}},
		"a suspension": {func(c *connected, _ id.Key) error { return c.suspend(true) },
			verdicts{held: 3}, "", verdicts{held: 3}, map[bool]verdicts{false: {good: 3}, true: {held: 3}}},
		"a resume": {func(c *connected, _ id.Key) error { return c.suspend(false) },
			verdicts{held: 3}, "", verdicts{good: 3}, map[bool]verdicts{false: {good: 3}, true: {good: 3}}},
		"a deletion": {func(c *connected, _ id.Key) error { return c.DeleteOrg(ctx, admin(c.ada), c.org) },
			nil, "", nil, map[bool]verdicts{false: nil, true: nil}},
	} {
		for passes := range 3 { // transactions before the request. There are four: of the org, of two keys, of one key, of the position
			for _, suspends := range []bool{true, false} {
				if !suspends && meanwhile.resumed == nil {
					continue
				}
				c := connect(t)
				c.SetClosingPage(2)
				var k id.Key
				for range 3 {
					k = makeKey(t, c.Table, c.org, c.ada, 0).ID
				}
				if !suspends {
					noError(t, c.suspend(true))
				}
				want := meanwhile.before
				var refused problem.Code
				switch {
				case !suspends:
					want = meanwhile.resumed[passes > 0]
				case passes > 0:
					want, refused = meanwhile.within, meanwhile.refused
				}
				for range passes {
					c.letPass("TransactWriteItems")
				}
				var inner error
				c.Faults.Before("TransactWriteItems", func() { inner = meanwhile.do(c, k) })
				err := c.suspend(suspends)
				if c.Faults.Pending() {
					t.Fatalf("%s: the test proves nothing: the request was not made", name)
				}
				expectCode(t, inner, refused)
				what := fmt.Sprintf("%s, after %d transactions, suspended: %v", name, passes, suspends)
				if want == nil { // the org is gone
					if err != nil && !problem.Is(err, problem.OrgNotFound) {
						t.Errorf("%s: %v", what, err)
					}
					for _, r := range c.rowsOf(t, "KEYS#"+string(c.org)) {
						if text(r, "SK") != "META" && r["revokedAt"] == nil {
							t.Errorf("%s: %s is left", what, text(r, "SK"))
						}
					}
					continue
				}
				noError(t, err)
				if got := c.verdicts(t); !maps.Equal(got, want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
				versions := map[string]bool{} // all rows must have the same version
				for _, r := range c.rowsOf(t, "KEYS#"+string(c.org)) {
					if r["revokedAt"] == nil {
						versions[text(r, "allowanceNo")] = true
					}
				}
				if len(versions) != 1 || c.orgRow(t)["spreadAfter"] != nil {
					t.Errorf("%s: the versions %v, %v", what, versions, c.orgRow(t))
				}
			}
		}
	}
}

// orgRow returns the row of the org.
func (c *connected) orgRow(t *testing.T) dbRow {
	t.Helper()
	rows := c.rowsOf(t, "ORG#"+string(c.org))
	return rows[slices.IndexFunc(rows, func(r dbRow) bool { return text(r, "SK") == "META" })]
}

// TestACutShortSuspensionContinuesWhenRepeated: a suspension and a resume fail before their transaction number cut, counted from 0.
func TestACutShortSuspensionContinuesWhenRepeated(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.LostAfter} {
		for cut := range 6 { // there are five transactions: of the org, two keys, two keys, one key, and the position. So 5 cuts nothing
			c := connect(t)
			c.SetClosingPage(2)
			for range 5 {
				makeKey(t, c.Table, c.org, c.ada, 0)
			}
			for _, suspended := range []bool{true, false} {
				for range cut {
					c.letPass("TransactWriteItems")
				}
				c.Faults.Before("TransactWriteItems", func() { c.Faults.Plan("TransactWriteItems", fault, -1) })
				err := c.suspend(suspended)
				if isCut := cut < 5; isCut != (err != nil) {
					t.Fatalf("%d: %v", cut, err)
				}
				c.Faults.Heal()
				noError(t, c.suspend(suspended))
				want := map[bool]apikey.Verdict{true: apikey.Suspended, false: apikey.Good}[suspended]
				if got := c.verdicts(t); got[want] != 5 || len(got) != 1 {
					t.Errorf("%d, %v: %v", cut, suspended, got)
				}
			}
			if s, r := len(c.audited(t, "org.suspended")), len(c.audited(t, "org.resumed")); s != 1 || r != 1 {
				t.Errorf("%d: %d and %d audit entries", cut, s, r)
			}
		}
	}
}

// TestASuspensionReadsNoKeyTwice: an org has more dead keys than one call has the time to read. Each call reads one part of the keys. A
// second change of the org in the middle begins at the first key again, and also copies the suspension.
func TestASuspensionReadsNoKeyTwice(t *testing.T) {
	c := connect(t)
	dead := 5_000
	if n, err := strconv.Atoi(os.Getenv("DEAD_KEYS")); err == nil {
		dead = n
	}
	part := dead / 100
	first := makeKey(t, c.Table, c.org, c.ada, 0)
	rows := make([]map[string]string, dead)
	for n := range rows { // their ids are after the first key and before the last one
		rows[n] = map[string]string{"PK": "KEYS#" + string(c.org), "SK": fmt.Sprintf("KEY#%s_%06d", first.ID, n), "revokedAt": "1"}
	}
	var writers sync.WaitGroup
	for chunk := range slices.Chunk(rows, dead/4) {
		writers.Go(func() { write(t, c.Table, chunk) })
	}
	writers.Wait()
	c.advanceClock(time.Hour)
	last := makeKey(t, c.Table, c.org, c.ada, 0)
	c.SetClosingPage(part)
	c.SetSpreadWithin(0) // a part in each call

	// repeat repeats a change until it is done, or up to most calls (0: no bound). It returns the number of parts that were read.
	repeat := func(do func() error, most int) (parts int) {
		t.Helper()
		c.forgetCalls()
		for calls := 1; ; calls++ {
			err := do()
			for _, call := range c.Faults.Calls() {
				if call == "Query" {
					parts++
				}
			}
			if err == nil || calls == most {
				return parts
			}
			expectCode(t, err, problem.Unavailable)
		}
	}
	checkBoth := func(want problem.Code) { // the first and the last key
		t.Helper()
		for _, k := range []store.MintedKey{first, last} {
			if got := c.refusalOf(t, k.Minted.Key.Reveal()); got != want {
				t.Errorf("%s: %q, want %q", k.ID, got, want)
			}
		}
	}
	suspend, resume := func() error { return c.suspend(true) }, func() error { return c.suspend(false) }
	whole := dead/part + 1
	if n := repeat(suspend, 0); n != whole {
		t.Errorf("a suspension reads %d parts", n)
	}
	checkBoth(problem.KeySuspended)
	if n := repeat(resume, 0); n != whole {
		t.Errorf("a resume reads %d parts", n)
	}
	checkBoth("")

	repeat(suspend, 50)
	if got := c.refusalOf(t, last.Minted.Key.Reveal()); got != "" {
		t.Errorf("in the middle: %q", got)
	}
	if n := repeat(resume, 0); n != whole {
		t.Errorf("a resume in the middle reads %d parts", n)
	}
	checkBoth("")

	repeat(suspend, 50)
	if n := repeat(func() error { return c.setAllowance("9/d") }, 0); n != whole {
		t.Errorf("an allowance in the middle reads %d parts", n)
	}
	checkBoth(problem.KeySuspended)
	if n := repeat(suspend, 0); n != 0 {
		t.Errorf("a suspension that is done reads %d parts", n)
	}
}

// TestAKeyWithoutAHashMatchesNoText: such a key is also listed, and can be revoked. A later release may write such rows.
func TestAKeyWithoutAHashMatchesNoText(t *testing.T) {
	c := connect(t)
	c.importKeys(t, c.org, []store.NewImport{{Name: "zeros", Prefix: "sk"}}, store.Once[store.MintedKey]{}) // a key whose hash is all zeros
	k := makeKey(t, c.Table, c.org, c.ada, 0)
	r := c.rowsOf(t, "KEYS#"+string(c.org))
	bare := r[slices.IndexFunc(r, func(r dbRow) bool { return text(r, "SK") == "KEY#"+string(k.ID) })]
	delete(bare, "hash")
	c.putRow(t, bare)
	if got := c.refusalOf(t, k.Minted.Key.Reveal()); got != problem.InvalidCredentials {
		t.Errorf("%q", got)
	}
	for _, suspended := range []bool{true, false} {
		noError(t, c.suspend(suspended))
		for _, k := range c.keyList(t) {
			if k.Matches(apikey.Hash{}) || k.Held != (suspended && k.Name == "zeros") {
				t.Errorf("%+v", k)
			}
		}
	}
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k.ID))
	if row(t, c.Table, c.org, k.ID).RevokedAt == 0 {
		t.Error("the key without a hash is not revoked")
	}
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.org))
}

// keyList returns the keys of the org.
func (c *connected) keyList(t *testing.T) []store.APIKey {
	t.Helper()
	keys, _, err := c.Keys(ctx, billing, c.org, "", store.Page{})
	if noError(t, err); len(keys) == 0 {
		t.Fatal("no keys")
	}
	return keys
}

// TestAPositionBelongsToOneVersion: a resume begins right before a suspension writes its position, or that it is done. The resume is cut
// short too, and continues from its own position.
func TestAPositionBelongsToOneVersion(t *testing.T) {
	const keys = 4
	for call := range keys + 1 { // the call of the suspension in which the resume comes. Each call copies to one key, the last to none
		c := connect(t)
		for range keys {
			makeKey(t, c.Table, c.org, c.ada, 0)
		}
		c.SetClosingPage(1)
		c.SetSpreadWithin(0)
		for range call {
			expectCode(t, c.suspend(true), problem.Unavailable)
		}
		if call == 0 {
			c.letPass("TransactWriteItems") // the transaction of the org
		}
		if call < keys {
			c.letPass("TransactWriteItems") // the transaction of the key
		}
		var resumed error
		c.Faults.Before("TransactWriteItems", func() { resumed = c.suspend(false) })
		_ = c.suspend(true) // it may continue the resume
		if c.Faults.Pending() {
			t.Fatalf("%d: the test proves nothing: the resume was not made", call)
		}
		for range 2 * keys {
			if resumed == nil {
				break
			}
			expectCode(t, resumed, problem.Unavailable)
			resumed = c.suspend(false)
		}
		noError(t, resumed)
		if got := c.verdicts(t); got[apikey.Good] != keys {
			t.Errorf("call %d: %v", call, got)
		}
	}
}

// TestEachKeyHasThePlanOfItsOrg: a new key has the plan at once. After a change of the plan, all keys have the new plan.
func TestEachKeyHasThePlanOfItsOrg(t *testing.T) {
	c := connect(t)
	for _, first := range []store.NewOrg{{Plan: "pro"}, {Plan: "pro", Allowance: "9/d"}} {
		c.org = c.orgOfService(t, first)
		made, err := c.CreateKey(ctx, billing, c.org, wantedKey(0), store.Once[store.MintedKey]{})
		noError(t, err)
		old := made.Made.ID
		if got := row(t, c.Table, c.org, old).OrgState; got != (store.OrgState{Allowance: first.Allowance, Plan: "pro", Version: 1}) {
			t.Errorf("%+v", got)
		}
		noError(t, c.changeOrg(store.OrgChange{Plan: ptr("max-2"), Allowance: ptr("7/d")}))
		heir, err := c.RotateKey(ctx, billing, c.org, store.Rotation{Old: old, Grace: time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{})
		noError(t, err)
		for _, k := range []id.Key{old, heir.Made.ID} {
			if got := row(t, c.Table, c.org, k).OrgState; got != (store.OrgState{Allowance: "7/d", Plan: "max-2", Version: 2}) {
				t.Errorf("%+v", got)
			}
		}
		noError(t, c.changeOrg(store.OrgChange{Plan: ptr("")}))
		if got := row(t, c.Table, c.org, heir.Made.ID).OrgState; got != (store.OrgState{Allowance: "7/d", Version: 3}) {
			t.Errorf("%+v", got)
		}
	}
}

// TestARetryGetsItsAnswerInASuspendedOrg: these use cases do not read the kept answer before their transaction.
func TestARetryGetsItsAnswerInASuspendedOrg(t *testing.T) {
	c := connect(t)
	endpoint := c.wanted("")
	endpoint.By = store.Changer{Actor: billing}
	create := func() (bool, error) {
		made, err := c.CreateEndpoint(ctx, endpoint, once[store.Endpoint](c, idempotencyKey, "{}", `{"id":1}`))
		return made.Replayed, err
	}
	target := c.endpoint(t).ID
	test := func() (bool, error) {
		made, err := c.Deliveries().Test(ctx, c.org, c.app, target, "", nil, endpoint.By, once[id.Event](c, idempotencyKey[1:]+"a", "{}", `{"id":2}`))
		return made.Replayed, err
	}
	for _, do := range []func() (bool, error){create, test} {
		noError(t, c.suspend(false))
		if replayed, err := do(); replayed || err != nil {
			t.Fatalf("%v, %v", replayed, err)
		}
		noError(t, c.suspend(true))
		if replayed, err := do(); !replayed || err != nil {
			t.Errorf("%v, %v", replayed, err)
		}
	}
}

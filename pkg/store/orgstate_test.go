package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// setAllowance sets the allowance of the org as a service.
func (c *connected) setAllowance(allowance string) error {
	return c.changeOrg(store.OrgChange{Allowance: &allowance})
}

// suspend suspends or resumes the org as a service.
func (c *connected) suspend(suspended bool) error {
	return c.changeOrg(store.OrgChange{Suspended: &suspended})
}

// changeOrg changes the org as a service.
func (c *connected) changeOrg(change store.OrgChange) error {
	return errorOf(c.ChangeOrg(ctx, billing, c.org, change))
}

// allowances returns the allowance on the row of each key of the org.
func (c *connected) allowances(t *testing.T) map[id.Key]string {
	t.Helper()
	found := map[id.Key]string{}
	for _, r := range c.rowsOf(t, "KEYS#"+string(c.org)) {
		if k, isKey := strings.CutPrefix(text(r, "SK"), "KEY#"); isKey {
			found[id.Key(k)] = text(r, "allowance")
		}
	}
	return found
}

func TestAllKeysOfAnOrgSpendItsAllowance(t *testing.T) {
	c := connect(t)
	old, all := makeKey(t, c.Table, c.org, c.ada, 0), c.processes(4)
	c.spend(t, 5, all, old) // spends nothing: there is no allowance yet
	noError(t, c.setAllowance("100/d"))
	made, limited := makeKey(t, c.Table, c.org, c.ada, 0), c.limitedKey(t, "30/d")
	rotated := c.successorOf(t, made.ID, store.KeyChange{})
	passed := c.spend(t, 30, all, limited)
	if passed > 30 || passed < 26 {
		t.Errorf("%d of the key's own limit", passed)
	}
	passed += c.spend(t, 30, all, old, made, store.MintedKey{ID: rotated.ID})
	if passed > 100 || passed < 95 {
		t.Errorf("%d of the allowance", passed)
	}
	row, _, err := c.APIKey(ctx, c.org, old.ID)
	noError(t, err)
	for _, a := range all {
		if l, err := a.Spend(ctx, row); !problem.Is(err, problem.RateLimited) || l.Violated != "org-day" {
			t.Errorf("%+v %v", l, err)
		}
	}
	noError(t, c.setAllowance("110/d"))
	if more := c.spend(t, 30, all, old, made); more > 110-passed || more < 5 {
		t.Errorf("%d more of an allowance that has 10 more", more)
	}
	noError(t, c.setAllowance(""))
	if unlimited := c.spend(t, 30, all, old, made); unlimited != 4*30 {
		t.Errorf("%d let through without an allowance", unlimited)
	}
}

// TestEveryKeyHasTheAllowanceBeforeTheAnswer: when a change of the allowance returns, all keys have it. Before each transaction of
// the change, another request makes or changes a key.
func TestEveryKeyHasTheAllowanceBeforeTheAnswer(t *testing.T) {
	for name, meanwhile := range map[string]func(*connected, id.Key) error{
		"a creation": func(c *connected, _ id.Key) error {
			return errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{}))
		},
		"a rotation": func(c *connected, k id.Key) error {
			return errorOf(c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{}))
		},
		"an import": func(c *connected, _ id.Key) error {
			results, err := c.ImportKeys(ctx, billing, c.org, foreign("sk_a"), store.Once[store.MintedKey]{})
			if err == nil && results[0].Refusal != nil {
				err = results[0].Refusal
			}
			return err
		},
		"a change":       func(c *connected, k id.Key) error { return c.update(k, store.KeyChange{Scopes: ptr("a")}) },
		"a later change": func(c *connected, _ id.Key) error { return c.setAllowance("7/d") },
		"a revocation":   func(c *connected, k id.Key) error { return c.RevokeKey(ctx, admin(c.ada), c.org, k) },
	} {
		for _, first := range []string{"", "5/d"} { // the allowance before
			for passes := range 2 { // transactions of the change before the other request
				c := connect(t)
				k := makeKey(t, c.Table, c.org, c.ada, 0).ID
				noError(t, c.setAllowance(first))
				want := "6/d"
				if name == "a later change" && passes > 0 {
					want = "7/d"
				}
				for range passes {
					c.letPass("TransactWriteItems")
				}
				var inner error
				c.Faults.Before("TransactWriteItems", func() { inner = meanwhile(c, k) })
				noError(t, c.setAllowance("6/d"))
				noError(t, inner)
				if c.Faults.Pending() {
					t.Fatalf("%s: the test proves nothing: the other request was not made", name)
				}
				for key, allowance := range c.allowances(t) {
					if allowance != want && (name != "a revocation" || key != k) {
						t.Errorf("%s, after %d transactions, from %q: %s has %q", name, passes, first, key, allowance)
					}
				}
			}
		}
	}
}

// TestAKeyMadeMeanwhileHasTheNewAllowance: the allowance changes between the reads of a creation or rotation and its transaction.
func TestAKeyMadeMeanwhileHasTheNewAllowance(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	for i, create := range []func() error{
		func() error {
			return errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{}))
		},
		func() error {
			return errorOf(c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Prefix: "lk"}, store.Once[store.MintedKey]{}))
		},
	} {
		want := []string{"1/d", "2/d"}[i]
		err, changed := c.interleave(t, create, func() error { return c.setAllowance(want) })
		noError(t, err)
		noError(t, changed)
		for of, is := range c.allowances(t) {
			if is != want {
				t.Errorf("%s has %q, want %q", of, is, want)
			}
		}
	}
}

// TestACutShortAllowanceChangeContinuesWhenRepeated: the first call changes some keys, and fails. The second call changes the others.
func TestACutShortAllowanceChangeContinuesWhenRepeated(t *testing.T) {
	c := connect(t)
	c.SetClosingPage(2)
	for range 5 {
		makeKey(t, c.Table, c.org, c.ada, 0)
	}
	c.letPass("TransactWriteItems") // of the org
	c.letPass("TransactWriteItems") // of the first page
	c.Faults.Before("TransactWriteItems", func() { c.Faults.Plan("TransactWriteItems", storetest.ServerError, -1) })
	if err := c.setAllowance("9/d"); err == nil {
		t.Error("a change that was cut short returns no error")
	}
	done := 0
	for _, is := range c.allowances(t) {
		if is == "9/d" {
			done++
		}
	}
	if done == 0 || done == 5 {
		t.Fatalf("the test proves nothing: %d of 5 keys are changed", done)
	}
	c.Faults.Heal()
	noError(t, c.setAllowance("9/d"))
	texts := c.allowances(t)
	for of, is := range texts {
		if is != "9/d" {
			t.Errorf("%s has %q", of, is)
		}
	}
	if len(texts) != 5 {
		t.Errorf("%d keys", len(texts))
	}
}

func TestOnlyAdminsAndServicesSeeTheAllowance(t *testing.T) {
	c := connect(t)
	noError(t, c.setAllowance("9/d"))
	bob := store.Actor{User: addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Member), May: []org.Role{org.Member}}
	for who, look := range map[string]struct {
		as   store.Actor
		want string
	}{"an admin": {admin(c.ada), "9/d"}, "a service": {billing, "9/d"}, "a member": {bob, ""}} {
		found, err := c.Org(ctx, look.as, c.org)
		if noError(t, err); found.State.Allowance != look.want {
			t.Errorf("%s sees %q", who, found.State.Allowance)
		}
	}
}

// TestDeadKeysDoNotDelayAnAllowance: DynamoDB filters dead keys out, so the process never decodes them.
func TestDeadKeysDoNotDelayAnAllowance(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, makeKey(t, c.Table, c.org, c.ada, 0).ID))
	var rows []map[string]string
	for n := range 3000 { // rows that do not decode, with smaller ids than the other keys
		rows = append(rows, map[string]string{"PK": "KEYS#" + string(c.org), "SK": fmt.Sprintf("KEY#key_00%04d", n), "revokedAt": "1"})
	}
	write(t, c.Table, rows)
	c.SetClosingPage(500)
	noError(t, c.setAllowance("9/d"))
	if got := row(t, c.Table, c.org, k).OrgState; got != (store.OrgState{Allowance: "9/d", Version: 1}) {
		t.Errorf("%+v", got)
	}
	for of, is := range c.allowances(t) {
		if of != k && is != "" {
			t.Errorf("the dead key %s has %q", of, is)
		}
	}
}

func TestASuspensionIsReadStrongly(t *testing.T) {
	c := connect(t)
	for _, want := range []bool{false, true, false} {
		noError(t, c.suspend(want))
		c.forgetCalls()
		got, err := c.Suspended(ctx, c.org)
		if calls := c.Faults.Calls(); err != nil || got != want || !slices.Equal(calls, []string{"GetItem"}) {
			t.Errorf("%v %v by %v, want %v", got, err, calls, want)
		}
	}
	noError(t, c.suspend(true))
	if got, err := c.Suspended(ctx, id.Source{}.NewOrg()); got || err != nil {
		t.Errorf("an unknown org: %v %v", got, err)
	}
}

package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// revokeOf revokes the keys that a person made, as an admin.
func (c *connected) revokeOf(by id.User) error { return c.RevokeKeysOf(ctx, admin(c.ada), c.org, by) }

// revoked reports for each key whether it is revoked.
func (c *connected) revoked(t *testing.T, keys ...id.Key) (all []bool) {
	t.Helper()
	for _, k := range keys {
		all = append(all, row(t, c.Table, c.org, k).RevokedAt != 0)
	}
	return all
}

// TestOnlyThePersonsKeysAreRevoked: Eve has left the org. Her good keys are revoked: keys that she made, also by a rotation. This also
// works in a suspended org.
func TestOnlyThePersonsKeysAreRevoked(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		c := connect(t)
		eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
		own, plain, expired, dead := makeKey(t, c.Table, c.org, c.ada, 0), makeKey(t, c.Table, c.org, eve, 0), makeKey(t, c.Table, c.org, eve, time.Second), makeKey(t, c.Table, c.org, eve, 0)
		inGrace, adas := makeKey(t, c.Table, c.org, eve, 0), makeKey(t, c.Table, c.org, c.ada, 0)
		byAda := rotate(t, c.Table, c.org, c.ada, inGrace.ID, time.Hour, "")
		byEve := rotate(t, c.Table, c.org, eve, adas.ID, time.Hour, "")
		noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, dead.ID))
		c.advanceClock(5 * time.Minute)
		noError(t, c.RemoveMember(ctx, admin(c.ada), c.org, eve))
		noError(t, c.suspend(suspended))
		noError(t, c.revokeOf(id.NoUser))
		for range 2 {
			noError(t, c.revokeOf(eve))
			got := c.revoked(t, own.ID, plain.ID, expired.ID, dead.ID, inGrace.ID, adas.ID, byAda.ID, byEve.ID)
			if want := []bool{false, true, false, true, true, false, false, true}; !slices.Equal(got, want) {
				t.Errorf("suspended %v: %v, want %v", suspended, got, want)
			}
			if entries, events := len(c.audited(t, "key.revoked")), len(c.events(t, webhook.KeyRevoked)); entries != 4 || events != 4 {
				t.Errorf("%d audit entries, %d events", entries, events)
			}
		}
		noError(t, c.suspend(false))
		if got := c.refusalOf(t, plain.Minted.Key.Reveal()); got != problem.KeyRevoked {
			t.Errorf("%q", got)
		}
	}
}

func TestOnlyAdminsAndServicesRevokeAPersonsKeys(t *testing.T) {
	c := connect(t)
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Member)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	expectCode(t, c.RevokeKeysOf(ctx, admin(bob), c.org, c.ada), problem.InsufficientRole)
	expectCode(t, c.RevokeKeysOf(ctx, admin(c.NewUser(t, "out@example.com")), c.org, c.ada), problem.OrgNotFound)
	if c.revoked(t, k)[0] {
		t.Error("a refused caller revoked the key")
	}
	noError(t, c.RevokeKeysOf(ctx, billing, c.org, c.ada))
	if !c.revoked(t, k)[0] {
		t.Error("the key is not revoked")
	}
}

// TestARevocationOfManyKeysContinues: an org has more dead keys than one call has the time to read. The next call continues, and reads
// no key twice. The revocation of another person's keys does not change this position.
func TestARevocationOfManyKeysContinues(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	first := makeKey(t, c.Table, c.org, eve, 0)
	c.advanceClock(time.Second)
	own := makeKey(t, c.Table, c.org, c.ada, 0)
	c.advanceClock(time.Second)
	var dead []map[string]string
	for n := range 95 {
		dead = append(dead, map[string]string{"PK": "KEYS#" + string(c.org), "SK": fmt.Sprintf("KEY#%s_%06d", own.ID, n), "revokedAt": "1"})
	}
	write(t, c.Table, dead)
	last := makeKey(t, c.Table, c.org, eve, 0)
	c.SetClosingPage(10)
	c.SetSpreadWithin(0)
	// revokeUntil repeats the revocation of a person's keys until it ends, or up to most calls (0: no bound).
	revokeUntil := func(by id.User, most int) (calls int) {
		t.Helper()
		for calls = 1; ; calls++ {
			err := c.revokeOf(by)
			if err == nil || calls == most {
				return calls
			}
			expectCode(t, err, problem.Unavailable)
		}
	}
	if n := revokeUntil(eve, 5); n != 5 || !slices.Equal(c.revoked(t, first.ID, last.ID), []bool{true, false}) {
		t.Errorf("%d calls", n)
	}
	if n := revokeUntil(c.ada, 0); n != 10 || !c.revoked(t, own.ID)[0] { // 98 rows
		t.Errorf("%d calls for another person", n)
	}
	if n := revokeUntil(eve, 0); n != 5 || !c.revoked(t, last.ID)[0] {
		t.Errorf("%d more calls", n)
	}
	if n := revokeUntil(eve, 0); n != 10 { // its position is forgotten
		t.Errorf("%d calls from the start", n)
	}
	if n := len(c.audited(t, "key.revoked")); n != 3 {
		t.Errorf("%d audit entries", n)
	}
}

// TestTwoRevocationsOfAPersonsKeysBothEnd: an admin and a service revoke the keys of one person at once. Each call has the time for only
// one key or one page.
func TestTwoRevocationsOfAPersonsKeysBothEnd(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	var keys []id.Key
	for range 12 {
		keys = append(keys, makeKey(t, c.Table, c.org, eve, 0).ID)
	}
	c.SetClosingPage(3)
	c.SetSpreadWithin(0)
	for _, err := range atOnce(2, func(i int) error {
		as := []store.Actor{admin(c.ada), billing}[i]
		for range 30 {
			if err := c.RevokeKeysOf(ctx, as, c.org, eve); !problem.Is(err, problem.Unavailable) {
				return err
			}
		}
		return fmt.Errorf("the revocation does not end")
	}) {
		noError(t, err)
	}
	if got := c.revoked(t, keys...); slices.Contains(got, false) {
		t.Errorf("%v", got)
	}
	if n := len(c.audited(t, "key.revoked")); n != 12 {
		t.Errorf("%d audit entries of 12 keys", n)
	}
}

// TestACutShortRevocationContinuesWhenRepeated: the revocation of five keys fails before its transaction number cut, counted from 0.
func TestACutShortRevocationContinuesWhenRepeated(t *testing.T) {
	for cut := range 6 { // five keys are five transactions, so with 5 the revocation does not fail
		c := connect(t)
		var keys []id.Key
		for range 5 {
			keys = append(keys, makeKey(t, c.Table, c.org, c.ada, 0).ID)
		}
		c.SetClosingPage(2)
		for range cut {
			c.letPass("TransactWriteItems")
		}
		c.Faults.Before("TransactWriteItems", func() { c.Faults.Plan("TransactWriteItems", storetest.ServerError, -1) })
		if err := c.revokeOf(c.ada); (err == nil) != (cut == 5) {
			t.Fatalf("%d: %v", cut, err)
		}
		c.Faults.Heal()
		noError(t, c.revokeOf(c.ada))
		if got := c.revoked(t, keys...); slices.Contains(got, false) {
			t.Errorf("%d: %v", cut, got)
		}
		if n := len(c.audited(t, "key.revoked")); n != 5 {
			t.Errorf("%d: %d audit entries", cut, n)
		}
	}
}

// TestAKeyThatIsRevokedMeanwhileIsRevokedOnce: another request revokes a key after RevokeKeysOf has read it.
func TestAKeyThatIsRevokedMeanwhileIsRevokedOnce(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0).ID
	err, inner := c.interleave(t, func() error { return c.revokeOf(c.ada) }, func() error { return c.RevokeKey(ctx, admin(c.ada), c.org, k) })
	noError(t, err)
	noError(t, inner)
	if n := len(c.audited(t, "key.revoked")); n != 1 {
		t.Errorf("%d audit entries", n)
	}
}

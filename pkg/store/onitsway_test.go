package store_test

import (
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

const retried = "6f2d9b0c-1111-4222-8333-444455556666"

// TestNoTryThatMayStillArriveIsRefusedForGood: the first try of a create hangs, the second meets the limit, and the
// first arrives when there is room again.
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

// TestARevocationIsFinalWhateverIsOnItsWay: no one takes it back.
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

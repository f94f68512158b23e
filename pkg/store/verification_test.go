package store_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

func jwk(name string) webhook.JWK {
	return webhook.JWK{Kid: name + strings.Repeat("k", 43-len(name)), X: "x-" + name, Y: "y-" + name}
}

func lease(t *testing.T, tb *storetest.Table) store.Lease {
	t.Helper()
	l, err := tb.LeaseSigningKeys(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func signingKeys(t *testing.T, tb *storetest.Table) store.SigningKeys {
	t.Helper()
	keys, err := tb.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestAMadeKeyIsUsedOnce: the next rotation must not publish the active key again.
func TestAMadeKeyIsUsedOnce(t *testing.T) {
	tb := storetest.New(t)
	l := lease(t, tb)
	for _, c := range []struct{ made, kid, arn, left string }{{"arn:other", "a", "arn:a", "arn:other"}, {"arn:b", "b", "arn:b", ""}} {
		wants(t, tb.KeepMadeKey(ctx, l, c.made), "")
		wants(t, tb.ActivateSigningKey(ctx, l, signingKeys(t, tb), jwk(c.kid), c.arn), "")
		if keys := signingKeys(t, tb); keys.Made != c.left {
			t.Errorf("%s was made and %s activated: %q is left", c.made, c.arn, keys.Made)
		}
	}
}

func TestAVerificationKeyGoesThroughItsStatesAndStays(t *testing.T) {
	tb := storetest.New(t)
	now := time.UnixMilli(1_800_000_000_000)
	tb.Now = func() time.Time { return now }
	at := now.UnixMilli()
	wants(t, second(tb.VerificationKey(ctx, jwk("a").Kid)), problem.UnknownKid)
	l := lease(t, tb)
	wants(t, tb.ActivateSigningKey(ctx, l, signingKeys(t, tb), jwk("a"), "arn:a"), "")
	wants(t, tb.PublishSigningKey(ctx, l, jwk("b"), "arn:b"), "")
	keys := signingKeys(t, tb)
	if next, ok := keys.Next(); !ok || next.JWK != jwk("b") || next.ARN != "arn:b" || next.State != webhook.SigningNext || next.CreatedAt != at {
		t.Fatalf("next %+v", next)
	}
	now = now.Add(time.Hour)
	wants(t, tb.ActivateSigningKey(ctx, l, keys, jwk("b"), "arn:b"), "")
	later := now.UnixMilli()
	wants(t, tb.NoteDisabledKey(ctx, l, jwk("a").Kid), "")
	a, err := tb.VerificationKey(ctx, jwk("a").Kid)
	if want := (webhook.SigningKey{
		JWK: jwk("a"), ARN: "arn:a", State: webhook.SigningRetired, CreatedAt: at, ActivatedAt: at, RetiredAt: later,
		ExpiredAt: later + webhook.KeyOverlap.Milliseconds(), DisabledAt: later,
	}); err != nil || a != want {
		t.Fatalf("%+v, %v, want %+v", a, err, want)
	}
	if active, ok := signingKeys(t, tb).Active(); !ok || active.JWK != jwk("b") || active.ActivatedAt != later || active.CreatedAt != at {
		t.Fatalf("active %+v", active)
	}
	wants(t, tb.RevokeVerificationKey(ctx, jwk("a").Kid), "")
	now = now.Add(time.Hour)
	wants(t, tb.RevokeVerificationKey(ctx, jwk("a").Kid), "") // the first time is kept
	if a, err := tb.VerificationKey(ctx, jwk("a").Kid); err != nil || a.State != webhook.SigningRevoked || a.RevokedAt != later {
		t.Fatalf("%+v, %v", a, err)
	}
	wants(t, tb.RevokeVerificationKey(ctx, jwk("c").Kid), problem.UnknownKid)
	if list, err := tb.VerificationKeys(ctx); err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
}

func TestWithoutTheLeaseNoSigningKeyChanges(t *testing.T) {
	tb := storetest.New(t)
	now := time.Now()
	tb.Now = func() time.Time { return now }
	slow := lease(t, tb)
	wants(t, tb.ActivateSigningKey(ctx, slow, store.SigningKeys{}, jwk("a"), "arn:a"), "")
	wants(t, tb.PublishSigningKey(ctx, slow, jwk("b"), "arn:b"), "")
	before := signingKeys(t, tb)
	if _, err := tb.LeaseSigningKeys(ctx, time.Minute); !errors.Is(err, store.ErrLeaseHeld) {
		t.Fatalf("a second lease: %v", err)
	}
	now = now.Add(time.Minute)
	quick := lease(t, tb)
	for name, err := range map[string]error{
		"keep":     tb.KeepMadeKey(ctx, slow, "arn:c"),
		"publish":  tb.PublishSigningKey(ctx, slow, jwk("c"), "arn:c"),
		"activate": tb.ActivateSigningKey(ctx, slow, before, jwk("b"), "arn:b"),
		"replace":  tb.ActivateSigningKey(ctx, slow, before, jwk("c"), "arn:c"),
		"drop":     tb.DropNextKey(ctx, slow, jwk("b").Kid),
		"disabled": tb.NoteDisabledKey(ctx, slow, jwk("a").Kid),
	} {
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := signingKeys(t, tb); len(after.Keys) != 2 || after.Keys[0] != before.Keys[0] || after.Keys[1] != before.Keys[1] || after.Made != "" {
		t.Errorf("%+v became %+v", before, after)
	}
	wants(t, tb.ReleaseSigningKeys(ctx, slow), "") // it has nothing to give back, and takes nothing
	if _, err := tb.LeaseSigningKeys(ctx, time.Minute); !errors.Is(err, store.ErrLeaseHeld) {
		t.Errorf("the lease of another was given back: %v", err)
	}
	wants(t, tb.ReleaseSigningKeys(ctx, quick), "")
	lease(t, tb)
}

func TestWhatWasReadOfTheSigningKeysIsCheckedAgain(t *testing.T) {
	tb := storetest.New(t)
	l := lease(t, tb)
	none := signingKeys(t, tb)
	wants(t, tb.ActivateSigningKey(ctx, l, none, jwk("a"), "arn:a"), "")
	withA := signingKeys(t, tb)
	wants(t, tb.PublishSigningKey(ctx, l, jwk("b"), "arn:b"), "")
	withB := signingKeys(t, tb)
	wants(t, tb.ActivateSigningKey(ctx, l, withB, jwk("b"), "arn:b"), "")
	wants(t, tb.RevokeVerificationKey(ctx, jwk("b").Kid), "")
	for name, err := range map[string]error{
		"a first key beside another":    tb.ActivateSigningKey(ctx, l, none, jwk("c"), "arn:c"),
		"in the place of a former key":  tb.ActivateSigningKey(ctx, l, withA, jwk("c"), "arn:c"),
		"a next key that has signed":    tb.ActivateSigningKey(ctx, l, withB, jwk("b"), "arn:b"),
		"a key that is registered":      tb.PublishSigningKey(ctx, l, jwk("a"), "arn:a"),
		"a next key that is none":       tb.DropNextKey(ctx, l, jwk("a").Kid),
		"a key that is not there":       tb.NoteDisabledKey(ctx, l, jwk("c").Kid),
		"a flip that a revoke overtook": tb.ActivateSigningKey(ctx, l, store.SigningKeys{ActiveKid: jwk("b").Kid, Keys: []webhook.SigningKey{{JWK: jwk("b"), State: webhook.SigningActive}}}, jwk("c"), "arn:c"),
	} {
		if !errors.Is(err, store.ErrOvertaken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := signingKeys(t, tb).Active(); ok {
		t.Error("a revoked key is active")
	}
}

func TestALeaseWhoseAnswerWasLostIsHeld(t *testing.T) {
	tb := storetest.New(t)
	for _, fault := range []storetest.Fault{storetest.LostAfter, storetest.LostBefore, storetest.Conflict, storetest.ServerError} {
		tb.Faults.Plan("TransactWriteItems", fault, 1)
		l := lease(t, tb)
		tb.Faults.Plan("TransactWriteItems", fault, 1)
		wants(t, tb.KeepMadeKey(ctx, l, "arn:"+string(fault)), "")
		if got := signingKeys(t, tb).Made; got != "arn:"+string(fault) || tb.Faults.Pending() {
			t.Errorf("%s: made %q", fault, got)
		}
		wants(t, tb.ReleaseSigningKeys(ctx, l), "")
	}
}

func TestADatabaseThatIsDownIs503ForALookupToo(t *testing.T) {
	tb := storetest.New(t)
	tb.Faults.Plan("", storetest.LostBefore, -1)
	wants(t, second(tb.VerificationKey(ctx, jwk("a").Kid)), problem.Unavailable)
	wants(t, second(tb.VerificationKeys(ctx)), problem.Unavailable)
	wants(t, tb.RevokeVerificationKey(ctx, jwk("a").Kid), problem.Unavailable)
}

func TestEveryVerificationKeyIsListedHoweverManyThereAre(t *testing.T) {
	tb := storetest.New(t)
	const many = 520 // more than one round of reading takes
	var rows []map[string]string
	for i := range many {
		rows = append(rows, map[string]string{
			"PK": "VKEYS", "SK": "KEY#" + strconv.Itoa(i), "state": "retired", "x": "x", "y": "y", "arn": "arn", "createdAt": "1",
		})
	}
	write(t, tb, rows)
	list, err := tb.VerificationKeys(ctx)
	seen := map[string]bool{}
	for _, k := range list {
		seen[k.Kid] = true
	}
	if err != nil || len(list) != many || len(seen) != many || len(signingKeys(t, tb).Keys) != many {
		t.Errorf("%d keys, %d of them different, %v", len(list), len(seen), err)
	}
}

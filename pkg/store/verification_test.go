package store_test

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// jwk returns a public key that is named by the first letters of its kid. A kid has 43 characters.
func jwk(name string) webhook.JWK {
	return webhook.JWK{Kid: name + strings.Repeat("k", 43-len(name)), X: "x-" + name, Y: "y-" + name}
}

// lease gets the right to change the signing keys for a minute.
func lease(t *testing.T, tb *storetest.Table) store.Lease {
	t.Helper()
	l, err := tb.LeaseSigningKeys(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// signingKeys reads the state of the signing keys.
func signingKeys(t *testing.T, tb *storetest.Table) store.SigningKeys {
	t.Helper()
	keys, err := tb.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestAMadeKeyIsUsedOnce: the ARN of a key that KMS has made is deleted when the key is activated. If it stayed, the next rotation
// would treat the active key as a key that is not published yet. The activation of another key does not delete the ARN.
func TestAMadeKeyIsUsedOnce(t *testing.T) {
	tb := storetest.New(t)
	l := lease(t, tb)
	for _, c := range []struct{ made, activated, left string }{
		{"other", "a", "arn:other"},
		{"b", "b", ""},
	} {
		noError(t, tb.KeepMadeKey(ctx, l, "arn:"+c.made))
		noError(t, tb.ActivateSigningKey(ctx, l, signingKeys(t, tb), jwk(c.activated), "arn:"+c.activated))
		if keys := signingKeys(t, tb); keys.Made != c.left || (keys.MadeAt != 0) != (c.left != "") {
			t.Errorf("%s was made and %s activated: %q of %d is left", c.made, c.activated, keys.Made, keys.MadeAt)
		}
	}
}

// TestAVerificationKeyIsKeptInAllItsStates: key a is active, then retired, disabled in KMS and revoked.
// Key b is next, then active.
func TestAVerificationKeyIsKeptInAllItsStates(t *testing.T) {
	tb := storetest.New(t)
	now := time.UnixMilli(1_800_000_000_000)
	tb.Now = func() time.Time { return now }
	begun := now.UnixMilli()
	expectCode(t, errorOf(tb.VerificationKey(ctx, jwk("a").Kid)), problem.UnknownKid)
	l := lease(t, tb)
	noError(t, tb.ActivateSigningKey(ctx, l, signingKeys(t, tb), jwk("a"), "arn:a"))
	noError(t, tb.PublishSigningKey(ctx, l, jwk("b"), "arn:b"))
	keys := signingKeys(t, tb)
	if next, ok := keys.Next(); !ok || next.JWK != jwk("b") || next.ARN != "arn:b" || next.State != webhook.SigningNext || next.CreatedAt != begun {
		t.Fatalf("next %+v", next)
	}
	now = now.Add(time.Hour)
	noError(t, tb.ActivateSigningKey(ctx, l, keys, jwk("b"), "arn:b"))
	later := now.UnixMilli()
	noError(t, tb.NoteDisabledKey(ctx, l, jwk("a").Kid))
	a, err := tb.VerificationKey(ctx, jwk("a").Kid)
	if want := (webhook.SigningKey{
		JWK: jwk("a"), ARN: "arn:a", State: webhook.SigningRetired, CreatedAt: begun, ActivatedAt: begun, RetiredAt: later,
		ExpiredAt: later + webhook.KeyOverlap.Milliseconds(), DisabledAt: later,
	}); err != nil || a != want {
		t.Fatalf("%+v, %v, want %+v", a, err, want)
	}
	if active, ok := signingKeys(t, tb).Active(); !ok || active.JWK != jwk("b") || active.ActivatedAt != later || active.CreatedAt != begun {
		t.Fatalf("active %+v", active)
	}
	noError(t, tb.RevokeVerificationKey(ctx, jwk("a").Kid))
	now = now.Add(time.Hour)
	noError(t, tb.RevokeVerificationKey(ctx, jwk("a").Kid)) // changes nothing, also not the time
	if a, err := tb.VerificationKey(ctx, jwk("a").Kid); err != nil || a.State != webhook.SigningRevoked || a.RevokedAt != later {
		t.Fatalf("%+v, %v", a, err)
	}
	expectCode(t, tb.RevokeVerificationKey(ctx, jwk("c").Kid), problem.UnknownKid)
	if list, err := tb.VerificationKeys(ctx); err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
}

// TestWithoutTheLeaseNoSigningKeyChanges: a slow run loses its lease after a minute to a quick one. Each later
// change of the slow run is refused.
func TestWithoutTheLeaseNoSigningKeyChanges(t *testing.T) {
	tb := storetest.New(t)
	now := time.Now()
	tb.Now = func() time.Time { return now }
	slow := lease(t, tb) // for a minute
	noError(t, tb.ActivateSigningKey(ctx, slow, store.SigningKeys{}, jwk("a"), "arn:a"))
	noError(t, tb.PublishSigningKey(ctx, slow, jwk("b"), "arn:b"))
	before := signingKeys(t, tb)
	if _, err := tb.LeaseSigningKeys(ctx, time.Minute); !errors.Is(err, store.ErrLeaseHeld) {
		t.Fatalf("a second lease: %v", err)
	}
	now = now.Add(time.Minute)
	quick := lease(t, tb)
	for name, err := range map[string]error{
		"keep a made key":       tb.KeepMadeKey(ctx, slow, "arn:c"),
		"publish":               tb.PublishSigningKey(ctx, slow, jwk("c"), "arn:c"),
		"activate the next key": tb.ActivateSigningKey(ctx, slow, before, jwk("b"), "arn:b"),
		"activate a new key":    tb.ActivateSigningKey(ctx, slow, before, jwk("c"), "arn:c"),
		"drop the next key":     tb.DropNextKey(ctx, slow, jwk("b").Kid),
		"note a disabled key":   tb.NoteDisabledKey(ctx, slow, jwk("a").Kid),
	} {
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := signingKeys(t, tb); len(after.Keys) != 2 || !reflect.DeepEqual(after, before) {
		t.Errorf("%+v became %+v", before, after)
	}
	noError(t, tb.ReleaseSigningKeys(ctx, slow)) // the lease of the quick run stays
	if _, err := tb.LeaseSigningKeys(ctx, time.Minute); !errors.Is(err, store.ErrLeaseHeld) {
		t.Errorf("the lease of the other run was given back: %v", err)
	}
	noError(t, tb.ReleaseSigningKeys(ctx, quick))
	lease(t, tb)
}

// TestAnOutdatedReadChangesNoSigningKey: a change is refused if the keys have changed since they were read. At the
// end, a is retired, and b was the active key and is revoked.
func TestAnOutdatedReadChangesNoSigningKey(t *testing.T) {
	tb := storetest.New(t)
	l := lease(t, tb)
	none := signingKeys(t, tb) // before the first key
	noError(t, tb.ActivateSigningKey(ctx, l, none, jwk("a"), "arn:a"))
	withA := signingKeys(t, tb)
	noError(t, tb.PublishSigningKey(ctx, l, jwk("b"), "arn:b"))
	withB := signingKeys(t, tb)
	noError(t, tb.ActivateSigningKey(ctx, l, withB, jwk("b"), "arn:b"))
	noError(t, tb.RevokeVerificationKey(ctx, jwk("b").Kid))
	// A rotation reads this state right before the revocation of b.
	activeB := store.SigningKeys{ActiveKid: jwk("b").Kid, Keys: []webhook.SigningKey{{JWK: jwk("b"), State: webhook.SigningActive}}}
	for name, err := range map[string]error{
		"activate c as the first key":                         tb.ActivateSigningKey(ctx, l, none, jwk("c"), "arn:c"),
		"activate c in place of a, which is no longer active": tb.ActivateSigningKey(ctx, l, withA, jwk("c"), "arn:c"),
		"activate b, which is no longer the next key":         tb.ActivateSigningKey(ctx, l, withB, jwk("b"), "arn:b"),
		"activate c in place of b, which is revoked":          tb.ActivateSigningKey(ctx, l, activeB, jwk("c"), "arn:c"),
		"publish a, which is registered already":              tb.PublishSigningKey(ctx, l, jwk("a"), "arn:a"),
		"drop a, which is not the next key":                   tb.DropNextKey(ctx, l, jwk("a").Kid),
		"note that c is disabled, which does not exist":       tb.NoteDisabledKey(ctx, l, jwk("c").Kid),
	} {
		if !errors.Is(err, store.ErrOvertaken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := signingKeys(t, tb).Active(); ok {
		t.Error("a revoked key is active")
	}
}

// TestALeaseWithALostAnswerIsHeld: a run has the lease also when the first answer was lost, and can change
// the keys.
func TestALeaseWithALostAnswerIsHeld(t *testing.T) {
	tb := storetest.New(t)
	for _, fault := range []storetest.Fault{storetest.LostAfter, storetest.LostBefore, storetest.Conflict, storetest.ServerError} {
		tb.Faults.Plan("TransactWriteItems", fault, 1)
		l := lease(t, tb)
		tb.Faults.Plan("TransactWriteItems", fault, 1)
		noError(t, tb.KeepMadeKey(ctx, l, "arn:"+string(fault)))
		if got := signingKeys(t, tb).Made; got != "arn:"+string(fault) || tb.Faults.Pending() {
			t.Errorf("%s: made %q", fault, got)
		}
		noError(t, tb.ReleaseSigningKeys(ctx, l))
	}
}

func TestALookupWithoutTheDatabaseIs503(t *testing.T) {
	tb := storetest.New(t)
	tb.Faults.Plan("", storetest.LostBefore, -1)
	expectCode(t, errorOf(tb.VerificationKey(ctx, jwk("a").Kid)), problem.Unavailable)
	expectCode(t, errorOf(tb.VerificationKeys(ctx)), problem.Unavailable)
	expectCode(t, tb.RevokeVerificationKey(ctx, jwk("a").Kid), problem.Unavailable)
}

func TestVerificationKeysAreListedBeyondOneQuery(t *testing.T) {
	tb := storetest.New(t)
	const many = 520 // more than the 500 that one query reads
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

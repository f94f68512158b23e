package store_test

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// wantedKey describes a key of the default app to create. With life 0 it never expires.
func wantedKey(life time.Duration) store.NewKey { return store.NewKey{ExpiresIn: life, Prefix: "lk"} }

// makeKey creates a key as an admin of the org.
func makeKey(t *testing.T, tb *storetest.Table, o id.Org, by id.User, life time.Duration) store.MintedKey {
	t.Helper()
	made, err := tb.CreateKey(ctx, admin(by), o, wantedKey(life), store.Once[store.MintedKey]{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Made
}

// row reads a key's row.
func row(t *testing.T, tb *storetest.Table, o id.Org, k id.Key) store.APIKey {
	t.Helper()
	found, ok, err := tb.APIKey(ctx, o, k)
	if err != nil || !ok {
		t.Fatalf("APIKey = %v, %v", ok, err)
	}
	return found
}

func TestARevokedKeyKeepsItsFirstRevocation(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	k, sibling := makeKey(t, tb, o, ada, 0), makeKey(t, tb, o, ada, 0)
	noError(t, tb.RevokeKey(ctx, admin(ada), o, k.ID))
	first := row(t, tb, o, k.ID).RevokedAt
	time.Sleep(2 * time.Millisecond) // so that a second revocation would have another time
	noError(t, tb.RevokeKey(ctx, admin(ada), o, k.ID))
	if got := row(t, tb, o, k.ID).RevokedAt; got != first || got == 0 {
		t.Errorf("revokedAt %d became %d", first, got)
	}
	if row(t, tb, o, sibling.ID).RevokedAt != 0 {
		t.Error("the sibling was revoked too")
	}
	expectCode(t, tb.RevokeKey(ctx, admin(ada), o, id.NoKey), problem.KeyNotFound)
}

func TestFortyConcurrentCreatesMakeTheLimitOfTenKeys(t *testing.T) {
	tb := storetest.New(t)
	tb.Limits.ActiveKeys = 10
	ada := tb.NewUser(t, "ada@example.com")
	for round := range 5 {
		o := tb.NewOrg(t, ada)
		got := tally(atOnce(40, func(int) error {
			return persistent(func() error {
				return errorOf(tb.CreateKey(ctx, admin(ada), o, wantedKey(0), store.Once[store.MintedKey]{}))
			})
		}))
		keys, _, err := tb.Keys(ctx, admin(ada), o, "", store.Page{})
		if err != nil || got[""] != 10 || got[problem.LimitReached] != 30 || len(keys) != 10 {
			t.Fatalf("round %d: %v, %d rows, %v", round, got, len(keys), err)
		}
	}
}

// TestExpiredRevokedAndRotatedKeysMakeRoom: an org has three active keys, and cannot have more. One is rotated, one
// is revoked and one expires. A rotation makes room only for the successor.
func TestExpiredRevokedAndRotatedKeysMakeRoom(t *testing.T) {
	tb := storetest.New(t)
	tb.Limits.ActiveKeys = 3
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	start := time.Now()
	tb.Now = func() time.Time { return start }
	noRoom := func() {
		t.Helper()
		expectCode(t, errorOf(tb.CreateKey(ctx, admin(ada), o, wantedKey(0), store.Once[store.MintedKey]{})), problem.LimitReached)
	}
	makeKey(t, tb, o, ada, time.Minute)
	revoked := makeKey(t, tb, o, ada, 0)
	rotated := makeKey(t, tb, o, ada, 0)
	noRoom()
	rotate(t, tb, o, ada, rotated.ID, time.Hour, "")
	noRoom()
	noError(t, tb.RevokeKey(ctx, admin(ada), o, revoked.ID))
	makeKey(t, tb, o, ada, 0)
	noRoom()
	tb.Now = func() time.Time { return start.Add(time.Minute) } // the first key expires
	makeKey(t, tb, o, ada, 0)
	noRoom()
}

// rotate rotates a key and returns the new one. It fails unless the rotation's error has the code; "" means no error.
func rotate(t *testing.T, tb *storetest.Table, o id.Org, by id.User, old id.Key, grace time.Duration, code problem.Code) store.MintedKey {
	t.Helper()
	fresh, err := tb.RotateKey(ctx, admin(by), o, store.Rotation{Old: old, Grace: grace, Prefix: "lk"}, store.Once[store.MintedKey]{})
	expectCode(t, err, code)
	return fresh.Made
}

func TestAKeyRotatesOnceAndItsGraceNeverExtends(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	start := time.Now().Truncate(time.Millisecond)
	now := start
	tb.Now = func() time.Time { return now }

	k1 := makeKey(t, tb, o, ada, time.Hour)
	k2 := rotate(t, tb, o, ada, k1.ID, 24*time.Hour, "") // a grace that is longer than the life of k1
	if got := row(t, tb, o, k1.ID).ExpiresAt; got != k1.ExpiresAt {
		t.Errorf("the old key's end moved from %d to %d", k1.ExpiresAt, got)
	}
	if want := now.Add(time.Hour).UnixMilli(); k2.ExpiresAt != want {
		t.Errorf("the new key ends at %d, want the old lifetime: %d", k2.ExpiresAt, want)
	}
	rotate(t, tb, o, ada, k1.ID, 0, problem.KeyNotActive)

	// The rotation of the successor ends the grace of k1.
	now = start.Add(time.Minute)
	rotate(t, tb, o, ada, k2.ID, time.Minute, "")
	if got := row(t, tb, o, k2.ID).ExpiresAt; got != now.Add(time.Minute).UnixMilli() {
		t.Errorf("the second key's grace ends at %d", got)
	}
	if got := row(t, tb, o, k1.ID).ExpiresAt; got != now.UnixMilli() {
		t.Errorf("the predecessor's grace ends at %d", got)
	}

	rotate(t, tb, o, ada, id.NoKey, 0, problem.KeyNotFound)
	expired := makeKey(t, tb, o, ada, time.Second)
	now = now.Add(time.Second)
	rotate(t, tb, o, ada, expired.ID, 0, problem.KeyNotActive)
	revoked := makeKey(t, tb, o, ada, 0)
	noError(t, tb.RevokeKey(ctx, admin(ada), o, revoked.ID))
	rotate(t, tb, o, ada, revoked.ID, 0, problem.KeyNotActive)
}

func TestLastUseIsWrittenOnceAnHourInAnotherRow(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	k := makeKey(t, tb, o, ada, 0)
	const hour = 3_600_000 // milliseconds
	at := time.Now().UnixMilli()/hour*hour + 7000
	found := row(t, tb, o, k.ID)
	lastUsed := func() int64 {
		t.Helper()
		keys, _, err := tb.Keys(ctx, admin(ada), o, "", store.Page{})
		noError(t, err)
		return keys[0].LastUsedAt
	}
	// A use, and the last use in the table after it, in milliseconds from at.
	for _, use := range []struct{ after, written int64 }{{0, 0}, {1000, 0}, {hour - 7001, 0}, {hour - 7000, hour - 7000}, {2*hour - 7001, hour - 7000}} {
		tb.NoteUse(ctx, found, at+use.after)
		if got := lastUsed(); got != at+use.written {
			t.Fatalf("a use after %d ms: used at %d, want %d", use.after, got, at+use.written)
		}
	}
	if again := row(t, tb, o, k.ID); !reflect.DeepEqual(again, found) {
		t.Errorf("the key's row changed: %+v", again)
	}
	// When the database hangs, NoteUse gives up after 200 ms. The test allows 600 ms, because the machine may be busy.
	tb.Faults.Plan("UpdateItem", storetest.Hang, 1)
	begun := time.Now()
	tb.NoteUse(ctx, found, at+2*hour)
	if took := time.Since(begun); took > 600*time.Millisecond {
		t.Errorf("NoteUse took %s", took)
	}
}

// onceFor returns the Once of a user's request to create an API key: key is the header Idempotency-Key, and request the
// body. The answer is the text of the new API key.
func onceFor(u id.User, key, request string) store.Once[store.MintedKey] {
	return store.Once[store.MintedKey]{
		Request: store.Request{Key: secret.New(key), Principal: string(u), Method: "POST", Path: "/v1/x", Body: sha256.Sum256([]byte(request))},
		Render:  func(k store.MintedKey) ([]byte, error) { return []byte(k.Minted.Key.Reveal()), nil },
	}
}

// replayedAnswer returns the answer of a replay, "" for the first create.
func replayedAnswer[Made any](c store.Created[Made]) string {
	if !c.Replayed {
		return ""
	}
	return c.Answer.Reveal()
}

func TestARetriedCreateOfAKeyGetsTheFirstAnswer(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	bob := addMember(t, tb, o, ada, "bob@example.com", org.Admin)
	create := func(by id.User, request string) (store.Created[store.MintedKey], error) {
		return tb.CreateKey(ctx, admin(by), o, wantedKey(0), onceFor(by, idempotencyKey, request))
	}
	first, err := create(ada, "{}")
	if err != nil || first.Replayed || first.Answer.Reveal() != first.Made.Minted.Key.Reveal() {
		t.Fatalf("first: %+v, %v", first, err)
	}
	again, err := create(ada, "{}")
	if err != nil || replayedAnswer(again) != first.Answer.Reveal() || again.Made.ID != "" {
		t.Fatalf("replay: %+v, %v", again, err)
	}
	expectCode(t, errorOf(create(ada, `{"name":"x"}`)), problem.IdempotencyKeyReused)
	if other, err := create(bob, "{}"); err != nil || other.Replayed {
		t.Fatalf("another caller with the same key: %+v, %v", other, err)
	}
	keys, _, _ := tb.Keys(ctx, admin(ada), o, "", store.Page{})
	if len(keys) != 2 {
		t.Errorf("%d keys, want 2", len(keys))
	}
	// A replay checks the caller again.
	noError(t, errorOf(tb.ChangeRole(ctx, admin(bob), o, ada, org.Member)))
	expectCode(t, errorOf(create(ada, "{}")), problem.InsufficientRole)
	// After 24 hours the record no longer counts.
	tb.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	if later, err := create(bob, "{}"); err != nil || later.Replayed {
		t.Fatalf("a day later: %+v, %v", later, err)
	}
}

// TestConcurrentRetriesMakeOneKey: of 20 equal requests at once, one creates a key, and all answer with this key.
func TestConcurrentRetriesMakeOneKey(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	var wg sync.WaitGroup
	var firsts atomic.Int64
	answers := make(chan string, 20)
	for range 20 {
		wg.Go(func() {
			made, err := tb.CreateKey(ctx, admin(ada), o, wantedKey(0), onceFor(ada, idempotencyKey, "{}"))
			if err != nil {
				t.Error(err)
				return
			}
			if !made.Replayed {
				firsts.Add(1)
			}
			answers <- made.Answer.Reveal()
		})
	}
	wg.Wait()
	close(answers)
	distinct := map[string]bool{}
	for a := range answers {
		distinct[a] = true
	}
	if firsts.Load() != 1 || len(distinct) != 1 {
		t.Errorf("%d firsts, answers %v", firsts.Load(), distinct)
	}
}

func TestAFaultOfACreateMakesNoSecondKey(t *testing.T) {
	for _, fault := range []storetest.Fault{
		storetest.LostBefore, storetest.LostAfter, storetest.Conflict, storetest.Throttle, storetest.ServerError, storetest.Hang,
	} {
		t.Run(string(fault), func(t *testing.T) {
			tb := storetest.New(t)
			ada := tb.NewUser(t, "ada@example.com")
			o := tb.NewOrg(t, ada)
			tb.Faults.Plan("TransactWriteItems", fault, 1)
			makeKey(t, tb, o, ada, 0)
			if tb.Faults.Pending() {
				t.Fatal("the fault did not occur")
			}
			keys, _, err := tb.Keys(ctx, admin(ada), o, "", store.Page{})
			if err != nil || len(keys) != 1 {
				t.Fatalf("%d keys, %v", len(keys), err)
			}
		})
	}
}

// TestADatabaseThatStaysDownIsUnavailableWithin3s leaves LostAfter out: the first call of RevokeKey is a read, and
// for a read a lost answer is the same as a lost request (LostBefore).
func TestADatabaseThatStaysDownIsUnavailableWithin3s(t *testing.T) {
	for _, fault := range []storetest.Fault{
		storetest.LostBefore, storetest.Conflict, storetest.Throttle, storetest.ServerError, storetest.Hang,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			tb := storetest.New(t)
			ada := tb.NewUser(t, "ada@example.com")
			o := tb.NewOrg(t, ada)
			k := makeKey(t, tb, o, ada, 0)
			operation := ""                  // any
			if fault == storetest.Conflict { // only a transaction can have it
				operation = "TransactWriteItems"
			}
			tb.Faults.Plan(operation, fault, -1)
			begun := time.Now()
			expectCode(t, tb.RevokeKey(ctx, admin(ada), o, k.ID), problem.Unavailable)
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("took %s", took)
			}
			tb.Faults.Heal()
			noError(t, tb.RevokeKey(ctx, admin(ada), o, k.ID))
		})
	}
}

func TestTheTableHoldsNoSecret(t *testing.T) {
	tb := storetest.New(t)
	ada := tb.NewUser(t, "ada@example.com")
	o := tb.NewOrg(t, ada)
	made, err := tb.CreateKey(ctx, admin(ada), o, wantedKey(0), onceFor(ada, idempotencyKey, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	k := made.Made
	text := k.Minted.Key.Reveal()
	if printed := fmt.Sprintf("%+v", made); strings.Contains(printed, text) {
		t.Errorf("the result of the create shows the new key when it is printed: %s", printed)
	}
	var all strings.Builder
	for _, row := range tb.Rows(t) {
		fmt.Fprintln(&all, allText(&types.AttributeValueMemberM{Value: row}))
	}
	dump := all.String()
	// The text of a key ends with the secret (43 characters) and a checksum (6 characters).
	secretAndSum := text[len(text)-49:]
	for _, hidden := range []string{text, secretAndSum, secretAndSum[:43], idempotencyKey} {
		if strings.Contains(dump, hidden) {
			t.Errorf("the table holds %d characters of a secret", len(hidden))
		}
	}
	if !strings.Contains(dump, k.Minted.Prefix) {
		t.Error("the test proves nothing: the dump lacks the key's public prefix")
	}
}

// TestKeysAreListedByCreator lists the keys that Eve made, whole and in pages. A key of a rotation was made
// by the user who rotated.
func TestKeysAreListedByCreator(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	var want []id.Key
	for n := range 130 {
		c.advanceClock(time.Millisecond)
		if n%10 == 0 { // one in ten, so that a search for Eve's keys goes through many pages
			want = append(want, makeKey(t, c.Table, c.org, eve, 0).ID)
		} else {
			makeKey(t, c.Table, c.org, c.ada, 0)
		}
	}
	c.advanceClock(time.Millisecond)
	want = append(want, rotate(t, c.Table, c.org, eve, makeKey(t, c.Table, c.org, c.ada, 0).ID, 0, "").ID)
	slices.Reverse(want)
	for _, limit := range []int{0, 1, 3, 100} {
		var got []id.Key
		for p := (store.Page{Limit: limit}); ; {
			keys, next, err := c.Keys(ctx, admin(c.ada), c.org, eve, p)
			noError(t, err)
			if limit > 0 && len(keys) > limit {
				t.Fatalf("%d keys of at most %d", len(keys), limit)
			}
			for _, k := range keys {
				got = append(got, k.ID)
			}
			if p.After = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with the limit %d: %v, want %v", limit, got, want)
		}
	}
}

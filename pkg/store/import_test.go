package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// foreign describes keys of these texts, which the owner gave out before.
func foreign(texts ...string) []store.NewImport {
	out := make([]store.NewImport, len(texts))
	for i, text := range texts {
		out[i] = store.NewImport{Name: "Name of " + text, Hash: apikey.HashOf(text), Prefix: text[:2]}
	}
	return out
}

// importKeys imports keys as a service. Each outcome is "" for a key that was made, or the code of its refusal.
func (c *connected) importKeys(t *testing.T, o id.Org, wanted []store.NewImport, once store.Once[store.MintedKey]) (keys []id.Key, outcomes []problem.Code) {
	t.Helper()
	results, err := c.ImportKeys(ctx, billing, o, wanted, once)
	noError(t, err)
	for _, r := range results {
		keys = append(keys, r.Made.ID)
		if r.Refusal != nil {
			outcomes = append(outcomes, r.Refusal.Code)
			continue
		}
		outcomes = append(outcomes, "")
	}
	return keys, outcomes
}

func checkOutcomes(t *testing.T, got []problem.Code, want ...problem.Code) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAnImportedKeyHasAnOrdinaryRow: use cases of keys work on an imported key. Its rotation makes a key with a text of Latchkey. It
// ends with its org.
func TestAnImportedKeyHasAnOrdinaryRow(t *testing.T) {
	c := connect(t)
	wanted := foreign("sk_a", "sk_b")
	wanted[0].Scopes, wanted[0].Metadata, wanted[0].ExpiresAt = "a b", map[string]string{"plan": "pro"}, c.Now().Add(time.Hour).UnixMilli()
	keys, outcomes := c.importKeys(t, c.org, wanted, store.Once[store.MintedKey]{})
	checkOutcomes(t, outcomes, "", "")
	for i, w := range wanted {
		at, ok, err := c.Imported(ctx, w.Hash)
		if err != nil || !ok || at != (store.Imported{Org: c.org, Key: keys[i]}) {
			t.Fatalf("the hash leads to %+v, %v, %v", at, ok, err)
		}
		k := row(t, c.Table, at.Org, at.Key)
		if k.Hash != w.Hash || k.Name != w.Name || k.Prefix != "sk" || k.AppID != c.app || k.Scopes != w.Scopes || k.ExpiresAt != w.ExpiresAt || k.Metadata["plan"] != w.Metadata["plan"] {
			t.Errorf("imported: %+v", k)
		}
	}
	if _, ok, err := c.Imported(ctx, apikey.HashOf("sk_c")); ok || err != nil {
		t.Errorf("a text that was not imported: %v", err)
	}
	heir := rotate(t, c.Table, c.org, c.ada, keys[0], 0, "")
	if _, err := apikey.Parse(heir.Minted.Key.Reveal()); err != nil || row(t, c.Table, c.org, keys[0]).LivesAt(c.Now().UnixMilli()) {
		t.Errorf("after a rotation without a grace: %v", err)
	}
	noError(t, c.DeleteOrg(ctx, billing, c.org))
	if row(t, c.Table, c.org, keys[1]).RevokedAt == 0 {
		t.Error("a key of a deleted org is not revoked")
	}
}

// TestATextIsImportedOnlyOnce: a text can be imported once in all orgs, even after the key and its org are gone. The refusal is the
// same for every org.
func TestATextIsImportedOnlyOnce(t *testing.T) {
	c := connect(t)
	other := c.orgOfService(t, store.NewOrg{})
	keys, outcomes := c.importKeys(t, c.org, foreign("sk_a", "sk_b", "sk_a"), store.Once[store.MintedKey]{})
	checkOutcomes(t, outcomes, "", "", problem.Conflict)
	refusals := map[string]bool{}
	again := func() {
		t.Helper()
		for _, o := range []id.Org{c.org, other} {
			results, err := c.ImportKeys(ctx, billing, o, foreign("sk_a"), store.Once[store.MintedKey]{})
			if problem.Is(err, problem.OrgNotFound) && o == c.org {
				continue // it is deleted
			}
			noError(t, err)
			refusals[fmt.Sprint(results[0].Refusal)] = true
		}
	}
	again()
	noError(t, c.RevokeKey(ctx, billing, c.org, keys[0]))
	again()
	noError(t, c.DeleteOrg(ctx, billing, c.org))
	again()
	if len(refusals) != 1 {
		t.Errorf("refusals %v", refusals)
	}
	for _, r := range c.rowsOf(t, "IMP#") {
		if text(r, "purgeAt") != "" || text(r, "expiresAt") != "" {
			t.Errorf("the row of an imported text would be deleted: %v", r)
		}
	}
	got := tally(atOnce(8, func(int) error {
		results, err := c.ImportKeys(ctx, billing, other, foreign("sk_c"), store.Once[store.MintedKey]{})
		if err == nil && results[0].Refusal != nil {
			err = results[0].Refusal
		}
		return err
	}))
	if got[""] != 1 || got[""]+got[problem.Conflict]+got[problem.Unavailable] != 8 {
		t.Errorf("eight at once: %v", got)
	}
}

// TestARefusedImportDoesNotStopTheOthers: the refusals are an unknown app, a text that was imported before, and the limit of active
// keys.
func TestARefusedImportDoesNotStopTheOthers(t *testing.T) {
	c := connect(t)
	c.Limits.ActiveKeys = 2
	wanted := foreign("sk_a", "sk_b", "sk_a", "sk_c", "sk_d")
	wanted[1].AppID = id.NoApp
	_, outcomes := c.importKeys(t, c.org, wanted, store.Once[store.MintedKey]{})
	checkOutcomes(t, outcomes, "", problem.AppNotFound, problem.Conflict, "", problem.LimitReached)
	if _, ok, err := c.Imported(ctx, apikey.HashOf("sk_d")); ok || err != nil {
		t.Errorf("a key that was refused: %v", err)
	}
	expectCode(t, errorOf(c.ImportKeys(ctx, admin(c.NewUser(t, "kim@example.com")), c.org, foreign("sk_e"), store.Once[store.MintedKey]{})), problem.OrgNotFound)
	noService := store.Actor{User: c.ada} // a user on a route for services
	expectCode(t, errorOf(c.ImportKeys(ctx, noService, c.org, foreign("sk_e"), store.Once[store.MintedKey]{})), problem.InsufficientRole)
}

// TestARepeatedImportAnswersTheSame: the second request has the two keys of the first request, and a new key.
func TestARepeatedImportAnswersTheSame(t *testing.T) {
	c := connect(t)
	request := func(body string) store.Once[store.MintedKey] {
		return once[store.MintedKey](c, idempotencyKey, body, "{}")
	}
	wanted := foreign("sk_a", "sk_b", "sk_c")
	c.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1)
	_, outcomes := c.importKeys(t, c.org, wanted[:2], request("body"))
	checkOutcomes(t, outcomes, "", "")
	results, err := c.ImportKeys(ctx, billing, c.org, wanted, request("body"))
	noError(t, err)
	for i, isReplayed := range []bool{true, true, false} {
		if results[i].Refusal != nil || results[i].Replayed != isReplayed {
			t.Errorf("key %d: %+v", i, results[i])
		}
	}
	expectCode(t, errorOf(c.ImportKeys(ctx, billing, c.org, wanted, request("other"))), problem.IdempotencyKeyReused)
	c.Faults.Plan("TransactWriteItems", storetest.Throttle, 100)
	if _, err := c.ImportKeys(ctx, billing, c.org, foreign("sk_d"), store.Once[store.MintedKey]{}); !problem.Is(err, problem.Unavailable) {
		t.Errorf("without the table: %v", err)
	}
	c.Faults.Heal()
}

// TestAChangedImportWithAUsedKeyMakesNothing: the first request made only its second key, because the app of the first key is unknown.
// The changed requests have the same Idempotency-Key. One of them has only the first key.
func TestAChangedImportWithAUsedKeyMakesNothing(t *testing.T) {
	c := connect(t)
	wanted := foreign("sk_a", "sk_b")
	wanted[0].AppID = id.NoApp
	_, outcomes := c.importKeys(t, c.org, wanted, once[store.MintedKey](c, idempotencyKey, "body", "{}"))
	checkOutcomes(t, outcomes, problem.AppNotFound, "")
	wanted[0].AppID = ""
	changed := once[store.MintedKey](c, idempotencyKey, "changed", "{}")
	for n := 1; n <= len(wanted); n++ {
		expectCode(t, errorOf(c.ImportKeys(ctx, billing, c.org, wanted[:n], changed)), problem.IdempotencyKeyReused)
		if _, ok, err := c.Imported(ctx, wanted[0].Hash); ok || err != nil {
			t.Errorf("a key of a refused request of %d keys is imported: %v", n, err)
		}
	}
}

// TestARefusedKeyOfAnImportIsTriedAgain: the same request is sent again after a key was revoked. The key that was made keeps its id.
func TestARefusedKeyOfAnImportIsTriedAgain(t *testing.T) {
	c := connect(t)
	c.Limits.ActiveKeys = 2
	other, request := makeKey(t, c.Table, c.org, c.ada, 0).ID, once[store.MintedKey](c, idempotencyKey, "body", "{}")
	_, outcomes := c.importKeys(t, c.org, foreign("sk_a", "sk_b"), request)
	checkOutcomes(t, outcomes, "", problem.LimitReached)
	noError(t, c.RevokeKey(ctx, billing, c.org, other))
	results, err := c.ImportKeys(ctx, billing, c.org, foreign("sk_a", "sk_b"), request)
	noError(t, err)
	if !results[0].Replayed || results[1].Refusal != nil || results[1].Replayed {
		t.Errorf("%+v", results)
	}
}

// TestALostAnswerDoesNotRefuseAnImport: after a lost answer, each key is made once and its import succeeds, with an Idempotency-Key and
// without one. While all answers are lost, the import is unavailable. The same request imports the keys afterwards.
func TestALostAnswerDoesNotRefuseAnImport(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.LostAfter, storetest.Forgotten, storetest.Late, storetest.ServerError} {
		for _, isRepeatable := range []bool{false, true} {
			c := connect(t)
			request := store.Once[store.MintedKey]{}
			if isRepeatable {
				request = once[store.MintedKey](c, idempotencyKey, "{}", "{}")
			}
			c.Faults.Plan("TransactWriteItems", fault, 1)
			_, outcomes := c.importKeys(t, c.org, foreign("sk_a", "sk_b"), request)
			checkOutcomes(t, outcomes, "", "")
			if c.Faults.Pending() {
				t.Errorf("%s did not occur", fault)
			}
			if isRepeatable {
				c.Faults.Plan("TransactWriteItems", fault, -1)
				wanted := foreign("sk_a", "sk_b", "sk_c")
				expectCode(t, errorOf(c.ImportKeys(ctx, billing, c.org, wanted, request)), problem.Unavailable)
				c.Faults.Heal()
				_, outcomes = c.importKeys(t, c.org, wanted, request)
				checkOutcomes(t, outcomes, "", "", "")
			}
			keys, _, err := c.Keys(ctx, billing, c.org, "", store.Page{})
			if want := len(c.rowsOf(t, "IMP#")); err != nil || len(keys) != want || want < 2 {
				t.Errorf("%s, repeatable: %v: %d keys of %d texts, %v", fault, isRepeatable, len(keys), want, err)
			}
		}
	}
}

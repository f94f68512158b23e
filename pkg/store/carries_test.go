package store_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// wide describes a key with scopes and metadata. A change that removes some of them narrows it.
func wide() store.NewKey {
	return store.NewKey{Prefix: "lk", Name: "wide", Carried: store.Carried{Scopes: "a b c", Metadata: map[string]string{"plan": "<pro> & more"}, Limits: "100/m", Ceilings: "9/d"}}
}

// wideKey creates such a key as Ada.
func (c *connected) wideKey(t *testing.T) id.Key {
	t.Helper()
	made, err := c.CreateKey(ctx, admin(c.ada), c.org, wide(), store.Once[store.MintedKey]{})
	noError(t, err)
	return made.Made.ID
}

// update changes a key as Ada.
func (c *connected) update(k id.Key, change store.KeyChange) error {
	return errorOf(c.UpdateKey(ctx, admin(c.ada), c.org, k, change))
}

// successorOf rotates a key with a grace of an hour, and returns the new key. change replaces values that the new key
// would get from the old key.
func (c *connected) successorOf(t *testing.T, k id.Key, change store.KeyChange) store.APIKey {
	t.Helper()
	fresh, err := c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Grace: time.Hour, Prefix: "lk", KeyChange: change}, store.Once[store.MintedKey]{})
	noError(t, err)
	return row(t, c.Table, c.org, fresh.Made.ID)
}

// carries is an error of the test unless a key has this name, these scopes and this metadata. what describes the key.
func carries(t *testing.T, what string, k store.APIKey, name, scopes string, metadata map[string]string) {
	t.Helper()
	if k.Name != name || k.Scopes != scopes || !reflect.DeepEqual(k.Metadata, metadata) {
		t.Errorf("%s: %q %q %v, want %q %q %v", what, k.Name, k.Scopes, k.Metadata, name, scopes, metadata)
	}
}

func TestAKeyKeepsItsValuesUntilTheyAreChanged(t *testing.T) {
	c := connect(t)
	carries(t, "nothing given", row(t, c.Table, c.org, makeKey(t, c.Table, c.org, c.ada, 0).ID), "", "", nil)
	none, err := c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "lk", Carried: store.Carried{Metadata: map[string]string{}}}, store.Once[store.MintedKey]{})
	noError(t, err)
	carries(t, "empty metadata", row(t, c.Table, c.org, none.Made.ID), "", "", nil)
	k, pro := c.wideKey(t), wide().Metadata
	carries(t, "created", row(t, c.Table, c.org, k), "wide", "a b c", pro)
	for _, step := range []struct {
		change       store.KeyChange
		name, scopes string
		metadata     map[string]string
	}{
		{store.KeyChange{Name: ptr("narrow")}, "narrow", "a b c", pro},
		{store.KeyChange{Scopes: ptr("a")}, "narrow", "a", pro},
		{store.KeyChange{Metadata: map[string]string{"plan": "free"}}, "narrow", "a", map[string]string{"plan": "free"}},
		{store.KeyChange{Scopes: ptr(""), Metadata: map[string]string{}}, "narrow", "", nil},
		{store.KeyChange{Name: ptr("wide"), Scopes: ptr("a b c"), Metadata: pro}, "wide", "a b c", pro},
	} {
		answered, err := c.UpdateKey(ctx, admin(c.ada), c.org, k, step.change)
		noError(t, err)
		carries(t, "answered", answered, step.name, step.scopes, step.metadata)
		carries(t, "changed", row(t, c.Table, c.org, k), step.name, step.scopes, step.metadata)
	}
	k = c.successorOf(t, k, store.KeyChange{}).ID
	carries(t, "rotated", row(t, c.Table, c.org, k), "wide", "a b c", pro)
	next := c.successorOf(t, k, store.KeyChange{Scopes: ptr("b")})
	carries(t, "rotated with scopes", next, "wide", "b", pro)
	next = c.successorOf(t, next.ID, store.KeyChange{Metadata: map[string]string{}})
	carries(t, "rotated without metadata", next, "wide", "b", nil)
	carries(t, "the rotated key", row(t, c.Table, c.org, k), "wide", "a b c", pro)
}

// TestUpdateKeyReturnsTheKeyAsListed: UpdateKey returns the key as a list shows it, also with its last use and leak.
func TestUpdateKeyReturnsTheKeyAsListed(t *testing.T) {
	c := connect(t)
	k := c.wideKey(t)
	c.NoteUse(ctx, row(t, c.Table, c.org, k), c.Now().UnixMilli())
	noError(t, c.leak(t, k, "", false))
	changed, err := c.UpdateKey(ctx, admin(c.ada), c.org, k, store.KeyChange{Scopes: ptr("a")})
	noError(t, err)
	listed, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{})
	if err != nil || len(listed) != 1 || !reflect.DeepEqual(listed[0], changed) || changed.LastUsedAt == 0 || changed.LeakedAt == 0 {
		t.Errorf("%+v, listed %+v, %v", changed, listed, err)
	}
}

// TestAKeyUpdateWithoutDifferencesWritesNothing makes changes after which the key is as before, and compares every row of
// the table: there is no audit entry and no event either.
func TestAKeyUpdateWithoutDifferencesWritesNothing(t *testing.T) {
	c := connect(t)
	k, same := c.wideKey(t), wide()
	before := c.content(t)
	for name, change := range map[string]store.KeyChange{
		"nothing given": {},
		"all the same":  {Name: &same.Name, Scopes: &same.Scopes, Metadata: same.Metadata},
	} {
		noError(t, c.update(k, change))
		if after := c.content(t); !maps.Equal(before, after) {
			t.Errorf("%s: rows changed", name)
		}
	}
}

// TestOnlyAGoodKeyCanBeChanged: a key is good while it is active or in its grace.
func TestOnlyAGoodKeyCanBeChanged(t *testing.T) {
	c := connect(t)
	narrow := store.KeyChange{Scopes: ptr("a")}
	k := c.wideKey(t)
	successor := c.successorOf(t, k, store.KeyChange{}).ID
	noError(t, c.update(k, narrow)) // k is in its grace now
	carries(t, "in its grace", row(t, c.Table, c.org, k), "wide", "a", wide().Metadata)
	carries(t, "its successor", row(t, c.Table, c.org, successor), "wide", "a b c", wide().Metadata)
	c.advanceClock(time.Hour) // the grace of k is over
	revoked := c.wideKey(t)
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, revoked))
	expired := makeKey(t, c.Table, c.org, c.ada, time.Minute).ID
	c.advanceClock(time.Minute)
	before := c.content(t)
	for name, dead := range map[string]id.Key{"past its grace": k, "revoked": revoked, "expired": expired} {
		for _, change := range []store.KeyChange{narrow, {}} {
			if err := c.update(dead, change); !problem.Is(err, problem.KeyNotActive) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	expectCode(t, c.update(id.NoKey, narrow), problem.KeyNotFound)
	if !maps.Equal(before, c.content(t)) {
		t.Error("rows changed")
	}
}

// TestANarrowingChangeIsNeverLostOnTheSuccessor changes a key between the reads of its rotation and
// the rotation's transaction. The rotation begins again, so the new key carries the changed values.
func TestANarrowingChangeIsNeverLostOnTheSuccessor(t *testing.T) {
	free := map[string]string{"plan": "free"}
	for name, v := range map[string]struct {
		change   store.KeyChange // of the old key
		given    store.KeyChange // with the rotation, for the new key
		scopes   string          // of the new key in the end
		metadata map[string]string
	}{
		"scopes":                              {store.KeyChange{Scopes: ptr("a")}, store.KeyChange{}, "a", wide().Metadata},
		"no scopes":                           {store.KeyChange{Scopes: ptr("")}, store.KeyChange{}, "", wide().Metadata},
		"metadata":                            {store.KeyChange{Metadata: free}, store.KeyChange{}, "a b c", free},
		"no metadata":                         {store.KeyChange{Metadata: map[string]string{}}, store.KeyChange{}, "a b c", nil},
		"metadata; the rotation gives scopes": {store.KeyChange{Scopes: ptr("a"), Metadata: free}, store.KeyChange{Scopes: ptr("b")}, "b", free},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			k := c.wideKey(t)
			var fresh store.APIKey
			rotate := func() error { fresh = c.successorOf(t, k, v.given); return nil }
			_, changeErr := c.interleave(t, rotate, func() error { return c.update(k, v.change) })
			noError(t, changeErr)
			carries(t, "the successor", fresh, "wide", v.scopes, v.metadata)
			c.checkActiveKeys(t, name, 2, fresh.ID) // the old key is the second row
			if entries, events := c.countWritten(t, "key.updated", webhook.KeyUpdated); entries != 1 || events != 1 {
				t.Errorf("%d entries and %d events of one change", entries, events)
			}
		})
	}
}

// TestAKeyChangeSeesEarlierRequests reduces the scopes of a key to "a". Another request changes the key
// between the reads of this change and its transaction.
func TestAKeyChangeSeesEarlierRequests(t *testing.T) {
	rotation := func(grace time.Duration) func(*connected, id.Key) error {
		return func(c *connected, k id.Key) error {
			return errorOf(c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Grace: grace, Prefix: "lk"}, store.Once[store.MintedKey]{}))
		}
	}
	for name, v := range map[string]struct {
		first        func(*connected, id.Key) error // the other request
		want         problem.Code                   // of the change to the scopes "a"
		name, scopes string                         // of the key in the end
	}{
		"a revocation":               {func(c *connected, k id.Key) error { return c.RevokeKey(ctx, admin(c.ada), c.org, k) }, problem.KeyNotActive, "wide", "a b c"},
		"a rotation without a grace": {rotation(0), problem.KeyNotActive, "wide", "a b c"},
		// The caller does not know of the successor, which keeps all scopes.
		"a rotation with a grace": {rotation(time.Hour), problem.KeyNotActive, "wide", "a b c"},
		"another name":            {func(c *connected, k id.Key) error { return c.update(k, store.KeyChange{Name: ptr("other")}) }, "", "other", "a"},
		"other scopes":            {func(c *connected, k id.Key) error { return c.update(k, store.KeyChange{Scopes: ptr("b")}) }, "", "wide", "a"},
		"the same scopes":         {func(c *connected, k id.Key) error { return c.update(k, store.KeyChange{Scopes: ptr("a")}) }, "", "wide", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			k := c.wideKey(t)
			narrow := func() error { return c.update(k, store.KeyChange{Scopes: ptr("a")}) }
			err, firstErr := c.interleave(t, narrow, func() error { return v.first(c, k) })
			noError(t, firstErr)
			expectCode(t, err, v.want)
			carries(t, name, row(t, c.Table, c.org, k), v.name, v.scopes, wide().Metadata)
		})
	}
}

// TestAnOldSignInCannotWidenAKeyNarrowedMeanwhile: the key has the scopes a, b and c. Another request narrows it to a between the
// reads of this change and its transaction. So a change to the scopes a and b would then widen the key.
func TestAnOldSignInCannotWidenAKeyNarrowedMeanwhile(t *testing.T) {
	for scopes, want := range map[string]problem.Code{"a b": problem.InsufficientUserAuthentication, "a": "", "": ""} {
		c := connect(t)
		k := c.wideKey(t)
		old := admin(c.ada)
		old.OldSignIn = problem.New(problem.InsufficientUserAuthentication, "")
		change := func() error { return errorOf(c.UpdateKey(ctx, old, c.org, k, store.KeyChange{Scopes: &scopes})) }
		err, firstErr := c.interleave(t, change, func() error { return c.update(k, store.KeyChange{Scopes: ptr("a"), Name: ptr("narrow")}) })
		noError(t, firstErr)
		expectCode(t, err, want)
		if got := row(t, c.Table, c.org, k).Scopes; want != "" && got != "a" || want == "" && got != scopes {
			t.Errorf("to %q: %q", scopes, got)
		}
	}
}

// TestTheEventOfAKeyChangeNamesTheFields: the event names the fields that differ: the scopes and the metadata, but not the
// name, which is the same as before. It shows neither the scopes nor the metadata.
func TestTheEventOfAKeyChangeNamesTheFields(t *testing.T) {
	c := connect(t)
	k := c.wideKey(t)
	noError(t, c.update(k, store.KeyChange{Name: ptr("wide"), Scopes: ptr("a"), Metadata: map[string]string{}}))
	got := c.events(t, webhook.KeyUpdated)
	want := []map[string]any{{
		"keyId": string(k), "keyPrefix": row(t, c.Table, c.org, k).Prefix, "name": "wide", "appId": string(c.app),
		"expiresAt": nil, "revokedAt": nil, "changed": []any{"metadata", "scopes"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// sizeOf returns the size of a row in bytes, as DynamoDB counts them: names and values in UTF-8. A number has a
// byte for each two digits, and one more.
func sizeOf(t *testing.T, r dbRow) (n int) {
	t.Helper()
	for name, v := range r {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += (len(v.Value)+1)/2 + 1
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		default:
			t.Fatalf("%s is a %T", name, v)
		}
	}
	return n
}

// TestTheLargestKeyRowIsOneReadUnit: every request with a key reads its row strongly. A row of up to 4 KB
// costs one read unit. Here the name, the scopes, the metadata and the prefix have their largest lengths, and the
// row has every attribute that it can have.
func TestTheLargestKeyRowIsOneReadUnit(t *testing.T) {
	c := connect(t)
	name := strings.Repeat("🔑", org.MaxNameLen)
	var scopes []string
	for i := range apikey.MaxScopes {
		scopes = append(scopes, fmt.Sprintf("%02d", i)+strings.Repeat("x", apikey.MaxScope-2))
	}
	metadata := map[string]string{"a": strings.Repeat("&", apikey.MaxMetadata-len(`{"a":""}`))}
	prefix := strings.Repeat("k", 16)
	if _, ok := org.CleanName(name); !ok || !apikey.ValidMetadata(metadata) || !apikey.ValidPrefix(prefix) || !apikey.ValidScope(scopes[0]) {
		t.Fatal("not at the bounds")
	}
	const limits = "1000000000/m 1000000000/h 1000000000/M"
	noError(t, c.changeOrg(store.OrgChange{Allowance: ptr(limits), Plan: ptr(strings.Repeat("p", 16))}))
	carried := store.Carried{Scopes: apikey.JoinScopes(scopes), Metadata: metadata, Limits: limits, Ceilings: limits}
	wanted := store.NewKey{Name: name, Carried: carried, Prefix: prefix, ExpiresIn: 10 * 365 * dayLong}
	made, err := c.CreateKey(ctx, admin(c.ada), c.org, wanted, store.Once[store.MintedKey]{})
	noError(t, err)
	rotated := func(k id.Key) id.Key {
		t.Helper()
		fresh, err := c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: k, Grace: time.Hour, Prefix: prefix}, store.Once[store.MintedKey]{})
		noError(t, err)
		return fresh.Made.ID
	}
	k := rotated(made.Made.ID) // k has a predecessor
	rotated(k)                 // and a successor
	noError(t, c.suspend(true))
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k))
	rows := c.rowsOf(t, "KEYS#")
	noError(t, c.suspend(false))
	full := rows[slices.IndexFunc(rows, func(r dbRow) bool { return text(r, "SK") == "KEY#"+string(k) })]
	for _, e := range c.entities(t) {
		if e.name != "API key" {
			continue
		}
		for _, attribute := range strings.Fields(e.required + " " + e.optional) {
			if full[attribute] == nil && attribute != "hash" { // held is in its place
				t.Errorf("the row has no %s", attribute)
			}
		}
	}
	const roomLeft = 43 // bytes that are left for new attributes
	if n := sizeOf(t, full); n != 4096-roomLeft {
		t.Errorf("%d bytes, so %d are left", n, 4096-n)
	}
	read, err := c.DB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &c.Name, Key: dbRow{"PK": full["PK"], "SK": full["SK"]}, ConsistentRead: ptr(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	noError(t, err)
	if units := *read.ConsumedCapacity.CapacityUnits; units != 1 {
		t.Errorf("a strong read takes %v units", units)
	}
}

package store_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// setPrefix changes the prefix of new keys of the default app. It may run in another goroutine, so it does not end the test.
func (c *connected) setPrefix(t *testing.T, with string) {
	t.Helper()
	app, err := c.UpdateApp(ctx, admin(c.ada), c.org, c.app, store.AppChange{KeysBeginWith: &with})
	if err != nil || app.KeysBeginWith != with {
		t.Errorf("%+v, %v, want keys that begin with %q", app, err, with)
	}
}

// TestNewKeysBeginWithTheCurrentPrefix changes the prefix of an app 50 times. At the same time it makes 50 creations and 10 rotations.
// The prefix of change n is lk<n>: a request that begins after the answer of change n makes a key with the prefix n or a later one.
func TestNewKeysBeginWithTheCurrentPrefix(t *testing.T) {
	c := connect(t)
	const changes, workers, each = 50, 5, 12 // 10 creations and 2 rotations
	old := make([]store.MintedKey, workers)
	for i := range old {
		old[i] = makeKey(t, c.Table, c.org, c.ada, 0)
	}
	var answered, begun atomic.Int64
	c.setPrefix(t, "lk0")
	errs := atOnce(workers+1, func(i int) error {
		if i == workers {
			for n := int64(1); n <= changes; n++ {
				begun.Store(n)
				c.setPrefix(t, fmt.Sprintf("lk%d", n))
				answered.Store(n)
			}
			return nil
		}
		for n := range each {
			least := answered.Load()
			var made store.Created[store.MintedKey]
			var err error
			if n%6 != 5 {
				made, err = c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{})
			} else {
				made, err = c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: old[i].ID, Grace: time.Hour, Prefix: "lk"}, store.Once[store.MintedKey]{})
				old[i] = made.Made
			}
			most, got := begun.Load(), int64(-1)
			if _, scanErr := fmt.Sscanf(made.Made.Minted.Key.Reveal(), "lk%d_", &got); err == nil && (scanErr != nil || got < least || got > most) {
				return fmt.Errorf("a key begins with number %d, want %d to %d", got, least, most)
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		noError(t, err)
	}
}

// TestAnAppKeepsItsPrefixWhenTheDeploymentsPrefixChanges: the deployment's prefix changes from lk to acme, and the app keeps lktest. A request
// that was first sent before the change of the app's prefix is sent again: its answer has the key of the first attempt.
func TestAnAppKeepsItsPrefixWhenTheDeploymentsPrefixChanges(t *testing.T) {
	c := connect(t)
	record := once[store.MintedKey](c, idempotencyKey, "{}", "{}")
	record.Render = func(k store.MintedKey) ([]byte, error) { return []byte(k.Minted.Key.Reveal()), nil }
	create := func() store.Created[store.MintedKey] {
		made, err := c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "lk"}, record)
		noError(t, err)
		return made
	}
	first := create()
	c.setPrefix(t, "lktest")
	if again := create(); !again.Replayed || again.Answer.Reveal() != first.Answer.Reveal() {
		t.Error("the same request got another key")
	}
	rotated, err := c.RotateKey(ctx, admin(c.ada), c.org, store.Rotation{Old: first.Made.ID, Prefix: "acme"}, store.Once[store.MintedKey]{})
	if noError(t, err); !strings.HasPrefix(rotated.Made.Minted.Key.Reveal(), "lktest_") {
		t.Errorf("the new key begins with %s", rotated.Made.Minted.Prefix)
	}
	c.setPrefix(t, "")
	made, err := c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "acme"}, store.Once[store.MintedKey]{})
	if noError(t, err); !strings.HasPrefix(made.Made.Minted.Key.Reveal(), "acme_") {
		t.Errorf("a key of the app without a prefix begins with %s", made.Made.Minted.Prefix)
	}
	expectCode(t, errorOf(c.UpdateApp(ctx, admin(c.ada), c.org, "app_x", store.AppChange{})), problem.AppNotFound)
}

// TestARenameKeepsAPrefixChangedMeanwhile: a request reads the app, another request changes the prefix, and then the first writes a
// new name. Also, a rotation is refused when the app cannot be read.
func TestARenameKeepsAPrefixChangedMeanwhile(t *testing.T) {
	c := connect(t)
	c.Faults.Before("TransactWriteItems", func() { c.setPrefix(t, "lktest") })
	app, err := c.UpdateApp(ctx, admin(c.ada), c.org, c.app, store.AppChange{Name: ptr("Other")})
	if noError(t, err); app.Name != "Other" || app.KeysBeginWith != "lktest" {
		t.Errorf("%+v", app)
	}
	old := makeKey(t, c.Table, c.org, c.ada, 0)
	rotation := store.Rotation{Old: old.ID, Prefix: "lk"}
	c.Faults.Plan("GetItem", storetest.LostBefore, -1)
	expectCode(t, errorOf(c.RotateKey(ctx, admin(c.ada), c.org, rotation, store.Once[store.MintedKey]{})), problem.Unavailable)
}

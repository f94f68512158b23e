package authn

import (
	"context"
	"fmt"
	"sync"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/callback"
	"latchkey/pkg/cause"
	"latchkey/pkg/store"
)

// Fallback gets a text that may be a key of the owner's earlier system, and that was not imported yet. It may import the key.
// It gets no text with the form of an access token, which may be a person's. The imported row decides afterwards. An error means that Fallback could not look for the key.
type Fallback func(ctx context.Context, text string) error

// TakeImported makes the authorizer accept imported keys too: texts that do not have the form of Latchkey's keys.
// At most atOnce calls of fallback run at the same time; others wait. Without a fallback (nil), atOnce is 0.
func (a *Authorizer) TakeImported(fallback Fallback, atOnce int) {
	a.imported = &imported{fallback: fallback, calls: callback.New(atOnce)}
}

// imported finds the rows of imported keys.
type imported struct {
	fallback Fallback
	calls    *callback.Calls // runs fallback

	mu    sync.Mutex
	known map[apikey.Hash]store.Imported
}

// importedMax limits the hashes in memory. When it is reached, all are forgotten, and are read once more.
const importedMax = 20_000

// row reads the row of the key that a text was imported as. The id of this key never changes, so it is remembered. The key's row
// decides, and is read each time. ok is false when there is no such row.
func (i *imported) row(ctx context.Context, table Table, text string, hash apikey.Hash) (row store.APIKey, ok bool, err error) {
	if at, isKnown := i.remembered(hash); isKnown {
		if row, ok, err = table.APIKey(ctx, at.Org, at.Key); ok || err != nil {
			return row, ok, err
		}
	}
	at, ok, err := table.Imported(ctx, hash)
	if err == nil && !ok && i.fallback != nil && !accesstoken.LooksLikeJWT(text) {
		at, ok, err = i.callFallback(ctx, table, text, hash)
	}
	if err != nil || !ok {
		return row, false, err
	}
	i.remember(hash, at)
	return table.APIKey(ctx, at.Org, at.Key)
}

// callFallback calls the fallback with a text, and then reads whether the text was imported. It also reads this before the call, because
// another request may have imported the text while this one waited.
func (i *imported) callFallback(ctx context.Context, table Table, text string, hash apikey.Hash) (at store.Imported, ok bool, err error) {
	if err = i.calls.Wait(ctx); err != nil {
		return at, false, fmt.Errorf("authn: too many texts wait for the fallback: %w", err)
	}
	at, ok, err = table.Imported(ctx, hash)
	if err != nil || ok {
		i.calls.Leave()
		return at, ok, err
	}
	_, err = callback.Run(ctx, i.calls, func() (none struct{}, err error) { return none, cause.Of(i.fallback(ctx, text)) })
	if err != nil { // cause.Of keeps only known causes and types: the error is no refusal, and does not show the key
		return at, false, fmt.Errorf("authn: the fallback: %w", err)
	}
	return table.Imported(ctx, hash)
}

func (i *imported) remembered(hash apikey.Hash) (at store.Imported, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at, ok = i.known[hash]
	return at, ok
}

func (i *imported) remember(hash apikey.Hash, at store.Imported) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil || len(i.known) >= importedMax {
		i.known = map[apikey.Hash]store.Imported{}
	}
	i.known[hash] = at
}

package authn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"latchkey/pkg/apikey"
	"latchkey/pkg/store"
)

// Fallback is asked for a text that may be a key of the owner's earlier system, and that was not imported yet. It may import
// the key, and says no more than that it has looked: the imported row decides then. An error means that it could not look.
type Fallback func(ctx context.Context, text string) error

// TakeImported makes the authorizer take imported keys too: texts of any form but those of our keys and of access tokens. At
// most atOnce calls of fallback run at the same time, and others wait for them. Without a fallback (nil), atOnce is 0.
func (a *Authorizer) TakeImported(fallback Fallback, atOnce int) {
	a.imported = &imported{fallback: fallback, places: make(chan struct{}, atOnce)}
}

// imported finds the rows of imported keys.
type imported struct {
	fallback Fallback
	places   chan struct{} // has an element for each running call of fallback

	mu    sync.Mutex
	known map[apikey.Hash]store.Imported
}

// errNoReturn is the fault of a fallback that calls runtime.Goexit, as t.Fatal of a test does.
var errNoReturn = errors.New("it ended its goroutine")

// importedMax bounds the hashes in memory. At this number all are forgotten, and read once more.
const importedMax = 20_000

// row reads the row of the key as which a text was imported. Which key that is never changes, and is remembered. Only the
// key's row decides, and is read each time. ok is false when there is no such row.
func (i *imported) row(ctx context.Context, table Table, text string, hash apikey.Hash) (row store.APIKey, ok bool, err error) {
	if at, isKnown := i.remembered(hash); isKnown {
		if row, ok, err = table.APIKey(ctx, at.Org, at.Key); ok || err != nil {
			return row, ok, err
		}
	}
	at, ok, err := table.Imported(ctx, hash)
	if err == nil && !ok && i.fallback != nil {
		at, ok, err = i.ask(ctx, table, text, hash)
	}
	if err != nil || !ok {
		return row, false, err
	}
	i.remember(hash, at)
	return table.APIKey(ctx, at.Org, at.Key)
}

// ask asks the fallback for a text, and reads whether the text was imported. It reads before too, because another request may
// have imported the text while this one waited for its place.
func (i *imported) ask(ctx context.Context, table Table, text string, hash apikey.Hash) (at store.Imported, ok bool, err error) {
	select {
	case i.places <- struct{}{}:
	case <-ctx.Done():
		return at, false, fmt.Errorf("authn: too many texts wait for the fallback: %w", ctx.Err())
	}
	asked := make(chan error, 1)
	go func() { // so that the request need not wait for a fallback that does not heed ctx
		err := errNoReturn // unless CallOwner returns
		defer func() {
			<-i.places
			asked <- err
		}()
		err = CallOwner(func() error {
			_, isImported, err := table.Imported(ctx, hash)
			if err == nil && !isImported {
				err = i.fallback(ctx, text)
			}
			return err
		})
	}()
	select {
	case err = <-asked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return at, false, errors.New("authn: the fallback: " + withoutText(err, text)) // not wrapped: no error of a fallback is a refusal of ours
	}
	return table.Imported(ctx, hash)
}

// withoutText returns the message of an error of the owner's code, without the text of the key. An error of net/http has the
// address that was asked, so only its cause is shown. Of any other error that repeats the text only the type is shown.
func withoutText(err error, text string) string {
	var asked *url.Error
	if errors.As(err, &asked) && asked.Err != nil {
		err = asked.Err
	}
	message := err.Error()
	for _, form := range []string{text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(strconv.Quote(text), `"`)} {
		if strings.Contains(message, form) {
			return fmt.Sprintf("%T, with the text of the key", err)
		}
	}
	return message
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

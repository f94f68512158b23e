package console

import (
	"context"
	"maps"
	"testing"
	"testing/fstest"

	"latchkey/pkg/authn/jwks"
)

func TestWhatCannotBeServedEndsTheStart(t *testing.T) {
	page := fstest.MapFS{}
	for _, name := range unhashed {
		page[name] = &fstest.MapFile{Data: []byte("x")}
	}
	with := func(name string) fstest.MapFS {
		files := maps.Clone(page)
		files[name] = page[index]
		return files
	}
	without := maps.Clone(page)
	delete(without, verify)
	for name, c := range map[string]struct {
		files      fstest.MapFS
		parameters string
		ok         bool
	}{
		"a page alone": {page, "", true}, "two parameters": {page, "a=1&b=", true}, "one twice": {page, "a=1&a=2", false}, "no query": {page, "a=%", false},
		"no page": {without, "", false}, "a script": {with("main-1.js"), "", true}, "bytes": {with("a.png"), "", false},
	} {
		_, err := New(c.files, Settings{Parameters: c.parameters}, func(context.Context) (jwks.Document, error) { return jwks.Document{}, nil })
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package console

import (
	"context"
	"testing"
	"testing/fstest"

	"latchkey/pkg/authn/jwks"
)

func TestWhatCannotBeServedEndsTheStart(t *testing.T) {
	page := fstest.MapFS{"index.html": {Data: []byte("x")}}
	for name, c := range map[string]struct {
		files      fstest.MapFS
		parameters string
		ok         bool
	}{
		"a page alone": {page, "", true}, "two parameters": {page, "a=1&b=", true}, "one twice": {page, "a=1&a=2", false}, "no query": {page, "a=%", false},
		"no page": {fstest.MapFS{"main.js": {Data: []byte("x")}}, "", false}, "bytes": {fstest.MapFS{"index.html": page["index.html"], "a.png": {Data: []byte("x")}}, "", false},
	} {
		_, err := New(c.files, Settings{Parameters: c.parameters}, func(context.Context) (jwks.Document, error) { return jwks.Document{}, nil })
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

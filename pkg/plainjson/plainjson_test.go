package plainjson_test

import (
	"testing"

	"latchkey/pkg/plainjson"
)

func TestTheTextIsCompactSortedAndUnescaped(t *testing.T) {
	got, err := plainjson.Marshal(map[string]string{"b": "<a&b>", "a": "ä\n"})
	if err != nil || string(got) != `{"a":"ä\n","b":"<a&b>"}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := plainjson.Marshal(func() {}); err == nil {
		t.Error("a function was written")
	}
}

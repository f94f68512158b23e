package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"latchkey/pkg/plainjson"
	"latchkey/pkg/store"
)

// heavy is an item with a given number of bytes. It counts how often it is rendered.
type heavy struct {
	bytes    int
	rendered *int
}

func (h heavy) MarshalJSON() ([]byte, error) {
	*h.rendered++
	return []byte(`"` + strings.Repeat("a", h.bytes) + `"`), nil
}

// TestAListRendersEachItemOnce, except an item that no longer fits: it is rendered, but not shown.
func TestAListRendersEachItemOnce(t *testing.T) {
	for name, c := range map[string]struct {
		sizes          []int
		shown, renders int
	}{
		"whole": {[]int{10, 20, 30}, 3, 3}, "too many bytes": {[]int{maxList / 2, maxList / 4, maxList / 2}, 2, 3}, "empty": {nil, 0, 0},
		"the first item is too large": {[]int{maxList + 1, 10}, 1, 2}, "the only item is too large": {[]int{maxList + 1}, 1, 1},
	} {
		renders := 0
		l, err := reading[int, heavy]{
			name: "heavy", rows: func(store.Page) ([]int, string, error) { return c.sizes, "", nil },
			shown: func(bytes int) heavy { return heavy{bytes, &renders} }, id: func(heavy) string { return "id" },
			order: func(a, b heavy) int { return b.bytes - a.bytes },
		}.answer(&call{Request: httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)})
		text, errText := plainjson.Marshal(l)
		if err != nil || errText != nil || strings.Count(string(text), "a\"") != c.shown || renders != c.renders || strings.Contains(string(text), "nextCursor") != (c.shown < len(c.sizes)) {
			t.Errorf("%s: %v %v, %d renders, %.100s", name, err, errText, renders, text)
		}
	}
}

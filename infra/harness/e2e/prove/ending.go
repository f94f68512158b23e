package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
)

// ended deletes an org with many keys, native and imported, while clients use the keys. Each key is an object of keyModel. The
// deletion ends all keys.
func ended(h *history) {
	const parts, after = 5, 400
	org := h.org("")
	base := "/v1/orgs/" + org
	var keys []string
	for range parts {
		_, key := h.key(org, scoped(0, ""))
		keys = append(append(keys, key), h.imported(base, 20)...)
	}
	object := func(n int) string { return fmt.Sprint("key ", n) }
	var gone atomic.Bool
	var left atomic.Int64
	left.Store(after)
	turn := 1 + h.chance(20)
	h.together(func(client int) {
		for n := 0; left.Load() > 0 && h.ctx.Err() == nil; n++ {
			if client == 0 && n == turn {
				h.deleteOrg(base, len(keys), object)
				gone.Store(true)
				continue
			}
			late := gone.Load()
			key := h.chance(len(keys))
			h.checkKey(client, object(key), keys[key], late)
			if late {
				left.Add(-1)
			}
		}
	})
	h.check(keyModel)
	if r := h.api.send(h.ctx, request{method: "GET", path: base, bearer: h.billing}); !r.unsure() && r.code != "org_not_found" {
		h.violate("the deleted org is still there: %d %s", r.status, r.text)
	}
}

// deleteOrg deletes the org, and records the deletion as the end of every key. It repeats a deletion that was answered 503. If
// that deletion was done, the repetition finds no org.
func (h *history) deleteOrg(base string, keys int, object func(int) string) {
	var done reply
	var all []input
	for n := range keys {
		all = append(all, input{object(n), "end", "with its org"})
	}
	h.recordAll(0, all, func() string {
		for {
			done = h.api.send(h.ctx, request{method: "DELETE", path: base, bearer: h.billing})
			if !done.unsure() || h.ctx.Err() != nil {
				break
			}
		}
		if !done.ok() && done.code != "org_not_found" {
			h.violate("the org was not deleted: %d %s", done.status, done.text)
		}
		return "done"
	})
}

// imported imports keys by the service, and returns their texts.
func (h *history) imported(base string, n int) (texts []string) {
	var keys []string
	for range n {
		text := "old_" + h.text(40)
		sum := sha256.Sum256([]byte(text))
		texts = append(texts, text)
		keys = append(keys, `{"sha256":"`+hex.EncodeToString(sum[:])+`","prefix":"old_","scopes":["`+scope+`","mark.0"]}`)
	}
	r := h.must(request{method: "POST", path: base + "/keys/import", bearer: h.billing, body: `{"keys":[` + strings.Join(keys, ",") + `]}`}, "", "")
	for _, k := range r.list("keys") {
		if id, _ := k["id"].(string); id == "" {
			h.violate("a key was not imported: %v", k)
		}
	}
	return texts
}

package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// barred revokes a key, with its endpoints and its links, while the key makes endpoints and links. After the answer, an
// enabled endpoint of the key is a violation, and so is a link of the key that can be claimed.
func barred(h *history) {
	org := h.org("")
	id, key := h.key(org, "{}")
	app := h.app(key)
	var mu sync.Mutex
	var links, endpoints []reply // what the key made
	var revoked time.Time
	var over atomic.Bool
	create := func(into *[]reply, path, body string) {
		if r := h.api.send(h.ctx, request{method: "POST", path: path, bearer: key, body: body}); r.ok() {
			mu.Lock()
			defer mu.Unlock()
			*into = append(*into, r)
		}
	}
	turn := h.chance(2)
	h.together(func(client int) {
		for n := 0; n < 3 && !over.Load(); n++ {
			switch {
			case client == 0 && n == turn:
				h.must(request{method: "DELETE", path: "/v1/orgs/" + org + "/keys/" + id + "?endpoints=disable&links=revoke", bearer: h.billing}, "key.revoked", id)
				revoked = time.Now()
				over.Store(true)
			case client%2 == 0:
				create(&endpoints, "/webhook_endpoint/create", fmt.Sprintf(`{"url":"http://127.0.0.1:9/%d/%d","events":["proof.none"]}`, client, n))
			default:
				create(&links, "/link/create", fmt.Sprintf(`{"clientUserId":"u-%d-%d"}`, client, n))
			}
		}
	})
	h.claimLinks(links, revoked)
	list := h.must(request{method: "GET", path: "/v1/orgs/" + org + "/apps/" + app + "/webhook_endpoints", bearer: h.billing}, "", "")
	for _, e := range list.list("endpoints") {
		if e["enabled"] == true {
			h.violate("endpoint %v of the revoked key is enabled", e["id"])
		}
	}
	if slices.ContainsFunc(append(endpoints, links...), func(r reply) bool { return r.begun.After(revoked) }) {
		h.violate("a request of the key that began after the revocation was done")
	}
}

// claimLinks tries to claim the links of a revoked key.
func (h *history) claimLinks(links []reply, revoked time.Time) {
	for _, link := range links[:min(8, len(links))] {
		r := h.api.send(h.ctx, request{method: "POST", path: "/link/claim", body: `{"token":"` + link.str("token") + `","claimKey":"` + h.text(22) + `"}`})
		if !r.unsure() && r.code != "link_revoked" {
			h.violate("a link of the revoked key was claimed %s after its revocation: %d %s", r.begun.Sub(revoked), r.status, r.text)
		}
	}
}

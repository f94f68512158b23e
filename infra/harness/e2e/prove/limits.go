package main

import "fmt"

// mostOf are the limits of an org: see infra/docs/api.md.
var mostOf = map[string]int{"keys": 200, "apps": 20}

// limitModel returns the model of how many there are of each object, from first on: at its limit nothing is made, and below
// it no one is refused.
func limitModel(first map[string]int) model {
	return model{
		first: -1,
		step: func(state any, in input, out string) (bool, any) {
			n, most := state.(int), mostOf[in.object]
			if n < 0 {
				n = first[in.object]
			}
			switch {
			case in.do == "end":
				return out == "done", n - 1
			case out == "done":
				return n < most, n + 1
			case out == "limit_reached":
				return n >= most, n
			case out == unsure && n < most:
				return true, n + 1
			}
			return out == unsure, n
		},
	}
}

// limited makes more API keys and more apps than an org may have, while keys are revoked.
func limited(h *history) {
	org := h.org("")
	base := "/v1/orgs/" + org
	const imported, apps = 195, 15
	for range imported / 15 {
		h.imported(base, 15)
	}
	for n := range apps - 1 { // the org has one
		h.must(request{method: "POST", path: base + "/apps", bearer: h.billing, body: fmt.Sprintf(`{"name":"App %d"}`, n)}, "", "")
	}
	var mine [clients]string // a key that the client made
	h.together(func(client int) {
		for range 4 {
			switch {
			case client%4 == 0:
				h.record(client, input{"apps", "make", ""}, func() string {
					return h.api.ask(h.ctx, request{method: "POST", path: base + "/apps", bearer: h.billing, body: `{"name":"One more"}`}).outcome()
				})
			case mine[client] != "" && h.chance(2) == 0:
				h.record(client, input{"keys", "end", ""}, func() string {
					h.must(request{method: "DELETE", path: base + "/keys/" + mine[client], bearer: h.billing}, "key.revoked", mine[client])
					return "done"
				})
				mine[client] = ""
			default:
				h.record(client, input{"keys", "make", ""}, func() string {
					r := h.api.ask(h.ctx, request{method: "POST", path: base + "/keys", bearer: h.billing, body: "{}"})
					if r.ok() {
						mine[client] = r.str("id")
					}
					return r.outcome()
				})
			}
		}
	})
	h.check(limitModel(map[string]int{"keys": imported, "apps": apps}))
}

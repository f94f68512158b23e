package main

import "fmt"

// orgLimits are the most keys and apps of an org: see infra/docs/api.md.
var orgLimits = map[string]int{"keys": 200, "apps": 20}

// limitModel returns a model that counts keys and apps. first has the numbers at the start. At its limit nothing is made, and
// below the limit nothing is refused.
func limitModel(first map[string]int) model {
	return model{
		first: -1, // until the first step, which knows the object
		step: func(state any, in input, out string) (bool, any) {
			n, most := state.(int), orgLimits[in.object]
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
	var madeKey [clients]string // by client: the id of a key that it made and has not revoked; "": none
	h.together(func(client int) {
		for range 4 {
			switch {
			case client%4 == 0:
				h.record(client, input{"apps", "make", ""}, func() string {
					return h.api.send(h.ctx, request{method: "POST", path: base + "/apps", bearer: h.billing, body: `{"name":"One more"}`}).outcome()
				})
			case madeKey[client] != "" && h.chance(2) == 0:
				h.record(client, input{"keys", "end", ""}, func() string {
					h.must(request{method: "DELETE", path: base + "/keys/" + madeKey[client], bearer: h.billing}, "key.revoked", madeKey[client])
					return "done"
				})
				madeKey[client] = ""
			default:
				h.record(client, input{"keys", "make", ""}, func() string {
					r := h.api.send(h.ctx, request{method: "POST", path: base + "/keys", bearer: h.billing, body: "{}"})
					if r.ok() {
						madeKey[client] = r.str("id")
					}
					return r.outcome()
				})
			}
		}
	})
	h.check(limitModel(map[string]int{"keys": imported, "apps": apps}))
}

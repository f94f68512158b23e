package main

import (
	"fmt"
	"strconv"
)

// claimModel: a link is either revoked, or claimed by one device. All claims of this device succeed.
var claimModel = model{
	first: "pending",
	step: func(state any, in input, out string) (bool, any) {
		s := state.(string)
		byThisDevice := "claimed by " + in.arg
		want, next := "", s
		switch {
		case in.do == "claim" && (s == "pending" || s == byThisDevice):
			want, next = "done", byThisDevice
		case in.do == "claim" && s == "revoked":
			want = "link_revoked"
		case s == "pending" || s == "revoked": // revoke
			want, next = "done", "revoked"
		default:
			want = "link_already_claimed"
		}
		return out == want || out == unsure, next
	},
}

// claimed: sixteen clients claim three links as six devices, while the links may be revoked.
func claimed(h *history) {
	org := h.org("")
	_, key := h.key(org, "{}")
	var ids, tokens []string
	for n := range 3 {
		r := h.must(request{method: "POST", path: "/link/create", bearer: key, body: fmt.Sprintf(`{"clientUserId":"u-%d"}`, n)}, "", "")
		ids, tokens = append(ids, r.str("id")), append(tokens, r.str("token"))
	}
	secret := h.text(30)
	h.together(func(client int) {
		for range 4 {
			n := h.chance(len(ids))
			object := fmt.Sprint("link ", n)
			if h.chance(10) == 0 {
				h.record(client, input{object, "revoke", ""}, func() string {
					return h.api.send(h.ctx, request{method: "POST", path: "/link/revoke", bearer: key, body: `{"linkId":"` + ids[n] + `"}`}).outcome()
				})
				continue
			}
			device := strconv.Itoa(h.chance(6))
			h.record(client, input{object, "claim", device}, func() string {
				return h.api.send(h.ctx, request{method: "POST", path: "/link/claim", body: `{"token":"` + tokens[n] + `","claimKey":"` + secret + device + `"}`}).outcome()
			})
		}
	})
	h.check(claimModel)
}

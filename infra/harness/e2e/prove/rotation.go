package main

import (
	"strconv"
	"sync/atomic"
	"time"
)

// rotationState has the marks of a key and of its successor.
type rotationState struct {
	old, successor string // successor is "" until the key is rotated
}

// rotationModel: the successor has the mark that the key had at the moment of the rotation. A later change of the key changes only
// the old key. The answer to a change shows whether the key is in its grace.
var rotationModel = model{
	first: rotationState{old: "mark.0"},
	reads: []string{"check new", "check old"},
	step: func(state any, in input, out string) (bool, any) {
		s := state.(rotationState)
		marked := rotationState{in.arg, s.successor}
		switch in.do {
		case "rotate":
			return s.successor == "" && (out == "done" || out == unsure), rotationState{s.old, s.old}
		case "check new":
			return out == "good "+s.successor, s
		case "check old":
			return out == "good "+s.old, s
		case "mark":
			switch out {
			case "done": // before the rotation
				return s.successor == "", marked
			case "done in its grace":
				return s.successor != "", marked
			case "key_not_active":
				return s.successor != "", s
			case unsure:
				return true, marked
			}
		}
		return false, s
	},
}

// rotated rotates a key while clients use the key and change its scopes.
func rotated(h *history) {
	org := h.org("")
	id, key := h.key(org, scoped(0, ""))
	path := "/v1/orgs/" + org + "/keys/" + id
	grace, turn := h.chance(2), h.chance(4)
	var successor atomic.Pointer[string]
	var begun, done time.Time
	h.together(func(client int) {
		for n := range 8 {
			switch {
			case client == 0 && n == turn:
				h.record(client, input{"key", "rotate", ""}, func() string {
					q := request{method: "POST", path: path + "/rotate", bearer: h.billing, body: `{"graceSeconds":` + strconv.Itoa(grace) + `}`}
					begun = time.Now()
					r := h.must(q, "key.rotated", id)
					done = time.Now()
					text := r.str("key")
					successor.Store(&text)
					return "done"
				})
			case client == 0 || client > 0 && client < 3 && n%2 == 0:
				h.record(client, input{"key", "mark", "mark." + strconv.Itoa(1+client*100+n)}, func() string {
					r := h.api.send(h.ctx, request{method: "PATCH", path: path, bearer: h.billing, body: scoped(1+client*100+n, "")})
					h.note("key.updated", id, r)
					if r.ok() && r.body["expiresAt"] != nil {
						return "done in its grace"
					}
					return r.outcome()
				})
			case client > 3 && successor.Load() != nil:
				d := h.anyDoor()
				h.record(client, input{"key", "check new", "at " + d.name}, func() string { return checkOutcome(h.checkAt(d, *successor.Load(), false)) })
			case n%2 == 0:
				d := h.anyDoor()
				h.record(client, input{"key", "check old", "at " + d.name}, func() string {
					if out := checkOutcome(h.checkAt(d, key, false)); out != "dead" {
						return out
					}
					return unsure // its grace may be over, which aroundExpiry checks
				})
			}
		}
	})
	h.check(rotationModel)
	after := time.Duration(grace) * time.Second
	h.aroundExpiry(key, begun.Add(after), done.Add(after), 3)
}

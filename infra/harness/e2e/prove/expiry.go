package main

import (
	"strings"
	"time"
)

// expired uses a key before and after its expiry. It has no model, because the clock decides: a check that begins after the
// expiry must be refused, and a check that ends before it must not.
func expired(h *history) {
	org := h.org("")
	r := h.must(request{method: "POST", path: "/v1/orgs/" + org + "/keys", bearer: h.billing, body: scoped(0, `,"expiresIn":1`)}, "key.created", "")
	at, _ := r.body["expiresAt"].(float64)
	expiry := time.UnixMilli(int64(at))
	h.aroundExpiry(r.str("key"), expiry, expiry, 6)
}

// aroundExpiry: all clients check a key from shortly before its expiry on. The expiry is between earliest and latest.
// checks is the number of checks that each client makes after the expiry.
func (h *history) aroundExpiry(key string, earliest, latest time.Time, checks int) {
	h.together(func(client int) {
		time.Sleep(time.Until(earliest) - time.Duration(h.chance(120))*time.Millisecond)
		for n := 0; n < checks && h.ctx.Err() == nil; {
			d := h.anyDoor()
			late := time.Now().After(latest)
			r := h.checkAt(d, key, late)
			h.compareWithClock(d.name, r, earliest, latest)
			if late {
				n++
			}
		}
	})
}

// compareWithClock compares the answer to a check with the expiry. It allows a millisecond, because rows have whole milliseconds.
func (h *history) compareWithClock(door string, r reply, earliest, latest time.Time) {
	switch out := checkOutcome(r); {
	case out == unsure:
	case out == "dead" && r.ended.Before(earliest):
		h.violate("%s refused a key %s before its expiry", door, earliest.Sub(r.ended))
	case out == "dead":
	case !strings.HasPrefix(out, "good"):
		h.violate("%s answered %s", door, out)
	case r.begun.After(latest.Add(time.Millisecond)):
		h.violate("%s accepted a key %s after its expiry", door, r.begun.Sub(latest))
	}
}

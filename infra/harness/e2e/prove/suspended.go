package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// suspension is the state that a check of a key of the org, or of a member, must show.
type suspension struct {
	held bool // the org is suspended
	dead bool // the key is revoked
}

// suspendedModel: from the answers on, a key is refused while its org is suspended, and good afterwards unless it was revoked. No key is
// made in a suspended org.
var suspendedModel = model{
	first: suspension{},
	reads: []string{"check", "make"},
	step: func(state any, in input, out string) (bool, any) {
		s := state.(suspension)
		switch in.do {
		case "suspend", "resume":
			return out == "done", suspension{in.do == "suspend", s.dead}
		case "end":
			return out == "done", suspension{s.held, true}
		case "make":
			return out == map[bool]string{false: "done", true: "org_suspended"}[s.held], s
		}
		got, _, _ := strings.Cut(out, " ") // without the mark
		want := map[suspension]string{{}: "good", {held: true}: "held"}[s]
		if s.dead {
			want = "dead"
		}
		return got == want, s
	},
}

// keyring has the keys or tokens of a history, by the names of the objects. An object without a key is not made yet.
type keyring struct {
	objects []string
	mu      sync.Mutex
	keys    map[string]string
}

func (k *keyring) add(object, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[object] = key
}

// any returns a random key with its object.
func (k *keyring) any(h *history) (object, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key == "" {
		object = k.objects[h.chance(len(k.objects))]
		key = k.keys[object]
	}
	return object, key
}

// suspended suspends and resumes an org. Meanwhile clients use its keys at every door, make and revoke keys, and change its plan.
func suspended(h *history) {
	const makers = 8 // the clients that make keys
	const made = 6   // the keys that each of them makes during a change
	const after = 2  // the checks of each client at each door after a change
	org := h.org(`,"admin":{"subject":"` + h.people[0].email + `"}`)
	base := "/v1/orgs/" + org
	create := request{method: "POST", path: base + "/keys", bearer: h.billing, body: scoped(0, "")}
	revoked, kept := h.must(create, "", ""), h.must(create, "", "") // without an audit action: other creations may be answered 503, so the log is not compared
	id := revoked.str("id")
	ring := &keyring{objects: []string{"member"}, keys: map[string]string{}}
	for n, key := range append(h.imported(base, 2), revoked.str("key"), kept.str("key")) {
		ring.objects = append(ring.objects, fmt.Sprint("key ", n))
		ring.keys[ring.objects[n+1]] = key
	}
	toRevoke := ring.objects[3] // after the member and the two imported keys
	for n := range 2 * makers * made {
		ring.objects = append(ring.objects, fmt.Sprint("made ", n))
	}
	for turn, do := range []string{"suspend", "resume"} {
		var done atomic.Bool
		h.together(func(client int) {
			switch {
			case client == 0:
				h.setSuspended(base, do, ring)
				done.Store(true)
			case client == 1 && do == "suspend":
				h.record(client, input{toRevoke, "end", ""}, func() string {
					h.must(request{method: "DELETE", path: base + "/keys/" + id, bearer: h.billing}, "key.revoked", id)
					return "done"
				})
			case client == 2:
				h.must(request{method: "PATCH", path: base, bearer: h.billing, body: fmt.Sprintf(`{"plan":"plan-%d"}`, turn)}, "", "")
			case client >= clients-makers:
				maker := turn*makers + client - (clients - makers) // another number in each turn, so that no object is made twice
				for n := 0; n < made && !done.Load(); n++ {
					h.make(client, fmt.Sprint("made ", maker*made+n), create, ring)
				}
			}
			for !done.Load() && h.ctx.Err() == nil {
				h.checkRing(client, ring, h.anyDoor(), false)
			}
		})
		h.together(func(client int) {
			for range after {
				h.checkEverywhere(client, org, ring)
			}
		})
	}
	h.check(suspendedModel)
}

// setSuspended suspends or resumes the org, and records it as a change of every key.
func (h *history) setSuspended(base, do string, ring *keyring) {
	q, action := request{method: "POST", path: base + "/suspension", bearer: h.billing, body: "{}"}, "org.suspended"
	if do == "resume" {
		q.method, q.body, action = "DELETE", "", "org.resumed"
	}
	h.changeAll(0, ring.objects, do, q, action, strings.TrimPrefix(base, "/v1/orgs/"))
}

// changeAll repeats a request until its answer is sure, and records it as a change of each of the objects.
func (h *history) changeAll(client int, objects []string, do string, q request, action, target string) {
	var all []input
	for _, object := range objects {
		all = append(all, input{object, do, ""})
	}
	h.recordAll(client, all, func() string {
		h.must(q, action, target)
		return "done"
	})
}

// checkEverywhere checks a key at each door, and a member at each door for members.
func (h *history) checkEverywhere(client int, org string, ring *keyring) {
	for _, d := range h.doors {
		h.checkRing(client, ring, d, true)
	}
	for _, d := range h.members {
		h.record(client, input{"member", "check", "at " + d.name}, func() string { return h.enter(d, org) })
	}
}

// make makes a key, which is the object from then on.
func (h *history) make(client int, object string, create request, ring *keyring) {
	h.record(client, input{object, "make", ""}, func() string {
		r := h.api.send(h.ctx, create)
		if r.ok() {
			ring.add(object, r.str("key"))
		}
		return r.outcome()
	})
}

// checkRing checks a random key of the ring at a door.
func (h *history) checkRing(client int, ring *keyring, d door, after bool) {
	object, key := ring.any(h)
	h.record(client, input{object, "check", "at " + d.name}, func() string { return checkOutcome(h.checkAt(d, key, after)) })
}

// enter returns the output of a check of a member of an org at a door, in the words of suspendedModel.
func (h *history) enter(at door, org string) string {
	switch out := at.enter(h.ctx, org, h.people[0].token).outcome(); out {
	case "done":
		return "good"
	case "org_suspended":
		return "held"
	default:
		return out
	}
}

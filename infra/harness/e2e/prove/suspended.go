package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// suspension is what a check of a key of an org must show, and what a member of the org meets at a door.
type suspension struct{ held, dead bool }

// suspendedModel: from the answer on a key is refused while its org is suspended, and good afterwards unless it has ended. A key is
// made only in an org that is not suspended.
var suspendedModel = model{
	first: suspension{},
	reads: []string{"check", "make"},
	step: func(state any, in input, out string) (bool, any) {
		s := state.(suspension)
		switch in.do {
		case "hold", "free":
			return out == "done", suspension{in.do == "hold", s.dead}
		case "end":
			return out == "done", suspension{s.held, true}
		case "make":
			return out == map[bool]string{false: "done", true: "org_suspended"}[s.held], s
		}
		seen, _, _ := strings.Cut(out, " ")
		want := map[suspension]string{{}: "good", {held: true}: "held"}[s]
		if s.dead {
			want = "dead"
		}
		return seen == want, s
	},
}

// keyring holds the keys of a history, by the objects that they are. An object without a key is one that is not made yet.
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

// any returns one of the keys.
func (k *keyring) any(h *history) (object, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key == "" {
		object = k.objects[h.chance(len(k.objects))]
		key = k.keys[object]
	}
	return object, key
}

// suspended suspends and resumes an org while its keys are used at every door, made, and revoked, and its plan changes.
func suspended(h *history) {
	const makers, made, after = 8, 6, 2 // clients that make keys; keys that each makes during a change; checks by each at each door after it
	org := h.org(`,"admin":{"subject":"` + h.people[0].email + `"}`)
	base := "/v1/orgs/" + org
	create := request{method: "POST", path: base + "/keys", bearer: h.billing, body: scoped(0, "")}
	revoked, kept := h.must(create, "", ""), h.must(create, "", "") // not compared with the audit log: a creation may be answered 503
	id := revoked.str("id")
	ring := &keyring{objects: []string{"member"}, keys: map[string]string{}}
	for n, key := range append(h.imported(base, 2), revoked.str("key"), kept.str("key")) {
		ring.objects = append(ring.objects, fmt.Sprint("key ", n))
		ring.keys[ring.objects[n+1]] = key
	}
	for n := range 2 * makers * made {
		ring.objects = append(ring.objects, fmt.Sprint("made ", n))
	}
	for turn, do := range []string{"hold", "free"} {
		var done atomic.Bool
		h.together(func(client int) {
			switch {
			case client == 0:
				h.setSuspended(base, do, ring)
				done.Store(true)
			case client == 1 && do == "hold":
				h.record(client, input{ring.objects[3], "end", ""}, func() string {
					h.must(request{method: "DELETE", path: base + "/keys/" + id, bearer: h.billing}, "key.revoked", id)
					return "done"
				})
			case client == 2:
				h.must(request{method: "PATCH", path: base, bearer: h.billing, body: fmt.Sprintf(`{"plan":"plan-%d"}`, turn)}, "", "")
			case client >= clients-makers:
				for n := 0; n < made && !done.Load(); n++ {
					h.make(client, fmt.Sprint("made ", (turn*makers+client-clients+makers)*made+n), create, ring)
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
	if do == "free" {
		q.method, q.body, action = "DELETE", "", "org.resumed"
	}
	h.changeAll(0, ring.objects, do, q, action, strings.TrimPrefix(base, "/v1/orgs/"))
}

// changeAll makes a request until it is answered for sure, and records it as a change of each of the objects.
func (h *history) changeAll(client int, objects []string, do string, q request, action, target string) {
	h.recordAll(client, onAll(objects, do), func() string {
		h.must(q, action, target)
		return "done"
	})
}

// checkEverywhere checks a key, and a member where a door has members, at each door.
func (h *history) checkEverywhere(client int, org string, ring *keyring) {
	for _, d := range h.doors {
		h.checkRing(client, ring, d, true)
	}
	for _, d := range h.members {
		h.record(client, input{"member", "check", "at " + d.name}, func() string { return h.enter(d, org) })
	}
}

// onAll returns the same operation on each of the objects.
func onAll(objects []string, do string) (all []input) {
	for _, object := range objects {
		all = append(all, input{object, do, ""})
	}
	return all
}

// make makes a key, as the object.
func (h *history) make(client int, object string, create request, ring *keyring) {
	h.record(client, input{object, "make", ""}, func() string {
		r := h.api.ask(h.ctx, create)
		if r.ok() {
			ring.add(object, r.str("key"))
		}
		return r.outcome()
	})
}

func (h *history) checkRing(client int, ring *keyring, d door, after bool) {
	object, key := ring.any(h)
	h.record(client, input{object, "check", "at " + d.name}, func() string { return seen(h.ask(d, key, after)) })
}

// enter is the output of a check of a member of an org at a door.
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

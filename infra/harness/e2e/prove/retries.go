package main

import (
	"fmt"
	"slices"
	"sync"
)

// retries are the answers to requests with the same Idempotency-Key.
type retries struct {
	*history
	mu      sync.Mutex
	good    map[string][]string // the different good answers, by the name of the thing to make
	refused map[string]string   // the code of a refusal, by the same name
}

// retried sends four creates, each by four clients with the same Idempotency-Key. A client repeats its create until it has a sure
// answer. Each create must be done once, and all good answers must be equal. The fourth client sends another body with the same
// key: it is refused, unless it was the first; then the other three are refused.
func retried(h *history) {
	const things = 4
	base := "/v1/orgs/" + h.org("")
	r := &retries{history: h, good: map[string][]string{}, refused: map[string]string{}}
	h.together(func(client int) {
		name, list := fmt.Sprintf("thing %d", client%things), []string{"/keys", "/apps"}[client%2]
		q := request{method: "POST", path: base + list, bearer: h.billing, once: fmt.Sprintf("%s-%032d", base, client%things)}
		if client/things == 3 {
			name += " of another"
		}
		q.body = `{"name":"` + name + `"}`
		for try := range tries {
			switch sure := r.keepAnswer(name, h.api.send(h.ctx, q)); {
			case !sure:
				pause(try)
			case try > 1:
				return
			}
		}
	})
	made := map[string]int{}
	for _, list := range []string{"keys", "apps"} {
		for _, thing := range h.must(request{method: "GET", path: base + "/" + list, bearer: h.billing}, "", "").list(list) {
			made[fmt.Sprint(thing["name"])]++
		}
	}
	for thing := range things {
		first, other := fmt.Sprintf("thing %d", thing), fmt.Sprintf("thing %d of another", thing)
		if made[other] > 0 {
			first, other = other, first
		}
		once := made[first] == 1 && len(r.good[first]) == 1 && r.refused[first] == ""
		if !once || made[other] != 0 || len(r.good[other]) != 0 || r.refused[other] != "idempotency_key_reused" {
			h.violate("%s: made %v, answered %v, refused %v", first, made, r.good, r.refused)
		}
	}
}

// keepAnswer keeps an answer, and reports whether the answer is sure.
func (r *retries) keepAnswer(name string, a reply) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.unsure():
		return false
	case !a.ok():
		r.refused[name] = a.code
	case !slices.Contains(r.good[name], a.text):
		r.good[name] = append(r.good[name], a.text)
	}
	return true
}

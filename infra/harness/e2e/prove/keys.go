package main

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/infra/harness/local/stack"
)

// door is a place where a key is checked.
type door struct {
	name    string
	site    *site
	request request
}

// ofMember is a request to a door that members of {org} may make.
var ofMember = request{method: "GET", path: "/orgs/{org}/invoices"}

// enter sends a request of a member of an org to a door.
func (d door) enter(ctx context.Context, org, token string) reply {
	q := d.request
	q.path, q.bearer = strings.Replace(q.path, "{org}", org, 1), token
	return d.site.send(ctx, q)
}

// checks counts the checks of keys.
type checks struct {
	mu      sync.Mutex
	all     int             // all checks
	after   int             // the checks that began after the key's end was answered
	faulty  int             // the checks in histories with faults
	refused []time.Duration // how long each 503 took
}

func (c *checks) count(r reply, after, faulty bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	if after {
		c.after++
	}
	if faulty {
		c.faulty++
	}
	if r.status == http.StatusServiceUnavailable {
		c.refused = append(c.refused, r.ended.Sub(r.begun))
	}
}

const scope = "invoices:read" // the scope that the doors require

// scoped returns the body of a request that gives a key the scope of the doors and another scope, the mark. The answer to a check has
// the mark, which shows the scopes that the check read.
func scoped(mark int, more string) string {
	return `{"scopes":["` + scope + `","mark.` + strconv.Itoa(mark) + `"]` + more + `}`
}

var shownMark = regexp.MustCompile(`mark\.(\d+)`)

// checkKey checks a key at any door, and records it. after means that the check begins after the key's end was answered.
func (h *history) checkKey(client int, object, key string, after bool) {
	d := h.anyDoor()
	h.record(client, input{object, "check", "at " + d.name}, func() string {
		out := checkOutcome(h.checkAt(d, key, after))
		if h.kind == "ended" && out == "404 key_not_found" { // while the deletion runs: the org is closed, and the key is not revoked yet
			return unsure
		}
		return out
	})
}

// anyDoor returns one of the doors at which the history checks keys.
func (h *history) anyDoor() door {
	if h.door.site != nil {
		return h.door
	}
	return h.doors[h.chance(len(h.doors))]
}

// checkAt checks a key at a door.
func (h *history) checkAt(d door, key string, after bool) reply {
	q := d.request
	q.bearer = key
	r := d.site.send(h.ctx, q)
	h.checks.count(r, after, h.faulty)
	return r
}

// checkOutcome returns the output of a check: good with the mark of the scopes, dead, held (its org is suspended), or unsure. No model
// allows any other output.
func checkOutcome(r reply) string {
	switch {
	case r.unsure():
		return unsure
	case r.ok():
		if m := shownMark.FindString(r.text + r.header.Get("X-Latchkey-Scopes")); m != "" {
			return "good " + m
		}
		return "good"
	case r.status == http.StatusUnauthorized && (r.code == "key_revoked" || r.code == "key_expired"):
		return "dead"
	case r.status == http.StatusUnauthorized && r.code == "key_suspended":
		return "held"
	default:
		return strconv.Itoa(r.status) + " " + r.code
	}
}

// keyState is the state of a key that a check must show.
type keyState struct {
	dead bool   // revoked or expired
	mark string // a scope that each change of the scopes replaces
}

// keyModel: a check shows the scopes of the last change. From the key's end on, a check refuses the key.
var keyModel = model{
	first: keyState{mark: "mark.0"},
	reads: []string{"check"},
	step: func(state any, in input, out string) (bool, any) {
		s := state.(keyState)
		marked := keyState{dead: s.dead, mark: in.arg}
		switch {
		case in.do == "check" && out == "dead":
			return s.dead, s
		case in.do == "check":
			return !s.dead && out == strings.TrimSpace("good "+s.mark), s
		case in.do == "end" && (out == "done" || out == unsure):
			return true, keyState{true, s.mark}
		case in.do == "mark" && out == "done":
			return !s.dead, marked
		case in.do == "mark" && out == "key_not_active":
			return s.dead, s
		case in.do == "mark" && out == unsure && s.dead:
			return true, s
		case in.do == "mark" && out == unsure:
			return true, marked
		}
		return false, s
	},
}

// mark changes a key's scopes.
func (h *history) mark(client int, org, id string, mark int) {
	h.record(client, input{"key", "mark", "mark." + strconv.Itoa(mark)}, func() string {
		r := h.api.send(h.ctx, request{method: "PATCH", path: "/v1/orgs/" + org + "/keys/" + id, bearer: h.billing, body: scoped(mark, "")})
		h.note("key.updated", id, r)
		return r.outcome()
	})
}

// revoked ends a key while clients use it at every door and change its scopes. The key ends in one of three ways: by the API with its
// id, by the API with its text, or by a write of its row. This write is faster than the API, so it also finds a short cache.
func revoked(h *history) {
	const after = 300 // checks that begin after the end
	org := h.org("")
	id, key := h.key(org, scoped(0, ""))
	turn, byRow, byText := 1+h.chance(6), h.chance(2) == 0, h.chance(2) == 0
	if h.rowsWritten = byRow; byRow { // all clients use one door, so that a process with a cache gets the next check at once
		h.door = h.anyDoor()
	}
	var ended atomic.Bool
	var left atomic.Int64
	left.Store(after)
	h.together(func(client int) {
		for n := 0; left.Load() > 0 && h.ctx.Err() == nil; n++ {
			switch {
			case client == 0 && n == turn && byRow:
				h.record(client, input{"key", "end", "by its row"}, func() string { return h.endRow(org, id) })
				ended.Store(true)
			case client == 0 && n == turn:
				h.record(client, input{"key", "end", "by the API"}, func() string {
					q := request{method: "DELETE", path: "/v1/orgs/" + org + "/keys/" + id, bearer: h.billing}
					if byText {
						q = request{method: "POST", path: "/key/revoke", body: `{"key":"` + key + `"}`, each: true}
					}
					h.must(q, "key.revoked", id)
					return "done"
				})
				ended.Store(true)
			case client == 1 && n < 4:
				h.mark(client, org, id, n+1)
			default:
				late := ended.Load()
				h.checkKey(client, "key", key, late)
				if late {
					left.Add(-1)
				}
			}
		}
	})
	h.check(keyModel)
}

// endRow revokes a key by a direct write of its row.
func (h *history) endRow(org, id string) string {
	_, err := h.db.UpdateItem(h.ctx, &dynamodb.UpdateItemInput{
		TableName: &h.TableName, UpdateExpression: aws.String("SET revokedAt = :now"),
		Key: stack.Key("KEYS#"+org, "KEY#"+id), ExpressionAttributeValues: stack.Row{":now": stack.Millis(time.Now())},
	})
	if err != nil {
		h.violate("the row was not written: %v", err)
		return unsure
	}
	return "done"
}

// narrowed: two clients change a key's scopes while the others use the key.
func narrowed(h *history) {
	org := h.org("")
	id, key := h.key(org, scoped(0, ""))
	h.together(func(client int) {
		for n := range 6 {
			if client < 2 {
				h.mark(client, org, id, 1+client*100+n)
			} else {
				h.checkKey(client, "key", key, false)
			}
		}
	})
	h.check(keyModel)
}

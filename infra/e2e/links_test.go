package e2e_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/local/stack"
	"latchkey/pkg/id"
	"latchkey/pkg/link"
)

// number returns a number of an answer, or -1 for another value.
func number(v any) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}

// device claims links, always with the same claimKey.
type device struct{ key string }

func newDevice() device { return device{rand.Text()} } // 26 characters of 128 random bits

func (d device) claims(token string) call {
	return call{
		method: "POST", path: "/link/claim",
		body: `{"token":"` + token + `","claimKey":"` + d.key + `","device":{"name":"Ada's phone","platform":"ios"}}`,
	}
}

func aLink(t *testing.T, tg *target) {
	c := tg.server(t)
	made := c.want(t, "/link/create", members{"clientUserId": "u-1", "metadata": members{"plan": "pro"}, "expiresIn": 600}, 201, "")
	id, token := made.str("id"), made.str("token")
	if !strings.HasPrefix(id, "lnk_") || !strings.HasPrefix(token, "lkt_") || made.str("status") != "pending" {
		t.Errorf("created: %s", made.text)
	}
	if left := number(made.body["expiresAt"]) - time.Now().UnixMilli(); left > 610_000 || left < 500_000 {
		t.Errorf("it expires in %d ms", left)
	}
	got := c.ok(t, "/link/get", members{"linkId": id})
	if data, _ := got.body["metadata"].(members); got.str("status") != "pending" || got.str("clientUserId") != "u-1" || data["plan"] != "pro" {
		t.Errorf("got: %s", got.text)
	}
	if l := c.ok(t, "/link/list", nil); len(l.list("links")) != 1 || strings.Contains(got.text+l.text, token) {
		t.Errorf("listed: %s", l.text)
	}
	phone := newDevice()
	first := tg.want(t, phone.claims(token), 200, "")
	app, _ := first.body["app"].(members)
	if first.str("linkId") != id || first.str("status") != "claimed" || first.body["replayed"] != false || app["name"] != c.appName || c.appName == "" {
		t.Errorf("claimed: %s", first.text)
	}
	if again := tg.want(t, phone.claims(token), 200, ""); again.body["replayed"] != true || again.body["claimedAt"] != first.body["claimedAt"] {
		t.Errorf("claimed again: %s", again.text)
	}
	if late := tg.want(t, newDevice().claims(token), 409, "link_already_claimed"); late.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("a browser cannot read the 409")
	}
	got = c.ok(t, "/link/get", members{"linkId": id})
	if d, _ := got.body["device"].(members); got.str("status") != "claimed" || d["platform"] != "ios" || got.body["claimedAt"] == nil {
		t.Errorf("after the claim: %s", got.text)
	}
	c.want(t, "/link/revoke", members{"linkId": id}, 409, "link_already_claimed")
	c.want(t, "/link/get", members{"linkId": "lnk_x"}, 404, "link_not_found")

	other, otherToken := c.link(t, "u-2")
	revoked := c.ok(t, "/link/revoke", members{"linkId": other})
	if again := c.ok(t, "/link/revoke", members{"linkId": other}); revoked.str("status") != "revoked" || again.text != revoked.text {
		t.Errorf("revoked: %s, again: %s", revoked.text, again.text)
	}
	tg.want(t, phone.claims(otherToken), 410, "link_revoked")
	page := c.ok(t, "/link/list", members{"limit": 1})
	if l := page.list("links"); len(l) != 1 || l[0]["id"] != other {
		t.Errorf("the newest: %s", page.text)
	}
	if l := c.pages(t, "/link/list", "links", members{"limit": 1}); len(l) != 2 || l[1]["id"] != id {
		t.Errorf("all: %v", l)
	}
}

// wrongSecret makes tokens with the right ids and another secret. Whatever the link's status is,
// the answer must be that of a link that never existed.
func wrongSecret(t *testing.T, tg *target) {
	c := tg.server(t)
	forged := func(of string) string {
		m, err := link.Mint(id.App(c.appID), id.Link(of), nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.Text.Reveal()
	}
	pending, _ := c.link(t, "pending")
	claimed, token := c.link(t, "claimed")
	phone := newDevice()
	tg.want(t, phone.claims(token), 200, "")
	revoked, _ := c.link(t, "revoked")
	c.ok(t, "/link/revoke", members{"linkId": revoked})
	never := tg.want(t, phone.claims(forged("lnk_01k5n5t0000000000000000000")), 404, "link_not_found")
	for _, of := range []string{pending, claimed, revoked} {
		r := tg.want(t, phone.claims(forged(of)), 404, "link_not_found")
		delete(r.body, "requestId")
		delete(never.body, "requestId")
		if !maps.EqualFunc(r.body, never.body, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Errorf("%s is not like %s", r.text, never.text)
		}
	}
	if r := c.ok(t, "/link/get", members{"linkId": pending}); r.str("status") != "pending" {
		t.Errorf("after a forged claim: %s", r.text)
	}
}

const devices = 40

// claimedBy has forty devices claim a link at the same time, and returns the number of answers by
// status and code.
func claimedBy(t *testing.T, tg *target, token string, of func(int) device) map[string]int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	counts := map[string]int{}
	for n := range devices {
		d := of(n)
		wg.Go(func() {
			<-start
			r, err := tg.try(t.Context(), d.claims(token))
			answer := strings.TrimSpace(strconv.Itoa(r.status) + " " + r.code())
			switch {
			case err != nil:
				answer = err.Error()
			case r.body["replayed"] == true:
				answer += " replayed"
			}
			mu.Lock()
			defer mu.Unlock()
			counts[answer]++
		})
	}
	close(start)
	wg.Wait()
	return counts
}

// claimRaces has a link claimed forty times at the same time by forty devices, and another by one device.
func claimRaces(t *testing.T, _ *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil)
	byMany, token := c.link(t, "many")
	if got := claimedBy(t, tg, token, func(int) device { return newDevice() }); got["200"] != 1 || got["409 link_already_claimed"] != devices-1 {
		t.Errorf("%d devices: %v", devices, got)
	}
	byOne, token := c.link(t, "one")
	phone := newDevice()
	if got := claimedBy(t, tg, token, func(int) device { return phone }); got["200"] != 1 || got["200 replayed"] != devices-1 {
		t.Errorf("one device, %d times: %v", devices, got)
	}
	for _, of := range []string{byMany, byOne} {
		hook.one(t, "link.claimed", of)
	}
	var inFeed map[string]int
	within(t, "both claims in the feed", func() bool {
		inFeed = map[string]int{}
		for _, e := range c.pages(t, "/webhook_event/list", "events", members{"since": 0}) {
			data, _ := e["data"].(members)
			inFeed[fmt.Sprint(e["type"], " ", data["id"])]++
		}
		time.Sleep(200 * time.Millisecond)
		return inFeed["link.claimed "+byMany] > 0 && inFeed["link.claimed "+byOne] > 0 || t.Failed()
	})
	if inFeed["link.claimed "+byMany] != 1 || inFeed["link.claimed "+byOne] != 1 {
		t.Errorf("events: %v", inFeed)
	}
	for _, of := range []string{byMany, byOne} {
		ids := map[string]bool{}
		for _, a := range hook.about("link.claimed", of) {
			ids[a.ID] = true
		}
		if len(ids) != 1 {
			t.Errorf("%s came as %d events", of, len(ids))
		}
	}
	hook.noneRefused(t)
}

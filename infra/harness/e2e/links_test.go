package e2e_test

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// isText reports whether a member of an answer is a text that is not empty.
func isText(v any) bool {
	s, _ := v.(string)
	return s != ""
}

// number returns a whole number of an answer, or -1 for any other value.
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

// aLink makes, reads, claims and revokes links.
func aLink(t *testing.T, tg *target) {
	c := tg.server(t)
	made := c.want(t, "/link/create", members{"clientUserId": "u-1", "metadata": members{"plan": "pro"}, "expiresIn": 600}, 201, "")
	id, token := made.str("id"), made.str("token")
	if !strings.HasPrefix(id, "lnk_") || !strings.HasPrefix(token, "lkt_") || made.str("status") != "pending" {
		t.Errorf("created: %s", made.text)
	}
	// expiresIn is 600 s. The bounds allow for a slow machine, and a clock that differs a little.
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

package e2e_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// server is a customer's server. Its only credential is an API key of an app. owner is an admin of the app's org.
type server struct {
	tg      *target
	owner   *person
	org     string
	keyID   string
	key     string
	appID   string
	appName string

	unavailable atomic.Int64 // how often insist got a 503
}

// server makes an org and a key of its default app.
func (tg *target) server(t *testing.T) *server {
	t.Helper()
	c := &server{tg: tg, owner: tg.person(t, "ada")}
	c.org = c.owner.org(t)
	c.keyID, c.key = c.owner.key(t, c.org, `{"name":"server"}`)
	app, _ := c.ok(t, "/app/get", nil).body["app"].(map[string]any)
	c.appID, _ = app["id"].(string)
	c.appName, _ = app["name"].(string)
	return c
}

// members is a JSON object.
type members = map[string]any

// call returns a request with the server's key.
func (c *server) call(t *testing.T, path string, body members) call {
	t.Helper()
	if body == nil {
		body = members{}
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return call{method: "POST", path: path, body: string(text), bearer: c.key}
}

func (c *server) want(t *testing.T, path string, body members, status int, code string) reply {
	t.Helper()
	return c.tg.want(t, c.call(t, path, body), status, code)
}

// ok sends a request with the server's key, and checks for a 200.
func (c *server) ok(t *testing.T, path string, body members) reply {
	t.Helper()
	return c.want(t, path, body, http.StatusOK, "")
}

// link makes a link for a user of the app.
func (c *server) link(t *testing.T, user string) (id, token string) {
	t.Helper()
	r := c.want(t, "/link/create", members{"clientUserId": user}, http.StatusCreated, "")
	return r.str("id"), r.str("token")
}

// endpoint registers a URL for these types of events; no types means all.
func (c *server) endpoint(t *testing.T, url string, events ...string) (id string) {
	t.Helper()
	body := members{"url": url}
	if len(events) > 0 {
		body["events"] = events
	}
	r := c.want(t, "/webhook_endpoint/create", body, http.StatusCreated, "")
	if r.status != http.StatusCreated {
		t.FailNow()
	}
	return r.str("id")
}

// deliveries returns all deliveries of an endpoint with a status; "" is any.
func (c *server) deliveries(t *testing.T, endpoint, status string) []map[string]any {
	t.Helper()
	body := members{"endpointId": endpoint, "limit": 100}
	if status != "" {
		body["status"] = status
	}
	return c.pages(t, "/webhook_delivery/list", "deliveries", body)
}

// pages returns the rows of all pages of a list.
func (c *server) pages(t *testing.T, path, name string, body members) []map[string]any {
	t.Helper()
	var all []map[string]any
	for range 1000 { // more pages than any list here has
		r := c.ok(t, path, body)
		found := r.list(name)
		all = append(all, found...)
		next := r.str("nextCursor")
		endOfFeed := name == "events" && len(found) == 0 // the feed always has a next cursor
		if next == "" || endOfFeed || t.Failed() {
			return all
		}
		body["cursor"] = next
	}
	t.Fatalf("%s has no end", path)
	return nil
}

// patience limits each wait. It is long because the machine may be busy.
const patience = time.Minute

// within is eventually with patience as the limit.
func within(t *testing.T, what string, isReached func() bool) {
	t.Helper()
	eventually(t, patience, what, isReached)
}

// eventually waits until isReached returns true, and fails the test if that takes longer than the limit.
func eventually(t *testing.T, limit time.Duration, what string, isReached func() bool) {
	t.Helper()
	for begun := time.Now(); !isReached(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

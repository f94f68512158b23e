package e2e_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/local/stack"
)

// server is the server of an app, which has only an API key. owner is an admin of its org.
type server struct {
	tg      *target
	owner   *person
	org     string
	keyID   string
	key     string
	appID   string
	appName string

	unavailable atomic.Int64 // the answers 503 that insist got
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

// members are a JSON object.
type members = map[string]any

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

// endpoint registers a URL for these types of events, or for all without any.
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
	for range 1000 {
		r := c.ok(t, path, body)
		found := r.list(name)
		all = append(all, found...)
		next := r.str("nextCursor")
		// The feed always has a cursor. An empty page is its end.
		if next == "" || name == "events" && len(found) == 0 || t.Failed() {
			return all
		}
		body["cursor"] = next
	}
	t.Fatalf("%s has no end", path)
	return nil
}

// patience limits each wait. It is long because the machine may be busy.
const patience = time.Minute

// within waits until is returns true, and fails the test when that takes too long.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); {
		if time.Since(begun) > patience {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// emptyBudget has an app whose API keys have spent their budget. Revocations of keys and links
// still work, and their webhooks arrive.
func emptyBudget(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil, "link.claimed", "link.revoked", "key.revoked")
	claimed, token := c.link(t, "u-1")
	revoked, _ := c.link(t, "u-2")
	keyID, _ := c.owner.key(t, c.org, `{}`)
	// The count is in deliveries, at 100 a second. The budget is refilled in 90 seconds.
	spent := time.Now().UnixMilli()/10 + 2000 + 9000
	setRow(t, s, rowKey{"BUDGET#" + c.appID, "META"}, "SET spent = :spent", map[string]types.AttributeValue{
		":spent": &types.AttributeValueMemberN{Value: strconv.FormatInt(spent, 10)},
	})
	refused := c.want(t, "/link/create", members{"clientUserId": "u-3"}, 429, "rate_limited")
	if after, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || after < 30 || after > 91 {
		t.Errorf("Retry-After %q", refused.header.Get("Retry-After"))
	}
	c.want(t, "/webhook_endpoint/test", members{"endpointId": hook.endpoint}, 429, "rate_limited")
	tg.want(t, newDevice().claims(token), 200, "")
	c.ok(t, "/link/revoke", members{"linkId": revoked})
	c.owner.want(t, "DELETE", "/v1/orgs/"+c.org+"/keys/"+keyID, "", 204, "")
	hook.one(t, "link.claimed", claimed)
	hook.one(t, "link.revoked", revoked)
	hook.one(t, "key.revoked", keyID)
}

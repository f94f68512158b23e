package api_test

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
	"latchkey/pkg/webhook"
)

// reading is the request by which a test reads an item again. list is the name of the list in the answer; "": the answer is the
// item.
type reading struct{ as, method, pattern, body, list string }

// readings returns a request for each kind of item. A kind with "later" is a second reading.
func readings() map[string]reading {
	return map[string]reading{
		"org":                  {"service", "GET", "/v1/orgs/{orgId}", "", ""},
		"org of a user":        {"admin", "GET", "/v1/orgs/{orgId}", "", ""},
		"member":               {"admin", "GET", "/v1/orgs/{orgId}/members", "", "members"},
		"key":                  {"admin", "GET", "/v1/orgs/{orgId}/keys", "", "keys"},
		"app":                  {"admin", "GET", "/v1/orgs/{orgId}/apps", "", "apps"},
		"endpoint":             {"key", "POST", "/webhook_endpoint/get", `{"endpointId":"{endpointId}"}`, ""},
		"endpoint of an admin": {"admin", "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", "", ""},
		"endpoint later":       {"admin", "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "", "endpoints"},
		"link":                 {"key", "POST", "/link/get", `{"linkId":"{linkId}"}`, ""},
		"link later":           {"admin", "GET", "/v1/orgs/{orgId}/apps/{appId}/links", "", "links"},
	}
}

// changes lists the bodies for each route that answers with the item that it creates or changes. They are in an order in which
// each body changes something. A text has the kind of the item and then the body. Before each body, an endpoint is failing and
// its breaker is open.
func changes() map[string][]string {
	const update, patch = "POST /webhook_endpoint/update", "PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}"
	const change = `endpoint {"endpointId":"{endpointId}",`
	return map[string][]string{
		"PATCH /v1/orgs/{orgId}": {
			`org {"name":" B ","externalId":"cus_1","allowance":[{"requests":5,"per":"day"},{"requests":1,"per":"minute"}]}`,
			`org {"plan":"pro"}`, `org {"plan":"free-2"}`, `org {"plan":null}`,
			`org {"externalId":null}`, `org {"allowance":[]}`, `org {}`, `org of a user {"name":"C"}`,
		},
		"POST /v1/orgs":                           {`org {"name":"New"}`, `org {"name":"By a service","externalId":"cus_2","allowance":[{"requests":5,"per":"day"}],"plan":"pro"}`},
		"POST /v1/orgs/{orgId}/suspension":        {`org {"reason":"r"}`, `org {}`},
		"PATCH /v1/orgs/{orgId}/members/{userId}": {`member {"role":"member"}`, `member {"role":"admin"}`, `member {"role":"admin"}`},
		"POST /v1/orgs/{orgId}/keys":              {`key {"name":"n","scopes":["b","a"],"expiresIn":60}`, `key {}`},
		"PATCH /v1/orgs/{orgId}/keys/{keyId}": {
			`key {"name":" k ","scopes":["b","a","b"],"metadata":{"z":"1","a":""},"limits":[{"requests":9,"per":"month"},{"requests":2,"per":"hour"}]}`,
			`key {"scopes":[]}`, `key {"metadata":{}}`, `key {"limits":[]}`, `key {"ceilings":[{"requests":3,"per":"day"}]}`, `key {}`,
		},
		"POST /v1/orgs/{orgId}/keys/{keyId}/rotate": {`key {"graceSeconds":60,"scopes":["c"],"expiresIn":99}`, `key {"graceSeconds":0}`},
		"POST /v1/orgs/{orgId}/apps":                {`app {"name":" Second "}`},
		"PATCH /v1/orgs/{orgId}/apps/{appId}":       {`app {"name":" Third "}`, `app {}`},
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints": {
			`endpoint of an admin {"url":"https://b.example.com/x?y","events":["test"],"description":"d"}`,
		},
		patch:                           {`endpoint of an admin {"enabled":false}`, `endpoint of an admin {"enabled":false}`, `endpoint of an admin {"enabled":true}`, `endpoint of an admin {"enabled":true}`},
		"POST /webhook_endpoint/create": {`endpoint {"url":"https://c.example.com"}`},
		update: {
			change + `"description":"d"}`, change + `"url":"https://hooks.example.com/other"}`, change + `"url":"https://d.example.com"}`,
			change + `"url":"https://e.example.com","events":["test","link.*"]}`, change + `"enabled":false}`, change + `"url":"https://f.example.com"}`,
			change + `"enabled":true}`, change + `"enabled":false,"description":""}`, change + `"enabled":true,"url":"https://f.example.com/g"}`, change + `"enabled":true}`,
		},
		"POST /link/create": {`link {"clientUserId":"u","metadata":{"a":"b"},"expiresIn":60}`, `link {"clientUserId":"u"}`},
		"POST /link/revoke": {`link {"linkId":"{linkId}"}`, `link {"linkId":"{linkId}"}`},
	}
}

// notShownElsewhere lists the operations whose answer no other route shows.
func notShownElsewhere() []string {
	return []string{
		"addMember", "importKeys", "findKey", "stopUser", "deleteWebhookEndpoint", "testWebhookEndpoint", "testAppWebhookEndpoint", "redeliverWebhooks", "redeliverAppWebhooks", "publishEvents",
	}
}

// TestAnAnswerToAChangeEqualsTheNextRead makes each change. It compares each member of the answer with the next read of the
// item, alone and in its list.
func TestAnAnswerToAChangeEqualsTheNextRead(t *testing.T) {
	s, all := newServer(t), changes()
	s.Limits.OrgsCreated = 1000
	at := time.Now()
	s.Now = func() time.Time { at = at.Add(time.Second); return at }
	for _, r := range route.All() {
		isRead := r.Method == "GET" || strings.HasPrefix(r.Operation, "get") || strings.HasPrefix(r.Operation, "list")
		if r.Takes == principal.Public || isRead || good()[r.Name()].status == http.StatusNoContent || slices.Contains(notShownElsewhere(), r.Operation) {
			continue
		}
		t.Run(r.Operation, func(t *testing.T) {
			if all[r.Name()] == nil {
				t.Fatal("the route has no row")
			}
			w := newWorld(t, s, "-"+strings.ToLower(r.Operation))
			w.connect(t)
			for _, row := range all[r.Name()] {
				kind, body, _ := strings.Cut(row, "{")
				if r.Operation != "createOrg" {
					w.openBreaker(t)
				}
				w.changeAndRead(t, r, strings.TrimSpace(kind), "{"+body)
			}
		})
	}
}

// changeAndRead sends one body to a route, and reads the item twice.
func (w *world) changeAndRead(t *testing.T, r route.Route, kind, body string) {
	t.Helper()
	as := "admin"
	switch {
	case r.Takes == principal.APIKey:
		as = "key"
	case r.May == route.ServicesOnly || strings.Contains(body, "externalId") || strings.Contains(body, "allowance") || strings.Contains(body, "ceilings") || strings.Contains(body, "plan"):
		as = "service"
	}
	changed := w.do(t, w.request(r.Method, r.Pattern, w.actor(as), body))
	if changed.status >= http.StatusMultipleChoices {
		t.Fatalf("%s: %s", body, changed.text)
	}
	answer := changed.body
	w.useCreated(r, answer)
	for _, kind := range []string{kind, kind + " later"} {
		again, ok := readings()[kind]
		if !ok {
			continue
		}
		read := w.want(t, w.request(again.method, again.pattern, w.actor(again.as), again.body), 200, "")
		found := read.body
		if again.list != "" {
			found = find(read.list(again.list), answer)
		}
		w.compare(t, r.Operation+" "+body, answer, found)
	}
}

// compare checks that a later read has each member of an answer. It ignores members that only one of them has, but at least two
// must be shared.
func (w *world) compare(t *testing.T, what string, answer, read map[string]any) {
	t.Helper()
	shared := 0
	for name := range maps.Keys(answer) {
		if later, ok := read[name]; ok {
			shared++
			if !reflect.DeepEqual(answer[name], later) {
				t.Errorf("%s: %s is %v in the answer, but %v in the next read", what, name, answer[name], later)
			}
		}
	}
	if shared < 2 { // at least the id and one more
		t.Errorf("%s: %v and %v share fewer than two members", what, answer, read)
	}
}

// find returns the item of a list that has the id of an answer.
func find(all []map[string]any, answer map[string]any) map[string]any {
	for _, item := range all {
		if item["id"] == answer["id"] && item["userId"] == answer["userId"] {
			return item
		}
	}
	return nil
}

// actor returns a caller by name; "service" is the service billing.
func (w *world) actor(name string) *principal.Principal {
	if name == "service" {
		return service()
	}
	return w.caller(name)
}

// useCreated makes the next requests use the item that a route has created.
func (w *world) useCreated(r route.Route, answer map[string]any) {
	made, _ := answer["id"].(string)
	switch r.Operation {
	case "createOrg":
		w.org = id.Org(made)
	case "createWebhookEndpoint", "createAppWebhookEndpoint":
		w.endpoint = made
	case "createLink":
		w.link = made
	case "rotateKey":
		w.key = id.Key(made)
	}
}

// openBreaker lets attempts to the endpoint fail until its breaker opens.
func (w *world) openBreaker(t *testing.T) {
	t.Helper()
	for range webhook.BreakAfter {
		endpoint, err := w.Endpoint(t.Context(), w.caller("key").AppID, id.Endpoint(w.endpoint))
		if err != nil {
			t.Fatal(err)
		}
		now := w.Now().Add(webhook.BreakSpan)
		w.Now = func() time.Time { now = now.Add(time.Second); return now }
		if err := w.Deliveries().Failed(t.Context(), endpoint); err != nil {
			t.Fatal(err)
		}
	}
	endpoint, err := w.Endpoint(t.Context(), w.caller("key").AppID, id.Endpoint(w.endpoint))
	if err != nil || endpoint.OpenUntil == 0 || endpoint.FailingSince == 0 {
		t.Fatalf("the breaker is closed: %+v, %v", endpoint, err)
	}
}

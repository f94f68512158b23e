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

// reading is how a test reads a thing again: by a route that answers with it, or with a list of such things.
type reading struct{ as, method, pattern, body, list string }

// readings are by the kind of a thing.
func readings() map[string]reading {
	return map[string]reading{
		"org":            {"service", "GET", "/v1/orgs/{orgId}", "", ""},
		"org of a user":  {"admin", "GET", "/v1/orgs/{orgId}", "", ""},
		"member":         {"admin", "GET", "/v1/orgs/{orgId}/members", "", "members"},
		"key":            {"admin", "GET", "/v1/orgs/{orgId}/keys", "", "keys"},
		"app":            {"admin", "GET", "/v1/orgs/{orgId}/apps", "", "apps"},
		"endpoint":       {"key", "POST", "/webhook_endpoint/get", `{"endpointId":"{endpointId}"}`, ""},
		"admin's":        {"admin", "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", "", ""},
		"endpoint later": {"admin", "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "", "endpoints"},
		"link":           {"key", "POST", "/link/get", `{"linkId":"{linkId}"}`, ""},
		"link later":     {"admin", "GET", "/v1/orgs/{orgId}/apps/{appId}/links", "", "links"},
	}
}

// written has for each route that answers with what it has made or changed its bodies, in an order in which each changes something.
// A body has the kind of the thing before it. An endpoint is failing, and its breaker is open, before each.
func written() map[string][]string {
	const update, patch = "POST /webhook_endpoint/update", "PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}"
	const one = `endpoint {"endpointId":"{endpointId}",`
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
			`admin's {"url":"https://b.example.com/x?y","events":["test"],"description":"d"}`,
		},
		patch:                           {`admin's {"enabled":false}`, `admin's {"enabled":false}`, `admin's {"enabled":true}`, `admin's {"enabled":true}`},
		"POST /webhook_endpoint/create": {`endpoint {"url":"https://c.example.com"}`},
		update: {
			one + `"description":"d"}`, one + `"url":"https://hooks.example.com/other"}`, one + `"url":"https://d.example.com"}`,
			one + `"url":"https://e.example.com","events":["test","link.*"]}`, one + `"enabled":false}`, one + `"url":"https://f.example.com"}`,
			one + `"enabled":true}`, one + `"enabled":false,"description":""}`, one + `"enabled":true,"url":"https://f.example.com/g"}`, one + `"enabled":true}`,
		},
		"POST /link/create": {`link {"clientUserId":"u","metadata":{"a":"b"},"expiresIn":60}`, `link {"clientUserId":"u"}`},
		"POST /link/revoke": {`link {"linkId":"{linkId}"}`, `link {"linkId":"{linkId}"}`},
	}
}

// unlike are the routes with a credential whose answer no other route shows.
func unlike() []string {
	return []string{
		"addMember", "importKeys", "findKey", "stopUser", "deleteWebhookEndpoint", "testWebhookEndpoint", "testAppWebhookEndpoint", "redeliverWebhooks", "redeliverAppWebhooks", "publishEvents",
	}
}

// TestAnAnswerToAChangeIsWhatTheNextReadShows makes each change, and compares each member of the answer with what the thing's own
// route shows next, or the list of such things.
func TestAnAnswerToAChangeIsWhatTheNextReadShows(t *testing.T) {
	s, all := newServer(t), written()
	s.Limits.OrgsCreated = 1000
	at := time.Now()
	s.Now = func() time.Time { at = at.Add(time.Second); return at }
	for _, r := range route.All() {
		isRead := r.Method == "GET" || strings.HasPrefix(r.Operation, "get") || strings.HasPrefix(r.Operation, "list")
		if r.Takes == principal.Public || isRead || good()[r.Name()].status == http.StatusNoContent || slices.Contains(unlike(), r.Operation) {
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
					w.breaks(t)
				}
				w.changeAndRead(t, r, strings.TrimSpace(kind), "{"+body)
			}
		})
	}
}

// changeAndRead sends one body to a route, and reads the thing twice.
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
	w.goOnWith(r, answer)
	for _, kind := range []string{kind, kind + " later"} {
		again, ok := readings()[kind]
		if !ok {
			continue
		}
		read := w.want(t, w.request(again.method, again.pattern, w.actor(again.as), again.body), 200, "")
		now := read.body
		if again.list != "" {
			now = find(read.list(again.list), answer)
		}
		w.compare(t, r.Operation+" "+body, answer, now)
	}
}

// compare checks that a later read has each member of an answer.
func (w *world) compare(t *testing.T, what string, answer, read map[string]any) {
	t.Helper()
	shared := 0
	for name := range maps.Keys(answer) {
		if is, ok := read[name]; ok {
			shared++
			if !reflect.DeepEqual(answer[name], is) {
				t.Errorf("%s: %s is %v in the answer, and %v after it", what, name, answer[name], is)
			}
		}
	}
	if shared < 2 { // at least the id and one more
		t.Errorf("%s: %v and %v share too little", what, answer, read)
	}
}

// find returns the thing of a list that has the id of an answer.
func find(all []map[string]any, answer map[string]any) map[string]any {
	for _, thing := range all {
		if thing["id"] == answer["id"] && thing["userId"] == answer["userId"] {
			return thing
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

// goOnWith has the next requests name what a route has made.
func (w *world) goOnWith(r route.Route, answer map[string]any) {
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

// breaks has the attempts on the endpoint fail until its breaker opens, if it is enabled.
func (w *world) breaks(t *testing.T) {
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

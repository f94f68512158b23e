package api_test

import (
	"strings"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// retried sends a request with an Idempotency-Key, always the same one.
func (s *server) retried(t *testing.T, r request, status int, code problem.Code) reply {
	t.Helper()
	r.header = map[string]string{"Idempotency-Key": "01234567-89ab-cdef-0123-456789abcdef"}
	return s.want(t, r, status, code)
}

// TestAnotherKeyOfTheAppCanRetryARequest: the successor of the key, or the key of another server. Another app's key creates a
// new item.
func TestAnotherKeyOfTheAppCanRetryARequest(t *testing.T) {
	d := newAppServer(t)
	second := *d.key
	second.KeyID = id.Source{}.NewKey(d.at)
	for path, body := range map[string]string{"/link/create": `{"clientUserId":"u"}`, "/webhook_endpoint/create": bodyWith("url", hookURL)} {
		r := request{as: d.key, method: "POST", path: path, body: body}
		first := d.retried(t, r, 201, "")
		r.as = &second
		if again := d.retried(t, r, 201, ""); again.text != first.text || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: %s, then %s", path, first.text, again.text)
		}
		r.as = d.other
		if theirs := d.retried(t, r, 201, ""); theirs.str("id") == first.str("id") {
			t.Errorf("%s: another app got %s", path, theirs.text)
		}
	}
}

// TestARetryIsRecognisedByTheMeaningOfItsBody: bodies in same differ from first only in their spelling. Bodies in other have
// another meaning, and are refused.
func TestARetryIsRecognisedByTheMeaningOfItsBody(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	keysOf, publishing, imports := "/v1/orgs/{orgId}/keys", "/v1/orgs/{orgId}/apps/{appId}/events", "/v1/orgs/{orgId}/keys/import"
	hash := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		as          *principal.Principal
		path, first string
		same, other []string
	}{
		"a key": {w.caller("admin"), keysOf, `{"name":"näme 😀/","expiresIn":600,"metadata":{"a":"1","b":"2","é":"3"},"scopes":["a:1","b:2"]}`, []string{
			"\n{\t\"metadata\": {\"é\":\"3\", \"b\":\"2\",\"a\":\"1\"},\r\n \"scopes\" : [\"a:1\",\"b:2\"], \"expiresIn\":600,\"name\":\"näme 😀/\"} ",
			`{"n\u0061me":"n\u00E4me \ud83D\uDE00\/","expiresIn":600,"metadata":{"\u0061":"\u0031","b":"2","\u00e9":"3"},"scopes":["a:1","b\u003a2"]}`,
			`{"name":"näme 😀/","expiresIn":600,"metadata":{"a":"1","b":"2","é":"3"},"scopes":["a:1","b:2"],"limits":null,"appId":null,"ceilings":null}`,
		}, []string{
			`{"name":"näme 😀/","expiresIn":601,"metadata":{"a":"1","b":"2","é":"3"},"scopes":["a:1","b:2"]}`, `{"name":"näme 😀/","expiresIn":600,"metadata":{"a":"2","b":"1","é":"3"},"scopes":["a:1","b:2"]}`,
			`{"name":"näme 😀/","expiresIn":600,"metadata":{"a":"1","b":"2","é":"3"},"scopes":["b:2","a:1"]}`, `{"name":"nàme 😀/","expiresIn":600,"metadata":{"a":"1","b":"2","é":"3"},"scopes":["a:1","b:2"]}`,
			`{"name":"näme 😀/","expiresIn":600,"metadata":{"a":"1","b":"2","é":"3"},"scopes":["a:1","b:2"],"limits":[]}`, ``,
		}},
		"an event": {service(), publishing, `{"events":[{"type":"a.b","data":{"n":60,"m":-0.0,"big":1e300,"list":[1,"1",null]}}]}`, []string{
			`{"events":[{"data":{"big":0.1e+301,"list":[1.0,"1",null],"m":0,"n":6E1},"type":"a.b","id":null}]}`, `{"events":[{"type":"a.b","data":{"n":60.00,"m":-0e7,"big":10E00299,"list":[10e-1,"1",null]}}]}`,
		}, []string{
			`{"events":[{"type":"a.b","data":{"n":60,"m":0,"big":1e299,"list":[1,"1",null]}}]}`, `{"events":[{"type":"a.b","data":{"n":60,"m":0,"big":1e300,"list":["1",1,null]}}]}`, `{"events":[{"type":"a.b","data":{"n":60,"m":0,"big":1e300,"list":[1,"1",null],"x":null}}]}`,
			`{"events":[{"type":"a.b","data":{"n":60,"m":0,"big":1e300,"list":[1,"1"]}}]}`,
			`{"events":[{"type":"a.b","data":{"n":"60","m":0,"big":1e300,"list":[1,"1",null]}}]}`, `{"events":[{"type":"a.b","data":{"n":60.000000000000000001,"m":0,"big":1e300,"list":[1,"1",null]}}]}`,
		}},
		"an import": {service(), imports, `{"keys":[{"sha256":"` + hash + `","prefix":"sk","name":"n"}]}`, []string{
			`{"keys":[{"name":"\u006e", "prefix":"sk","sha256":"` + hash + `"}]}`,
			`{"keys":[{"name":"n","prefix":"sk","sha256":"` + hash + `","expiresAt":null,"scopes":null,"metadata":null}]}`,
		}, []string{`{"keys":[{"sha256":"` + hash + `","prefix":"sk","name":"N"}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.request("POST", c.path, c.as, c.first)
			status := map[string]int{keysOf: 201, publishing: 202, imports: 200}[c.path]
			first := w.retried(t, r, status, "")
			for _, r.body = range c.same {
				if again := w.retried(t, r, status, ""); again.text != first.text || again.header.Get("Idempotency-Replayed") != "true" {
					t.Errorf("%s: %s, not %s", r.body, again.text, first.text)
				}
			}
			for _, r.body = range c.other {
				w.retried(t, r, 422, problem.IdempotencyKeyReused)
			}
		})
	}
}

// TestNullIsTheSameRetryAsAMissingField on the routes whose body has a json.RawMessage.
func TestNullIsTheSameRetryAsAMissingField(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	byKey, byAdmin := w.caller("key"), w.caller("admin")
	for _, c := range []struct {
		as                 *principal.Principal
		path, first, again string
		status             int
	}{
		{byAdmin, "/v1/orgs/{orgId}/apps", `{"name":"a"}`, `{"keysBeginWith":null,"name":"a"}`, 201},
		{byKey, "/webhook_endpoint/test", `{"endpointId":"{endpointId}"}`, `{"endpointId":"{endpointId}","data":null,"type":null}`, 200},
		{byAdmin, "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test", `{}`, `{"type":null,"data":null}`, 200},
	} {
		first := w.retried(t, w.request("POST", c.path, c.as, c.first), c.status, "")
		if again := w.retried(t, w.request("POST", c.path, c.as, c.again), c.status, ""); again.text != first.text {
			t.Errorf("%s: %s, not %s", c.again, again.text, first.text)
		}
	}
}

// TestNoBodyAndAnEmptyObjectAreTheSameRetry, in either order.
func TestNoBodyAndAnEmptyObjectAreTheSameRetry(t *testing.T) {
	for _, bodies := range [][]string{{"", "{}", " { } "}, {"{\n}", ""}} {
		w := newWorld(t, newServer(t), "")
		made := map[string]bool{}
		for _, body := range bodies {
			made[w.retried(t, w.request("POST", "/v1/orgs/{orgId}/keys", w.caller("admin"), body), 201, "").text] = true
		}
		if len(made) != 1 {
			t.Errorf("%q: %d answers", bodies, len(made))
		}
	}
}

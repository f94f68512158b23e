package api_test

import (
	"fmt"
	"strings"
	"testing"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

const (
	keysOfOrg = "/v1/orgs/{orgId}/keys"
	eventsOf  = "/v1/orgs/{orgId}/apps/{appId}/events"
)

// TestAWholeNumberIsAcceptedInEachSpelling: JSON Schema counts 60.0 and 6e1 among the integers.
func TestAWholeNumberIsAcceptedInEachSpelling(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	admin, key := w.caller("admin"), w.caller("key")
	for _, c := range []struct {
		as                 *principal.Principal
		method, path, body string // body has N in place of the number
		pointer            string
		whole, refused     []string
	}{
		{admin, "POST", keysOfOrg, `{"expiresIn":N}`, "/expiresIn", []string{"60.0", "6e1", "6.0E+1", "600000e-4", "3e8"}, []string{"1.5", "60.00000000000000000001", "1e-1", "1e400", "1e999999999", `"6e1"`}},
		{admin, "POST", keysOfOrg, `{"limits":[{"requests":5,"per":"day"},{"requests":N,"per":"minute"}]}`, "/limits/1/requests", []string{"1.0", "1e3"}, []string{"0.1", "9223372036854775807.5", "1e19"}},
		{admin, "PATCH", keysOfOrg + "/{keyId}", `{"limits":[{"requests":N,"per":"month"}]}`, "/limits/0/requests", []string{"1e6"}, []string{"1e-6"}},
		{admin, "POST", keysOfOrg + "/{keyId}/rotate", `{"graceSeconds":N,"expiresIn":6e2}`, "/graceSeconds", []string{"6.048e5"}, []string{"0.5", "-1.0", "6.04801e5"}},
		{service(), "PATCH", keysOfOrg + "/{keyId}", `{"ceilings":[{"requests":N,"per":"hour"}]}`, "/ceilings/0/requests", []string{"10.0"}, []string{"10.5"}},
		{service(), "PATCH", "/v1/orgs/{orgId}", `{"allowance":[{"requests":N,"per":"hour"}]}`, "/allowance/0/requests", []string{"2E2"}, []string{"2E-2"}},
		{service(), "POST", keysOfOrg + "/import", `{"keys":[{"sha256":"` + strings.Repeat("0", 64) + `","prefix":"sk","expiresAt":N}]}`, "/keys/0/expiresAt", []string{"1.9e12"}, []string{"1.9000000000001e12", "1.9e13", "1900000000000.5"}},
		{key, "POST", "/link/create", `{"clientUserId":"u","expiresIn":N}`, "/expiresIn", []string{"3600.000"}, []string{"3600.001"}},
		{key, "POST", "/link/list", `{"limit":N}`, "/limit", []string{"1e2", "0.5e1"}, []string{"0.5", "1e3", "0.0"}},
		{key, "POST", "/webhook_event/list", `{"since":N,"limit":1.0}`, "/since", []string{"-0.0", "1.7e12"}, []string{"1e-400", "-1e0"}},
		{key, "POST", "/webhook_delivery/list", `{"endpointId":"{endpointId}","since":N}`, "/since", []string{"0e9"}, []string{"0.1"}},
		{key, "POST", "/webhook_delivery/redeliver", `{"endpointId":"{endpointId}","since":N}`, "/since", []string{"1e0"}, []string{"1e20"}},
	} {
		for _, n := range c.refused {
			answer := w.want(t, w.request(c.method, c.path, c.as, strings.Replace(c.body, "N", n, 1)), 422, problem.ValidationFailed)
			if got := answer.each("errors", "pointer"); len(got) != 1 || got[0] != c.pointer {
				t.Errorf("%s %s %s: %v", c.method, c.path, n, got)
			}
		}
		for _, n := range c.whole {
			if out := w.do(t, w.request(c.method, c.path, c.as, strings.Replace(c.body, "N", n, 1))); out.status >= 300 {
				t.Errorf("%s %s %s: %s", c.method, c.path, n, out.text)
			}
		}
	}
	if listed := w.want(t, w.request("GET", keysOfOrg, admin, ""), 200, ""); !strings.Contains(listed.text, `{"requests":1000,"per":"minute"}`) || !strings.Contains(listed.text, `"expiresAt":1900000000000`) {
		t.Errorf("%s", listed.text)
	}
}

// TestARefusedValueHasItsOwnPointerAndCode: a number that is too large is out of range, and not of the wrong type. In a list,
// the pointer names one value.
func TestARefusedValueHasItsOwnPointerAndCode(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	const endpoint = `{"url":"https://a.example/x","events":`
	for _, c := range []struct {
		as                        *principal.Principal
		path, body, pointer, code string
	}{
		{w.caller("admin"), keysOfOrg, `{"expiresIn":10000000000000000000}`, "/expiresIn", "range"}, {w.caller("admin"), keysOfOrg, `{"expiresIn":1e400}`, "/expiresIn", "range"},
		{w.caller("admin"), keysOfOrg, `{"expiresIn":-9223372036854775809}`, "/expiresIn", "range"}, {w.caller("admin"), keysOfOrg, `{"limits":[{"requests":99999999999999999999.0,"per":"day"}]}`, "/limits/0/requests", "range"},
		{w.caller("key"), "/webhook_event/list", `{"since":1e30}`, "/since", "range"}, {w.caller("key"), "/link/list", `{"limit":1e99999999999}`, "/limit", "range"},
		{w.caller("admin"), keysOfOrg, `{"expiresIn":1.5}`, "/expiresIn", "type"}, {w.caller("admin"), keysOfOrg, `{"expiresIn":9223372036854775807.5}`, "/expiresIn", "type"},
		{w.caller("admin"), keysOfOrg, `{"expiresIn":"1e400"}`, "/expiresIn", "type"}, {w.caller("admin"), keysOfOrg, `{"expiresIn":[]}`, "/expiresIn", "type"}, {w.caller("admin"), keysOfOrg, `{"name":1e400}`, "/name", "type"},
		{w.caller("key"), "/webhook_endpoint/create", endpoint + `["*","a b"]}`, "/events/1", "enum"}, {w.caller("key"), "/webhook_endpoint/create", endpoint + `["link.*","key.created","link.*"]}`, "/events/2", "enum"},
		{w.caller("admin"), keysOfOrg, `{"name":"a\u200bb"}`, "/name", "format"}, {w.caller("admin"), keysOfOrg, `{"name":"25°\ufe0f"}`, "/name", "format"}, {w.caller("admin"), keysOfOrg, `{"name":" "}`, "/name", "length"},
		{w.caller("admin"), keysOfOrg, `{"name":"` + strings.Repeat("x", 101) + `"}`, "/name", "length"}, {w.caller("key"), "/webhook_endpoint/create", endpoint + `["*"],"description":"a\nb"}`, "/description", "format"},
		{w.caller("key"), "/webhook_endpoint/create", endpoint + `["*"],"description":"` + strings.Repeat("x", 201) + `"}`, "/description", "length"},
		{w.caller("key"), "/webhook_endpoint/create", endpoint + `[""]}`, "/events/0", "enum"}, {w.caller("key"), "/webhook_endpoint/update", `{"endpointId":"{endpointId}","events":["*","*"]}`, "/events/1", "enum"},
		{w.caller("key"), "/link/create", `{"clientUserId":"u","metadata":{"a":null,"b":"x"}}`, "/metadata/a", "type"}, {w.caller("key"), "/link/create", `{"clientUserId":"u","metadata":{"z":null,"a/b~":null}}`, "/metadata/a~1b~0", "type"},
	} {
		refused := w.want(t, w.request("POST", c.path, c.as, c.body), 422, problem.ValidationFailed)
		if got, codes := refused.each("errors", "pointer"), refused.each("errors", "code"); len(got) != 1 || got[0] != c.pointer || codes[0] != c.code {
			t.Errorf("%s %s: %v %v", c.path, c.body, got, codes)
		}
	}
}

// TestARefusedBodyPointsAtTheFault: one bad event refuses the whole request, so its sender must know which event.
func TestARefusedBodyPointsAtTheFault(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	good := `{"type":"a.b","data":{}}`
	data := func(text string) string {
		return `{"events":[` + strings.Repeat(good+",", 7) + `{"type":"a.b","data":` + text + `},` + good + `]}`
	}
	admin, key := w.caller("admin"), w.caller("key")
	for _, c := range []struct {
		as                   *principal.Principal
		path, body, pointers string
	}{
		{service(), eventsOf, data(`{"text":["a","\ud83d"]}`), "/events/7/data/text/1 encoding"}, {service(), eventsOf, data(`{"a":{"\udc00":1}}`), "/events/7/data/a/\uFFFD encoding"},
		{service(), eventsOf, data("{\"a\":\"\xff\"}"), "/events/7/data/a encoding"}, {service(), eventsOf, `{"events":[{"type":"a.b` + "\uFFFD" + `","data":{}}]}`, "/events/0/type encoding"},
		{service(), eventsOf, data(`{"a":NaN}`), "/events/7/data/a syntax"}, {service(), eventsOf, data(`{"a":1,"b":2,"a":3}`), "/events/7/data/a duplicate"},
		{service(), eventsOf, data(strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30)), "/events/7/data" + strings.Repeat("/a", 29) + " depth"},
		{service(), keysOfOrg + "/import", `{"keys":[{"sha256":"x","prefix":"\udfff"}]}`, "/keys/0/prefix encoding"},
		{admin, keysOfOrg, `{"metadata":{"a":"1","b":"` + "\uFFFD" + `"}}`, "/metadata/b encoding"}, {admin, keysOfOrg, `{"scopes":["a","\uD800\uD800"]}`, "/scopes/1 encoding"}, {admin, keysOfOrg, `{"name":"x","limits":[{"requests":1,"requests":2}]}`, "/limits/0/requests duplicate"},
		{admin, "/v1/orgs", `{"name":"\ud800"}`, "/name encoding"}, {key, "/link/create", `{"clientUserId":"u","metadata":{"x":"\ude00"}}`, "/metadata/x encoding"}, {key, "/webhook_endpoint/create", `{"url":"https://example.com/\ud800"}`, "/url encoding"},
		{admin, "/v1/orgs", `{"name":"x"`, ""}, {admin, "/v1/orgs", `{"name":"x"} "\ud800"`, ""},
	} {
		refused := w.want(t, w.request("POST", c.path, c.as, c.body), 400, problem.InvalidJSON)
		if got := strings.Join(fields(refused), ", "); got != c.pointers {
			t.Errorf("%.120q: %s, want %s", c.body, got, c.pointers)
		}
	}
}

// TestAReplacementCharacterInDataIsPublished: programs write U+FFFD for broken text. The publisher cannot repair it, so we
// accept it.
func TestAReplacementCharacterInDataIsPublished(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	for i, text := range []string{"\uFFFD", `\ufffd`} {
		event := fmt.Sprintf(`{"id":"e%d","type":"a.b","data":{"%s":["Caf%s"]}}`, i, text, text)
		w.want(t, w.request("POST", eventsOf, service(), `{"events":[`+event+`]}`), 202, "")
	}
	again := `{"events":[{"id":"e0","type":"a.b","data":{"\ufffd":["Caf` + "\uFFFD" + `"]}}]}` // the same value
	w.want(t, w.request("POST", eventsOf, service(), again), 202, "")
	if n := w.events(t); n != 1+2 { // newWorld has made one: key.created
		t.Errorf("%d events", n)
	}
}

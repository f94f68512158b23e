package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/strictjson"
)

// checks returns the handler of a body that does nothing with it.
func checks[In any]() handler {
	return handle(func(context.Context, *call, In) (none, error) { return none{}, nil })
}

// parses is checks for a body that parses itself.
func parses[In parsed[Wanted], Wanted any]() handler {
	return handleAs[In](func(context.Context, *call, Wanted) (none, error) { return none{}, nil })
}

// read decodes a JSON object as it is. ok is false for any other text, and for one in which encoding/json replaces characters.
func read(body []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if !json.Valid(body) || d.Decode(&v) != nil {
		return v, false
	}
	again, err := json.Marshal(v)
	// U+FFFD as the sender wrote it, and its escapes without those whose backslash is escaped.
	meant := bytes.Count(body, []byte("\uFFFD")) + strings.Count(strings.ToLower(strings.ReplaceAll(string(body), `\\`, "")), `\ufffd`)
	_, isObject := v.(map[string]any)
	return v, isObject && err == nil && bytes.Count(again, []byte("\uFFFD")) == meant
}

// pointers returns the JSON pointers of a value at a pointer and of all below it.
func pointers(v any, at string) []string {
	all := []string{at}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			all = append(all, pointers(member, strictjson.PointerTo(at, name))...)
		}
	case []any:
		for i, element := range v {
			all = append(all, pointers(element, at+"/"+strconv.Itoa(i))...)
		}
	}
	return all
}

// FuzzABody: any body is taken or refused by a problem of the caller's, for each route. What is taken is read as it was sent,
// and a value of the wrong type is found by its pointer.
func FuzzABody(f *testing.F) {
	routes := map[string]handler{
		"newAppIn": parses[newAppIn](), "appIn": parses[appIn](), "enableIn": parses[enableIn](), "eventsIn": checks[eventsIn](), "eventIn": parses[eventIn](),
		"newEndpointIn": parses[newEndpointIn](), "endpointChangeIn": parses[endpointChangeIn](), "claimIn": parses[claimIn](), "kidIn": parses[kidIn](), "pageIn": checks[pageIn](),
		"keyIn": parses[keyIn](), "importIn": parses[importIn](), "keyChangeIn": parses[keyChangeIn](), "revokeIn": parses[revokeIn](), "rotateIn": parses[rotateIn](),
		"newLinkIn": parses[newLinkIn](), "linkIn": parses[linkIn](), "memberIn": parses[memberIn](), "roleIn": parses[roleIn](), "newOrgIn": parses[newOrgIn](),
		"orgIn": parses[orgIn](), "publishIn": parses[publishIn](), "endpointIn": parses[endpointIn](), "deliveriesIn": parses[deliveriesIn](), "redeliverIn": parses[redeliverIn](),
	}
	allowed := options{refusal: func(string) string { return "" }} // any URL
	for _, seed := range []string{
		`{}`, ``, `{"name":"Ada"}`, `{"name":"\ud83d\ude00 \\ud800 \ufffd"}`, `{"name":"\ud800"}`, `{"name":"\ud83d\ude00\ud800"}`, `{"name":"\udc00\ud800"}`, "{\"name\":\"\uFFFD\"}", "{\"name\":\"\xff\"}",
		`{"name":1}`, `{"name":"a","Name":"b"}`, `{"name":"a","name":"b"}`, `{"nom":"a"}`, `{"name":"a"} {}`, `[]`, `null`, `{"name":`,
		`{"keys":[{"sha256":"` + strings.Repeat("0", 64) + `","prefix":"sk","scopes":["a:1"],"metadata":{"a":"b"},"expiresAt":4000000000000}]}`, `{"keys":[{"sha256":"` + strings.Repeat("0", 64) + `"}]}`, `{"keys":[{"prefix":"sk"},{"sha256":1}]}`,
		`{"scopes":["a",1],"metadata":{"a/b":1},"expiresIn":1e400}`, `{"expiresIn":1e400}`, `{"events":[{"type":"a.b","data":{"a":[1,{"b":null}]}}]}`, `{"events":[{"type":"a.b"}]}`, `{"events":["*"],"url":"https://example.com"}`,
		`{"name":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`, `{"graceSeconds":-1}`, `{"subject":"a","name":"b","role":"admin"}`, `{"externalId":"x","admin":{"subject":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, isExact := read(body)
		all := slices.DeleteFunc(pointers(v, ""), func(pointer string) bool { return pointer == "" }) // the whole body is an object
		for name, decode := range routes {
			_, err := decode(t.Context(), &call{Request: httptest.NewRequest("POST", "/", nil), body: body, caller: principal.Principal{Kind: principal.Service}, options: allowed})
			var p *problem.Error
			if err != nil && (!errors.As(err, &p) || p.Code.Status() >= 500) || !isExact && !problem.Is(err, problem.InvalidJSON) {
				t.Fatalf("%s takes %q: %v", name, body, err)
			}
			if p != nil && slices.ContainsFunc(p.Fields, func(fault problem.Field) bool { return fault.Code == "type" && !slices.Contains(all, fault.Pointer) }) {
				t.Errorf("%s of %q: a pointer of %+v leads to no value", name, body, p.Fields)
			}
		}
	})
}

// FuzzACursor: a cursor is an id of its list, in the query as in a body, and any other text is invalid_cursor.
func FuzzACursor(f *testing.F) {
	key := string(id.NoKey)
	for _, seed := range []string{key, cursor(key), cursor(key) + "=", " " + cursor(key), cursor(key)[:4] + "\n" + cursor(key)[4:], cursor("org_" + key[4:]), cursor("META"), "", "!!"} {
		f.Add(seed)
	}
	valid := isID(id.ParseKey)
	f.Fuzz(func(t *testing.T, text string) {
		inBody, err := pageIn{Cursor: &text}.page(valid)
		c := call{Request: httptest.NewRequest("GET", "/?"+url.Values{"cursor": {text}}.Encode(), nil)}
		if inQuery, queryErr := c.page(valid); inQuery != inBody || (queryErr == nil) != (err == nil) {
			t.Errorf("%q: %+v in a body, %+v in the query", text, inBody, inQuery)
		}
		// encoding/base64 skips line breaks.
		if isKey := valid(inBody.After) && cursor(inBody.After) == strings.NewReplacer("\r", "", "\n", "").Replace(text); (err == nil) != isKey || err != nil && (!problem.Is(err, problem.InvalidCursor) || inBody.After != "") {
			t.Errorf("%q: %+v, %v", text, inBody, err)
		}
		own := cursor(text)
		if p, err := (pageIn{Cursor: &own}).page(valid); (err == nil) != valid(text) || err == nil && p.After != text {
			t.Errorf("the cursor of %q is read as %+v, %v", text, p, err)
		}
	})
}

// TestAPathIsTheSameOnEachAddress: with a base path, and with escapes that the gateway has decoded.
func TestAPathIsTheSameOnEachAddress(t *testing.T) {
	for _, url := range []string{"/v1/orgs/org_1/keys/key_1/rotate", "/base/v1/orgs/org_1/keys/key_1/rotate", "/v1/orgs/%256Frg_1/keys/key_1/rotate/"} {
		r := httptest.NewRequest("POST", url, nil)
		r.SetPathValue("orgId", "org_1")
		r.SetPathValue("keyId", "key_1")
		c := call{Request: r, route: route.Route{Pattern: "/v1/orgs/{orgId}/keys/{keyId}/rotate"}}
		if got := c.path(); got != "/v1/orgs/org_1/keys/key_1/rotate" {
			t.Errorf("%s: %s", url, got)
		}
	}
}

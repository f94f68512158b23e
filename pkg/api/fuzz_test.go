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

// decodesOnly returns a handler that decodes its body and does nothing else.
func decodesOnly[In any]() handler {
	return handle(func(context.Context, *call, In) (none, error) { return none{}, nil })
}

// parsesOnly is decodesOnly for a body that parses itself.
func parsesOnly[In parsed[Wanted], Wanted any]() handler {
	return handleAs[In](func(context.Context, *call, Wanted) (none, error) { return none{}, nil })
}

// read decodes a JSON object. ok is false for any other text, and for a text in which encoding/json replaces invalid
// characters.
func read(body []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if !json.Valid(body) || d.Decode(&v) != nil {
		return v, false
	}
	again, err := json.Marshal(v)
	// Each U+FFFD that the sender wrote: as a character, or as an escape whose backslash is not itself escaped.
	intended := bytes.Count(body, []byte("\uFFFD")) + strings.Count(strings.ToLower(strings.ReplaceAll(string(body), `\\`, "")), `\ufffd`)
	_, isObject := v.(map[string]any)
	return v, isObject && err == nil && bytes.Count(again, []byte("\uFFFD")) == intended
}

// pointers returns the JSON pointers of a value at a pointer, and of all values below it.
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

// FuzzABody: each route accepts a body, or refuses it with a 4xx. An accepted body is read exactly as sent, and the error for a
// value of the wrong type points at the value.
func FuzzABody(f *testing.F) {
	routes := map[string]handler{
		"newAppIn": parsesOnly[newAppIn](), "appIn": parsesOnly[appIn](), "enableIn": parsesOnly[enableIn](), "eventsIn": decodesOnly[eventsIn](), "eventIn": parsesOnly[eventIn](),
		"newEndpointIn": parsesOnly[newEndpointIn](), "endpointChangeIn": parsesOnly[endpointChangeIn](), "claimIn": parsesOnly[claimIn](), "kidIn": parsesOnly[kidIn](), "pageIn": decodesOnly[pageIn](),
		"keyIn": parsesOnly[keyIn](), "importIn": parsesOnly[importIn](), "keyChangeIn": parsesOnly[keyChangeIn](), "revokeIn": parsesOnly[revokeIn](), "rotateIn": parsesOnly[rotateIn](),
		"newLinkIn": parsesOnly[newLinkIn](), "linkIn": parsesOnly[linkIn](), "memberIn": parsesOnly[memberIn](), "roleIn": parsesOnly[roleIn](), "newOrgIn": parsesOnly[newOrgIn](),
		"orgIn": parsesOnly[orgIn](), "publishIn": parsesOnly[publishIn](), "endpointIn": parsesOnly[endpointIn](), "deliveriesIn": parsesOnly[deliveriesIn](), "redeliverIn": parsesOnly[redeliverIn](),
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
		all := slices.DeleteFunc(pointers(v, ""), func(pointer string) bool { return pointer == "" }) // the whole body is an object, so no fault points at it
		for name, decode := range routes {
			_, err := decode(t.Context(), &call{Request: httptest.NewRequest("POST", "/", nil), body: body, caller: principal.Principal{Kind: principal.Service}, options: allowed})
			var p *problem.Error
			if err != nil && (!errors.As(err, &p) || p.Code.Status() >= 500) || !isExact && !problem.Is(err, problem.InvalidJSON) {
				t.Fatalf("%s with the body %q: %v", name, body, err)
			}
			if p != nil && slices.ContainsFunc(p.Fields, func(fault problem.Field) bool { return fault.Code == "type" && !slices.Contains(all, fault.Pointer) }) {
				t.Errorf("%s of %q: a pointer of %+v leads to no value", name, body, p.Fields)
			}
		}
	})
}

// FuzzACursor: a cursor is an id of its list, both in a query and in a body. Any other text is invalid_cursor.
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
		ofText := cursor(text)
		if p, err := (pageIn{Cursor: &ofText}).page(valid); (err == nil) != valid(text) || err == nil && p.After != text {
			t.Errorf("the cursor of %q is read as %+v, %v", text, p, err)
		}
	})
}

// TestAPathIsTheSameOnEachAddress: with a base path, and with escapes that the gateway has decoded already.
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

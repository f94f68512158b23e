package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// TestEveryBadInputHasItsOwn4xx sends each bad input of the contract. No answer may be a 5xx, and no row may change.
func TestEveryBadInputHasItsOwn4xx(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	const (
		orgsPath    = "/v1/orgs"
		orgPath     = "/v1/orgs/{orgId}"
		membersPath = "/v1/orgs/{orgId}/members"
		memberPath  = "/v1/orgs/{orgId}/members/{userId}"
	)
	before := len(w.Rows(t))
	for _, c := range []struct {
		method, path, body string
		status             int
		code               problem.Code
		pointer            string
	}{
		{"PATCH", memberPath, `{"role":"viewer","ROLE":"admin"}`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `{"role":"viewer","role":"admin"}`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `{"Role":"admin"}`, 400, problem.InvalidJSON, "/Role"},
		{"PATCH", memberPath, `{"role":"viewer","x":1}`, 400, problem.InvalidJSON, "/x"},
		{"PATCH", memberPath, `{"role":"viewer","":1}`, 400, problem.InvalidJSON, "/"},
		{"PATCH", memberPath, `{"role":"viewer"} {}`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `{"role":"viewer"}x`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `{"role":"viewer"`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `[]`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `null`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `"x"`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, `{'role':'viewer'}`, 400, problem.InvalidJSON, ""},
		{"PATCH", memberPath, "\xef\xbb\xbf{}", 400, problem.InvalidJSON, ""}, // a byte order mark
		{"PATCH", memberPath, `{}`, 422, problem.ValidationFailed, "/role"},
		{"PATCH", memberPath, `{"role":null}`, 422, problem.ValidationFailed, "/role"},
		{"PATCH", memberPath, `{"role":1}`, 422, problem.ValidationFailed, "/role"},
		{"PATCH", memberPath, `{"role":["admin"]}`, 422, problem.ValidationFailed, "/role"},
		{"PATCH", memberPath, `{"role":{"a":"b"}}`, 422, problem.ValidationFailed, "/role"},
		{"PATCH", memberPath, `{"role":"owner"}`, 422, problem.ValidationFailed, "/role"},
		{"PATCH", memberPath, `{"role":"Admin"}`, 422, problem.ValidationFailed, "/role"},
		{"POST", orgsPath, `{}`, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, ``, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, `{"name":""}`, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, `{"name":"  "}`, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, `{"name":"a\u0000b"}`, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, `{"name":"` + strings.Repeat("x", 101) + `"}`, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, `{"name":"\ud800"}`, 400, problem.InvalidJSON, ""},       // half a surrogate pair
		{"POST", orgsPath, `{"name":"\udc00\ud800"}`, 400, problem.InvalidJSON, ""}, // the halves in the wrong order
		{"POST", orgsPath, `{"name":"\uDBFF"}`, 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, `{"name":"\udfff"}`, 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, `{"name":"\ud800\ue000"}`, 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, `{"name":"\ud7ff"}`, 422, problem.ValidationFailed, "/name"}, // a hidden character, but not half of a pair
		{"POST", orgsPath, `{"name":"\uE000"}`, 422, problem.ValidationFailed, "/name"},
		{"POST", orgsPath, "{\"name\":\"\xff\"}", 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, "{\"name\":\"a\uFFFDb\"}", 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, "{\"name\":\"x\",\"\uFFFD\":1}", 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, `{"name":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, 400, problem.InvalidJSON, ""},
		{"POST", orgsPath, `{"name":"` + strings.Repeat("x", 16<<10+1-len(`{"name":""}`)) + `"}`, 413, problem.BodyTooLarge, ""},
		{"POST", orgsPath, `{"name":"` + strings.Repeat("x", 16<<10-len(`{"name":""}`)) + `"}`, 422, problem.ValidationFailed, "/name"},
		{"PATCH", orgPath, `{"name":7}`, 422, problem.ValidationFailed, "/name"},
		{"POST", membersPath, `{}`, 422, problem.ValidationFailed, "/email"},
		{"POST", membersPath, `{"email":"no"}`, 422, problem.ValidationFailed, "/email"},
		{"POST", membersPath, `{"email":"ä@example.com"}`, 422, problem.ValidationFailed, "/email"},
		{"POST", membersPath, `{"email":"new@example.com"}`, 422, problem.UserNotFound, ""},
		{"POST", membersPath, `{"email":"member@example.com"}`, 409, problem.MemberExists, ""},
		{"POST", keysPath, `{"expiresIn":0}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":-1}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":1.5}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":"60"}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":9223372036854775808}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":1e400}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":315360001}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"expiresIn":true}`, 422, problem.ValidationFailed, "/expiresIn"},
		{"POST", keysPath, `{"name":"\n"}`, 422, problem.ValidationFailed, "/name"},
		{"POST", keysPath, `{"appId":"x"}`, 404, problem.AppNotFound, ""},
		{"POST", keysPath, `{"appId":"` + string(id.Source{}.NewApp(w.Now())) + `"}`, 404, problem.AppNotFound, ""},
		{"POST", rotatePath, `{}`, 422, problem.ValidationFailed, "/graceSeconds"},
		{"POST", rotatePath, `{"graceSeconds":604801}`, 422, problem.ValidationFailed, "/graceSeconds"},
		{"POST", rotatePath, `{"graceSeconds":-1}`, 422, problem.ValidationFailed, "/graceSeconds"},
		{"GET", keysPath + "?limit=0", "", 422, problem.ValidationFailed, "?limit"},
		{"GET", keysPath + "?limit=101", "", 422, problem.ValidationFailed, "?limit"},
		{"GET", keysPath + "?limit=x", "", 422, problem.ValidationFailed, "?limit"},
		{"GET", keysPath + "?limit=1&limit=2", "", 422, problem.ValidationFailed, "?limit"},
		{"GET", keysPath + "?cursor=", "", 400, problem.InvalidCursor, ""},
		{"GET", keysPath + "?cursor=!!", "", 400, problem.InvalidCursor, ""},
		{"GET", keysPath + "?cursor=TUVUQQ", "", 400, problem.InvalidCursor, ""}, // base64url of META
		{"GET", membersPath + "?cursor=" + strings.Repeat("A", 4000), "", 400, problem.InvalidCursor, ""},
	} {
		out := w.want(t, w.request(c.method, c.path, ada, c.body), c.status, c.code)
		if c.pointer != "" && !strings.Contains(out.text, `"pointer":"`+c.pointer+`"`) {
			t.Errorf("%s %s %.60q: no pointer %s in %s", c.method, c.path, c.body, c.pointer, out.text)
		}
	}
	if after := len(w.Rows(t)); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
}

func TestEscapesInATextAreDecoded(t *testing.T) {
	s := newServer(t)
	ada := user(s.NewUser(t, "ada@example.com"))
	for text, want := range map[string]string{`\\ud800`: `\ud800`, `\\\ud83d\ude00`: "\\😀", `\ud83d\ude00\ufffd`: "😀\uFFFD",
		`\uD83D\uDE00`: "😀", `\ud800\udc00\uDB7F\uDFFD`: "\U00010000\U000EFFFD",
		`\u00e4\"\\`: `ä"\`} {
		out := s.want(t, request{as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"` + text + `"}`}, 201, "")
		if out.str("name") != want {
			t.Errorf("%s: %q, want %q", text, out.str("name"), want)
		}
	}
}

// TestABodyCanBeNested32Deep nests objects, arrays and both in turn. The member must be a text, so a body that is not too deep
// is refused for its type.
func TestABodyCanBeNested32Deep(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	// nested returns a body with this number of levels, including the body itself. A kind is the opening and the closing
	// text of a level. The levels use the kinds in turn.
	nested := func(levels int, kinds ...[2]string) string {
		begin, end := `{"role":`, "}"
		for i := range levels - 1 {
			k := kinds[i%len(kinds)]
			begin, end = begin+k[0], k[1]+end
		}
		return begin + "1" + end
	}
	object, array := [2]string{`{"a":`, "}"}, [2]string{"[", "]"}
	for name, kinds := range map[string][][2]string{
		"objects": {object}, "arrays": {array}, "an object first": {object, array}, "an array first": {array, object},
	} {
		for levels, code := range map[int]problem.Code{
			31: problem.ValidationFailed, 32: problem.ValidationFailed, 33: problem.InvalidJSON, 34: problem.InvalidJSON, 1000: problem.InvalidJSON,
		} {
			body := nested(levels, kinds...)
			out := w.want(t, w.request("PATCH", "/v1/orgs/{orgId}/members/{userId}", user(w.byRole[org.Admin]), body), code.Status(), code)
			if deep := strings.Contains(out.str("detail"), "nested too deeply"); deep != (levels > 32) {
				t.Errorf("%s, %d levels: %s", name, levels, out.str("detail"))
			}
		}
	}
}

func TestAMalformedIDIsAnUnknownID(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	other := newWorld(t, w.server, "-other")
	ada, viewer := user(w.byRole[org.Admin]), user(w.byRole[org.Viewer])
	bad := []string{ // ids that this org does not have; the last one is the key's id in upper case
		"x", "%00", strings.Repeat("k", 3000), "%F0%9F%92%A9", "null", "0", "*", "%25",
		string(other.key), string(other.target), string(id.DefaultApp(other.org)), strings.ToUpper(string(w.key)),
	}
	for _, b := range bad {
		path := func(format string) string { return fmt.Sprintf(format, w.org, b) }
		w.want(t, request{as: ada, method: "PATCH", path: path("/v1/orgs/%s/members/%s"), body: `{"role":"admin"}`}, 404, problem.MemberNotFound)
		w.want(t, request{as: ada, method: "DELETE", path: path("/v1/orgs/%s/members/%s")}, 404, problem.MemberNotFound)
		w.want(t, request{as: ada, method: "DELETE", path: path("/v1/orgs/%s/keys/%s")}, 404, problem.KeyNotFound)
		w.want(t, request{as: ada, method: "PATCH", path: path("/v1/orgs/%s/keys/%s"), body: `{"scopes":[]}`}, 404, problem.KeyNotFound)
		w.want(t, request{as: ada, method: "POST", path: path("/v1/orgs/%s/keys/%s/rotate"), body: `{"graceSeconds":0}`}, 404, problem.KeyNotFound)
		w.want(t, request{as: ada, method: "GET", path: path("/v1/orgs/%s/keys/%s/usage")}, 404, problem.KeyNotFound)
		w.want(t, request{as: ada, method: "PATCH", path: path("/v1/orgs/%s/apps/%s"), body: `{"name":"x"}`}, 404, problem.AppNotFound)
		w.want(t, request{as: ada, method: "DELETE", path: path("/v1/orgs/%s/keys/%s") + "?endpoints=disable"}, 404, problem.KeyNotFound)
		w.want(t, request{as: ada, method: "GET", path: path("/v1/orgs/%s/apps/%s/webhook_endpoints")}, 404, problem.AppNotFound)
		inApp := "/v1/orgs/%s/apps/" + string(id.DefaultApp(w.org)) + "/webhook_endpoints/%s" // the app exists, the endpoint does not
		w.want(t, request{as: ada, method: "PATCH", path: path(inApp), body: `{"enabled":true}`}, 404, problem.EndpointNotFound)
		w.want(t, request{as: viewer, method: "PATCH", path: path(inApp), body: `{"enabled":true}`}, 403, problem.InsufficientRole)
		w.want(t, request{as: viewer, method: "DELETE", path: path("/v1/orgs/%s/keys/%s")}, 403, problem.InsufficientRole)
		w.want(t, request{as: ada, method: "GET", path: "/v1/orgs/" + b}, 404, problem.OrgNotFound)
	}
	unknown := w.want(t, request{as: ada, method: "GET", path: "/v1/orgs/" + string(id.Source{}.NewOrg())}, 404, problem.OrgNotFound)
	foreign := w.want(t, request{as: ada, method: "GET", path: "/v1/orgs/" + string(other.org)}, 404, problem.OrgNotFound)
	malformed := w.want(t, request{as: ada, method: "GET", path: "/v1/orgs/x"}, 404, problem.OrgNotFound)
	if unknown.text != foreign.text || unknown.text != malformed.text {
		t.Errorf("the three 404s differ:\n%s\n%s\n%s", unknown.text, foreign.text, malformed.text)
	}
}

func TestABodyMustHaveTheContentTypeOfJSON(t *testing.T) {
	s := newServer(t)
	ada := user(s.NewUser(t, "ada@example.com"))
	for contentType, status := range map[string]int{
		"none": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=latin1": 415, "json": 415, "application/problem+json": 415,
		"application/json": 201, "application/json; charset=utf-8": 201, "Application/JSON;charset=UTF-8": 201, "application/json; charset=utf8": 201, "application/json; charset=\"UTF8\"": 201, "application/json; charset=utf-16": 415,
	} {
		out := s.do(t, request{as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"x"}`, contentType: contentType})
		if out.status != status || status == 415 && out.code() != string(problem.UnsupportedMediaType) {
			t.Errorf("%s: %d %s", contentType, out.status, out.text)
		}
	}
}

func TestAnInvalidIdempotencyKeyIsRefused(t *testing.T) {
	s := newServer(t)
	ada := user(s.NewUser(t, "ada@example.com"))
	for _, key := range []string{"short", strings.Repeat("x", 31), strings.Repeat("x", 256), strings.Repeat("x", 31) + " ", strings.Repeat("é", 20), ""} {
		s.want(t, request{
			as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"x"}`, header: map[string]string{"Idempotency-Key": key},
		}, 400, problem.InvalidIdempotencyKey)
	}
}

// TestTheFormOfTheIdempotencyKeyComesBeforeTheCaller on each route that keeps records, as the contract says.
func TestTheFormOfTheIdempotencyKeyComesBeforeTheCaller(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	kept := 0
	for _, route := range route.All() {
		name := route.Name()
		isKept := good()[name].status == 201 || strings.HasSuffix(name, "/import") || strings.HasSuffix(name, "/events") || strings.HasSuffix(name, "/test")
		if route.Method != "POST" || route.Takes != principal.UserToken || !isKept || name == "POST /v1/orgs" { // any user may make an org
			continue
		}
		kept++
		for _, as := range []string{"viewer", "no member"} {
			r := w.request("POST", route.Pattern, w.caller(as), good()[name].body)
			r.header = map[string]string{"Idempotency-Key": "short"}
			w.want(t, r, 400, problem.InvalidIdempotencyKey)
		}
	}
	if kept != 8 {
		t.Errorf("%d routes", kept)
	}
}

// TestAParameterSentTwiceIsRefused on each route with a credential. With one value each request is accepted, so only the second value
// is the fault. A cursor is left out: only an answer has a valid one.
func TestAParameterSentTwiceIsRefused(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	values := map[string]string{
		"limit": "1", "externalId": "x", "actor": string(w.target), "action": "key.created", "target": string(w.key), "email": "target@example.com", "subject": "s",
		"createdBy": string(w.target), "endpoints": "disable", "links": "revoke", "month": time.Now().UTC().Format("2006-01"), "since": "1", "order": "desc",
		"eventId": w.event, "endpointId": w.endpoint, "status": "failed", "from": "1", "to": "2",
	}
	for _, route := range route.All() {
		for _, name := range route.Query {
			value, ok := values[name]
			if route.Takes == principal.Public || name == "cursor" {
				continue
			}
			if strings.HasSuffix(route.Pattern, "/usage") && (name == "from" || name == "to") {
				value = time.Now().UTC().Format(time.DateOnly)
			}
			query := "?" + name + "=" + value
			if needed := good()[route.Name()].body; name != "eventId" && !strings.HasPrefix(needed, "?"+name) && strings.HasPrefix(needed, "?endpointId") {
				query = needed + "&" + query[1:]
			}
			once := w.do(t, w.request(route.Method, route.Pattern, w.callerOf(route), query))
			twice := w.do(t, w.request(route.Method, route.Pattern, w.callerOf(route), query+"&"+name+"="+value))
			if !ok || once.status == 400 || once.status == 422 || twice.status != 400 && twice.status != 422 {
				t.Errorf("%s %s: %d, twice %d", route.Name(), query, once.status, twice.status)
			}
		}
	}
}

// callerOf returns a caller who may use a route with a user token.
func (w *world) callerOf(r route.Route) *principal.Principal {
	if strings.HasPrefix(r.Pattern, "/v1/orgs/{orgId}") {
		return w.caller("admin")
	}
	return service()
}

func TestARetryGetsTheSameAnswer(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	w.NewUser(t, "new@example.com")
	for path, body := range map[string]string{
		"/v1/orgs": `{"name":"x"}`, "/v1/orgs/{orgId}/keys": `{"name":"x"}`, "/v1/orgs/{orgId}/apps": `{"name":"x"}`,
		"/v1/orgs/{orgId}/members": `{"email":"new@example.com"}`, "/v1/orgs/{orgId}/keys/{keyId}/rotate": `{"graceSeconds":60}`,
	} {
		r := w.request("POST", path, ada, body)
		r.header = map[string]string{"Idempotency-Key": "01234567-89ab-cdef-0123-456789abcdef"}
		first, again := w.want(t, r, 201, ""), w.want(t, r, 201, "")
		if first.text != again.text || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s:\n%s\n%s", path, first.text, again.text)
		}
		r.body = strings.Replace(body, "{", `{ `, 1) // other bytes with the same meaning
		if spaced := w.want(t, r, 201, ""); spaced.text != first.text {
			t.Errorf("%s with a blank:\n%s\n%s", path, first.text, spaced.text)
		}
	}
}

// TestAnIdempotencyKeyBelongsToOneOrg: an admin of two orgs can use the same key in both.
func TestAnIdempotencyKeyBelongsToOneOrg(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	other := w.want(t, request{as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"other"}`}, 201, "").str("id")
	made := map[string]bool{}
	for _, o := range []string{string(w.org), other} {
		r := w.want(t, request{
			as: ada, method: "POST", path: "/v1/orgs/" + o + "/keys", body: `{}`, header: map[string]string{"Idempotency-Key": "01234567-89ab-cdef-0123-456789abcdef"},
		}, 201, "")
		made[r.str("id")] = true
		if r.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("in %s: %s", o, r.text)
		}
	}
	if len(made) != 2 {
		t.Errorf("the keys %v", made)
	}
}

func TestPagesShowEachItemOnce(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	for range 4 {
		w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", ada, `{}`), 201, "")
		w.want(t, w.request("POST", "/v1/orgs/{orgId}/apps", ada, `{"name":"x"}`), 201, "")
		w.want(t, request{as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"x"}`}, 201, "")
	}
	for path, list := range map[string]string{
		"/v1/orgs": "orgs", "/v1/orgs/{orgId}/members": "members", "/v1/orgs/{orgId}/keys": "keys",
		"/v1/orgs/{orgId}/apps": "apps", "/v1/orgs/{orgId}/audit": "entries",
	} {
		seen := map[string]int{}
		next := ""
		for page := 0; page == 0 || next != ""; page++ {
			out := w.want(t, w.request("GET", path+"?limit=2"+next, ada, ""), http.StatusOK, "")
			rows, _ := out.body[list].([]any)
			if len(rows) == 0 || len(rows) > 2 || page > 20 {
				t.Fatalf("%s: page %d has %d rows", path, page, len(rows))
			}
			for _, row := range rows {
				m, _ := row.(map[string]any)
				seen[fmt.Sprint(m["id"], m["userId"])]++ // a member has a userId, all others an id
			}
			next = ""
			if c := out.str("nextCursor"); c != "" {
				next = "&cursor=" + c
			}
		}
		whole, _ := w.want(t, w.request("GET", path, ada, ""), http.StatusOK, "").body[list].([]any)
		if len(seen) != len(whole) || len(whole) < 4 {
			t.Errorf("%s: %d by pages, %d whole", path, len(seen), len(whole))
		}
		for row, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s came %d times", path, row, n)
			}
		}
	}
}

func TestListsBeginWithTheNewestItem(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	for path, names := range map[string][2]string{ // the name of the list, and of the time in its rows
		"/v1/orgs": {"orgs", "createdAt"}, "/v1/orgs/{orgId}/members": {"members", "joinedAt"},
		"/v1/orgs/{orgId}/keys": {"keys", "createdAt"}, "/v1/orgs/{orgId}/apps": {"apps", "createdAt"},
	} {
		rows, _ := w.want(t, w.request("GET", path, user(w.byRole[org.Admin]), ""), 200, "").body[names[0]].([]any)
		last := ""
		for _, row := range rows {
			m, _ := row.(map[string]any)
			at := fmt.Sprint(m[names[1]])
			inMilliseconds := len(at) == 13
			if !inMilliseconds || last != "" && at > last {
				t.Errorf("%s: %s after %s", path, at, last)
			}
			last = at
		}
	}
}
